"""The loss of a corpus in shards: the sum of the losses of the shards, in their order.

Keeps the contract of :class:`epigram.protocols.BatchLoss`, so OWL-QN, L-BFGS and FISTA run on it unchanged. A shard has
only the weights of features that occur in it: ``places`` says which of all they are, and no others travel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from epigram.protocols import Floats
from epigram.scale.engine import Engine


class ShardLoss(Protocol):
    """The loss of one shard, on its own weights."""

    def value_and_gradient(self, w: Floats, out: Floats) -> float:
        """As of :class:`epigram.protocols.BatchLoss`."""
        ...


def evaluate(shard: ShardLoss, w: Floats) -> tuple[float, Floats]:
    """Value and gradient of one shard at its own weights."""
    gradient = np.empty_like(w)
    return float(shard.value_and_gradient(w, gradient)), gradient


def summed_gradients(shard: Any, w: Floats) -> tuple[Floats, Floats]:
    """Sums of gradients and of their squares over the samples of one shard."""
    sums, squares = shard.summed_gradients(w)
    return sums, squares


class ShardedLoss:
    """Sum of the losses of shards, wherever an engine keeps them.

    Parameters
    ----------
    engine : where the shards are.
    shards : handles of things with ``value_and_gradient``, made by the engine.
    places : for each shard, the numbers of its weights among all.
    n_weights, n_samples : of the whole.

    Examples
    --------
    >>> from epigram.scale.engine import Here
    >>> class Near:
    ...     def __init__(self, centre):
    ...         self.centre = centre
    ...     def value_and_gradient(self, w, out):
    ...         out[:] = w - self.centre
    ...         return 0.5 * float(out @ out)
    >>> engine = Here()
    >>> loss = ShardedLoss(engine, engine.make(Near, [1.0, 3.0]), [np.array([0]), np.array([0, 1])], 2, 2)
    >>> gradient = np.empty(2)
    >>> loss.value_and_gradient(np.zeros(2), gradient), gradient.tolist()
    (9.5, [-4.0, -3.0])
    """

    def __init__(
        self,
        engine: Engine,
        shards: Sequence[Any],
        places: Sequence[npt.NDArray[np.integer[Any]]],
        n_weights: int,
        n_samples: int,
    ) -> None:
        self.engine, self.shards, self.places = engine, shards, places
        self.n_weights, self.n_samples = n_weights, n_samples

    def value_and_gradient(self, w: Floats, out: Floats) -> float:
        """Sum of sample losses at ``w``; its gradient is written to ``out``."""
        answers = self.engine.ask(evaluate, self.shards, [w[places] for places in self.places])
        out[:] = 0.0
        for places, (_, gradient) in zip(self.places, answers, strict=True):
            out[places] += gradient
        return float(sum(value for value, _ in answers))

    def summed_gradients(self, w: Floats) -> tuple[Floats, Floats]:
        """Of each weight, the sums over samples of its gradient at ``w`` and of the square of that."""
        answers = self.engine.ask(summed_gradients, self.shards, [w[places] for places in self.places])
        sums, squares = np.zeros((2, self.n_weights))
        for places, (shard_sums, shard_squares) in zip(self.places, answers, strict=True):
            sums[places] += shard_sums
            squares[places] += shard_squares
        return sums, squares
