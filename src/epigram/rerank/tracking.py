"""What happens along a path: L1 norm, non-zero weights, and errors on other lists, after every single step.

The development lists have their own inverted index: a step costs only the candidates that hold its feature.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from epigram.protocols import Floats, Ints, Offsets
from epigram.rerank import list_kernels as kernels
from epigram.rerank.features import FeatureSpace
from epigram.rerank.nbest import NBest, offsets
from epigram.solvers.stagewise import WeightPath


@dataclass(frozen=True, slots=True)
class Curves:
    """After step t = 0, 1, ...: loss on the training lists, L1 norm, non-zeros, dev errors (or NaN)."""

    losses: Floats = field(repr=False)
    l1_norms: Floats = field(repr=False)
    nonzeros: Offsets = field(repr=False)
    dev_errors: Floats = field(repr=False)


class Tracker:
    """Follows a path chunk by chunk; ``dev`` may be None."""

    def __init__(
        self, space: FeatureSpace, base_weight: float, start_loss: float, dev: NBest | None, measure: str
    ) -> None:
        n = space.n_weights
        self._w = np.zeros(n)
        self._now = 0
        if dev is None:
            self._ptr, self._candidates, self._values = np.zeros(n + 1, np.int64), _NO_INTS, np.zeros(0)
            self._list_of, self._list_ptr, self._errors = _NO_INTS, np.zeros(1, np.int64), np.zeros(0)
            self._scores, self._best = np.zeros(0), np.zeros(0, np.int64)
            errors = np.nan
        else:
            self._ptr, self._candidates, self._values = _by_feature(space, dev)
            self._list_of, self._list_ptr = dev.list_of, dev.list_ptr
            self._errors = dev.errors(measure)
            self._scores = base_weight * dev.scores
            self._best = np.empty(len(dev), np.int64)
            kernels.best_of_lists(dev.list_ptr, self._scores, self._best)
            self._best += dev.list_ptr[:-1]
            errors = float(self._errors[self._best].sum())
        n_lists = len(self._list_ptr) - 1
        self._stamp, self._touched = np.full(n_lists, -1, np.int64), np.empty(n_lists, np.int32)
        self._costs = np.array([0.0, 0.0, errors])
        self._pieces = [
            (np.array([start_loss]), np.zeros(1), np.zeros(1, np.int64), np.array([errors])),
        ]

    def follow(self, path: WeightPath) -> None:
        """Go on along ``path``."""
        n = len(path)
        l1_norms, nonzeros, errors = np.empty(n), np.empty(n, np.int64), np.empty(n)
        self._now = kernels.replay(
            path.ptr, path.features, path.deltas, self._ptr, self._candidates, self._values,
            self._list_of, self._list_ptr, self._errors, self._costs, self._w, self._scores, self._best,
            self._stamp, self._now, self._touched, l1_norms, nonzeros, errors,
        )  # fmt: skip
        self._pieces.append((path.losses, l1_norms, nonzeros, errors))

    @property
    def curves(self) -> Curves:
        """All so far."""
        return Curves(*(np.concatenate(column) for column in zip(*self._pieces, strict=True)))


_NO_INTS = np.zeros(0, np.int32)


def _by_feature(space: FeatureSpace, lists: NBest) -> tuple[Offsets, Ints, Floats]:
    """Inverted index of candidates: feature -> (candidate, value)."""
    ptr, features, values = space.extract(lists)
    owner = np.repeat(np.arange(lists.n_candidates, dtype=np.int32), np.diff(ptr))
    use_ptr = offsets(np.bincount(features, minlength=space.n_weights))
    order = np.empty(len(features), np.int32)
    kernels.counting_sort(features, np.arange(len(features), dtype=np.int32), use_ptr.copy(), order)
    return use_ptr, owner[order], values[order]
