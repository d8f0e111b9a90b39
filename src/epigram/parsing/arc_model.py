"""A trained model of arcs, ready to use: its template, its features as strings, and a table to look them up.

Immutable; every call has its own working memory and C releases the interpreter's lock, so threads may share one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram._core.native import family
from epigram.errors import InputError
from epigram.parsing.arc_loss import span_memory
from epigram.parsing.templates import SIDES, WAYS, ArcTemplate, Cell
from epigram.parsing.words import Words
from epigram.protocols import Floats, Ints, Offsets
from epigram.tagging.attributes import Fingerprints, fingerprints
from epigram.tagging.loss import run_each

core, trees = family("arcs"), family("eisner")
Allowed = Sequence[Sequence[Iterable[int] | None] | None]
FORBIDDEN = -1e300


@dataclass(frozen=True)
class ArcModel:
    """Weights of arc features.

    Attributes
    ----------
    template : what features are made of.
    owners : the line of the template of each feature.
    ptr, cells : the strings of its cells, as numbers; that of a way or side is the number of the way.
    strings : the strings.
    weights : of each feature.
    """

    template: ArcTemplate
    owners: Ints = field(repr=False)
    ptr: Offsets = field(repr=False)
    cells: Ints = field(repr=False)
    strings: tuple[str, ...] = field(repr=False)
    weights: npt.NDArray[np.float32] = field(repr=False)
    keys: Fingerprints = field(init=False, repr=False)
    slots: Fingerprints = field(init=False, repr=False)

    def __post_init__(self) -> None:
        is_way = self.template.way_cells(self.owners, self.ptr)
        known = fingerprints([*self.strings, ""])
        atoms = np.where(
            is_way, self.cells.astype(np.uint64), known[np.where(is_way, len(self.strings), self.cells)]
        )
        keys = np.empty(len(self.owners), dtype=np.uint64)
        core.keys_of(self.template.struct, len(keys), self.owners, self.ptr, len(atoms), atoms, keys)
        slots = np.zeros(1 << max(4, (2 * len(keys)).bit_length()), dtype=np.uint64)
        core.fill(len(keys), keys, self.weights, len(slots), slots)
        object.__setattr__(self, "keys", keys)
        object.__setattr__(self, "slots", slots)

    @classmethod
    def of_places(
        cls, template: ArcTemplate, words: Words, places: Ints, sentences: Offsets, weights: Floats
    ) -> ArcModel:
        """The model of features by where each is met: (head, child, line, word between) of a sentence."""
        index: dict[str, int] = {}
        owners, ptr, cells = places[:, 2].copy(), [0], []
        for (head, child, line, middle), s in zip(places.tolist(), sentences.tolist(), strict=True):
            for cell in template.lines[line]:
                if cell.place in ("way", "side"):
                    cells.append(way_of(head, child))
                else:
                    string = _string(words, s, cell, head, child, middle)
                    cells.append(index.setdefault(string, len(index)))
            ptr.append(len(cells))
        return cls(
            template,
            owners,
            np.array(ptr, dtype=np.int64),
            np.array(cells, dtype=np.int32),
            tuple(index),
            weights.astype(np.float32),
        )

    def followed_by(self, other: ArcModel) -> ArcModel:
        """The features of both, those without weight left out; the other has the same template and other features."""
        index = {string: k for k, string in enumerate(self.strings)}
        moved = np.array([index.setdefault(s, len(index)) for s in other.strings], dtype=np.int32)
        is_way = self.template.way_cells(other.owners, other.ptr)
        theirs = other.cells.copy()
        theirs[~is_way] = moved[other.cells[~is_way]]
        owners = np.concatenate([self.owners, other.owners])
        lengths = np.concatenate([np.diff(self.ptr), np.diff(other.ptr)])
        weights = np.concatenate([self.weights, other.weights])
        cells, kept = np.concatenate([self.cells, theirs]), weights != 0.0
        ptr = np.concatenate([[0], np.cumsum(lengths[kept])]).astype(np.int64)
        return ArcModel(
            self.template, owners[kept], ptr, cells[np.repeat(kept, lengths)], tuple(index), weights[kept]
        )

    def __len__(self) -> int:
        return len(self.owners)

    def names(self, features: Iterable[int]) -> list[str]:
        """Features spelt out, such as ``h[+0,1]=NOUN c[+0,1]=DET way=left 1``."""
        found = []
        for k in features:
            own = self.cells[self.ptr[k] : self.ptr[k + 1]].tolist()
            parts = [
                spelt(cell, value, self.strings)
                for cell, value in zip(self.template.lines[self.owners[k]], own, strict=True)
            ]
            found.append(" ".join(parts))
        return found

    def encode(self, columns: Any) -> Words:
        """Sentences as the template looks at them."""
        return Words.of(columns, self.template.n_columns)

    def arc_scores(self, words: Words, allowed: Allowed | None = None) -> Callable[[int, Any], Floats]:
        """A function from a sentence's number and working memory to the scores of its arcs, (n + 1) x n."""
        if allowed is not None and len(allowed) != len(words.lengths):
            raise InputError(
                f"allowed has {len(allowed)} sentences, the input {len(words.lengths)}; give one list each"
            )

        def scores(s: int, memory: Any) -> Floats:
            n = int(words.lengths[s])
            out = np.empty((n + 1, n))
            core.scores(
                self.template.struct, words.struct, memory, s, len(self.slots), self.slots, out.size, out
            )
            if allowed is not None:
                _forbid(out, allowed[s], s)
            return out

        return scores

    def each(
        self,
        words: Words,
        run: Callable[[int, Floats, Any], Any],
        allowed: Allowed | None = None,
        threads: int = 1,
    ) -> list[Any]:
        """``run(sentence, scores, span memory)`` of every sentence, in several threads."""
        found: list[Any] = [None] * len(words.lengths)
        scores, room = self.arc_scores(words, allowed), int(words.lengths.max(initial=1))

        def share(first: int) -> None:
            memory, spans = self.template.memory(room), span_memory(room)
            for s in range(first, len(found), threads):
                if words.lengths[s]:
                    found[s] = run(s, scores(s, memory), spans)

        run_each(share, range(threads))
        return found

    def decode(
        self, words: Words, decoding: str = "best", allowed: Allowed | None = None, threads: int = 1
    ) -> Ints:
        """Head of every word: of the best tree, or (``mbr``) of the tree with the most arcs to be expected right."""
        out = np.zeros(int(words.sentence_ptr[-1]), dtype=np.int32)

        def run(s: int, scores: Floats, spans: Any) -> None:
            n = scores.shape[1]
            if decoding == "mbr":
                p = np.empty_like(scores)
                trees.marginals(n, scores, spans, p)
                scores = np.where(scores > FORBIDDEN / 2, p, FORBIDDEN)
            heads = out[words.sentence_ptr[s] : words.sentence_ptr[s + 1]]
            if trees.best(n, scores, spans, heads) < FORBIDDEN / 2:
                raise InputError(f"sentence {s} has no projective tree of the allowed arcs; allow more")

        self.each(words, run, allowed, threads)
        return out

    def marginals(
        self, words: Words, allowed: Allowed | None = None, threads: int = 1
    ) -> list[tuple[Floats, float]]:
        """Of each sentence the probability of every arc, (n + 1) x n with the root first, and log Z."""

        def run(_: int, scores: Floats, spans: Any) -> tuple[Floats, float]:
            out = np.empty_like(scores)
            return out, trees.marginals(scores.shape[1], scores, spans, out)

        found = self.each(words, run, allowed, threads)
        return [(np.zeros((1, 0)), 0.0) if own is None else own for own in found]

    def n_best(self, words: Words, k: int, allowed: Allowed | None = None) -> list[list[tuple[Ints, float]]]:
        """Of each sentence the k best trees with their probabilities; fewer where there are fewer."""
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k!r}.")

        def run(_: int, scores: Floats, spans: Any) -> list[tuple[Ints, float]]:
            n = scores.shape[1]
            size = 3 * n * n * k
            lists = trees.Lists(n, k, np.empty(size), np.zeros(size, dtype=np.int64))
            values, origins = np.empty(k), np.zeros(k, dtype=np.int64)
            heads = np.zeros((k, n), dtype=np.int32)
            found = trees.k_best(n, scores, lists, k, values, origins, heads)
            log_z = trees.inside(n, scores, spans)
            return [(heads[r].copy(), float(np.exp(values[r] - log_z))) for r in range(found)]

        return [[] if own is None else own for own in self.each(words, run, allowed)]

    def terms(self, words: Words, s: int, head: int, child: int) -> dict[str, float]:
        """The weights of one arc by the names of its features."""
        most = len(self.template.lines) + 64 * self.template.n_between
        keys, owners, middles = (np.empty(most, dtype=kind) for kind in (np.uint64, np.int32, np.int32))
        memory = self.template.memory(int(words.lengths[s]))
        n = core.keys(self.template.struct, words.struct, memory, s, head, child, most, keys, owners, middles)
        weight = dict(zip(self.keys.tolist(), self.weights.tolist(), strict=True))
        found: dict[str, float] = {}
        for key, owner, middle in zip(*(part[:n].tolist() for part in (keys, owners, middles)), strict=True):
            if key in weight:
                line = self.template.lines[owner]
                parts = [
                    spelt(cell, way_of(head, child), ())
                    if cell.place in ("way", "side")
                    else f"{cell}={_string(words, s, cell, head, child, middle)}"
                    for cell in line
                ]
                found[" ".join(parts)] = weight[key]
        return found


def way_of(head: int, child: int) -> int:
    """The number of the side and distance of an arc, as ``_core/arcs.c`` counts them."""
    if head == 0:
        return 12
    far = abs(head - child)
    return (0 if head < child else 6) + (far - 1 if far < 5 else 4 if far < 10 else 5)


def spelt(cell: Cell, value: int, strings: Sequence[str]) -> str:
    """A cell with its value."""
    if cell.place == "way":
        return f"way={WAYS[value]}"
    if cell.place == "side":
        return f"side={SIDES[2 if value == 12 else int(value >= 6)]}"
    return f"{cell}={strings[value]}"


def _string(words: Words, s: int, cell: Cell, head: int, child: int, middle: int) -> str:
    word = {"h": head, "c": child}.get(cell.place, middle)
    return words.cell(s, cell.column, word, cell.offset)


def _forbid(scores: Floats, heads: Sequence[Iterable[int] | None] | None, s: int) -> None:
    """Forbid the arcs from heads that are not among those given for each word."""
    n = scores.shape[1]
    if heads is None:
        return
    if len(heads) != n:
        raise InputError(
            f"allowed has {len(heads)} words for sentence {s}, which has {n}; use None for free ones"
        )
    for c, own in enumerate(heads):
        if own is None:
            continue
        chosen = list(own)
        if not chosen or min(chosen) < 0 or max(chosen) > n:
            raise InputError(f"allowed heads of sentence {s}, word {c + 1}: {chosen}; heads are 0 to {n}")
        mask = np.ones(n + 1, dtype=bool)
        mask[chosen] = False
        scores[mask, c] = FORBIDDEN
