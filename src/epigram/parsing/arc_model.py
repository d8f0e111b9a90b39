"""A trained arc model: features, weights, decoding, marginals and k-best trees.

Immutable; every call has its own working memory and C releases the interpreter's lock, so threads may share a model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram._core import bindings
from epigram._core.arrays import offsets
from epigram.chain.loss import run_each
from epigram.features.attributes import Fingerprints, fingerprints
from epigram.features.lexicon import WordTable
from epigram.parsing.arc_loss import Kept
from epigram.parsing.arc_templates import NUMBERED, SIDES, WAYS, ArcTemplate, Cell
from epigram.parsing.arc_words import NO_SIBLING, THE_END, Words, append_classes
from epigram.parsing.charts import FORBIDDEN, Chart, ForestChart, expected_heads, refuse_sentence
from epigram.parsing.part_features import Part, hash_table, part_keys, seen_by
from epigram.parsing.pruning import Allowed, likely_arcs, permitted_arcs
from epigram.protocols import Floats, Ints, Offsets

Place = tuple[int, int, int, int]
"""A head, a child, the sibling or word between, and the head's head."""


@dataclass(frozen=True)
class ArcModel:
    """Features of arcs, siblings and grandparents with their weights.

    Attributes
    ----------
    template : the cells that features consist of.
    owners : the line of the template of each feature.
    ptr, cells : offsets into ``cells``, and the index of each cell's string; of a way or side the number of the way.
    strings : the strings.
    weights : one per feature.
    classes : a word list whose classes are appended as a column; None for none.
    pruner : of orders 2 and 3, the model that prunes arcs; None keeps all.
    """

    template: ArcTemplate
    owners: Ints = field(repr=False)
    ptr: Offsets = field(repr=False)
    cells: Ints = field(repr=False)
    strings: tuple[str, ...] = field(repr=False)
    weights: npt.NDArray[np.float32] = field(repr=False)
    classes: WordTable | None = field(default=None, repr=False)
    pruner: Pruner | None = field(default=None, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return ArcModel, tuple(getattr(self, own.name) for own in fields(self))

    @cached_property
    def keys(self) -> Fingerprints:
        """The key of each feature."""
        is_way = self.template.way_cells(self.owners, self.ptr)
        known = fingerprints([*self.strings, ""])
        atoms = np.where(
            is_way, self.cells.astype(np.uint64), known[np.where(is_way, len(self.strings), self.cells)]
        )
        keys = np.empty(len(self.owners), dtype=np.uint64)
        bindings.arcs_keys_of(self.template.whole_struct, self.owners, self.ptr, atoms, keys)
        return keys

    @cached_property
    def weight_table(self) -> Any:
        """The weights by the keys of their features, as a structure of C."""
        return hash_table(self.keys, self.weights.view(np.uint32))

    @classmethod
    def of_places(
        cls,
        template: ArcTemplate,
        words: Words,
        places: Ints,
        sentences: Offsets,
        weights: Floats,
        classes: WordTable | None = None,
        pruner: Pruner | None = None,
    ) -> ArcModel:
        """Build a model from the first occurrence of each feature, found by ``arc_features.locate``."""
        index: dict[str, int] = {}
        owners, ptr, cells = places[:, 2].copy(), [0], []
        for (head, child, line, other, grand), s in zip(places.tolist(), sentences.tolist(), strict=True):
            for cell in template.lines[line]:
                place = (head, child, other, grand)
                if cell.place in NUMBERED:
                    cells.append(number_of(words, s, cell, place))
                else:
                    string = _string(words, s, cell, place)
                    cells.append(index.setdefault(string, len(index)))
            ptr.append(len(cells))
        return cls(
            template,
            owners,
            np.array(ptr, dtype=np.int64),
            np.array(cells, dtype=np.int32),
            tuple(index),
            weights.astype(np.float32),
            classes,
            pruner,
        )

    def followed_by(self, other: ArcModel) -> ArcModel:
        """Concatenate with the features of another model of the same template; drop zero weights."""
        index = {string: k for k, string in enumerate(self.strings)}
        moved = np.array([index.setdefault(s, len(index)) for s in other.strings], dtype=np.int32)
        is_way = self.template.way_cells(other.owners, other.ptr)
        theirs = other.cells.copy()
        theirs[~is_way] = moved[other.cells[~is_way]]
        owners = np.concatenate([self.owners, other.owners])
        lengths = np.concatenate([np.diff(self.ptr), np.diff(other.ptr)])
        weights = np.concatenate([self.weights, other.weights])
        cells, kept = np.concatenate([self.cells, theirs]), weights != 0.0
        ptr = offsets(lengths[kept])
        chosen = cells[np.repeat(kept, lengths)]
        strings, rest = tuple(index), (self.classes, self.pruner)
        return ArcModel(self.template, owners[kept], ptr, chosen, strings, weights[kept], *rest)

    def __len__(self) -> int:
        return len(self.owners)

    @property
    def n_weights(self) -> int:
        """Number of weights, including those of the pruner."""
        return len(self) + (0 if self.pruner is None else len(self.pruner.model))

    def names(self, features: Iterable[int]) -> list[str]:
        """Return names of features, such as ``h[+0,1]=NOUN c[+0,1]=DET way=left 1``."""
        found = []
        for k in features:
            own = self.cells[self.ptr[k] : self.ptr[k + 1]].tolist()
            parts = [
                format_cell(cell, value, self.strings)
                for cell, value in zip(self.template.lines[self.owners[k]], own, strict=True)
            ]
            found.append(" ".join(parts))
        return found

    def encode(self, columns: Any) -> Words:
        """Encode sentences for the template."""
        return Words.of(append_classes(columns, self.classes), self.template.n_columns)

    def kept(self, words: Words, allowed: Allowed | None = None, threads: int = 1) -> Kept:
        """Mark the arcs that trees may have, of all sentences."""
        permitted = permitted_arcs(words, allowed)
        return permitted if self.pruner is None else self.pruner.kept(words, None, permitted, threads)

    def each(
        self,
        words: Words,
        run: Callable[[int, Chart], Any],
        allowed: Allowed | None = None,
        threads: int = 1,
    ) -> list[Any]:
        """Call ``run(sentence, chart)`` for every sentence that has words, in several threads."""
        found: list[Any] = [None] * len(words.lengths)
        keep, kind = self.kept(words, allowed, threads), ForestChart if self.template.part_lines else Chart

        def share(first: int) -> None:
            chart = kind(self.template, self.weight_table, words, keep)
            for s in range(first, len(found), threads):
                if words.lengths[s]:
                    chart.score(s)
                    found[s] = run(s, chart)

        run_each(share, range(threads))
        return found

    def decode(
        self, words: Words, decoding: str = "best", allowed: Allowed | None = None, threads: int = 1
    ) -> Ints:
        """Return the heads of the best trees, or (``mbr``) of those with most expected correct arcs."""
        if decoding == "mbr" and self.template.part_lines:
            keep = self.kept(words, allowed, threads)
            return expected_heads(self.template, self.weight_table, words, keep, threads)
        out = np.zeros(int(words.sentence_ptr[-1]), dtype=np.int32)

        def run(s: int, chart: Chart) -> None:
            heads = out[words.sentence_ptr[s] : words.sentence_ptr[s + 1]]
            if (chart.most_expected if decoding == "mbr" else chart.best)(heads) < FORBIDDEN / 2:
                refuse_sentence(s)

        self.each(words, run, allowed, threads)
        return out

    def marginals(
        self, words: Words, allowed: Allowed | None = None, threads: int = 1
    ) -> list[tuple[Floats, float]]:
        """Return the arc probabilities of each sentence, (n + 1) x n with the root first, and log Z."""
        found = self.each(words, lambda _, chart: chart.marginals(), allowed, threads)
        return [(np.zeros((1, 0)), 0.0) if own is None else own for own in found]

    def n_best(self, words: Words, k: int, allowed: Allowed | None = None) -> list[list[tuple[Ints, float]]]:
        """Return the k best trees of each sentence, or all if fewer, with their probabilities."""
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k!r}.")

        def run(_: int, chart: Chart) -> list[tuple[Ints, float]]:
            heads, values = chart.k_best(k)
            return list(zip(heads, np.exp(values - chart.log_z()).tolist(), strict=True))

        return [[] if own is None else own for own in self.each(words, run, allowed)]

    @cached_property
    def _weight(self) -> dict[int, float]:
        return dict(zip(self.keys.tolist(), self.weights.tolist(), strict=True))

    def terms(self, words: Words, s: int, head: int, child: int) -> dict[str, float]:
        """Return the weights of one arc by the names of its features."""
        most = len(self.template.arc_lines) + 64 * self.template.n_between
        keys, owners, middles = np.empty(most, np.uint64), np.empty(most, np.int32), np.empty(most, np.int32)
        memory = self.template.memory(int(words.lengths[s]))
        n = bindings.arcs_keys(
            self.template.struct, words.struct, memory, s, head, child, keys, owners, middles
        )
        return {
            self._name(words, s, self.template.lines[owner], (head, child, middle, 0)): self._weight[key]
            for key, owner, middle in zip(
                *(part[:n].tolist() for part in (keys, owners, middles)), strict=True
            )
            if key in self._weight
        }

    def part_terms(self, words: Words, s: int, parts: Sequence[Part]) -> Iterator[tuple[Part, str, float]]:
        """Yield parts (grandparent, head, sibling, child) with names and weights of their features."""
        for lines in self.template.part_lines:
            chosen = seen_by(lines, int(words.lengths[s]), parts)
            keys = part_keys(words, lines, s, chosen)
            for part, own in zip(chosen, keys.tolist(), strict=True):
                grand, head, sibling, child = part
                for line, key in zip(lines.lines, own, strict=True):
                    if key in self._weight:
                        name = self._name(words, s, line, (head, child, sibling, grand))
                        yield part, name, self._weight[key]

    def _name(self, words: Words, s: int, line: tuple[Cell, ...], place: Place) -> str:
        """Name the feature of a line at a place."""
        parts = [
            format_cell(cell, number_of(words, s, cell, place), ())
            if cell.place in NUMBERED
            else f"{cell}={_string(words, s, cell, place)}"
            for cell in line
        ]
        return " ".join(parts)


@dataclass(frozen=True)
class Pruner:
    """A small first-order model that prunes arcs below a share of the best head's probability."""

    model: ArcModel
    share: float

    def kept(
        self, words: Words, heads: Ints | None = None, permitted: Kept | None = None, threads: int = 1
    ) -> Kept:
        """Return 1 for the arcs that are kept, always including those of ``heads``, else 0."""
        permitted = permitted_arcs(words, None) if permitted is None else permitted
        model = self.model
        keep = likely_arcs(model.template, model.weight_table, words, self.share, permitted, threads)
        if heads is not None:
            starts, lengths = (
                np.repeat(own, words.lengths) for own in (words.sentence_ptr[:-1], words.lengths)
            )
            first = np.repeat(words.first_arc[:-1], words.lengths)
            keep[first + heads * lengths + np.arange(len(heads)) - starts] = 1
        return keep


def way_of(head: int, child: int) -> int:
    """Return the number of an arc's side and distance, as ``_core/arcs_inline.h`` counts them."""
    if head == 0:
        return 12
    far = abs(head - child)
    return (0 if head < child else 6) + (far - 1 if far < 5 else 4 if far < 10 else 5)


def format_cell(cell: Cell, value: int, strings: Sequence[str]) -> str:
    """Format a cell with its value."""
    if cell.place == "way":
        return f"way={WAYS[value]}"
    if cell.place == "gap":
        return f"gap={WAYS[value] if value < 12 else 'none'}"
    if cell.place in ("side", "up"):
        return f"{cell.place}={SIDES[2 if value == 12 else int(value >= 6)]}"
    return f"{cell}={strings[value]}"


def number_of(words: Words, s: int, cell: Cell, place: Place) -> int:
    """Return the way from head to child, for ``gap`` from sibling to child, for ``up`` to head."""
    head, child, sibling, grand = place
    if cell.place == "up":
        return way_of(grand, head)
    if cell.place != "gap":
        return way_of(head, child)
    missing = sibling == head or not 1 <= child <= words.lengths[s]
    return way_of(0, 0) if missing else way_of(sibling, child)


def _string(words: Words, s: int, cell: Cell, place: Place) -> str:
    """Return the string of a cell."""
    head, child, other, grand = place
    if cell.place == "s" and other == head:
        return NO_SIBLING
    if cell.place == "c" and not 1 <= child <= words.lengths[s]:
        return THE_END
    word = {"h": head, "c": child, "g": grand}.get(cell.place, other)
    return words.cell(s, cell.column, word, cell.offset)
