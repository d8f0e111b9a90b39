"""The shards of a log-linear model as one tree again: contexts with weights, and what they are spelled with."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from epigram.lm.loglinear.tree import ContextTree, Positions
from epigram.protocols import Floats, Ints

if TYPE_CHECKING:
    from epigram.lm.loglinear.sharded import Split


def joined(split: Split, shared: Floats, found: list[Any]) -> tuple[ContextTree, Floats]:
    """One tree of all contexts that have weights, and of what they are spelled with."""
    known, w = _end_to_end(split, shared, found)
    spelled = _contexts(known)
    tree = ContextTree.grow(_spelling(known, spelled, w), split.shared.order)
    return tree, tree.carry_over(known, w)


def _end_to_end(split: Split, shared: Floats, found: list[Any]) -> tuple[ContextTree, Floats]:
    """The shards' contexts level by level: ranges of words stand in order, so their levels follow each other."""
    n_levels = max(len(parents) for parents, *_ in found)
    n_targets, top = split.shared.n_targets, split.shared
    at_pair = []
    for _, _, pairs, words, weights in found:
        bounds = np.cumsum([0, *(int(level.sum()) for level in pairs)])
        at_pair.append([(words[a:b], weights[a:b]) for a, b in pairwise(bounds.tolist())])
    again = [
        k > 0 and recipe.before is not None and recipe.low == split.recipes[k - 1].low
        for k, recipe in enumerate(split.recipes)
    ]
    parent, symbol, pairs_of, word, weight = [], [], [], [], []
    # base[k]: the number in the whole of the first context of shard k's level above, less its number in the shard
    base, n, levels = [0] * len(found), 1, [0, 1]
    for level in range(n_levels):
        below = []
        for k, (parents, symbols, pairs, _, _) in enumerate(found):
            if level >= len(parents):
                below.append(0)
                continue
            first_here = 1 + sum(len(parents[j]) for j in range(level))
            if level == 0 and again[k]:  # the shard before has this word already
                below.append(n - 1 - first_here)
                continue
            parent.append(parents[level] + base[k])
            symbol.append(symbols[level])
            pairs_of.append(pairs[level])
            word.append(at_pair[k][level][0])
            weight.append(at_pair[k][level][1])
            below.append(n - first_here)
            n += len(parents[level])
        base = below
        levels.append(n)
    levels = [a for k, a in enumerate(levels) if k < 2 or a > levels[k - 1]]
    root = np.zeros(n_targets)
    root[top.word[: top.pair_ptr[1]]] = shared[: top.pair_ptr[1]]
    sizes = np.concatenate([[n_targets], *pairs_of]).astype(np.int64)
    tree = ContextTree(
        history=np.zeros(1, np.int32),
        level_ptr=np.array(levels, np.int64),
        parent=np.concatenate([[-1], *parent]).astype(np.int32),
        symbol=np.concatenate([[-1], *symbol]).astype(np.int32),
        depth=np.repeat(np.arange(len(levels) - 1), np.diff(levels)).astype(np.int32),
        example=np.zeros(n, np.int32),
        terminal=np.zeros(n, np.int32),
        pair_ptr=np.concatenate([[0], np.cumsum(sizes)]),
        word=np.concatenate([np.arange(n_targets), *word]).astype(np.int32),
        count=np.zeros(int(sizes.sum()), np.int32),
        pair_parent=np.full(int(sizes.sum()), -1, np.int32),
        n_unseen=np.zeros(1, np.int32),
        order=top.order,
        collapsed=False,
        n_targets=n_targets,
    )
    return tree, np.concatenate([root, *weight])


def _contexts(tree: ContextTree) -> list[Ints]:
    """Of each level from 1 on, the symbols of its contexts, oldest first."""
    levels: list[Ints] = [np.empty((1, 0), np.int32)]
    for a, b, above in zip(
        tree.level_ptr[1:-1].tolist(), tree.level_ptr[2:].tolist(), tree.level_ptr[:-2].tolist(), strict=True
    ):
        newer = levels[-1][tree.parent[a:b] - above]
        levels.append(np.concatenate([tree.symbol[a:b, None], newer], axis=1))
    return levels[1:]


def _spelling(tree: ContextTree, contexts: list[Ints], w: Floats) -> Positions:
    """Positions whose tree has these contexts, their pairs, and all that the contexts are spelled with."""
    n_targets = tree.n_targets
    none = np.zeros(n_targets, np.int32)
    ends: list[npt.NDArray[Any]] = [none]
    lengths: list[npt.NDArray[Any]] = [none]
    targets: list[npt.NDArray[Any]] = [np.arange(n_targets, dtype=np.int32)]
    history: list[Ints] = []
    at = 0
    for level, symbols in enumerate(contexts, 1):
        first, last = tree.level_ptr[level : level + 2].tolist()
        starts = (at + level * np.arange(len(symbols))).astype(np.int32)
        sizes = np.diff(tree.pair_ptr[first : last + 1])
        pairs = slice(int(tree.pair_ptr[first]), int(tree.pair_ptr[last]))
        ends.append(np.repeat(starts + level, sizes))
        lengths.append(np.full(pairs.stop - pairs.start, level, np.int32))
        targets.append(tree.word[pairs])
        for k in range(1, level):  # the k + 1st word of the context after its first k
            ends.append(starts + k)
            lengths.append(np.full(len(symbols), k, np.int32))
            targets.append(symbols[:, k])
        history.append(symbols.ravel())
        at += symbols.size
    text = np.concatenate([np.empty(0, np.int32), *history]).astype(np.int32)
    if not text.size:
        text = np.zeros(1, np.int32)
    end, length, target = (np.concatenate(some) for some in (ends, lengths, targets))
    return Positions(text, end, length, target, n_targets, n_targets)
