"""Chunk labels (IOB1, IOB2, IOE2, BIOES): their chunks, and which label may follow which.

A chunk continues from one token to the next if both are inside (not ``O``), have the same type, the first does not end
a chunk (E, S) and the second does not begin one (B, S). This one rule reads IOB1, IOB2, IOE1, IOE2 and BIOES alike,
also malformed labels (``O I-NP`` begins a chunk), and equals the case lists of conlleval on B/I/O and I/E/O labels.
BILOU and BMES letters are read as BIOES.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram.protocols import Offsets

Ids = npt.NDArray[np.integer[Any]]
LETTERS = {"B": "B", "I": "I", "M": "I", "E": "E", "L": "E", "S": "S", "U": "S", "W": "S"}
CHUNK_LABEL = re.compile(r"O|[BIMELSUW](-.*)?", re.DOTALL)


def chunks(labels: Sequence[str]) -> list[tuple[str, int, int]]:
    """The chunks of one sentence: type, first token, first token after it.

    Examples
    --------
    >>> chunks(["B-NP", "I-NP", "O", "I-VP", "B-VP"])
    [('NP', 0, 2), ('VP', 3, 4), ('VP', 4, 5)]
    """
    names = sorted(set(labels))
    types, type_of, goes_on = chunk_tables(names, chunked=True)
    ids = np.array([names.index(label) for label in labels], dtype=np.int32)
    type_at, end_at = chunks_of(ids, type_of, goes_on, np.array([0, len(ids)]))
    starts = np.flatnonzero(type_at >= 0)
    return [(types[type_at[s]], int(s), int(end_at[s])) for s in starts]


def are_chunk_labels(labels: Sequence[str]) -> bool:
    """True where every label is ``O`` or a letter of a chunk scheme with a type.

    Examples
    --------
    >>> are_chunk_labels(["B-NP", "I-NP", "O"]), are_chunk_labels(["NN", "O"])
    (True, False)
    """
    return all(CHUNK_LABEL.fullmatch(label) for label in labels)


def chunk_tables(
    labels: Sequence[str], chunked: bool
) -> tuple[list[str], npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return type names, each label's type (-1: outside), and which labels continue a chunk."""
    if not chunked:
        types = sorted(labels)
        rank = np.array([types.index(label) for label in labels], dtype=np.int64)
        return types, rank, np.zeros((len(labels), len(labels)), dtype=bool)
    parts = [label.partition("-") for label in labels]
    letters = [
        LETTERS.get(letter, "I") if label != "O" else "O"
        for (letter, *_), label in zip(parts, labels, strict=True)
    ]
    names = [name if dash else "" for _, dash, name in parts]
    types = sorted({name for name, letter in zip(names, letters, strict=True) if letter != "O"})
    type_of = np.array(
        [-1 if letter == "O" else types.index(name) for name, letter in zip(names, letters, strict=True)],
        dtype=np.int64,
    )
    open_after = np.array([letter in "BI" for letter in letters], dtype=bool)
    continues = np.array([letter in "IE" for letter in letters], dtype=bool)
    goes_on = (type_of[:, None] == type_of[None, :]) & open_after[:, None] & continues[None, :]
    return types, type_of, goes_on


def chunks_of(
    ids: Ids, type_of: npt.NDArray[np.int64], goes_on: npt.NDArray[np.bool_], sentence_ptr: Offsets
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the type of the chunk that begins at each token (-1: none) and the chunk's end."""
    n = len(ids)
    inside = type_of[ids]
    begins = inside >= 0
    same_sentence = np.ones(n, dtype=bool)
    same_sentence[sentence_ptr[:-1][sentence_ptr[:-1] < n]] = False
    begins[1:] &= ~(goes_on[ids[:-1], ids[1:]] & same_sentence[1:])
    # a chunk ends where the next one begins or where a token is outside
    stops = np.flatnonzero(begins | (inside < 0))
    end_at = np.full(n, n, dtype=np.int64)
    following = np.searchsorted(stops, np.arange(n), side="right")
    known = following < len(stops)
    end_at[known] = stops[following[known]]
    return np.where(begins, inside, -1), end_at


def may_follow(scheme: str, before: str, after: str) -> bool:
    """Whether a scheme permits ``after`` right after ``before``."""
    (p, _, kind), (q, _, next_kind) = before.partition("-"), after.partition("-")
    same = kind == next_kind
    if scheme == "iob2":
        return q != "I" or (p in ("B", "I") and same)
    if scheme == "iob1":  # B-X only to split two neighbours of one type
        return q != "B" or (p in ("B", "I") and same)
    if scheme == "ioe2":  # I-X must go on to I-X or E-X
        return p != "I" or (q in ("I", "E") and same)
    inside = p in ("B", "I")  # bioes: what is open must go on, what is closed must not
    return (q in ("I", "E") and same) if inside else q not in ("I", "E")
