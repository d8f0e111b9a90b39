"""Rerankers over HTTP: which candidate wins at any step of the path, and why."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

import numpy as np

from epigram.rerank import NBest, Reranker, parse_nbest
from epigram.serve.errors import Refusal
from epigram.serve.fields import Between, Longest
from epigram.serve.limits import LONGEST_TEXT, LONGEST_TOKEN, MOST_LISTS
from epigram.serve.sample_models import example_lists
from epigram.serve.studio import Call, Operation

String = Annotated[str, Longest(LONGEST_TOKEN)]
Text = Annotated[str, Longest(20_000)]
MOST_CANDIDATES = 1000
MOST_POINTS = 200
MOST_STEPS = 1 << 31


@dataclass(frozen=True)
class Candidate:
    """One text of a list with its base score (a log-probability), and named features."""

    text: Text
    score: float
    tokens: Annotated[list[String], Longest(4000)] | None = None
    features: dict[str, float] | None = None


@dataclass(frozen=True)
class Lists:
    """One n-best list; with a reference errors are counted."""

    candidates: Annotated[list[Candidate], Longest(MOST_CANDIDATES)]
    id: String | None = None
    reference: Text | None = None


@dataclass(frozen=True)
class Rerank:
    """Lists, or the ``text`` of a file of them; ``step`` is a place on the model's path, else the chosen one."""

    model: String | None = None
    lists: Annotated[list[Lists], Longest(MOST_LISTS)] | None = None
    text: Annotated[str, Longest(10 * LONGEST_TEXT)] | None = None
    step: Annotated[int, Between(0, MOST_STEPS)] | None = None


@dataclass(frozen=True)
class One:
    """One list of those given, looked at along the whole path."""

    model: String | None = None
    lists: Annotated[list[Lists], Longest(MOST_LISTS)] | None = None
    text: Annotated[str, Longest(10 * LONGEST_TEXT)] | None = None
    index: Annotated[int, Between(0, MOST_LISTS)] = 0


async def rerank(call: Call) -> Any:
    """The winner of each list, all scores, and the error rate where references are given."""
    body: Rerank = call.body
    model = call.studio.shelf.get(body.model, "reranker").estimator

    def work() -> dict[str, Any]:
        lists = _lists(body.lists, body.text)
        there = _at(model, body.step)
        scores, winners = there.scores(lists), there.predict(lists)
        base = lists.choose(lists.scores)
        found = []
        for k, id in enumerate(lists.ids):
            span = slice(int(lists.list_ptr[k]), int(lists.list_ptr[k + 1]))
            reference = lists.references[k]
            found.append(
                {
                    "id": id,
                    "winner": int(winners[k]),
                    "base": int(base[k]),
                    "reference": None if reference is None else " ".join(reference[1]) or reference[0],
                    "texts": lists.texts[span],
                    "scores": scores[span].tolist(),
                }
            )
        known = all(reference is not None for reference in lists.references)
        rates = (_rate(there.at(0), lists), _rate(there, lists)) if known else (None, None)
        return {"step": there.step_, "error_rate": rates[1], "base_error_rate": rates[0], "lists": found}

    return await call.studio.alone(work)


async def path(call: Call) -> Any:
    """Loss, L1 norm, non-zero weights and held-out errors along a model's path."""
    model: Reranker = call.studio.shelf.get(call.body.model, "reranker").estimator
    curves, steps = model.curves_, _points(model)
    percent = 100.0 / model.dev_length_ if model.dev_length_ else math.nan
    return {
        "steps": steps,
        "last": len(model.path_),
        "chosen": model.step_,
        "loss": [float(curves.losses[t]) for t in steps],
        "norm": [float(curves.l1_norms[t]) for t in steps],
        "weights": [int(curves.nonzeros[t]) for t in steps],
        "dev_error": [_finite(percent * float(curves.dev_errors[t])) for t in steps],
    }


async def along(call: Call) -> Any:
    """Which candidate of one list wins at which steps of the path."""
    body: One = call.body
    model: Reranker = call.studio.shelf.get(body.model, "reranker").estimator

    def work() -> dict[str, Any]:
        one = _one(body)
        runs: list[dict[str, int]] = []
        for step in _points(model):
            winner = int(model.at(step).predict(one)[0])
            if not runs or runs[-1]["winner"] != winner:
                runs.append({"from": step, "winner": winner})
        return {"texts": one.texts, "runs": runs}

    return await call.studio.alone(work)


def explain_winner(model: Reranker, lists: NBest, index: int, step: int | None) -> dict[str, Any]:
    """The weights that lift the winner over the base model's choice."""
    why = _at(model, step).explain(lists, index)
    terms = [
        {"feature": t.feature, "weight": t.weight, "difference": t.difference, "lift": t.lift}
        for t in why.terms
    ]
    return {
        "winner": why.winner,
        "winner_text": why.winner_text,
        "base": why.base,
        "base_text": why.base_text,
        "lead": why.lead,
        "terms": terms,
    }


async def example(call: Call) -> Any:
    """Some n-best lists to try, as JSON lines."""
    return {"text": example_lists()}


def lists_of(body: Any) -> NBest:
    """The lists of a request, given as objects or as the text of a file."""
    return _lists(body.lists, body.text)


def _lists(given: list[Lists] | None, text: str | None) -> NBest:
    if text is not None:
        lists = _parsed(text)
    elif given:
        lists = NBest.from_lists([_plain(one, k) for k, one in enumerate(given)])
    else:
        raise Refusal(422, "give lists, or the text of a file of lists")
    if len(lists) > MOST_LISTS:
        raise Refusal(413, f"{len(lists):,} lists; at most {MOST_LISTS:,} are taken", "text")
    return lists


@lru_cache(maxsize=4)
def _parsed(text: str) -> NBest:
    return parse_nbest(text)


def _plain(one: Lists, number: int) -> dict[str, Any]:
    candidates = [
        {name: value for name, value in vars(candidate).items() if value is not None}
        for candidate in one.candidates
    ]
    return {
        "id": one.id or str(number + 1),
        "candidates": candidates,
        **({} if one.reference is None else {"reference": one.reference}),
    }


def _one(body: One) -> NBest:
    lists = _lists(body.lists, body.text)
    if body.index >= len(lists):
        raise Refusal(422, f"list {body.index} does not exist; there are {len(lists)}", "index")
    return lists.take([body.index])


def _at(model: Reranker, step: int | None) -> Reranker:
    if step is None:
        return model
    if step > len(model.path_):
        raise Refusal(422, f"the path has {len(model.path_)} steps", "step")
    return model.at(step)


def _points(model: Reranker) -> list[int]:
    """Steps to show: all of a short path, evenly spread ones of a long path, the chosen one among them."""
    last = len(model.path_)
    return sorted({round(t) for t in np.linspace(0, last, min(last + 1, MOST_POINTS))} | {model.step_})


def _rate(model: Reranker, lists: NBest) -> float | None:
    return _finite(model.error_rate(lists))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


@dataclass(frozen=True)
class Path:
    """The reranker whose path is wanted."""

    model: String | None = None


OPERATIONS = [
    Operation(
        "POST",
        "/v1/rerank",
        rerank,
        Rerank,
        {"lists": [{"candidates": [{"text": "the dog", "score": 0}, {"text": "dog the", "score": 0}]}]},
    ),
    Operation("POST", "/v1/rerank/path", path, Path),
    Operation("POST", "/v1/rerank/along", along, One),
    Operation("GET", "/v1/rerank/example", example),
]
