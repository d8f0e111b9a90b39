"""Routes for taggers: tag, learn a correction, forget, download; explanations of labels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from epigram.chain.chunks import are_chunk_labels, chunks
from epigram.serve.http import MAX_SENTENCES, MAX_TOKENS, Body, ModelBody, RequestError, String, Text
from epigram.serve.registry import LoadedModel
from epigram.serve.state import Call, Operation, RawResponse

if TYPE_CHECKING:
    from epigram.features.template import Template

_WORD = re.compile(r"\w+(?:[-'’.,]\w+)*|\S")

MAX_WORK = 1_000_000  # labels to compute for one request, one to two seconds
BRIEF_TOKENS = 2000
Token = String | Annotated[list[String], Meta(max_length=64)] | dict[str, String | float | bool]
Sentence = Annotated[list[Token], Meta(max_length=MAX_TOKENS)]


class Tag(ModelBody, frozen=True):
    """Sentences to tag: ``text`` with one sentence per line, or ``sentences`` of tokens.

    A token is a string, a list of its columns, or, for models without a template, its features.
    """

    text: Text | None = None
    sentences: Annotated[list[Sentence], Meta(max_length=MAX_SENTENCES)] | None = None
    nbest: Annotated[int, Meta(ge=0, le=20)] = 0
    marginals: bool = False


class Correct(Body, frozen=True):
    """A sentence with its correct labels."""

    sentence: Sentence
    labels: Annotated[list[String], Meta(max_length=MAX_TOKENS)]
    model: String | None = None


async def tag(call: Call) -> Any:
    """Tag sentences; ``marginals`` adds spans and probabilities, ``nbest`` alternatives."""
    body: Tag = call.body
    entry = call.state.registry.get(body.model, "tagger")
    estimator = await call.estimator(entry)
    sentences = body.sentences if body.text is None else split_text(body.text, entry)
    if sentences is None:
        raise RequestError(422, "give text or sentences")
    n_tokens = sum(map(len, sentences))
    _refuse_heavy(entry, sentences, body.nbest, body.marginals)
    rows = await call.state.run(
        lambda: [to_rows(entry, sentence, f"sentences[{k}]") for k, sentence in enumerate(sentences)],
        brief=n_tokens < BRIEF_TOKENS,
    )
    key = (id(estimator), body.nbest, body.marginals)
    answers = await call.state.batcher.submit(
        key, lambda batch: _tag_all(estimator, batch, body.nbest, body.marginals), rows
    )
    found = await call.state.run(
        lambda: [
            {"tokens": [display(token) for token in sentence], **answer}
            for sentence, answer in zip(sentences, answers, strict=True)
        ],
        brief=n_tokens < BRIEF_TOKENS,
    )
    return {"model": entry.name, "sentences": found}


def _refuse_heavy(
    entry: LoadedModel, sentences: Sequence[Sequence[Any]], nbest: int, marginals: bool
) -> None:
    """Refuse a request that would take seconds, before any of it is done.

    The work of ``nbest`` grows with labellings times tokens, that of ``marginals`` with labels times tokens and with
    spans (at most one in two tokens) times tokens.
    """
    work, n_labels = 0, len(entry.estimator.classes_)
    for sentence in sentences:
        n = len(sentence)
        work += n * (1 + nbest + (n_labels + n // 2 if marginals else 0))
    if work > MAX_WORK and (nbest or marginals):
        raise RequestError(
            413, f"nbest and marginals of so many tokens are {work / MAX_WORK:.1f} times too much work; "
            "send fewer or shorter sentences at once", "sentences",
        )  # fmt: skip


def _tag_all(estimator: Any, rows: list[Any], nbest: int, marginals: bool) -> list[dict[str, Any]]:
    """Tag the sentences of many requests in one call of the model."""
    full = [k for k, sentence in enumerate(rows) if sentence]
    some = [rows[k] for k in full]
    if (nbest or marginals) and not hasattr(estimator, "predict_nbest"):
        raise RequestError(422, f"a {type(estimator).__name__} gives labels alone, no nbest and no marginals")
    found: list[dict[str, Any]] = [{"labels": []} for _ in rows]
    for k, labels in zip(full, estimator.predict(some) if some else [], strict=True):
        found[k]["labels"] = labels
    if marginals and some:
        spans = [find_spans(found[k]["labels"]) for k in full]
        chances = estimator.confidence(
            some,
            [
                [(start, found[k]["labels"][start:end]) for _, start, end in own if end - start > 1]
                for k, own in zip(full, spans, strict=True)
            ],
        )
        per_token = estimator.predict_marginals(some)
        for k, own, tokens, chance in zip(full, spans, per_token, chances, strict=True):
            longer = iter(chance)
            found[k]["marginals"] = [_rounded(token) for token in tokens]
            found[k]["spans"] = [
                {
                    "start": start,
                    "end": end,
                    "label": label,
                    "probability": next(longer)
                    if end - start > 1
                    else tokens[start][found[k]["labels"][start]],
                }
                for label, start, end in own
            ]
    if nbest and some:
        for k, ways in zip(full, estimator.predict_nbest(some, nbest), strict=True):
            found[k]["nbest"] = [{"labels": labels, "probability": p} for labels, p in ways]
    return found


def _rounded(token: dict[str, float]) -> dict[str, float]:
    """Return the probabilities above a millionth, rounded to six decimals."""
    return {label: round(p, 6) for label, p in token.items() if p > 1e-6}


def find_spans(labels: Sequence[str]) -> list[tuple[str, int, int]]:
    """Return label, start and end of the chunks of a sentence, or of each labelled token.

    Examples
    --------
    >>> find_spans(["B-NP", "I-NP", "O", "B-VP"]), find_spans(["DT", "NN"])
    ([('NP', 0, 2), ('VP', 3, 4)], [('DT', 0, 1), ('NN', 1, 2)])
    """
    if are_chunk_labels(labels):
        return chunks(labels)
    return [(label, k, k + 1) for k, label in enumerate(labels) if label != "O"]


def split_text(text: str, entry: LoadedModel) -> list[list[Any]]:
    """Split each line into words; models of several columns read one token per line."""
    if entry.n_columns == 1:
        found: list[list[Any]] = [_WORD.findall(line) for line in text.splitlines() if line.strip()]
    else:
        blocks = re.split(r"\n\s*\n", text.strip())
        found = [[line.split() for line in block.splitlines() if line.strip()] for block in blocks]
    if len(found) > MAX_SENTENCES or max(map(len, found), default=0) > MAX_TOKENS:
        raise RequestError(413, f"at most {MAX_SENTENCES} sentences of {MAX_TOKENS} tokens at once", "text")
    return found


def to_rows(entry: LoadedModel, sentence: Sequence[Any], field: str = "sentence") -> list[Any]:
    """Convert a sentence to the input of its model; refuse tokens of another shape."""
    n = entry.n_columns
    if n == 0:
        wrong = next((k for k, token in enumerate(sentence) if isinstance(token, str)), None)
        if wrong is not None:
            raise RequestError(
                422, "this model takes features: a list of strings or an object", f"{field}[{wrong}]"
            )
        return list(sentence)
    if n == 1 and set(map(type, sentence)) == {str} and all(map(str.strip, sentence)):
        return list(sentence)
    rows = []
    for k, token in enumerate(sentence):
        cells = [token] if isinstance(token, str) else token
        if isinstance(cells, dict) or len(cells) != n:
            shape = f'a list of {n} strings, one per column, such as ["dog", "NN"{", ..." * (n > 2)}]'
            found = "an object" if isinstance(cells, dict) else f"{len(cells)} columns"
            expected = "a string" if n == 1 else shape
            raise RequestError(
                422, f"expected {expected} for each token of this model, not {found}", f"{field}[{k}]"
            )
        if not all(cell and not cell.isspace() for cell in cells):
            raise RequestError(422, "a column of a token is empty", f"{field}[{k}]")
        rows.append(tuple(cells))
    return rows


def display(token: Any) -> str:
    """Return the text that stands for a token on the page."""
    if isinstance(token, dict):
        return " ".join(f"{name}={value}" for name, value in token.items())
    return token if isinstance(token, str) else str(token[0]) if token else ""


def explain_token(entry: LoadedModel, estimator: Any, sentence: Sequence[Any], token: int) -> dict[str, Any]:
    """Return the weights for a token's label against the runner-up, with features in words."""
    if not hasattr(estimator, "explain"):
        raise RequestError(422, f"a {type(estimator).__name__} cannot explain its labels; a CRF can")
    found = asdict(estimator.explain(to_rows(entry, sentence), token))
    with_meanings(found["terms"], entry.template)
    return found


def with_meanings(terms: Sequence[dict[str, Any]], template: Template | None) -> None:
    """Add to each term its feature in words, as the lines of a template describe it."""
    for term in terms:
        term["meaning"] = term["feature"] if template is None else template.meaning(term["feature"])


async def learn(call: Call) -> Any:
    """Learn a corrected sentence (``partial_fit``); only this session sees the change."""
    body: Correct = call.body
    entry = call.state.registry.get(body.model, "tagger")
    rows = to_rows(entry, body.sentence)
    if not rows or len(rows) != len(body.labels):
        raise RequestError(422, f"{len(body.labels)} labels for {len(rows)} tokens", "labels")
    known = {str(label) for label in entry.estimator.classes_}
    for k, label in enumerate(body.labels):
        if label not in known:
            raise RequestError(422, f"the model has no label {label[:40]!r}", f"labels[{k}]")
    if not hasattr(entry.estimator, "partial_fit") or not hasattr(entry.estimator, "to_bytes"):
        raise RequestError(422, f"a {type(entry.estimator).__name__} does not learn from corrections")
    session = call.state.sessions.get_or_create(call.session)

    def work() -> int:
        with session.lock:
            copy = type(entry.estimator).from_bytes(
                session.models.get(entry.name) or entry.estimator.to_bytes()
            )
            copy.partial_fit([rows], [body.labels])
            session.models[entry.name] = copy.to_bytes()
            session.learnt[entry.name] = session.learnt.get(entry.name, 0) + 1
            return session.learnt[entry.name]

    return {"model": entry.name, "learnt": await call.state.run(work)}


async def forget(call: Call) -> Any:
    """Discard the corrections that this session taught a model."""
    entry = call.state.registry.get(call.body.model)
    session = call.state.sessions.find(call.session)
    if session is None or session.models.pop(entry.name, None) is None:
        raise RequestError(422, "nothing learnt yet in this session; there is nothing to forget")
    session.learnt.pop(entry.name, None)
    return {"model": entry.name, "learnt": 0}


async def download(call: Call) -> Any:
    """Download the tagger with the corrections of this session as a model file."""
    entry = call.state.registry.get(call.body.model, "tagger")
    estimator = await call.estimator(entry)
    if not hasattr(estimator, "to_bytes"):
        raise RequestError(422, f"a {type(estimator).__name__} cannot be downloaded")
    return RawResponse(
        await call.state.run(estimator.to_bytes), "application/octet-stream", f"{entry.name}.epigram"
    )


OPERATIONS = [
    Operation("POST", "/v1/tag", tag, Tag, {"sentences": [["The", "dog", "barks", "."]], "marginals": True}),
    Operation("POST", "/v1/tag/learn", learn, Correct),
    Operation("POST", "/v1/tag/forget", forget, ModelBody),
    Operation("POST", "/v1/tag/model", download, ModelBody),
]
