"""Routes for rerankers: rerank, the path, winners along the path; explanations of winners."""

from __future__ import annotations

import math
from dataclasses import asdict
from functools import lru_cache
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta

from epigram.rerank import NBest, Reranker, parse_nbest
from epigram.serve.http import MAX_LISTS, Body, FileText, ModelBody, RequestError, String
from epigram.serve.sample_models import example_lists
from epigram.serve.state import Call, Operation

CandidateText = Annotated[str, Meta(max_length=20_000)]
Step = Annotated[int, Meta(ge=0, le=1 << 31)]
MAX_POINTS = 200
MAX_WORK = 4_000_000_000  # pairs of characters compared for one request, one to two seconds


class NBestCandidate(Body, frozen=True, omit_defaults=True):
    """One text of an n-best list with its base score (a log-probability) and named features."""

    text: CandidateText
    score: float
    tokens: Annotated[list[String], Meta(max_length=4000)] | None = None
    features: dict[str, float] | None = None


class NBestList(Body, frozen=True, omit_defaults=True):
    """One n-best list; errors are counted if it has a reference."""

    candidates: Annotated[list[NBestCandidate], Meta(max_length=1000)]
    id: String | None = None
    reference: CandidateText | None = None


NBestLists = Annotated[list[NBestList], Meta(max_length=MAX_LISTS)]


class Rerank(ModelBody, frozen=True):
    """N-best lists, or the ``text`` of a file of them.

    ``step`` is a step of the path [default: the chosen one].
    """

    lists: NBestLists | None = None
    text: FileText | None = None
    step: Step | None = None


class Along(ModelBody, frozen=True):
    """N-best lists, or the ``text`` of a file of them, and the ``index`` of one list."""

    lists: NBestLists | None = None
    text: FileText | None = None
    index: Annotated[int, Meta(ge=0, le=MAX_LISTS)] = 0


async def rerank(call: Call) -> Any:
    """Return the winner of each list, all scores, and the error rate if there are references."""
    body: Rerank = call.body
    model = call.state.registry.get(body.model, "reranker").estimator

    def work() -> dict[str, Any]:
        lists = read_lists(body)
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
        if known:
            _refuse_heavy(lists)
        rates = (there.at(0).error_rate(lists), there.error_rate(lists)) if known else (None, None)
        return {"step": there.step_, "error_rate": rates[1], "base_error_rate": rates[0], "lists": found}

    return await call.state.run(work)


async def path(call: Call) -> Any:
    """Return loss, L1 norm, non-zero weights and held-out errors along the path of a model."""
    model: Reranker = call.state.registry.get(call.body.model, "reranker").estimator
    curves, steps = model.curves_, _points(model)
    percent = 100.0 / model.dev_length_ if model.dev_length_ else math.nan
    return {
        "steps": steps,
        "last": len(model.path_),
        "chosen": model.step_,
        "loss": [float(curves.losses[t]) for t in steps],
        "norm": [float(curves.l1_norms[t]) for t in steps],
        "weights": [int(curves.nonzeros[t]) for t in steps],
        "dev_error": [percent * float(curves.dev_errors[t]) for t in steps],
    }


async def along(call: Call) -> Any:
    """Return which candidate of one list wins at which steps of the path."""
    body: Along = call.body
    model: Reranker = call.state.registry.get(body.model, "reranker").estimator

    def work() -> dict[str, Any]:
        one = _one(body)
        runs: list[dict[str, int]] = []
        for step in _points(model):
            winner = int(model.at(step).predict(one)[0])
            if not runs or runs[-1]["winner"] != winner:
                runs.append({"from": step, "winner": winner})
        return {"texts": one.texts, "runs": runs}

    return await call.state.run(work)


def explain_winner(model: Reranker, lists: NBest, index: int, step: int | None) -> dict[str, Any]:
    """Return the weights that put the winner above the choice of the base model."""
    why = _at(model, step).explain(lists, index)
    terms = [{**asdict(term), "lift": term.lift} for term in why.terms]
    return {**asdict(why), "terms": terms}


async def example(call: Call) -> Any:
    """Return some n-best lists to try, as JSON lines."""
    return {"text": example_lists()}


def read_lists(body: Any) -> NBest:
    """Read the lists of a request, given as objects or as the text of a file."""
    if body.text is not None:
        lists = _parse(body.text)
    elif body.lists:
        lists = NBest.from_lists(
            [{**msgspec.to_builtins(one), "id": one.id or str(k)} for k, one in enumerate(body.lists, 1)]
        )
    else:
        raise RequestError(422, "give lists, or the text of a file of lists")
    if len(lists) > MAX_LISTS:
        raise RequestError(413, f"{len(lists):,} lists; at most {MAX_LISTS:,} are taken", "text")
    return lists


@lru_cache(maxsize=4)
def _parse(text: str) -> NBest:
    return parse_nbest(text)


def _one(body: Along) -> NBest:
    lists = read_lists(body)
    if body.index >= len(lists):
        raise RequestError(422, f"list {body.index} does not exist; there are {len(lists)}", "index")
    return lists.take([body.index])


def _at(model: Reranker, step: int | None) -> Reranker:
    if step is None:
        return model
    if step > len(model.path_):
        raise RequestError(422, f"the path has {len(model.path_)} steps", "step")
    return model.at(step)


def _points(model: Reranker) -> list[int]:
    """Return the chosen step and all steps of a short path, or evenly spread ones."""
    last = len(model.path_)
    return sorted({round(t) for t in np.linspace(0, last, min(last + 1, MAX_POINTS))} | {model.step_})


def _refuse_heavy(lists: NBest) -> None:
    """Refuse to count errors if the product of the lengths shows that it would take seconds."""
    work = 0
    for k, reference in enumerate(lists.references):
        texts = lists.texts[int(lists.list_ptr[k]) : int(lists.list_ptr[k + 1])]
        work += len(reference[0] if reference else "") * sum(map(len, texts))
    if work > MAX_WORK:
        raise RequestError(
            413, "the references are too long to count errors; send shorter texts or fewer lists"
        )


OPERATIONS = [
    Operation(
        "POST",
        "/v1/rerank",
        rerank,
        Rerank,
        {"lists": [{"candidates": [{"text": "the dog", "score": 0}, {"text": "dog the", "score": 0}]}]},
    ),
    Operation("POST", "/v1/rerank/path", path, ModelBody),
    Operation("POST", "/v1/rerank/along", along, Along),
    Operation("GET", "/v1/rerank/example", example),
]
