"""Training on partial labels: the likelihood of all labellings consistent with them.

A sentence is learnt from by the likelihood of all labellings that keep to what is known, log p = log Z' - log Z, where
Z' sums over these labellings (``_core/chain_partial.h``). In arrays a label of -1 - m stands for set m of a
:class:`~epigram.chain.labels.LabelIndex`.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram._core.arrays import split_at
from epigram.chain.labels import LabelIndex, Labels, Sets, check_lengths, is_open, plain_labels
from epigram.chain.seen_pairs import SeenPairs, padded
from epigram.errors import InputError
from epigram.features.columns import Column
from epigram.features.sequences import Sequences
from epigram.files import check_text
from epigram.protocols import Floats, Ints, Offsets


def alternatives(labels: Column, sentence_ptr: Offsets, separator: str) -> Labels:
    """Read labels with alternatives: ``A|B`` is either of two labels, ``|`` alone any label.

    Examples
    --------
    >>> column = Column(np.array([0, 1, 2], dtype=np.int32), ["DT", "NN|VB", "|"])
    >>> alternatives(column, np.array([0, 2, 3]), "|")
    [['DT', ['NN', 'VB']], [None]]
    """
    if len(separator) != 1 or separator.isspace():
        raise InputError(f"alternatives are separated by one character, not {separator!r}")
    read: list[str | list[str] | None] = []
    for cell in labels.strings:
        names = cell.split(separator)
        if cell != separator and "" in names:
            raise InputError(
                f"label {cell!r} has an empty alternative; {separator!r} alone stands for any label"
            )
        read.append(None if cell == separator else names if len(names) > 1 else cell)
    flat = [read[k] for k in labels.ids.tolist()]
    return split_at(flat, sentence_ptr)


def in_part(y: list[list[Any]], sequences: Sequences, index: LabelIndex, known: Collection[Any]) -> Ints:
    flat = [_names(label) for sentence in y for label in sentence]
    everyone = sorted(set(plain_labels(name for names in flat for name in names)))
    check_lengths(y, sequences)
    check_text(map(str, everyone))
    for name in plain_labels([*index, *everyone, *known])[len(index) :]:
        index.setdefault(name, len(index))
    if not index:
        raise InputError("no token has a label; at least one must be known")
    numbers = {names: index.number(names) for names in set(flat)}
    return np.array([numbers[names] for names in flat], dtype=np.int32)


def _names(label: Any) -> tuple[Any, ...]:
    """The names that a label may be; none for any."""
    if label is None:
        return ()
    names = tuple(sorted(set(plain_labels(label if is_open(label) else [label]))))
    if not names:
        raise InputError("a token has an empty set of labels; None stands for any label")
    return names


def seen_in_part(
    sequences: Sequences, labels: Ints, sets: Sets, n_labels: int, n_attributes: int
) -> SeenPairs:
    """The pairs that get a weight: those of every label that a set names.

    A token of any label makes no pair of attribute and label, but may stand beside every label.
    """
    seen = SeenPairs.of(sequences, labels, n_labels, n_attributes)
    if labels.min(initial=0) >= 0:
        return seen
    members = {-1 - m: ids for ids, m in sets.items()}
    longest = max(map(len, members.values()))
    table = np.full((len(sets), max(longest, 1)), -1, dtype=np.int32)
    for code, ids in members.items():
        table[-1 - code, : len(ids)] = ids
    in_part = labels < 0
    for r in range(longest):
        some = np.full(len(labels), -1, dtype=np.int32)
        some[in_part] = table[-1 - labels[in_part], r]
        seen = seen.union(SeenPairs.of(sequences, some, n_labels, n_attributes))
    before = sequences.tokens_before()
    after = np.flatnonzero(before >= 0)
    for pair in np.unique(np.stack([labels[before[after]], labels[after]], axis=1), axis=0).tolist():
        one, other = ((code,) if code >= 0 else members[code] or range(n_labels) for code in pair)
        seen.transitions[np.ix_(list(one), list(other))] = True
    return seen


def set_rows(sets: Sets, n_labels: int) -> Floats:
    """A row of ones and zeros for each set, as C takes it."""
    rows = np.zeros((len(sets), padded(n_labels)))
    for ids, m in sets.items():
        rows[m, list(ids) if ids else slice(n_labels)] = 1.0
    return rows


def with_rows(sequences: Sequences, row_of: Ints, edge_row_ptr: Offsets) -> Sequences:
    """The sentences without the attributes that no label was seen with, which have no weights."""
    has = (row_of >= 0) | (np.diff(edge_row_ptr) > 0)
    return sequences.renumber(np.where(has, np.arange(len(row_of)), -1).astype(np.int32))


def check_possible(
    sequences: Sequences,
    labels: Ints,
    sets: Sets,
    allowed: npt.NDArray[np.bool_],
    ends: npt.NDArray[np.bool_] | None,
) -> None:
    """Refuse partly labelled sentences without a labelling that the constraints permit."""
    rows = set_rows(sets, len(allowed))[:, : len(allowed)] > 0
    ptr = sequences.sentence_ptr.tolist()
    for s, (a, b) in enumerate(itertools.pairwise(ptr)):
        mine = labels[a:b]
        if not (mine < 0).any():
            continue
        possible = np.ones(len(allowed), dtype=bool) if ends is None else ends[0].copy()
        for t, label in enumerate(mine.tolist()):
            here = rows[-1 - label] if label < 0 else np.arange(len(allowed)) == label
            possible = here & (possible if t == 0 else possible @ allowed)
        if not (possible if ends is None else possible & ends[1]).any():
            raise InputError(
                f"sentence {s}: no labelling that its labels leave open is permitted by constrain; correct them or "
                "leave constrain out"
            )
