"""Negative log-likelihood of projective dependency trees with one root, first order.

Inside-outside over Eisner's spans gives value and gradient in one call; a pass of SGD with cumulative penalty is one
call too (``_core/arc_loss.h``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from epigram._core import bindings
from epigram.chain.loss import run_each
from epigram.protocols import Floats, Ints, Offsets


@dataclass(frozen=True)
class SentenceArcs:
    """Offsets of sentences and of their arcs; a sentence of n words has (n + 1) * n arcs."""

    sentence_ptr: Offsets
    first_arc: Offsets

    @property
    def n_sentences(self) -> int:
        """Number of sentences."""
        return len(self.sentence_ptr) - 1

    @property
    def longest(self) -> int:
        """Number of words of the longest sentence."""
        return int(np.diff(self.sentence_ptr).max(initial=1))


@dataclass(frozen=True)
class ArcFeatures(SentenceArcs):
    """Feature ids of all arcs; those of arc a are ``features[arc_ptr[a] : arc_ptr[a + 1]]``."""

    arc_ptr: Offsets = field(repr=False)
    features: Ints = field(repr=False)


def span_memory(room: int) -> Any:
    """Allocate the working memory of C for sentences of up to ``room`` words."""
    arrays: list[Any] = [*np.zeros((13, room * room)), np.zeros(3 * room * room, dtype=np.int32)]
    return bindings.Spans(room, *arrays)


class ArcLoss:
    """Sum over sentences of weight * -log p(tree | sentence), a function of the feature weights.

    Parameters
    ----------
    arcs : encoded sentences.
    heads : of every word, from 1; 0 is the root. The trees must be projective.
    n_weights : number of features.
    weights : one per sentence; ones by default.
    threads : number of threads among which sentences are divided. The result depends on it in the last bits.
    """

    kernels: ClassVar[dict[str, Callable[..., Any]]] = {
        "gradient": bindings.arc_loss_gradient,
        "cumulative": bindings.arc_loss_cumulative,
        "heads": bindings.arc_loss_heads,
    }

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
        """Return the sentences as a structure of C."""
        arcs = self.arcs
        return bindings.ArcCorpus(
            arcs.sentence_ptr, arcs.first_arc, arcs.arc_ptr, arcs.features, self.heads, weights
        )

    def _scratch(self) -> tuple[Any, ...]:
        n = self.arcs.longest
        return span_memory(n), _arc_scratch(n)

    def _call(self, name: str, k: int, arguments: tuple[Any, ...], *out: Any) -> Any:
        """Call a C function of the loss with the working memory of thread k."""
        return self.kernels[name](self._corpus, *arguments, *self._memory[k], *out)

    def value_and_gradient(self, w: Floats, out: Floats) -> float:
        """Return the sum of sample losses at ``w``; write the gradient to ``out``."""
        parts = [np.zeros(self.n_weights) for _ in self._shards]

        def run(k: int) -> float:
            own = self._shards[k]
            met: float = self._call("gradient", k, (own, w), parts[k])
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
        """Run one pass of SGD (:class:`~epigram.protocols.StochasticLoss`) in the given order."""
        if method != "cumulative" or batch_size != 1:
            raise ValueError(
                f"parsers take SGD with method='cumulative' and batch_size=1, not {method!r} and {batch_size}."
            )
        both = np.stack([w, q], axis=1)
        met: float = self._call("cumulative", 0, (order, rates, penalties, both))
        w[:], q[:] = both[:, 0], both[:, 1]
        return met

    def attachment(self, w: Floats) -> float:
        """Return the unlabelled attachment score of the best trees, as a share."""
        heads = np.zeros_like(self.heads)
        self._call("heads", 0, (w,), heads)
        return float(np.count_nonzero(heads == self.heads)) / max(1, len(heads))


def _arc_scratch(n: int) -> Any:
    return bindings.ArcScratch(np.zeros(n * (n + 1)), np.zeros(n * (n + 1)))
