"""Back-off models in the model file: the forward trie of :mod:`epigram.lm.ngram.model`, as differences, compressed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from epigram._core.native import offsets
from epigram.lm.base import MAPPED
from epigram.lm.corpus import BOUNDARY, START, Vocabulary, pack_words, unpack_words
from epigram.lm.ngram.model import BackoffModel, Links
from epigram.lm.storage import FAMILY, HEADER
from epigram.protocols import Floats
from epigram.storage import ModelFile, Section
from epigram.storage.arrays import (
    PACKED,
    Array,
    Schema,
    differences,
    pack_integers,
    pack_weights,
    unpack_weights,
)
from epigram.storage.arrays import weights as weights_schema

LARGEST_LOG = 1e-3
"""Of a probability, rounding included."""


def to_model_file(model: BackoffModel, settings: dict[str, Any], bits: int, fit: dict[str, Any]) -> ModelFile:
    """A model as header and arrays; ``settings`` and ``fit`` go into the header."""
    tensors = {
        **pack_words(model.vocabulary_),
        "node_pair": pack_integers(np.diff(model.node_pair[1:], prepend=0)),
        "pairs": pack_integers(np.diff(model.pair_ptr)),
        "targets": pack_integers(differences(model.pair_word, model.pair_node)),
        **{f"logp.{name}": tensor for name, tensor in pack_weights(model.pair_logp, bits).items()},
        **{f"bow.{name}": tensor for name, tensor in pack_weights(model.node_bow, bits).items()},
    }
    known = {"ngrams": model.n_ngrams, "order": model.order}
    header = {"settings": {"model": "backoff", **settings, "bits": bits}, "fit": {**known, **fit}}
    possibly_zero = [name for name in tensors if name.startswith(("logp.", "bow."))]
    return ModelFile(FAMILY, header, tensors, possibly_zero)


MAPPED_ARRAYS = {
    "node_pair": Array(np.int64, ("nodes",), least=-1),
    "pair_ptr": Array(np.int64, ("nodes+1",)),
    "pair_word": Array(np.int32, ("ngrams",)),
    "pair_logp": Array(np.float64, ("ngrams",), below=LARGEST_LOG, infinite="-"),
    "node_bow": Array(np.float64, ("nodes",), infinite="-"),
    "pair_node_of": Array(np.int32, ("ngrams",), least=-1),
    "node_parent": Array(np.int32, ("nodes",), least=-1),
    "node_depth": Array(np.int32, ("nodes",)),
    "pair_next": Array(np.int32, ("ngrams",)),
}
"""A model in a file that is mapped: the arrays as :class:`BackoffModel` names and uses them."""


def mapped(model: BackoffModel) -> dict[str, Any]:
    """Those arrays of a model."""
    return {f"{MAPPED}{name}": getattr(model, name) for name in MAPPED_ARRAYS}


def from_mapped(file: ModelFile, vocabulary: Vocabulary) -> BackoffModel | None:
    """The model whose arrays lie in a file as they are used; None where a file has none."""
    if f"{MAPPED}pair_ptr" not in file.tensors:
        return None
    found: dict[str, Any] = Schema({}, MAPPED_ARRAYS).read_arrays(file.tensors, MAPPED)
    node_pair, pair_ptr, pair_word, pair_logp, node_bow, pair_node_of, *links = found.values()
    trie = node_pair, pair_ptr, pair_word, pair_logp, node_bow
    return BackoffModel.stored(vocabulary, trie, pair_node_of, Links(*links))


ARRAYS = {
    "node_pair": Array(PACKED, ("contexts",), steps=True, below="ngrams"),
    "pairs": Array(PACKED, ("nodes",), total="ngrams"),
    "targets": Array(PACKED, ("ngrams",), per_count="pairs", below="words"),
    **weights_schema("ngrams", "logp.", below=LARGEST_LOG, infinite="-"),
    **weights_schema("nodes", "bow.", infinite="-"),
}


def from_model_file(file: ModelFile) -> BackoffModel:
    """The model of a file."""
    vocabulary = unpack_words(file.tensors)
    if (model := from_mapped(file, vocabulary)) is not None:
        return model
    found = Schema(HEADER, ARRAYS).read(file, words=len(vocabulary))

    def numbers(prefix: str) -> Floats:
        names = [name for name in found if name.startswith(prefix)]
        return unpack_weights({name.removeprefix(prefix): found[name] for name in names})

    return BackoffModel(
        vocabulary,
        np.concatenate(([-1], found["node_pair"])),
        offsets(found["pairs"]),
        found["targets"].astype(np.int32),
        numbers("logp."),
        numbers("bow."),
    )


def describe(file: ModelFile) -> list[Section]:
    """N-grams per order."""
    model = from_model_file(file)
    lengths = model.node_depth[model.pair_node] + 1
    rows = [(int(n), int(k)) for n, k in zip(*np.unique(lengths, return_counts=True), strict=True)]
    return [Section("n-grams", ("order", "number"), rows)]


def weights(file: ModelFile) -> tuple[tuple[str, ...], Iterator[tuple[Any, ...]]]:
    """Every n-gram with its natural log-probability, and the back-off weight that it has as a context (0 for none)."""
    return ("attribute", "label", "weight", "backoff"), ngram_rows(from_model_file(file))


def ngram_rows(model: BackoffModel) -> Iterator[tuple[Any, ...]]:
    """Context, word, log-probability and back-off weight of every n-gram, short ones first."""
    words, home = model.vocabulary_.words, model.pair_node
    for depth in range(model.order):
        nodes = np.flatnonzero(model.node_depth == depth).astype(np.int32)
        contexts = dict(zip(nodes.tolist(), model.spell(nodes).tolist(), strict=True))
        for pair in np.flatnonzero(model.node_depth[home] == depth).tolist():
            context = " ".join(START if k == BOUNDARY else words[k] for k in contexts[int(home[pair])])
            node = int(model.pair_node_of[pair])
            backoff = float(model.node_bow[node]) if node >= 0 else 0.0
            yield context, words[model.pair_word[pair]], float(model.pair_logp[pair]), backoff
