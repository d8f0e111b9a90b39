"""The loss of dependency trees: minus the log-likelihood of each tree among all projective trees with one root.

Value and gradient in one call, by inside-outside over Eisner's spans; passes of SGD with cumulative penalty in C
(``_core/arc_loss.h``, ``_core/sibling_loss.h``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from epigram._core.native import family
from epigram.parsing.templates import ArcTemplate
from epigram.parsing.words import Words
from epigram.protocols import Floats, Ints, Offsets
from epigram.tagging.attributes import Fingerprints
from epigram.tagging.loss import run_each

core, spans = family("arc_loss"), family("eisner")
second, sibling_spans = family("sibling_loss"), family("siblings")


@dataclass(frozen=True)
class SentenceArcs:
    """Sentences and the first arc of each, of the n + 1 by n that a sentence of n words has."""

    sentence_ptr: Offsets
    first_arc: Offsets

    @property
    def n_sentences(self) -> int:
        """Number of sentences."""
        return len(self.sentence_ptr) - 1

    @property
    def longest(self) -> int:
        """Words of the longest sentence."""
        return int(np.diff(self.sentence_ptr).max(initial=1))


@dataclass(frozen=True)
class ArcFeatures(SentenceArcs):
    """The feature ids of all arcs of sentences: those of arc a are ``features[arc_ptr[a]]`` to ``[arc_ptr[a + 1]]``."""

    arc_ptr: Offsets = field(repr=False)
    features: Ints = field(repr=False)


def span_memory(room: int) -> Any:
    """Working memory of C for sentences of so many words."""
    squares = np.zeros((13, room * room))
    return spans.Spans(room, *squares, np.zeros(3 * room * room, dtype=np.int32))


def sibling_span_memory(room: int) -> Any:
    """The same for second order."""
    size = room * room
    return sibling_spans.SiblingSpans(room, np.zeros(16 * size), np.zeros(4 * size, dtype=np.int32))


class ArcLoss:
    """Sum over sentences of weight * -log p(tree | sentence), as a function of the weights of arc features.

    Parameters
    ----------
    arcs : encoded sentences.
    heads : of every word, from 1; 0 is the root. The trees must be projective.
    n_weights : number of features.
    weights : one per sentence; ones by default.
    threads : sentences are shared out among so many threads. Same count, same bits.
    """

    core = core

    def __init__(
        self, arcs: ArcFeatures, heads: Ints, n_weights: int, weights: Floats | None = None, threads: int = 1
    ) -> None:
        self.n_weights, self.n_samples = n_weights, arcs.n_sentences
        self.arcs, self.threads, self.heads = arcs, threads, np.ascontiguousarray(heads, dtype=np.int32)
        given = np.ones(arcs.n_sentences) if weights is None else np.asarray(weights, dtype=np.float64)
        self._corpus = self._encoded(given)
        work = np.cumsum(np.diff(arcs.first_arc))
        bounds = np.searchsorted(work, np.linspace(0, work[-1] if len(work) else 0, threads + 1)[1:-1])
        self._shards = np.split(np.arange(arcs.n_sentences, dtype=np.int32), bounds)
        self._memory = [self._scratch() for _ in self._shards]

    def _encoded(self, weights: Floats) -> Any:
        """The sentences as C takes them."""
        arcs = self.arcs
        return core.ArcCorpus(
            arcs.n_sentences,
            int(arcs.sentence_ptr[-1]),
            len(arcs.arc_ptr) - 1,
            len(arcs.features),
            arcs.sentence_ptr,
            arcs.first_arc,
            arcs.arc_ptr,
            arcs.features,
            self.heads,
            weights,
        )

    def _scratch(self) -> tuple[Any, ...]:
        n = self.arcs.longest
        return span_memory(n), _arc_scratch(n)

    def _call(self, name: str, k: int, arguments: tuple[Any, ...], *out: Any) -> Any:
        """A function of the loss in C, with the working memory of thread k."""
        return getattr(self.core, name)(self._corpus, *arguments, *self._memory[k], *out)

    def value_and_gradient(self, w: Floats, out: Floats) -> float:
        """Sum of sample losses at ``w``; gradient to ``out``."""
        parts = [np.zeros(self.n_weights) for _ in self._shards]

        def run(k: int) -> float:
            own = self._shards[k]
            met: float = self._call("gradient", k, (len(own), own, self.n_weights, w), parts[k])
            return met

        losses: list[float] = run_each(run, range(len(parts)))
        out[:] = sum(parts[1:], parts[0])
        return sum(losses)

    def sgd_pass(
        self,
        method: str,
        order: Ints,
        rates: Floats,
        penalties: Floats,
        batch_size: int,
        w: Floats,
        q: Floats,
    ) -> float:
        """One pass of SGD over the sentences in ``order``; see :class:`epigram.protocols.StochasticLoss`."""
        if method != "cumulative" or batch_size != 1:
            raise ValueError(
                f"parsers take SGD with method='cumulative' and batch_size=1, not {method!r} and {batch_size}."
            )
        both = np.stack([w, q], axis=1)
        met: float = self._call("cumulative", 0, (len(order), order, rates, penalties, self.n_weights, both))
        w[:], q[:] = both[:, 0], both[:, 1]
        return met

    def attachment(self, w: Floats) -> float:
        """Share of words whose head is that of the best tree."""
        heads = np.zeros_like(self.heads)
        self._call("heads", 0, (self.n_weights, w), len(heads), heads)
        return float(np.count_nonzero(heads == self.heads)) / max(1, len(heads))


def _arc_scratch(n: int) -> Any:
    return core.ArcScratch(n * (n + 1), np.zeros(n * (n + 1)), np.zeros(n * (n + 1)))


class SiblingLoss(ArcLoss):
    """The same of second order: features of siblings beside those of arcs, with ids of the same table.

    Parameters
    ----------
    arcs, heads, n_weights, weights, threads : as for :class:`ArcLoss`.
    words, template : the sentences, whose siblings are encoded each time they are met, and by what.
    slots : the features of siblings (:func:`epigram.parsing.part_features.part_slots`).
    """

    def __init__(
        self,
        arcs: ArcFeatures,
        heads: Ints,
        n_weights: int,
        weights: Floats | None,
        threads: int,
        words: Words,
        template: ArcTemplate,
        slots: Fingerprints,
    ) -> None:
        self._template, self._words = template, words
        self._table = second.SiblingTable(len(slots), slots)
        super().__init__(arcs, heads, n_weights, weights, threads)

    def _scratch(self) -> tuple[Any, ...]:
        n, T = self.arcs.longest, len(self._template.sibling_lines)
        n_parts = 2 * (n + 1) ** 2 + n * (n + 1) + n * (n * n - 1) // 3
        room = n_parts * T
        parts = second.SiblingScratch(
            n,
            n_parts,
            room,
            np.empty(n_parts + 1, dtype=np.int64),
            np.empty(room, dtype=np.int32),  # pages that are not used are not there
            np.empty(n_parts),
            np.empty(3 * n, dtype=np.int64),
        )
        return self._template.sibling_memory(n), sibling_span_memory(n), _arc_scratch(n), parts

    def _call(self, name: str, k: int, arguments: tuple[Any, ...], *out: Any) -> Any:
        inputs = (self._corpus, self._template.sibling_struct, self._words.struct, self._table)
        return getattr(second, name)(*inputs, *arguments, *self._memory[k], *out)
