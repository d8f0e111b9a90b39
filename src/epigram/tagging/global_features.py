"""Features of whole labellings, which no chain of labels can have: for a second look at the best ones.

A unit is a chunk, a token outside of chunks, or, where labels are no chunk labels, every token. A feature begins with
the type of a unit; the rest, where ``_`` joins words, is one of

    text, shape, first, last, length   its words in lower case, their shapes, its ends, its number of words
    before, after, around              the word before it, the word after it, both
    cells                              the cells of the second column, without and with those before and after them
    types                              the types of the two, and three, units before it
    begins, join                       the type before it and its first word, without and with the word before
    agrees, differs                    words of it that sentences nearby mostly give this type, or another one
    name agrees, name differs          the same for its text as a whole
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from epigram.tagging.cell_functions import shape
from epigram.tagging.formats import Columns
from epigram.tagging.labellings import Labellings, Parts, Scheme, Units, telling

LONGEST = 6
"""Lengths of units are told apart up to here."""
EDGE = "<s>"


class Telling(NamedTuple):
    """Parts of labellings that tell them apart, and the features of each part."""

    parts: Parts
    names: list[list[str]]


def features_of(found: Labellings, columns: Columns, scheme: Scheme, reach: int = 0) -> list[Telling]:
    """What tells the candidates of each sentence apart: features of single units, and of units in a row.

    Parameters
    ----------
    found : the candidates of all sentences of ``columns``.
    columns : words in the first column; the cells of a second one are used too.
    scheme : how labels are read.
    reach : sentences before and after one whose first labellings its words and names may agree with.
    """
    text = _Text(columns)
    units = scheme.units(found.labels, found.token_ptr)
    sentence = found.list_of.astype(np.int64)[units.candidate]
    single = telling(found, units.candidate, np.stack([sentence, units.begin, units.end, units.type], axis=1))
    row = telling(
        found, units.candidate, np.stack([sentence, units.begin, units.type, *units.before], axis=1)
    )
    names = [
        list(text.unit(s, begin, end, scheme.name(kind))) for s, begin, end, kind in single.what.tolist()
    ]
    if reach:
        nearby = _Nearby(found, units, text, reach)
        for mine, (s, begin, end, kind) in zip(names, single.what.tolist(), strict=True):
            mine += nearby.agreement(s, begin, end, kind, scheme)
    rows = [
        text.row(s, begin, [scheme.name(kind) for kind in kinds]) for s, begin, *kinds in row.what.tolist()
    ]
    return [Telling(single, names), Telling(row, rows)]


class _Text:
    """The words of sentences, and the features that they give units."""

    def __init__(self, columns: Columns) -> None:
        words = columns.columns[0]
        self.starts = columns.sentence_ptr.tolist()
        lower = [word.lower() for word in words.strings]
        shapes = [_short(shape(word)[0]) for word in words.strings]
        ids = words.ids.tolist()
        self.words, self.shapes = [lower[k] for k in ids], [shapes[k] for k in ids]
        self.cells: list[str] | None = None
        if columns.n_columns > 1:
            self.cells = [columns.columns[1].strings[k] for k in columns.columns[1].ids.tolist()]

    def unit(self, s: int, begin: int, end: int, kind: str) -> Iterator[str]:
        """Features of one unit."""
        first, last = self.starts[s] + begin, self.starts[s] + end
        before = self.words[first - 1] if begin else EDGE
        after = self.words[last] if last < self.starts[s + 1] else EDGE
        words = self.words[first:last]
        yield f"{kind} text {'_'.join(words)}"
        yield f"{kind} before {before}"
        yield f"{kind} after {after}"
        yield f"{kind} around {before} {after}"
        if len(words) > 1 or kind != "O":
            yield f"{kind} shape {'_'.join(self.shapes[first:last])}"
            yield f"{kind} first {words[0]}"
            yield f"{kind} last {words[-1]}"
            yield f"{kind} length {min(len(words), LONGEST)}"
        if self.cells is not None:
            cells = "_".join(self.cells[first:last])
            left = self.cells[first - 1] if begin else EDGE
            right = self.cells[last] if last < self.starts[s + 1] else EDGE
            yield f"{kind} cells {cells}"
            yield f"{kind} cells {left} {cells} {right}"

    def row(self, s: int, begin: int, kinds: Sequence[str]) -> list[str]:
        """Features of a unit of the first type after units of the others."""
        here = self.starts[s] + begin
        before = self.words[here - 1] if begin else EDGE
        return [
            f"{kinds[0]} types {kinds[2]} {kinds[1]}",
            f"{kinds[0]} types {kinds[3]} {kinds[2]} {kinds[1]}",
            f"{kinds[0]} join {kinds[1]} {before} {self.words[here]}",
            f"{kinds[0]} begins {kinds[1]} {self.words[here]}",
        ]


class _Nearby:
    """What the first labellings of sentences nearby make of words and names."""

    def __init__(self, found: Labellings, units: Units, text: _Text, reach: int) -> None:
        self.text, self.reach = text, reach
        self.seen: dict[str, list[tuple[int, int]]] = defaultdict(list)
        first = np.isin(units.candidate, found.list_ptr[:-1])
        sentences = found.list_of[units.candidate[first]].tolist()
        for s, begin, end, kind in zip(
            sentences,
            *(column[first].tolist() for column in (units.begin, units.end, units.type)),
            strict=True,
        ):
            words = text.words[text.starts[s] + begin : text.starts[s] + end]
            for word in words:
                self.seen[word].append((s, kind))
            if len(words) > 1:
                self.seen["_".join(words)].append((s, kind))
        self.usual: dict[tuple[str, int], int | None] = {}

    def kind_of(self, name: str, s: int) -> int | None:
        """The type that sentences nearby mostly give to a word or a name; None where they have none."""
        if (name, s) not in self.usual:
            near = Counter(kind for t, kind in self._within(name, s) if t != s)
            self.usual[name, s] = min(near, key=lambda kind: (-near[kind], kind)) if near else None
        return self.usual[name, s]

    def _within(self, name: str, s: int) -> list[tuple[int, int]]:
        seen = self.seen.get(name, [])
        return seen[bisect_left(seen, (s - self.reach, -2)) : bisect_left(seen, (s + self.reach + 1, -2))]

    def agreement(self, s: int, begin: int, end: int, kind: int, scheme: Scheme) -> Iterator[str]:
        """Features of one unit."""
        words = self.text.words[self.text.starts[s] + begin : self.text.starts[s] + end]
        names = [("", word) for word in words] + ([("name ", "_".join(words))] if len(words) > 1 else [])
        for what, name in names:
            usual = self.kind_of(name, s)
            if usual is not None:
                says = "agrees" if usual == kind else f"differs {scheme.name(usual)}"
                yield f"{scheme.name(kind)} {what}{says}"


def _short(shape: str) -> str:
    """A shape without repetitions: ``Aaaa`` and ``Aa`` are one."""
    return "".join(a for a, b in zip(shape, f"\0{shape}", strict=False) if a != b)
