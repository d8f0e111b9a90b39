"""Reads the model files of all taggers, with or without a reranker."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from epigram.chain import storage as chain
from epigram.errors import ModelFileError
from epigram.storage import ModelFile, Section
from epigram.tagging.stacked.reranker import RERANKER, reranker_of

KINDS = {
    "tree": ("epigram.parsing.tree_tagger", "TreeTagger"),
    "segment": ("epigram.tagging.segment", "SegmentTagger"),
    "crf": ("epigram.tagging.crf", "CRFTagger"),
    "maxent": ("epigram.tagging.maxent", "MaxentClassifier"),
    "history": ("epigram.tagging.history", "MaxentTagger"),
}
"""Modules and classes by the field ``kind`` of the header."""
to_model_file = chain.to_model_file


def from_model_file(file: ModelFile) -> Any:
    """Return the estimator that a file holds."""
    kind = file.header.get("kind")
    if kind not in KINDS:
        raise ModelFileError(f"unknown kind of tagger {kind!r}; upgrade epigram to read it")
    module, name = KINDS[kind]
    estimator = chain.restore(getattr(import_module(module), name)(), file)
    if RERANKER not in file.header:
        return estimator
    from epigram.tagging.stacked.reranked import RerankedTagger

    return RerankedTagger.of_file(estimator, file)


def describe(file: ModelFile) -> list[Section]:
    """Describe a model: size, strongest features, transitions and reranker weights."""
    sections = chain.describe(file)
    if reranker := reranker_of(file):
        strongest = sorted(reranker.weights.items(), key=lambda item: -abs(item[1]))[:20]
        rows: list[tuple[Any, ...]] = [("log p by the tagger", reranker.base_weight), *strongest]
        title = f"reranker of {reranker.k} labellings: {len(reranker.weights)} weights"
        sections.append(Section(title, ("feature", "weight"), rows))
    return sections


def weights(file: ModelFile) -> tuple[tuple[str, ...], Iterator[tuple[Any, ...]]]:
    """List every weight of the chain model, then those of the reranker."""
    columns, chain_rows = chain.weights(file)

    def rows() -> Iterator[tuple[Any, ...]]:
        yield from chain_rows
        reranker = reranker_of(file)
        for name, weight in [] if reranker is None else reranker.weights.items():
            kind, _, feature = name.partition(" ")
            yield feature, "", kind, weight

    return columns, rows()
