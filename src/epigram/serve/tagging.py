"""Taggers over HTTP: labels, spans, other readings, probabilities, reasons, and learning from corrections."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from epigram.serve.errors import Refusal
from epigram.serve.fields import Between, Longest
from epigram.serve.limits import LONGEST_TEXT, LONGEST_TOKEN, MOST_SENTENCES, MOST_TOKENS
from epigram.serve.shelf import Entry
from epigram.serve.studio import Call, Operation, Raw

_WORD = re.compile(r"\w+(?:[-'’.,]\w+)*|\S")
_CELL = re.compile(r"%x\[\s*([+-]?\d+)\s*,\s*(\d+)\s*(?:\|([^\]]*))?\]")
_PREFIX = re.compile(r"([BIESLU])-(.+)")

String = Annotated[str, Longest(LONGEST_TOKEN)]
Token = String | Annotated[list[String], Longest(64)] | dict[str, String | float | bool]
Sentence = Annotated[list[Token], Longest(MOST_TOKENS)]
Labels = Annotated[list[String], Longest(MOST_TOKENS)]


@dataclass(frozen=True)
class Tag:
    """Sentences to tag: ``text``, a sentence a line, or ``sentences`` of tokens.

    A token is a string, a list of its columns, or, for models without a template, its features.
    """

    model: String | None = None
    text: Annotated[str, Longest(LONGEST_TEXT)] | None = None
    sentences: Annotated[list[Sentence], Longest(MOST_SENTENCES)] | None = None
    nbest: Annotated[int, Between(0, 20)] = 0
    marginals: bool = False


@dataclass(frozen=True)
class Correct:
    """A sentence with the labels it should have."""

    sentence: Sentence
    labels: Labels
    model: String | None = None


@dataclass(frozen=True)
class Sessionless:
    """Nothing but the model."""

    model: String | None = None


async def tag(call: Call) -> Any:
    """Labels of sentences; with ``marginals`` spans and probabilities, with ``nbest`` other labellings."""
    body: Tag = call.body
    entry = call.studio.shelf.get(body.model, "tagger")
    estimator = call.model(entry)
    sentences = body.sentences if body.text is None else in_sentences(body.text, entry)
    if sentences is None:
        raise Refusal(422, "give text or sentences")
    rows = [rows_of(entry, sentence, k) for k, sentence in enumerate(sentences)]
    key = (id(estimator), body.nbest, body.marginals)
    answers = await call.studio.together(
        key, lambda batch: _tag_all(estimator, batch, body.nbest, body.marginals), rows
    )
    found = [
        {"tokens": [shown(token) for token in sentence], **answer}
        for sentence, answer in zip(sentences, answers, strict=True)
    ]
    return {"model": entry.name, "sentences": found}


def _tag_all(estimator: Any, rows: list[Any], nbest: int, marginals: bool) -> list[dict[str, Any]]:
    """One call of the model for the sentences of many requests."""
    full = [k for k, sentence in enumerate(rows) if sentence]
    some = [rows[k] for k in full]
    if (nbest or marginals) and not hasattr(estimator, "predict_nbest"):
        raise Refusal(422, f"a {type(estimator).__name__} gives labels alone, no nbest and no marginals")
    found: list[dict[str, Any]] = [{"labels": []} for _ in rows]
    for k, labels in zip(full, estimator.predict(some) if some else [], strict=True):
        found[k]["labels"] = labels
    if marginals and some:
        spans = [[(s.start, found[k]["labels"][s.start : s.end]) for s in _spans(found[k])] for k in full]
        chances = estimator.confidence(some, spans)
        for k, tokens, chance in zip(full, estimator.predict_marginals(some), chances, strict=True):
            found[k]["marginals"] = [_rounded(token) for token in tokens]
            found[k]["spans"] = [
                {**asdict(span), "probability": p} for span, p in zip(_spans(found[k]), chance, strict=True)
            ]
    if nbest and some:
        for k, ways in zip(full, estimator.predict_nbest(some, nbest), strict=True):
            found[k]["nbest"] = [{"labels": labels, "probability": p} for labels, p in ways]
    return found


def _rounded(token: dict[str, float]) -> dict[str, float]:
    """Probabilities above a millionth, to six places."""
    return {label: round(p, 6) for label, p in token.items() if p > 1e-6}


@dataclass(frozen=True)
class Span:
    """Tokens from ``start`` up to, not including, ``end``."""

    start: int
    end: int
    label: str


def _spans(found: dict[str, Any]) -> list[Span]:
    return spans_of(found["labels"])


def spans_of(labels: Sequence[str]) -> list[Span]:
    """Runs of tokens that belong together by their prefixes; a label without one is a span of its own, O is none.

    Examples
    --------
    >>> [(s.start, s.end, s.label) for s in spans_of(["B-NP", "I-NP", "O", "I-VP", "B-VP", "NN"])]
    [(0, 2, 'NP'), (3, 4, 'VP'), (4, 5, 'VP'), (5, 6, 'NN')]
    """
    spans: list[Span] = []
    open_kind = None
    for k, label in enumerate(labels):
        match = _PREFIX.fullmatch(label)
        prefix, kind = (match[1], match[2]) if match else ("", label)
        if prefix in ("I", "E", "L") and kind == open_kind:
            spans[-1] = Span(spans[-1].start, k + 1, kind)
        elif label != "O":
            spans.append(Span(k, k + 1, kind))
        open_kind = kind if prefix in ("B", "I") else None
    return spans


def in_sentences(text: str, entry: Entry) -> list[list[Any]]:
    """Lines of words and signs; for models that look at several columns, a token a line and a blank line between."""
    if entry.n_columns == 1:
        found: list[list[Any]] = [_WORD.findall(line) for line in text.splitlines() if line.strip()]
    else:
        blocks = re.split(r"\n\s*\n", text.strip())
        found = [[line.split() for line in block.splitlines() if line.strip()] for block in blocks]
    if len(found) > MOST_SENTENCES or max(map(len, found), default=0) > MOST_TOKENS:
        raise Refusal(413, f"at most {MOST_SENTENCES} sentences of {MOST_TOKENS} tokens at once", "text")
    return found


def rows_of(entry: Entry, sentence: Sequence[Any], number: int = 0) -> list[Any]:
    """A sentence as its model takes it; a token of another shape is refused here, before others' are at stake."""
    if entry.n_columns == 0:
        wrong = next((k for k, token in enumerate(sentence) if isinstance(token, str)), None)
        if wrong is not None:
            raise Refusal(
                422,
                "this model takes features: a list of strings or an object",
                f"sentences[{number}][{wrong}]",
            )
        return list(sentence)
    if entry.n_columns == 1 and set(map(type, sentence)) == {str} and all(map(str.strip, sentence)):
        return list(sentence)
    rows = []
    for k, token in enumerate(sentence):
        cells = [token] if isinstance(token, str) else token
        if isinstance(cells, dict) or len(cells) < entry.n_columns:
            raise Refusal(
                422, f"expected {entry.n_columns} columns a token: a string or a list of strings",
                f"sentences[{number}][{k}]",
            )  # fmt: skip
        if not all(cell and not cell.isspace() for cell in cells):
            raise Refusal(422, "a token has no empty columns", f"sentences[{number}][{k}]")
        rows.append(tuple(cells[: entry.n_columns]))
    return rows


def shown(token: Any) -> str:
    """What stands for a token on a page."""
    if isinstance(token, dict):
        return " ".join(f"{name}={value}" for name, value in token.items())
    return token if isinstance(token, str) else str(token[0]) if token else ""


def explain_token(entry: Entry, estimator: Any, sentence: Sequence[Any], token: int) -> dict[str, Any]:
    """The weights that speak for a token's label against the runner-up; ``meaning`` is the feature in words."""
    if not hasattr(estimator, "explain"):
        raise Refusal(422, f"a {type(estimator).__name__} cannot explain itself; a CRF can")
    found = asdict(estimator.explain(rows_of(entry, sentence), token))
    lines = meanings(entry.header.get("template") or "")
    for term in found["terms"]:
        line, colon, value = term["feature"].partition(":")
        term["meaning"] = f"{lines[line]} {value}" if colon and line in lines else term["feature"]
    return found


def meanings(template: str) -> dict[str, str]:
    """What the lines of a template look at, in words.

    Examples
    --------
    >>> meanings("U05:%x[-1,0]/%x[0,0]\\nU08:%x[0,0|shape]\\nU3:%x[1,1]")
    {'U05': 'before, here', 'U08': 'shape', 'U3': 'after (column 1)'}
    """
    places = {-2: "two before", -1: "before", 0: "here", 1: "after", 2: "two after"}
    found = {}
    for line in template.splitlines():
        name, colon, rest = line.partition(":")
        cells = _CELL.findall(rest) if colon and not line.startswith("#") else []
        words = []
        for offset, column, function in cells:
            kind = function.partition(":")[0].rstrip("s")
            what = places.get(int(offset), f"{int(offset):+d}") if not kind or offset != "0" else ""
            words.append(f"{kind} {what}".strip() + (f" (column {column})" if column != "0" else ""))
        if words:
            found[name] = ", ".join(words)
    return found


async def learn(call: Call) -> Any:
    """Learn a corrected sentence at once, for this session alone (``partial_fit``)."""
    body: Correct = call.body
    entry = call.studio.shelf.get(body.model, "tagger")
    rows = rows_of(entry, body.sentence)
    if not rows or len(rows) != len(body.labels):
        raise Refusal(422, f"{len(body.labels)} labels for {len(rows)} tokens", "labels")
    known = {str(label) for label in entry.estimator.classes_}
    for k, label in enumerate(body.labels):
        if label not in known:
            raise Refusal(422, f"the model has no label {label[:40]!r}", f"labels[{k}]")
    if not hasattr(entry.estimator, "partial_fit") or not hasattr(entry.estimator, "to_bytes"):
        raise Refusal(422, f"a {type(entry.estimator).__name__} does not learn from corrections")
    session = call.studio.sessions.need(call.session)

    def work() -> int:
        with session.lock:
            mine = session.models.get(entry.name, entry.estimator)
            copy = type(mine).from_bytes(mine.to_bytes())
            copy.partial_fit([rows], [body.labels])
            session.models[entry.name] = copy
            session.learnt[entry.name] = session.learnt.get(entry.name, 0) + 1
            return session.learnt[entry.name]

    return {"model": entry.name, "learnt": await call.studio.alone(work)}


async def forget(call: Call) -> Any:
    """Forget what this session taught a model."""
    entry = call.studio.shelf.get(call.body.model)
    session = call.studio.sessions.find(call.session)
    if session is None or session.models.pop(entry.name, None) is None:
        raise Refusal(422, "nothing learnt yet that could be forgotten")
    session.learnt.pop(entry.name, None)
    return {"model": entry.name, "learnt": 0}


async def download(call: Call) -> Any:
    """The tagger as this session taught it, as a model file."""
    entry = call.studio.shelf.get(call.body.model, "tagger")
    estimator = call.model(entry)
    if not hasattr(estimator, "to_bytes"):
        raise Refusal(422, f"a {type(estimator).__name__} is not written from memory")
    return Raw(
        await call.studio.alone(estimator.to_bytes), "application/octet-stream", f"{entry.name}.epigram"
    )


OPERATIONS = [
    Operation("POST", "/v1/tag", tag, Tag, {"sentences": [["The", "dog", "barks", "."]], "marginals": True}),
    Operation("POST", "/v1/tag/learn", learn, Correct),
    Operation("POST", "/v1/tag/forget", forget, Sessionless),
    Operation("POST", "/v1/tag/model", download, Sessionless),
]
