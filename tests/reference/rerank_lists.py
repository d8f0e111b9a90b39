"""Small random n-best lists as plain dictionaries, and their features and pairs by the obvious loops."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np


def random_lists(
    seed: int, n_lists: int = 12, n_candidates: int = 6, named: bool = False
) -> list[dict[str, Any]]:
    """Lists over a small vocabulary, so that value differences of 2 and more occur.

    References avoid some words, which a learner can find out; the base score is better than chance.
    """
    generator = np.random.default_rng(seed)

    def sentence(words: str) -> list[str]:
        return [words[k] for k in generator.integers(0, len(words), int(generator.integers(1, 7)))]

    lists = []
    for i in range(n_lists):
        reference = sentence("abcd")
        texts = [sentence("abcdefg") for _ in range(int(generator.integers(1, n_candidates + 1)))]
        if i % 2:
            texts[-1] = reference
        candidates: list[dict[str, Any]] = []
        for tokens in texts:
            score = float(generator.normal() * 2.0) - edit_distance(tokens, reference)
            candidates.append({"tokens": tokens, "score": score})
            if named:
                candidates[-1]["features"] = {"x": float(generator.normal()), "n": len(tokens)}
        lists.append({"id": str(i), "reference": reference, "candidates": candidates})
    return lists


def edit_distance(a: Any, b: Any) -> int:
    """Levenshtein by the full table."""
    return _edit_distance(tuple(a), tuple(b))


@cache
def _edit_distance(a: tuple[str, ...], b: tuple[str, ...]) -> int:
    table = np.zeros((len(a) + 1, len(b) + 1), int)
    table[:, 0], table[0] = np.arange(len(a) + 1), np.arange(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            change = table[i - 1, j - 1] + (a[i - 1] != b[j - 1])
            table[i, j] = min(change, table[i - 1, j] + 1, table[i, j - 1] + 1)
    return int(table[-1, -1])


def oracle(record: dict[str, Any]) -> int:
    """Fewest character errors, then best score, then first."""
    reference = "".join(record["reference"])
    keys = [
        (edit_distance("".join(c["tokens"]), reference), -c["score"], k)
        for k, c in enumerate(record["candidates"])
    ]
    return min(keys)[2]


def features(
    candidate: dict[str, Any], ngrams: int, headwords: frozenset[str] = frozenset(), chars: int = 0
) -> Counter[str]:
    """Counts by name, as FeatureSpace.name writes them."""
    padded = ["<s>", *candidate["tokens"], "</s>"]
    counts: Counter[str] = Counter(candidate["tokens"])
    for n in range(2, ngrams + 1):
        counts.update(" ".join(padded[i : i + n]) for i in range(len(padded) - n + 1))
    heads = [token for token in candidate["tokens"] if token in headwords]
    counts.update(f"{a} .. {b}" for a, b in pairwise(heads))
    text = ["<s>", *" ".join(candidate["tokens"]), "</s>"]
    for n in range(1, chars + 1):
        grams = ["[" + "".join(text[i : i + n]) + "]" for i in range(len(text) - n + 1)]
        counts.update(gram for gram in grams if gram not in ("[<s>]", "[</s>]"))
    for name, value in candidate.get("features", {}).items():
        counts[name] += value
    return counts


def pairs(
    lists: list[dict[str, Any]], ngrams: int = 2, headwords: frozenset[str] = frozenset(), chars: int = 0
) -> list[tuple[float, dict[str, float]]]:
    """(base difference, value differences) of every rival of every oracle."""
    out = []
    for record in lists:
        best = oracle(record)
        winner = record["candidates"][best]
        ours = features(winner, ngrams, headwords, chars)
        for k, rival in enumerate(record["candidates"]):
            if k != best:
                theirs = features(rival, ngrams, headwords, chars)
                names = sorted(set(ours) | set(theirs))
                difference = {name: ours[name] - theirs[name] for name in names}
                out.append(
                    (winner["score"] - rival["score"], {n: v for n, v in difference.items() if v != 0})
                )
    return out
