"""Features of whole labellings for the reranker: chunk texts, neighbours, type n-grams.

A unit is a chunk, a token outside of chunks, or, where labels are no chunk labels, every token. A feature begins with
the type of a unit; the rest, where ``_`` joins words, is one of

    text, shape, first, last, length   its words in lower case, their shapes, its ends, its number of words
    before, after, around              the word before it, the word after it, both
    cells                              the cells of the second column, without and with those before and after them
    types                              the types of the two, and three, units before it
    begins, join                       the type before it and its first word, without and with the word before
    agrees, differs                    its words to which the sentences around mostly give this type, or another one
    name agrees, name differs          the same for its text as a whole
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from epigram.features.cell_functions import shape
from epigram.features.columns import Columns
from epigram.tagging.stacked.candidates import DistinguishingParts, Labellings, Scheme, Units, distinguishing

LONGEST = 6
"""Largest length that is a feature of its kind; longer units share one."""
EDGE = "<s>"


class DistinguishingFeatures(NamedTuple):
    """Parts of labellings that tell them apart, and the features of each part."""

    parts: DistinguishingParts
    names: list[list[str]]


def features_of(
    found: Labellings, columns: Columns, scheme: Scheme, reach: int = 0
) -> list[DistinguishingFeatures]:
    """Return features of units and rows of units that distinguish candidates.

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
    single = distinguishing(
        found, units.candidate, np.stack([sentence, units.begin, units.end, units.type], axis=1)
    )
    row = distinguishing(
        found, units.candidate, np.stack([sentence, units.begin, units.type, *units.before], axis=1)
    )
    names = [
        list(text.unit(s, begin, end, scheme.name(kind))) for s, begin, end, kind in single.what.tolist()
    ]
    if reach:
        context = _Context(found, units, text, reach)
        for mine, (s, begin, end, kind) in zip(names, single.what.tolist(), strict=True):
            mine += context.agreement(s, begin, end, kind, scheme)
    rows = [
        text.row(s, begin, [scheme.name(kind) for kind in kinds]) for s, begin, *kinds in row.what.tolist()
    ]
    return [DistinguishingFeatures(single, names), DistinguishingFeatures(row, rows)]


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


class _Context:
    """Types that the first labellings of the sentences around give to words and names."""

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
        """Return the most frequent type of a word or name in the sentences around; None without one."""
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
