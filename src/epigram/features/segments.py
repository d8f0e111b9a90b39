"""Feature ids of whole segments from a template's S lines.

``S00:%x[all,0|lower]`` is the text of the segment in column 0, ``%x[first,0]`` and ``%x[last,0]`` its first and last
token, ``%x[before,0]`` and ``%x[after,0]`` the tokens beside it, ``%x[length]`` its number of tokens. Functions are
those of cells; where one gives several values the first counts, where none the line gives nothing.

Only attributes of segments of the answers get weights. Those of all other segments are looked up: fingerprints of all
segments of one length are computed at once (that of a concatenation follows from those of its parts).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from epigram._core import bindings
from epigram._core.arrays import offsets, ranges
from epigram.features.attributes import AttributeTable, Fingerprints, hash_parts
from epigram.features.cell_functions import CellFunction, SegmentCell, SegmentLine, apply_chain
from epigram.features.columns import Columns
from epigram.features.sequences import SegmentRows, Sequences
from epigram.protocols import Ints, Offsets

OUTSIDE = {"before": "_B-1", "after": "_B+1"}


class Segments(NamedTuple):
    """Segments by their first token among all tokens and their number of tokens."""

    begin: Offsets
    length: Offsets


class _Parts(NamedTuple):
    """Of each token: hash and power of its string, and whether it has one."""

    hashes: Fingerprints
    powers: Fingerprints
    there: npt.NDArray[np.bool_]

    def at(self, tokens: Offsets) -> _Parts:
        """Those of some tokens."""
        return _Parts(self.hashes[tokens], self.powers[tokens], self.there[tokens])


class SegmentEncoder:
    """Fingerprints of the attributes of segments of a corpus."""

    def __init__(self, columns: Columns, lines: Sequence[SegmentLine], drops_outside: bool) -> None:
        self.columns, self.lines, self.drops_outside = columns, lines, drops_outside
        ptr = columns.sentence_ptr
        lengths = np.diff(ptr)
        self.first, self.end = np.repeat(ptr[:-1], lengths), np.repeat(ptr[1:], lengths)
        self._parts: dict[tuple[int, tuple[CellFunction, ...]], _Parts] = {}
        self._texts: dict[tuple[int, tuple[CellFunction, ...]], tuple[int, _Parts]] = {}

    def keys(self, begin: Offsets, length: int) -> tuple[Fingerprints, npt.NDArray[np.bool_]]:
        """Return fingerprints of all lines at segments of one length, and which exist."""
        out = np.empty((len(begin), len(self.lines)), dtype=np.uint64)
        there = np.ones((len(begin), len(self.lines)), dtype=bool)
        for k, line in enumerate(self.lines):
            hashes, powers = hash_parts(line.literals)
            key = np.full(len(begin), hashes[0], dtype=np.uint64)
            for cell, h, p in zip(line.cells, hashes[1:], powers[1:], strict=True):
                part = self._cell(cell, begin, length)
                key = (key * part.powers + part.hashes) * p + h
                there[:, k] &= part.there
            out[:, k] = key
        flat = out.ravel()
        bindings.encoding_mix_all(flat)
        return flat.reshape(out.shape), there

    def name(self, begin: int, length: int, number: int) -> str | None:
        """Return the attribute of line ``number`` at one segment as a string, or None."""
        line = self.lines[number]
        values = [self._spell(cell, begin, length) for cell in line.cells]
        if any(value is None for value in values):
            return None
        parts = zip(values, line.literals[1:], strict=True)
        return line.literals[0] + "".join(f"{value}{literal}" for value, literal in parts)

    def _spell(self, cell: SegmentCell, begin: int, length: int) -> str | None:
        if cell.place == "length":
            return str(length)
        tokens = {
            "all": range(begin, begin + length),
            "first": [begin],
            "last": [begin + length - 1],
            "before": [begin - 1],
            "after": [begin + length],
        }[cell.place]
        values = []
        for t in tokens:
            if not self.first[begin] <= t < self.end[begin]:
                return None if self.drops_outside else OUTSIDE[cell.place]
            found = apply_chain(cell.functions, self.columns.columns[cell.column].string(t))
            if not found:
                return None
            values.append(found[0])
        return " ".join(values)

    def _cell(self, cell: SegmentCell, begin: Offsets, length: int) -> _Parts:
        """Hashes, powers and presence of one cell at segments of one length."""
        n = len(begin)
        if cell.place == "length":
            h, p = hash_parts([str(length)])
            return _Parts(np.repeat(h, n), np.repeat(p, n), np.ones(n, dtype=bool))
        if cell.place == "all":
            return self._text(cell, length).at(begin)
        token = {"first": begin, "last": begin + length - 1, "before": begin - 1, "after": begin + length}[
            cell.place
        ]
        inside = (token >= self.first[begin]) & (token < self.end[begin])
        found = self._tokens(cell).at(np.clip(token, 0, len(self.first) - 1))
        if self.drops_outside or inside.all():
            return found._replace(there=found.there & inside)
        h, p = hash_parts([OUTSIDE[cell.place]])
        return _Parts(
            np.where(inside, found.hashes, h[0]), np.where(inside, found.powers, p[0]), found.there | ~inside
        )

    def _tokens(self, cell: SegmentCell) -> _Parts:
        """Of each token of the corpus."""
        view = cell.column, cell.functions
        if view not in self._parts:
            column = self.columns.columns[cell.column]
            values = [apply_chain(cell.functions, string) for string in column.strings]
            hashes, powers = hash_parts([found[0] if found else "" for found in values])
            there = np.array([bool(found) for found in values], dtype=bool)
            self._parts[view] = _Parts(hashes[column.ids], powers[column.ids], there[column.ids])
        return self._parts[view]

    def _text(self, cell: SegmentCell, length: int) -> _Parts:
        """Hash the text of ``length`` tokens from each token on; undefined beyond a sentence."""
        view, token = (cell.column, cell.functions), self._tokens(cell)
        done, text = self._texts.get(view, (1, token))
        if length < done:
            done, text = 1, token
        space, space_power = (part[0] for part in hash_parts([" "]))
        for d in range(done, length):  # one token more: text, space, token
            next_one = token.at(np.roll(np.arange(len(self.first)), -d))
            text = _Parts(
                (text.hashes * space_power + space) * next_one.powers + next_one.hashes,
                text.powers * space_power * next_one.powers,
                text.there & next_one.there,
            )
        self._texts[view] = length, text
        return text


def segments_of(labels: Ints, names: Sequence[str], ptr: Offsets) -> Segments:
    """The segments of labels in IOB2: each ``B-x`` with the ``I-x`` after it."""
    begins = np.array([name.startswith("B-") for name in names], dtype=bool)[labels]
    goes_on = np.array([name.startswith("I-") for name in names], dtype=bool)[labels]
    goes_on[ptr[:-1][np.diff(ptr) > 0]] = False
    begin = np.flatnonzero(begins)
    stops = np.append(np.flatnonzero(~goes_on), len(labels))
    return Segments(begin, stops[np.searchsorted(stops, begin, side="right")] - begin)


class SegmentNames:
    """A source that spells the attributes of segments of one length when somebody asks for them."""

    def __init__(self, encoder: SegmentEncoder, begin: Offsets, length: int, lines: Offsets) -> None:
        self.encoder, self.begin, self.length, self.lines = encoder, begin, length, lines

    def names(self, occurrences: Offsets) -> list[str]:
        """The strings of some occurrences."""
        places = zip(self.begin[occurrences].tolist(), self.lines[occurrences].tolist(), strict=True)
        return [self.encoder.name(begin, self.length, line) or "" for begin, line in places]


def intern_answers(encoder: SegmentEncoder, answers: Segments, table: AttributeTable) -> None:
    """Number the attributes of the segments that the answers have."""
    for length in np.unique(answers.length).tolist():
        begin = answers.begin[answers.length == length]
        keys, there = encoder.keys(begin, length)
        rows, lines = np.nonzero(there)
        table.intern(np.ascontiguousarray(keys[there]), SegmentNames(encoder, begin[rows], length, lines))


def with_units(
    sequences: Sequences, encoder: SegmentEncoder, table: AttributeTable, longest: int
) -> tuple[Sequences, Segments]:
    """Return the sentences with a row for every segment with a known attribute, and those rows."""
    n = sequences.n_tokens
    begins, lengths, counts, ids = [], [], [], []
    everywhere = np.arange(n)
    for length in range(1, longest + 1):
        begin = everywhere[everywhere + length <= encoder.end]
        if not len(begin):
            break
        keys, there = encoder.keys(begin, length)
        flat = np.ascontiguousarray(keys.ravel())
        found = np.where(there, table.look_up(flat).reshape(keys.shape), -1)
        known = found >= 0
        kept = np.flatnonzero(known.any(axis=1))
        begins.append(begin[kept])
        lengths.append(np.full(len(kept), length))
        counts.append(known[kept].sum(axis=1))
        ids.append(found[kept][known[kept]])
    return _joined(sequences, begins, lengths, counts, ids)


def _joined(
    sequences: Sequences,
    begins: list[Offsets],
    lengths: list[Offsets],
    counts: list[Offsets],
    ids: list[Ints],
) -> tuple[Sequences, Segments]:
    """Rows of tokens and of segments in one, sentence by sentence."""
    none = np.empty(0, dtype=np.int64)
    begin, length, count = (np.concatenate([none, *part]) for part in (begins, lengths, counts))
    attributes = np.concatenate([np.empty(0, dtype=np.int32), *ids])
    ptr, n = sequences.sentence_ptr, sequences.n_tokens
    sentence = np.concatenate(
        [np.repeat(np.arange(len(ptr) - 1), np.diff(ptr)), np.searchsorted(ptr, begin, side="right") - 1]
    )
    is_segment = np.arange(n + len(begin)) >= n
    order = np.lexsort((np.arange(n + len(begin)), is_segment, sentence))
    starts = np.concatenate(
        [sequences.attribute_ptr[:-1], len(sequences.attributes) + np.cumsum(count) - count]
    )
    sizes = np.concatenate([np.diff(sequences.attribute_ptr), count])[order]
    new_ptr = offsets(sizes)
    where = ranges(starts[order], starts[order] + sizes)
    every = np.concatenate([sequences.attributes, attributes]).astype(np.int32)
    whole = len(sequences.values) == len(sequences.attributes)
    values = (
        np.concatenate([sequences.values, np.ones(len(attributes))])[where] if whole else sequences.values
    )
    rows = Segments(
        np.concatenate([np.full(n, -1), begin])[order],
        np.concatenate([np.zeros(n, dtype=np.int64), length])[order],
    )
    in_sentence = np.where(rows.begin < 0, 0, rows.begin - ptr[sentence[order]])
    return replace(
        sequences,
        sentence_ptr=offsets(np.bincount(sentence, minlength=len(ptr) - 1)),
        attribute_ptr=new_ptr,
        attributes=every[where],
        values=values,
        edge_ptr=np.zeros(len(order) + 1, dtype=np.int64),
        segments=SegmentRows(
            np.diff(ptr).astype(np.int32), in_sentence.astype(np.int32), rows.length.astype(np.int32)
        ),
    ), rows
