"""Negative log-likelihood of projective dependency trees with one root, first order.

Inside-outside over Eisner's spans gives value and gradient in one call; a pass of SGD with cumulative penalty is one
call too (``_core/arc_loss.h``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from epigram._core import bindings
from epigram.chain.loss import run_each
from epigram.protocols import Floats, Ints, Offsets, Steps

Kept = npt.NDArray[np.uint8]
"""1 for each arc that trees may have, else 0."""
NARROW, MOST_FEATURES = 1 << 16, 65535  # of a sentence whose numbers have 16 bits, and of a part


@dataclass(frozen=True)
class PartFeatures:
    """Encoded sentences: distinct features, and the features of parts by number among these.

    The parts of a sentence are its (n + 1) * n arcs, of which some are kept, then, of second and third order, trios,
    grands and links as ``_core/forest.h`` defines them; ``sizes`` has their numbers. ``_core/arc_loss.h`` describes the
    arrays.
    """

    sentence_ptr: Offsets
    first_arc: Offsets
    keep: Kept = field(repr=False)
    first_part: Offsets = field(repr=False)
    part_counts: npt.NDArray[np.uint16] = field(repr=False)
    row_counts: Ints = field(repr=False)
    first_step: Offsets = field(repr=False)
    steps: npt.NDArray[np.uint8] = field(repr=False)
    first_number: Offsets = field(repr=False)
    numbers: npt.NDArray[np.uint16] = field(repr=False)
    sizes: Offsets = field(repr=False)

    @property
    def n_sentences(self) -> int:
        """Number of sentences."""
        return len(self.sentence_ptr) - 1

    @property
    def longest(self) -> int:
        """Number of words of the longest sentence."""
        return int(np.diff(self.sentence_ptr).max(initial=1))

    def features(self, s: int) -> list[Ints]:
        """Return the feature ids of each part of a sentence."""
        rows = rows_of(self.steps[self.first_step[s] : self.first_step[s + 1]])
        numbers = self.numbers[self.first_number[s] : self.first_number[s + 1]]
        ids = rows[numbers.view(np.int32) if len(rows) > NARROW else numbers]
        counts = self.part_counts[self.first_part[s] : self.first_part[s + 1]]
        return np.split(ids, np.cumsum(counts)[:-1])


def steps_of(rows: Ints) -> npt.NDArray[np.uint8]:
    """Return the differences of rising ids, 7 bits a byte; the last byte of each is below 128.

    Examples
    --------
    >>> steps_of(np.array([3, 4, 300], dtype=np.int32)), rows_of(np.array([3, 1, 130, 40], dtype=np.uint8))
    (array([  3,   1, 130,  40], dtype=uint8), array([  3,   4, 300], dtype=int32))
    """
    steps = np.diff(rows, prepend=np.int32(0))
    last = np.cumsum(1 + sum((steps >> 7 * k) > 0 for k in range(1, 5))) - 1
    out = np.empty(last[-1] + 1 if len(last) else 0, dtype=np.uint8)
    out[last] = steps & 127
    for k in range(1, 5):
        far = np.flatnonzero(steps >> 7 * k)
        out[last[far] - k] = 128 | (steps[far] >> 7 * k & 127)
    return out


def rows_of(steps: npt.NDArray[np.uint8]) -> Ints:
    """Return the rising ids of :func:`steps_of`."""
    last = np.flatnonzero(steps < 128)
    sizes, values = np.diff(last, prepend=-1), steps[last].astype(np.int32)
    for k in range(1, 5):
        far = np.flatnonzero(sizes > k)
        values[far] += (steps[last[far] - k] & 127).astype(np.int32) << 7 * k
    return np.cumsum(values, dtype=np.int32)


def span_memory(room: int) -> Any:
    """Allocate the working memory of C for sentences of up to ``room`` words."""
    arrays: list[Any] = [*np.zeros((13, room * room)), np.zeros(3 * room * room, dtype=np.int32)]
    return bindings.Spans(room, *arrays)


class ArcLoss:
    """Sum over sentences of weight * -log p(tree | sentence), a function of the feature weights.

    Parameters
    ----------
    parts : encoded sentences (:func:`epigram.parsing.arc_features.encode_parts`).
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
        self,
        parts: PartFeatures,
        heads: Ints,
        n_weights: int,
        weights: Floats | None = None,
        threads: int = 1,
    ) -> None:
        self.n_weights, self.n_samples = n_weights, parts.n_sentences
        self.parts, self.heads = parts, np.ascontiguousarray(heads, dtype=np.int32)
        given = np.ones(parts.n_sentences) if weights is None else np.asarray(weights, dtype=np.float64)
        self._corpus = bindings.PartCorpus(
            parts.sentence_ptr,
            parts.first_arc,
            parts.keep,
            parts.first_part,
            parts.part_counts,
            parts.row_counts,
            parts.first_step,
            parts.steps,
            parts.first_number,
            parts.numbers,
            self.heads,
            given,
        )
        work = np.cumsum(np.diff(parts.first_arc))
        bounds = np.searchsorted(work, np.linspace(0, work[-1] if len(work) else 0, threads + 1)[1:-1])
        self._shards = np.split(np.arange(parts.n_sentences, dtype=np.int32), bounds)
        self._memory = [(self._chart(), _scratch(parts)) for _ in self._shards]

    def _chart(self) -> Any:
        """Allocate the chart of one thread."""
        return span_memory(self.parts.longest)

    def _call(self, name: str, k: int, arguments: tuple[Any, ...], *out: Any) -> Any:
        """Call a C function of the loss with the working memory of thread k."""
        return self.kernels[name](self._corpus, *arguments, *self._memory[k], *out)

    def value_and_gradient(self, w: Floats, out: Floats) -> float:
        """Return the sum of sample losses at ``w``; write the gradient to ``out``."""
        sums = [np.zeros(self.n_weights) for _ in self._shards]

        def run(k: int) -> float:
            met: float = self._call("gradient", k, (self._shards[k], w), sums[k])
            return met

        losses: list[float] = run_each(run, range(len(sums)))
        out[:] = sum(sums[1:], sums[0])
        return sum(losses)

    def sgd_pass(self, method: str, steps: Steps, w: Floats, q: Floats) -> float:
        """Run one pass of SGD (:class:`~epigram.protocols.StochasticLoss`)."""
        order, rates, penalties, batch_size = steps
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


def _scratch(parts: PartFeatures) -> Any:
    """Allocate the working memory for scores, weights and gradients of one sentence."""
    n_parts, n_rows = int(np.diff(parts.first_part).max(initial=1)), int(parts.row_counts.max(initial=1))
    ids, before = (np.zeros(n, dtype=np.int32) for n in (n_rows, 3 * parts.longest + 3))
    scores, derivatives, w, gradient = (np.zeros(n) for n in (n_parts, n_parts, n_rows, n_rows))
    return bindings.PartScratch(scores, derivatives, w, gradient, ids, before)
