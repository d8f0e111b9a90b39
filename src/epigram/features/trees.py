"""Sentences with a parent for each token, and their encoding."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from epigram._core.arrays import offsets
from epigram.errors import InputError, each
from epigram.features.columns import Columns
from epigram.features.sequences import Sequences
from epigram.protocols import Ints, Offsets


@dataclass(frozen=True, slots=True)
class Trees:
    """Sentences with the parent of every token.

    Attributes
    ----------
    nodes : columns, or for each sentence a list of tokens as rows or features.
    parents : of every token the number of its parent in its sentence, counted from 0; -1 for a root. A sentence may
        have several roots.

    Examples
    --------
    >>> trees = Trees.of([([1, -1], [["w=the"], ["w=dog"]])])
    >>> trees.parents, len(trees)
    (array([ 1, -1], dtype=int32), 1)
    """

    nodes: Any = field(repr=False)
    parents: Ints

    @classmethod
    def of(cls, X: Any) -> Trees:
        """Return trees, or make them from pairs (parents, tokens), one per sentence."""
        if isinstance(X, Trees):
            return X
        parents: list[Sequence[int]] = []
        nodes: list[Any] = []
        for s, tree in enumerate(each(X, "X", "trees")):
            try:
                own, tokens = tree
            except (TypeError, ValueError):
                raise InputError(f"tree {s} must be a pair (parents, tokens), not {tree!r:.60}") from None
            own, tokens = list(own), list(tokens)
            if len(own) != len(tokens):
                raise InputError(f"tree {s} has {len(tokens)} tokens, but {len(own)} parents")
            parents.append(own)
            nodes.append(tokens)
        ptr = offsets([len(own) for own in parents])
        try:
            flat = np.array(list(itertools.chain.from_iterable(parents)), dtype=np.int32)
        except (TypeError, ValueError, OverflowError):
            raise InputError("parents must be whole numbers, -1 for a root") from None
        check_parents(flat, ptr)
        return cls(nodes, flat)

    def __len__(self) -> int:
        return self.nodes.n_sentences if isinstance(self.nodes, Columns) else len(self.nodes)


def depths_of(parents: Ints, sentence_ptr: Offsets) -> Offsets:
    """Return each token's depth below its root; -1 on a cycle or below one."""
    lengths = np.diff(sentence_ptr)
    at = np.where(parents >= 0, parents + np.repeat(sentence_ptr[:-1], lengths), -1)
    depths = np.where(at < 0, 0, -1).astype(np.int64)
    for _ in range(int(lengths.max(initial=0))):
        waiting = np.flatnonzero(depths < 0)
        above = depths[at[waiting]]
        if not (above >= 0).any():
            break
        depths[waiting[above >= 0]] = above[above >= 0] + 1
    return depths


def check_parents(parents: Ints, sentence_ptr: Offsets) -> None:
    """Refuse parents outside the sentence, and cycles."""
    lengths = np.repeat(np.diff(sentence_ptr), np.diff(sentence_ptr))
    wrong = np.flatnonzero((parents < -1) | (parents >= lengths))
    why = "is outside the sentence"
    if not len(wrong):
        wrong = np.flatnonzero(depths_of(parents, sentence_ptr) < 0)
        why = "closes a cycle"
    if len(wrong):
        t = int(wrong[0])
        s = int(np.searchsorted(sentence_ptr, t, side="right")) - 1
        raise InputError(
            f"tree {s}, token {t - int(sentence_ptr[s])}: parent {int(parents[t])} {why}; "
            "parents are counted from 0, and -1 is a root"
        )


def hang(sequences: Sequences, parents: Ints) -> Sequences:
    """Encoded tokens as trees; the attributes of transitions into roots are dropped."""
    if len(parents) != sequences.n_tokens:
        raise InputError(f"{len(parents)} parents for {sequences.n_tokens} tokens")
    kept = np.repeat(parents >= 0, np.diff(sequences.edge_ptr))
    ptr = offsets(kept)[sequences.edge_ptr].astype(np.int64)
    return replace(sequences, edge_ptr=ptr, edge_attributes=sequences.edge_attributes[kept], parents=parents)
