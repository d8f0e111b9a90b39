"""Training lists made ready for learners: features, pairs and losses once, then any number of paths through them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from epigram.protocols import Learner, check_finite
from epigram.rerank.features import FeatureSpace
from epigram.rerank.losses import ExponentialLoss, PairLoss
from epigram.rerank.nbest import NBest
from epigram.rerank.pairs import Pairs
from epigram.rerank.tracking import Curves, Tracker
from epigram.solvers.stagewise import WeightPath


@dataclass(frozen=True)
class Walk:
    """A learner's finished path, and what happened along it."""

    learner: Learner
    path: WeightPath = field(repr=False)
    curves: Curves = field(repr=False)
    base_weight: float

    @property
    def step(self) -> int:
        """The step with the fewest held-out errors; the last without held-out lists."""
        return best_step(self.curves)

    @property
    def dev_errors(self) -> float:
        """Held-out errors of that step; NaN without held-out lists."""
        return float(self.curves.dev_errors[self.step])


class RerankProblem:
    """Lists as features, pairs and losses; ``dev`` lists, if any, judge every step of a path.

    Examples
    --------
    >>> from epigram import BLasso
    >>> lists = NBest.from_lists([{"reference": "a b", "candidates": [
    ...     {"text": "a c", "score": -1.0}, {"text": "a b", "score": -1.5}]}] * 3)
    >>> walk = RerankProblem(lists, lists).walk(BLasso(steps=5))
    >>> walk.curves.dev_errors[[0, walk.step]].tolist()
    [3.0, 0.0]
    """

    def __init__(
        self,
        train: NBest,
        dev: NBest | None = None,
        *,
        space: FeatureSpace | None = None,
        measure: str = "cer",
        risk: float = 0.0,
        base_weight: float | None = None,
    ) -> None:
        self.space = FeatureSpace.collect(train) if space is None else space
        self.pairs = Pairs.of(train, self.space, measure, risk)
        self.dev, self.measure = dev, measure
        self._base_weight = base_weight
        self._losses: dict[type[PairLoss], PairLoss] = {}

    def loss(self, learner: Learner) -> PairLoss:
        """The loss a learner asks for, the exponential loss where it asks for none."""
        kind: type[PairLoss] = getattr(learner, "loss", ExponentialLoss)
        if kind not in self._losses:
            self._losses[kind] = kind(self.pairs, self._base_weight)
        return self._losses[kind]

    def walk(
        self,
        learner: Learner,
        path: WeightPath | None = None,
        stop: Callable[[Curves], bool] | None = None,
    ) -> Walk:
        """Let a learner go on from the end of ``path`` (from the beginning by default) until ``stop`` says so."""
        loss = self.loss(learner)
        pieces = [WeightPath.empty() if path is None else path]
        tracker = self.tracker(loss, self.dev)
        tracker.follow(pieces[0])
        for chunk in learner.walk(loss, pieces[0]):
            check_finite("steps", chunk.deltas)
            check_finite("losses of the path", chunk.losses)
            pieces.append(chunk)
            tracker.follow(chunk)
            if stop is not None and stop(tracker.curves):
                break
        return Walk(learner, WeightPath.joined(pieces), tracker.curves, loss.base_weight)

    def tracker(self, loss: PairLoss, lists: NBest | None) -> Tracker:
        """Something to follow a path of this problem with, on any lists."""
        start = loss.value(np.zeros(self.space.n_weights))
        check_finite("the loss is", start)
        return Tracker(self.space, loss.base_weight, start, lists, self.measure)


def best_step(curves: Curves) -> int:
    """The first step with the fewest dev errors; without dev lists the last."""
    if np.isnan(curves.dev_errors[0]):
        return len(curves.losses) - 1
    return int(np.argmin(curves.dev_errors))
