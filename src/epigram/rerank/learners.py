"""Lasso, softmax and perceptron learners; each step of their path is a model.

A learner has settings (values, or None for "to be chosen"), ``walk(loss, path)`` that yields what follows ``path``,
and may name the ``loss`` it wants (the exponential loss by default). ``Lasso`` is the exact solution that BLasso
approaches: OWL-QN on the exponential loss for falling l1 penalties.
``Softmax`` is the log-linear reranker with an l2 penalty. ``Perceptron`` is the averaged perceptron (Collins 2002; for
n-best lists Roark et al. 2004).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from epigram._core import bindings
from epigram.checkpoint import restored_rng
from epigram.penalties.separable import L1, L2
from epigram.protocols import Floats
from epigram.rerank.losses import ExponentialLoss, PairLoss, SoftmaxLoss
from epigram.rerank.stagewise import Learner, WeightPath
from epigram.solvers.quasi_newton import LBFGS, OWLQN


class _Falling(Learner):
    """Base class of exact learners: one minimum for each of a series of falling penalty weights."""

    def _strength(self, loss: PairLoss, t: int) -> float:
        """The strength of step t (0, 1, ...)."""
        raise NotImplementedError

    def _minimum(self, loss: PairLoss, strength: float, start: Floats) -> Floats:
        """The weights that minimise loss + penalty."""
        raise NotImplementedError

    def walk(
        self, loss: PairLoss, path: WeightPath, memory: dict[str, Any] | None = None
    ) -> Iterator[WeightPath]:
        """One step a strength, each starting from the last solution."""
        w = memory["w"] if memory else path.weights(loss.n_weights)
        for t in range(len(path), self.last_step):
            strength = self._strength(loss, t)
            after = self._minimum(loss, strength, w)
            if memory is not None:
                memory["w"] = after
            yield WeightPath.of_model(w, after, loss.value(after), strength)
            w = after


@dataclass(frozen=True)
class Lasso(_Falling):
    """Minimise ``ExpLoss + alpha sum |w|`` (equation 10) by OWL-QN, for falling values of alpha.

    They fall geometrically from the one that just allows no weight to ``weakest`` times that, which step ``steps``
    (20 where it is None) reaches.

    Parameters
    ----------
    steps : number of penalty weights.
    weakest : last penalty weight, as a share of the first.
    tolerance : tolerance of OWL-QN.
    """

    steps: int | None = None
    weakest: float = 1e-3
    tolerance: float = 1e-4

    usual: ClassVar[Mapping[str, float]] = {"steps": 20}
    most_steps = 60

    def _strength(self, loss: PairLoss, t: int) -> float:
        gradient = np.empty(loss.n_weights)
        loss.value_and_gradient(np.zeros(loss.n_weights), gradient)
        strongest = float(np.abs(gradient).max(initial=0.0))
        share: float = self.weakest ** ((t + 1) / (self.steps or self.usual["steps"]))
        return strongest * share

    def _minimum(self, loss: PairLoss, strength: float, start: Floats) -> Floats:
        return OWLQN(tolerance=self.tolerance).solve(loss, L1(strength), start=start).w


@dataclass(frozen=True)
class Softmax(_Falling):
    """Minimise softmax loss + l2 sum w^2 (log-linear) by L-BFGS, for falling penalty weights.

    They fall geometrically from ``strongest`` to ``weakest``, which step ``steps`` (12 where it is None) reaches.

    Parameters
    ----------
    steps : number of penalty weights.
    strongest : first l2 penalty weight.
    weakest : last penalty weight; of lasso, as a share of its first.
    tolerance : tolerance of L-BFGS.
    """

    steps: int | None = None
    strongest: float = 10.0
    weakest: float = 1e-2
    tolerance: float = 1e-3

    usual: ClassVar[Mapping[str, float]] = {"steps": 12}
    most_steps = 36
    loss: ClassVar[type[PairLoss]] = SoftmaxLoss

    def _strength(self, loss: PairLoss, t: int) -> float:
        place = t / max((self.steps or self.usual["steps"]) - 1, 1)
        share: float = (self.weakest / self.strongest) ** place
        return self.strongest * share

    def _minimum(self, loss: PairLoss, strength: float, start: Floats) -> Floats:
        return LBFGS(tolerance=self.tolerance).solve(loss, L2(strength), start=start).w


class PerceptronLoss(ExponentialLoss):
    """Lead of the best other candidate over the oracle, summed over lists; lambda_0 as ExpLoss."""

    def value(self, w: Floats) -> float:
        """The perceptron's loss at ``w``."""
        starts, counts = self.pairs.list_pair, np.diff(self.pairs.list_pair)
        filled = np.flatnonzero(counts)
        if not len(filled):
            return 0.0
        return float(np.maximum(np.maximum.reduceat(-self.margins(w), starts[filled]), 0.0).sum())


@dataclass(frozen=True)
class Perceptron(Learner):
    """Averaged perceptron: passes in random order; each step is the average so far.

    Updates are of size ``rate`` relative to the base feature, whose weight is lambda_0.

    Parameters
    ----------
    steps : number of passes over the lists.
    rate : size of an update, relative to the base feature.
    seed : seed of the order of the lists.
    """

    steps: int | None = None
    rate: float | None = None
    seed: int = 0

    usual: ClassVar[Mapping[str, float]] = {"steps": 20, "rate": 1.0}
    ladders: ClassVar[Mapping[str, tuple[float, ...]]] = {
        "rate": tuple(10.0 ** (k / 2) for k in range(-6, 7))
    }
    most_steps = 100
    loss: ClassVar[type[PairLoss]] = PerceptronLoss

    def walk(
        self, loss: PerceptronLoss, path: WeightPath, memory: dict[str, Any] | None = None
    ) -> Iterator[WeightPath]:
        """Yield one step per pass; without ``memory`` the passes of ``path`` are repeated."""
        pairs = loss.pairs
        generator = np.random.default_rng(self.seed)
        w, u = np.zeros(loss.n_weights), np.zeros(loss.n_weights)
        rate = self.value("rate")
        base = loss.base_weight / rate * pairs.base
        clock, before, done = 1.0, np.zeros(loss.n_weights), 0
        if memory:
            w, u, before, clock, done = (memory[name] for name in ("w", "u", "before", "clock", "done"))
            generator = restored_rng(generator, memory["rng"])
        for t in range(done, self.last_step):
            order = generator.permutation(pairs.n_lists)
            clock = bindings.rerank_perceptron_pass(
                order, pairs.list_pair, pairs.pair_ptr, pairs.pair_slot,
                pairs.slot_feature, pairs.slot_value, base, clock, w, u,
            )  # fmt: skip
            after = rate * (w - u / clock)
            if memory is not None:
                memory |= {"w": w, "u": u, "before": after, "clock": clock, "done": t + 1}
                memory["rng"] = generator.bit_generator.state
            if t >= len(path):
                yield WeightPath.of_model(before, after, loss.value(after))
            before = after
