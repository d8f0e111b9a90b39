"""Log-linear models in model files: the weights that are not 0, on the tree of contexts.

Contexts stand in level order by (parent, symbol), their pairs sorted by word, everything as differences, compressed
(:mod:`epigram.storage.quantise`). Besides the weights that are not 0 the pairs that their contexts are spelled with are
kept. Reading makes a tree of the kept pairs; a pair hangs below its nearest kept ancestor, as weights in between are
0. Counts are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram._core import bindings
from epigram._core.arrays import offsets, ranges
from epigram.lm.loglinear.loss import SuffixLoss
from epigram.lm.loglinear.model import LogLinearLM
from epigram.lm.loglinear.penalties import Strength, named
from epigram.lm.loglinear.tree import ContextTree
from epigram.lm.ngram.storage import arrays_in_place, use_in_place
from epigram.lm.storage import (
    FAMILY,
    IN_PLACE,
    check_unknown,
    pack_text,
    pack_words,
    settings_of,
    unpack_text,
    unpack_words,
    with_solver,
)
from epigram.lm.vocabulary import BOUNDARY, START, Vocabulary
from epigram.protocols import Floats, Ints
from epigram.storage import ModelFile, Section
from epigram.storage.quantise import narrow, pack_weights, unpack_weights
from epigram.storage.schema import Array, Contents, Maybe, Schema, damaged
from epigram.storage.schema import weights as weights_schema


def to_model_file(
    model: LogLinearLM, bits: int, fit: dict[str, Any], text: bool, compress: bool
) -> ModelFile:
    """A fitted model as header and arrays; ``fit`` adds to the header, ``text`` keeps the text."""
    model.check_fitted()
    tree, w = model.tree_, model.weights_
    nodes, kept = tree.needed_parts(w)
    number = np.full(tree.n_contexts, -1, np.int32)
    number[nodes] = np.arange(nodes.size, dtype=np.int32)
    root = np.zeros(len(model.known_vocabulary_))
    root[tree.word[: tree.pair_ptr[1]]] = w[: tree.pair_ptr[1]]
    below = nodes[1:]
    arrays: dict[str, Callable[[], Any]] = {
        "parent": lambda: number[tree.parent[below]],
        "symbol": lambda: tree.symbol[below],
        "sizes": lambda: np.bincount(tree.per_pair(number)[kept], minlength=nodes.size)[1:],
        "word": lambda: tree.word[kept],
        "weight": lambda: w[kept],
    }
    header = header_of(model, model.strength_, bits, {**_fit(model), **fit})
    file = model_file(model.known_vocabulary_, header, root, lambda name: arrays[name](), bits)
    if tree.collapsed:
        file.tensors["steps"] = narrow(tree.multiplicity[below])
        file.tensors["edges"] = narrow(_edges(tree, below))
    if text and hasattr(model, "corpus_"):
        file.tensors |= pack_text(model.corpus_)
    if not compress:
        in_place = arrays_in_place(model.backoff_)
        file.tensors |= in_place
        file.unbounded = list(in_place)
    return file


def header_of(model: LogLinearLM, strength: Strength, bits: int, fit: dict[str, Any]) -> dict[str, Any]:
    """Settings and fit of a model for the header of its file."""
    numbers = {name: getattr(strength, name) for name in ("strength", "depth_weight", "ridge")}
    penalty = named(model.penalty)[0]
    settings = {"model": "loglinear", **settings_of(model), "penalty": penalty, **numbers, "bits": bits}
    return {"settings": settings, "fit": fit}


def model_file(
    vocabulary: Vocabulary,
    header: dict[str, Any],
    root: Floats,
    array: Callable[[str], npt.NDArray[Any]],
    bits: int,
) -> ModelFile:
    """A tree as a file; calls ``array`` for one array after another, to save memory.

    ``parent``, ``symbol`` and ``sizes`` (pairs) are of its contexts below the root, ``word`` and ``weight`` of pairs.
    """
    sizes, parent = array("sizes"), array("parent")
    tensors = {
        **pack_words(vocabulary),
        "root": root.astype(np.float32),
        "parents": narrow(np.diff(parent, prepend=parent.dtype.type(0))),
        "symbols": narrow(_steps(array("symbol"), np.flatnonzero(np.diff(parent, prepend=-1)))),
        "pairs": narrow(sizes),
    }
    del parent
    starts = (np.cumsum(sizes) - sizes)[sizes > 0]
    del sizes
    tensors["targets"] = narrow(_steps(array("word"), starts))
    return ModelFile(FAMILY, header, tensors | pack_weights(array("weight"), bits))


def _steps(values: Ints, starts: npt.NDArray[np.integer[Any]]) -> Ints:
    """Differences of values that rise within groups; at the ``starts`` of groups the values."""
    out = np.diff(values, prepend=values.dtype.type(0))
    out[starts] = values[starts]
    return out


LARGEST_WEIGHT = 100.0
MOST_POSITIONS, POSITIONS_PER_BYTE = 1 << 20, 1000
"""Of the training text, as far as an update recalls it: so many, and so many more for each byte of the file."""
MOST_STEPS, STEPS_PER_PAIR = 1 << 26, 500
"""From pairs to the roots, all together: so many, and so many more for each pair."""
SCHEMA = Schema(
    {
        "settings": {
            "order": int,
            "strength": float,
            "depth_weight": float,
            "ridge": float,
            "depth_weights": Maybe(str),
        },
        "fit": Maybe({"scales": Maybe([float]), "unknown": Maybe(float), "positions": Maybe(int)}),
    },
    {
        "root": Array(np.float64, ("words",), most=LARGEST_WEIGHT),
        "parents": Array(np.int64, ("contexts",), steps=True, parents=1),
        "symbols": Array(np.int64, ("contexts",), per_parent="parents", below="words"),
        "pairs": Array(np.int64, ("contexts",), total="kept"),
        "targets": Array(np.int64, ("kept",), per_count="pairs", below="words"),
        "edges": Array(np.int64, ("edges",), below="words"),
        "steps": Array(np.int64, ("contexts",), least=1, total="edges+contexts", optional=True),
        **weights_schema("kept", most=LARGEST_WEIGHT),
    },
)


def from_model_file(file: ModelFile) -> LogLinearLM:
    """The fitted model of a file."""
    vocabulary = unpack_words(file.tensors)
    SCHEMA.check_header(file.header)
    known = LogLinearLM().get_params()
    given = with_solver(file.header["settings"])
    model = LogLinearLM(**{name: value for name, value in given.items() if name in known})
    model.open_vocabulary = given.get("open_vocabulary", False)
    fit = file.header.get("fit", {})
    check_unknown(fit, vocabulary)
    n_bytes = sum(array.nbytes for array in file.tensors.values())
    positions = fit.get("positions", 0)
    if positions > MOST_POSITIONS + POSITIONS_PER_BYTE * n_bytes:
        damaged(f"{positions:,} positions of text in a file of {n_bytes:,} bytes")
    corpus = unpack_text(file.tensors, vocabulary)
    packed = {name: array for name, array in file.tensors.items() if not name.startswith(IN_PLACE)}
    stored = partial(_weights, replace(file, tensors=packed), len(vocabulary))
    backoff = use_in_place(file, vocabulary.opened() if "unknown" in fit else vocabulary)
    model.restore(vocabulary, stored, _strength(file), fit, corpus, backoff)
    return model


def _weights(file: ModelFile, n_words: int) -> tuple[SuffixLoss, Floats]:
    """The loss over the tree of a file, and the weights."""
    found = SCHEMA.read(file, words=n_words)
    tree = _tree(found, n_words, file.header["settings"]["order"])
    return SuffixLoss(tree), np.concatenate((found["root"], unpack_weights(found)))


def describe(file: ModelFile) -> list[Section]:
    """Weights that are not 0 per depth, and the heaviest contexts."""
    model = from_model_file(file)
    tree, w = model.tree_, model.weights_
    depth = tree.pair_depth
    rows_by_depth = [
        (int(d), int(np.count_nonzero(w[depth == d])), float(np.abs(w[depth == d]).sum()))
        for d in np.unique(depth)
    ]
    return [
        Section("weights", ("context words", "not zero", "sum of sizes"), rows_by_depth),
        Section("heaviest contexts", ("context", "next word", "weight"), _heaviest(model, 10)),
    ]


def weights(file: ModelFile) -> tuple[tuple[str, ...], Iterator[tuple[Any, ...]]]:
    """Every weight: its context and the next word."""
    model = from_model_file(file)
    return ("attribute", "label", "weight"), _rows(model, np.flatnonzero(model.weights_))


def _heaviest(model: LogLinearLM, k: int) -> list[tuple[str, str, float]]:
    """The largest weights beyond the empty context."""
    below = int(model.tree_.pair_ptr[1])
    best = below + np.argsort(-np.abs(model.weights_[below:]), kind="stable")[:k]
    return list(_rows(model, best))


def _rows(model: LogLinearLM, pairs: Any) -> Iterator[tuple[str, str, float]]:
    """Context, next word and weight of some pairs."""
    tree, w, words = model.tree_, model.weights_, model.vocabulary_.words
    nodes = np.searchsorted(tree.pair_ptr, pairs, side="right") - 1
    for node, pair in zip(nodes.tolist(), pairs.tolist(), strict=True):
        symbols = tree.context(node).tolist()
        context = " ".join(START if symbol == BOUNDARY else words[symbol] for symbol in symbols)
        yield context, words[tree.word[pair]], float(w[pair])


def _fit(model: LogLinearLM) -> dict[str, Any]:
    names = ("objective_", "n_iter_", "reason_", "valid_perplexity_")
    found = {name.rstrip("_"): getattr(model, name) for name in names if hasattr(model, name)}
    if model.scales_ is not None:
        found["scales"] = model.scales_.tolist()
    if model.unknown_:
        found["unknown"] = model.unknown_
    if model.text_digest_:
        found["text_digest"] = model.text_digest_
    found["positions"] = model.n_positions_
    return {**found, "nonzero": model.n_nonzero_, "parameters": model.n_parameters_}


def _edges(tree: ContextTree, nodes: Ints) -> Ints:
    """All symbols that nodes add but the first, oldest first, end to end."""
    depth, above = tree.depth[nodes].astype(np.int64), tree.depth[tree.parent[nodes]].astype(np.int64)
    sizes = depth - above - 1
    starts = tree.example[nodes] - depth
    return np.asarray(tree.history[ranges(starts, starts + sizes)])


def _strength(file: ModelFile) -> Strength:
    settings = file.header["settings"]
    return Strength(
        settings["strength"],
        settings["depth_weight"],
        settings["ridge"],
        depth_weights=settings.get("depth_weights", "groups"),  # all there was before files named it
    )


def _tree(found: Contents, n_words: int, order: int) -> ContextTree:
    """A tree of kept pairs; every word has a pair at the root."""
    parent, symbol, n_pairs, word = (found[name] for name in ("parents", "symbols", "pairs", "targets"))
    n, collapsed, starts = parent.size + 1, "steps" in found, _level_starts(parent)
    limit = MOST_STEPS + STEPS_PER_PAIR * word.size
    if len(starts) ** 2 // 2 > limit:
        damaged(f"its tree has {len(starts):,} levels, too many for its {word.size:,} pairs")
    steps = found["steps"] if collapsed else np.ones(parent.size, np.int64)
    depth = np.zeros(n, np.int32)
    level = np.zeros(n, np.int32)
    for c in starts:
        depth[c.start : c.stop] = depth[parent[c.start - 1 : c.stop - 1]] + steps[c.start - 1 : c.stop - 1]
        level[c.start : c.stop] = level[parent[c.start - 1 : c.stop - 1]] + 1
    if int(level[1:] @ (1 + n_pairs)) > limit:
        damaged("its tree is too deep for its pairs")
    # history holds each node's own symbols, oldest first: the extra ones, then the first (newest).
    ends = np.cumsum(steps)
    history = np.empty(int(ends[-1]) if n > 1 else 0, np.int32)
    newest = np.zeros(history.size, bool)
    newest[ends - 1] = True
    history[newest], history[~newest] = symbol, found["edges"]
    above = depth[np.concatenate(([0], parent))]
    tree = ContextTree(
        history=history,
        level_ptr=offsets(np.bincount(level)),
        parent=np.concatenate(([-1], parent)).astype(np.int32),
        symbol=np.concatenate(([-1], symbol)).astype(np.int32),
        depth=depth,
        example=(np.concatenate(([0], ends)) + above).astype(np.int32),
        terminal=np.zeros(n, np.int32),
        pair_ptr=np.concatenate(([0, n_words], n_words + np.cumsum(n_pairs))).astype(np.int64),
        word=np.concatenate((np.arange(n_words), word)).astype(np.int32),
        count=np.zeros(n_words + word.size, np.int32),
        pair_parent=np.full(n_words + word.size, -1, np.int32),
        n_unseen=np.zeros(1, np.int32),
        order=order,
        collapsed=collapsed,
        n_targets=n_words,
    )
    if not bindings.loglinear_link_pairs(tree.parent, tree.pair_ptr, tree.word, tree.pair_parent):
        damaged("a word of its tree stands twice or out of order")
    return tree


def tree_of(parent: Ints, symbol: Ints, sizes: Ints, word: Ints, n_words: int, order: int) -> ContextTree:
    """A tree of contexts below the root with their pairs; every word has a pair at the root."""
    none = np.empty(0, np.int32)
    found = Contents({})
    found.update(parents=parent, symbols=symbol, pairs=sizes, targets=word, edges=none)
    return _tree(found, n_words, order)


def _level_starts(parent: np.ndarray) -> list[range]:
    """Runs of nodes of one level, from 1 on: each run's parents lie in the run before."""
    runs, start, n = [range(1)], 1, parent.size + 1
    while start < n:
        stop = 1 + int(np.searchsorted(parent, runs[-1].stop))
        runs.append(range(start, stop))
        start = stop
    return runs[1:]
