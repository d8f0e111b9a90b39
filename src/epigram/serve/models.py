"""Routes to list, describe, download and upload models, and to search their weights.

The weights of n-gram models, alone, in a mixture or in a converter, can have millions of rows: the probabilities stay
in the arrays of the model, and only the rows of a page get names. For other models the rows with the largest weights
are kept.
"""

from __future__ import annotations

import asyncio
import heapq
import tempfile
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta

from epigram.ime.converter import KanaKanjiConverter
from epigram.lm import storage as lm_storage
from epigram.lm.mixture import InterpolatedLM
from epigram.lm.ngram.backoff import BackoffModel
from epigram.lm.storage import parts_of
from epigram.lm.vocabulary import BOUNDARY, END, START
from epigram.serve.http import Body, RequestError, String
from epigram.serve.registry import LoadedModel, load_model
from epigram.serve.state import Call, Operation, RawResponse
from epigram.storage import ModelFile
from epigram.storage.file import weights as stored_weights

MAX_WEIGHT_PAGES = 4


class WeightQuery(Body, frozen=True):
    """A page of the weights whose names contain all words of ``q``.

    The order ``size`` sorts n-grams by probability and other weights by absolute value, largest first.
    """

    q: String = ""
    order: Literal["size", "largest", "smallest"] = "size"
    first: Annotated[int, Meta(ge=0, le=10_000_000)] = 0
    count: Annotated[int, Meta(ge=1, le=100)] = 25


async def models(call: Call) -> Any:
    """List the loaded models; a request that names none uses the first of its family."""
    return {"models": [entry.record for entry in call.state.registry], "uploads": call.state.uploads}


async def model(call: Call) -> Any:
    """Describe a model: settings, fit, training history and largest weights."""
    entry = call.state.registry.get(call.name)
    header = entry.header
    sections = {section.title: section.records() for section in entry.sections}
    return {
        **entry.record,
        "epigram": header.get("epigram"),
        "settings": header.get("settings", {}),
        "fit": header.get("fit", {}),
        "history": header.get("history", []),
        "sections": sections,
    }


async def weights(call: Call) -> Any:
    """Search, sort and page the weights of a model."""
    entry = call.state.registry.get(call.name)
    query: WeightQuery = call.body

    def work() -> Any:
        pages = _weight_pages(call.state.weight_pages, entry)
        n, rows = pages.page(query.q, query.order, query.first, query.count)
        return {"columns": pages.columns, "total": n, "first": query.first, "rows": rows}

    return await call.state.run(work)


def _weight_pages(cache: dict[str, tuple[LoadedModel, WeightPages]], entry: LoadedModel) -> WeightPages:
    """Return the weights of a model; a few are cached."""
    owner, pages = cache.get(entry.name, (None, None))
    if owner is not entry or pages is None:
        pages = WeightPages(entry)
        cache.pop(entry.name, None)
        cache[entry.name] = (entry, pages)
        while len(cache) > MAX_WEIGHT_PAGES:
            cache.pop(next(iter(cache)))
    return pages


async def file(call: Call) -> Any:
    """Download the file of a model."""
    entry = call.state.registry.get(call.name)
    return RawResponse(entry.path.open("rb"), "application/octet-stream", f"{entry.name}.epigram")


async def upload(call: Call) -> Any:
    """Load a model file; refused unless the server was started with --uploads."""
    state = call.state
    if not state.uploads:
        raise RequestError(403, "uploads are off; start epigram serve with --uploads")
    if state.registry.count("uploaded") >= state.limits.trained_models:
        raise RequestError(
            422, f"{state.limits.trained_models} models are uploaded already; restart to forget them"
        )
    name = state.registry.reserve("uploaded", "uploaded")

    def work() -> LoadedModel:
        number, made = tempfile.mkstemp(".epigram", "upload-", state.folder)
        path = Path(made)
        try:
            with open(number, "wb") as file:
                file.write(call.body)
            return load_model(name, path, "uploaded")
        except Exception as error:
            path.unlink()
            raise RequestError(422, str(error).replace(made, "the file")) from None

    async def take() -> LoadedModel:
        try:
            entry: LoadedModel = await state.run(work)
            state.registry.put(entry)
            return entry
        finally:
            state.registry.release(name)

    # a client that disconnects does not stop the thread, so that the file and the name stay accounted for
    return (await asyncio.shield(asyncio.ensure_future(take()))).record


MAX_ROWS = 100_000
"""Rows that are kept of a model whose weights are listed one by one."""
_NUMBERS = ("weight", "backoff")
Row = tuple[str, ...]


class ListedWeights:
    """The rows with the largest weights of a model that lists them one by one."""

    def __init__(self, prefix: Row, columns: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> None:
        weight = columns.index("weight")
        named = [k for k, name in enumerate(columns) if name not in _NUMBERS]
        kept = heapq.nlargest(MAX_ROWS, rows, key=lambda row: abs(row[weight]))
        self._rows = [(*prefix, *(str(row[k]) for k in named)) for row in kept]
        self.weights = np.array([row[weight] for row in kept], dtype=np.float64)
        self.strength = np.abs(self.weights)

    def row(self, k: int) -> Row:
        """Return the names of a row."""
        return self._rows[k]

    def contains(self, needle: str) -> Any:
        """Return a mask of the rows that contain the text."""
        return np.array([needle in " ".join(row).lower() for row in self._rows], dtype=bool)


class NGramWeights:
    """N-grams of a trie (:mod:`epigram.lm.ngram.backoff`) and their log-probabilities."""

    def __init__(
        self,
        prefix: Row,
        trie: Any,
        logp: Any,
        name: Callable[[int], str],
        names: Callable[[], Iterable[str]],
    ) -> None:
        self._prefix, self._name, self._names = prefix, name, names
        self._node_pair, self._pair_ptr, self._pair_word = trie
        self.weights = self.strength = logp

    def row(self, k: int) -> Row:
        """Return context and word of an n-gram."""
        return *self._prefix, " ".join(self._context(k)), self._name(int(self._pair_word[k]))

    def _context(self, pair: int) -> list[str]:
        found: list[str] = []
        while node := int(np.searchsorted(self._pair_ptr, pair, side="right")) - 1:
            pair = int(self._node_pair[node])
            word = int(self._pair_word[pair])
            found.append(START if word == BOUNDARY else self._name(word))
        return found[::-1]

    def contains(self, needle: str) -> Any:
        """Return a mask of the n-grams with a word that contains the text."""
        if any(needle in name.lower() for name in self._prefix):
            return np.ones(self._pair_word.size, bool)
        hit = np.fromiter((needle in name.lower() for name in self._names()), dtype=bool)
        own = hit[self._pair_word]
        above = np.searchsorted(self._pair_ptr, self._node_pair, side="right") - 1
        above[0] = 0
        hit[BOUNDARY] = needle in START
        held = hit[self._pair_word[self._node_pair]]  # by the last word of each node's context
        held[0] = False
        while (wider := held | held[above]).sum() > held.sum():
            held = wider
        return own | np.repeat(held, np.diff(self._pair_ptr))


class WeightPages:
    """Searchable, sorted rows of a model, each with one weight."""

    def __init__(self, entry: LoadedModel) -> None:
        columns, self._parts = _read(entry)
        self.columns = (*(name for name in columns if name not in _NUMBERS), "weight")
        self._starts = np.cumsum([0, *(part.weights.size for part in self._parts)])

    def page(self, text: str, order: str, first: int, count: int) -> tuple[int, list[list[Any]]]:
        """Return the number of rows that contain all words of a text, and one page of them, sorted."""
        masks, keys = [], []
        for part in self._parts:
            held = [part.contains(needle) for needle in text.lower().split()]
            masks.append(np.logical_and.reduce(held) if held else np.ones(part.weights.size, bool))
            keys.append(
                -part.strength if order == "size" else part.weights * (1 if order == "smallest" else -1)
            )
        wanted = np.flatnonzero(np.concatenate(masks))
        n_wanted = wanted.size
        wanted = wanted[np.argsort(np.concatenate(keys)[wanted], kind="stable")[first : first + count]]
        rows: list[list[Any]] = []
        for k in wanted.tolist():
            p = int(np.searchsorted(self._starts, k, side="right")) - 1
            part, own = self._parts[p], k - int(self._starts[p])
            rows.append([*part.row(own), float(part.weights[own])])
        return n_wanted, rows


def _read(entry: LoadedModel) -> tuple[tuple[str, ...], list[ListedWeights | NGramWeights]]:
    """Return the columns and the parts of a model."""
    estimator = entry.estimator
    if isinstance(estimator, KanaKanjiConverter):
        scorer, lexicon = estimator.decoder.scorer, estimator.decoder.lexicon
        found: list[ListedWeights | NGramWeights] = [
            NGramWeights(
                ("language model",),
                scorer.trie,
                scorer.tables.pair_logp,
                lambda k: lexicon.token(k) if k != BOUNDARY else END,
                lambda: chain([END], lexicon.tokens()),
            )
        ]
        if estimator.reranker is not None:
            space, values = estimator.reranker.space_, estimator.reranker.weights_
            rows = ((space.name(k), "", float(values[k])) for k in np.flatnonzero(values).tolist())
            found.append(ListedWeights(("reranker",), ("attribute", "label", "weight"), rows))
        return ("part", "attribute", "label"), found
    if isinstance(estimator, BackoffModel):
        return ("attribute", "label"), [_ngrams((), estimator)]
    if isinstance(estimator, InterpolatedLM):
        files = parts_of(ModelFile.load(entry.path))
        found = [
            _ngrams((str(k),), model)
            if isinstance(model, BackoffModel)
            else ListedWeights((str(k),), *_three(lm_storage.weights(file)))
            for k, (model, file) in enumerate(zip(estimator.models, files, strict=True))
        ]
        return ("model", "attribute", "label"), found
    columns, all_rows = stored_weights(entry.path)
    return columns, [ListedWeights((), columns, all_rows)]


def _ngrams(prefix: Row, model: BackoffModel) -> NGramWeights:
    trie, words = (model.node_pair, model.pair_ptr, model.pair_word), model.vocabulary_.words
    return NGramWeights(prefix, trie, model.pair_logp, lambda k: words[k], lambda: words)


def _three(
    listed: tuple[tuple[str, ...], Iterable[tuple[Any, ...]]],
) -> tuple[Row, Iterator[tuple[Any, ...]]]:
    """Keep the columns that the parts of a mixture share."""
    names = ("attribute", "label", "weight")
    places = [listed[0].index(name) for name in names]
    return names, (tuple(row[k] for k in places) for row in listed[1])


OPERATIONS = [
    Operation("GET", "/v1/models", models),
    Operation("POST", "/v1/models", upload, upload=True, binary=True),
    Operation("GET", "/v1/models/{name}", model),
    Operation("GET", "/v1/models/{name}/weights", weights, WeightQuery),
    Operation("GET", "/v1/models/{name}/file", file),
]
