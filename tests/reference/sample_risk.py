"""Errors of reranked lists as a function of one weight, by trying every place where anything can change."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import combinations, pairwise

from reference.rerank_lists import edit_distance, oracle
from reference.rerank_lists import features as all_features


@cache
def _features(tokens: tuple[str, ...]) -> Counter[str]:
    return all_features({"tokens": list(tokens)}, 2)


def extra_errors(record: dict, weights: dict[str, float], base_weight: float) -> float:
    """Errors of the best scored candidate above the oracle's; of equals that with the most errors."""
    reference = "".join(record["reference"])
    errors = [edit_distance("".join(c["tokens"]), reference) for c in record["candidates"]]
    scores = [
        base_weight * c["score"]
        + sum(weights.get(name, 0.0) * v for name, v in _features(tuple(c["tokens"])).items())
        for c in record["candidates"]
    ]
    worst = max(e for e, s in zip(errors, scores, strict=True) if s >= max(scores) - 1e-9)
    return worst - errors[oracle(record)]


def risk(records: list[dict], weights: dict[str, float], base_weight: float) -> float:
    """The sample risk above the oracle's."""
    return sum(extra_errors(record, weights, base_weight) for record in records)


def crossings(records: list[dict], weights: dict[str, float], base_weight: float, name: str) -> list[float]:
    """All moves of one weight at which two candidates of a list have the same score."""
    places = set()
    for record in records:
        lines = [
            (
                base_weight * c["score"]
                + sum(weights.get(n, 0.0) * v for n, v in _features(tuple(c["tokens"])).items()),
                _features(tuple(c["tokens"]))[name],
            )
            for c in record["candidates"]
        ]
        for (a, b), (c, d) in combinations(lines, 2):
            if b != d:
                places.add((a - c) / (d - b))
    return sorted(places)


def least_risk(records: list[dict], weights: dict[str, float], base_weight: float, name: str) -> float:
    """The least risk between any two neighbouring crossings, and beyond the outer ones."""
    places = crossings(records, weights, base_weight, name)
    if not places:
        return risk(records, weights, base_weight)
    middles = [(a + b) / 2 for a, b in pairwise(places) if b - a > 1e-7]
    moves = [places[0] - 1.0, *middles, places[-1] + 1.0]
    return min(risk(records, {**weights, name: weights.get(name, 0.0) + m}, base_weight) for m in moves)
