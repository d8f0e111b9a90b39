"""Proximal gradient solvers: FISTA with backtracking and restarts, and stochastic SAGE.

FISTA (Beck and Teboulle 2009) with backtracking, restart by the gradient test of O'Donoghue and Candes
2015, and a diagonal metric: step 1 / (L d) per weight, d the loss's ``curvature()`` and L one scalar found
by line search. A penalty whose prox cannot take any d raises it to one that it can (``level``).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from epigram._core import bindings
from epigram.checkpoint import State, demand, here, restored_rng, resumable
from epigram.errors import InputError
from epigram.estimator import Estimator
from epigram.protocols import BatchLoss, Callback, Floats, Ints, Iteration, ProximalPenalty, Result, require
from epigram.solvers.stochastic import check_counts, run_passes

LEAST = 5.0  # L of exact gradients: suffixes of a context move together, so the metric alone would overshoot
RARE = 10.0  # a weight seen less often takes the steps of one seen so often
# Chosen on held-out newswire for one pass and for ten; see StochasticProximal.constants.
EARLY, LATE = 0.125, 0.5


@runtime_checkable
class CurvedLoss(BatchLoss, Protocol):
    """A batch loss that knows roughly how curved it is along each weight."""

    def curvature(self, gradient: Floats) -> Floats:
        """Positive diagonal d at the weights of this gradient; steps measure sum d (v - w)^2."""
        ...


@runtime_checkable
class MiniBatchLoss(BatchLoss, Protocol):
    """A batch loss that can also be had for some samples."""

    def batch_value_and_gradient(
        self, samples: npt.NDArray[np.int64], scale: float, w: Floats, out: Floats, touched: Ints
    ) -> tuple[float, Ints]:
        """``scale`` times the loss of ``samples``; ``out`` is zero except at ``touched``.

        Returns the value and what this call touched.
        """
        ...


class ProximalStep(NamedTuple):
    """Values at a new point, and the inner products by which FISTA accepts the step."""

    loss: float
    penalty: float
    objective: float
    size: float
    """sum d (new - y)^2"""
    slope: float
    """gradient (new - y)"""
    along: float
    """d (y - new) (new - x), negative where the momentum points uphill."""


class ProximalProblem(Protocol):
    """An objective for :meth:`FISTA.minimise`; the problem holds the vectors, wherever they are."""

    @property
    def x(self) -> Floats:
        """The weights after the last accepted step, or those of them that the problem has at hand."""
        ...

    @property
    def nonzero(self) -> int:
        """Weights that are not 0 after the last accepted step."""
        ...

    def linearise(self, new_metric: bool) -> float:
        """Loss at y; the problem keeps the gradient and, if asked for, the metric d there."""
        ...

    def try_step(self, scale: float) -> ProximalStep:
        """Proximal step of size 1 / (scale d) from y."""
        ...

    def accept(self, momentum: float) -> None:
        """Extrapolate: y = new + momentum (new - x), then x = new."""
        ...

    def state(self, folder: Path) -> State:
        """State for :meth:`restore`; large parts may be written to ``folder``."""
        ...

    def restore(self, state: State) -> None:
        """Continue from a state."""
        ...


class Vectors(Protocol):
    """Storage of vectors by name between two calls: memory (:class:`InMemory`) or a file."""

    def __getitem__(self, name: str, /) -> Floats: ...

    def __setitem__(self, name: str, vector: Floats, /) -> None: ...

    def spare(self, name: str, size: int, /) -> Floats:
        """A vector to write to; it may be the one with this name."""
        ...


class InMemory(dict[str, Floats]):
    """Vectors in memory."""

    def spare(self, name: str, size: int, /) -> Floats:
        """See :class:`Vectors`."""
        return self[name] if name in self else self.setdefault(name, np.empty(size))


class Iterates:
    """Vectors of FISTA and its steps on them; the first ``n_shared`` weights move elsewhere.

    A vector is read from ``vectors`` where a step needs it, and stored where it was changed.
    """

    def __init__(
        self, penalty: ProximalPenalty, start: Floats, vectors: Vectors | None = None, n_shared: int = 0
    ) -> None:
        self.penalty, self.n_shared = penalty, n_shared
        self.vectors: Vectors = InMemory() if vectors is None else vectors
        self._x, self._new = "x", "new"  # the names change places with every step
        for name in ("x", "y"):
            self.vectors[name] = start.astype(np.float64)

    @property
    def x(self) -> Floats:
        """The weights after the last accepted step."""
        return self.vectors[self._x]

    @property
    def new(self) -> Floats:
        """The weights of the last step that was tried."""
        return self.vectors[self._new]

    @property
    def nonzero(self) -> int:
        """Weights that are not 0."""
        return int(np.count_nonzero(self.x))

    def move(self, scale: float, shared: Floats | tuple[()] = ()) -> tuple[float, list[float]]:
        """Make a proximal step from y; return the penalty, and size, slope and along."""
        vectors, n, sums = self.vectors, self.n_shared, np.empty(3)
        y, gradient, d = vectors["y"], vectors["gradient"], vectors["d"]
        own, new = y.size - n, vectors.spare(self._new, y.size)
        step, point = vectors.spare("step", own), vectors.spare("point", own)
        bindings.solvers_forward_step(y[n:], gradient[n:], d[n:], scale, step, point)
        self.penalty.prox(point, step, new[n:])
        bindings.solvers_measure(y[n:], new[n:], self.x[n:], gradient[n:], d[n:], sums)
        new[:n] = shared
        vectors[self._new] = new
        return self.penalty.value(new[n:]), sums.tolist()

    def accept(self, momentum: float, shared: Floats | tuple[()] = ()) -> None:
        """See :class:`ProximalProblem`; ``shared`` are the shared weights of y."""
        new, n = self.new, self.n_shared
        y = self.vectors.spare("y", new.size)
        bindings.solvers_extrapolate(new[n:], self.x[n:], momentum, y[n:])
        y[:n] = shared
        self.vectors["y"] = y
        self._x, self._new = self._new, self._x

    def state(self, folder: Path) -> State:
        """See :class:`ProximalProblem`."""
        return {"x": self.x, "y": self.vectors["y"], "d": self.vectors["d"]}

    def restore(self, state: State) -> None:
        """See :class:`ProximalProblem`."""
        names = {"x": self._x, "new": self._new}
        for name, value in state.items():
            if isinstance(value, np.ndarray):
                self.vectors[names.get(name, name)] = value


class LocalProblem(Iterates):
    """A loss + a penalty on this machine, as a :class:`ProximalProblem`."""

    def __init__(
        self,
        loss: BatchLoss,
        penalty: ProximalPenalty,
        start: Floats | None = None,
        vectors: Vectors | None = None,
        n_shared: int = 0,
    ) -> None:
        super().__init__(penalty, np.zeros(loss.n_weights) if start is None else start, vectors, n_shared)
        self.loss = loss

    def linearise(self, new_metric: bool) -> float:
        """See :class:`ProximalProblem`."""
        y = self.vectors["y"]
        gradient = self.vectors.spare("gradient", y.size)
        value = self.loss.value_and_gradient(y, gradient)
        self.vectors["gradient"] = gradient
        if new_metric:
            self.vectors["d"] = metric(self.loss, self.penalty, gradient)
        return value

    def try_step(self, scale: float, shared: Floats | tuple[()] = ()) -> ProximalStep:
        """See :class:`ProximalProblem`."""
        penalty, sums = self.move(scale, shared)
        new = self.new
        loss = _value(self.loss, new, self.vectors.spare("point", new.size))
        return ProximalStep(loss, penalty, loss + penalty, *sums)


@dataclass(eq=False, repr=False)
class FISTA(Estimator):
    """Accelerated proximal gradient on the exact loss.

    Parameters
    ----------
    tolerance : stop when a proximal step promises to lower the objective by less than this share of it
    max_iterations : stop in any case

    Examples
    --------
    >>> from epigram import L1
    >>> class Square:
    ...     n_weights, n_samples = 2, 1
    ...     def value_and_gradient(self, w, out):
    ...         out[:] = w - [3.0, 0.5]
    ...         return float(out @ out) / 2
    >>> FISTA().solve(Square(), L1(1.0)).w.round(6).tolist()
    [2.0, 0.0]
    """

    tolerance: float = 1e-7
    max_iterations: int = 1000

    def __post_init__(self) -> None:
        if not 0 < self.tolerance < 1:
            raise ValueError(f"tolerance must be between 0 and 1, not {self.tolerance!r}.")
        if self.max_iterations < 1:
            raise ValueError(f"max_iterations must be at least 1, not {self.max_iterations!r}.")

    @resumable
    def solve(
        self,
        loss: BatchLoss,
        penalty: ProximalPenalty,
        start: Floats | None = None,
        callback: Callback | None = None,
    ) -> Result:
        """Minimise loss + penalty."""
        require(loss, BatchLoss, self, "a loss with value_and_gradient", "SGD")
        require(penalty, ProximalPenalty, self, "a penalty with prox", "LBFGS")
        return self.minimise(LocalProblem(loss, penalty, start), callback)

    def minimise(self, problem: ProximalProblem, callback: Callback | None = None) -> Result:
        """Minimise a problem from its start, or from the state of a checkpoint."""
        began, kept, reason = time.perf_counter(), here(), "limit"
        scale, momentum, objective, optimality, turned, done = 1.0, 1.0, np.inf, np.inf, True, 0
        if saved := kept.state:
            scale, momentum, objective, optimality, turned, done = saved["numbers"]
            demand(0.0 < scale < 1e300 and 1.0 <= momentum < 1e300)  # else the search for a step never ends
            problem.restore(saved)
        number = done
        for number in range(done + 1, self.max_iterations + 1):
            at_y = problem.linearise(turned)
            while True:
                step = problem.try_step(scale)
                bound = at_y + step.slope + 0.5 * scale * step.size
                if step.loss <= bound + 1e-12 * abs(at_y) or scale > 1e18:
                    break
                scale *= 1.5
            objective = step.objective
            optimality = 0.5 * scale * step.size / max(abs(objective), 1e-300)
            turned = step.along < 0
            following = 1.0 if turned else float(0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum * momentum)))
            problem.accept(0.0 if turned else (momentum - 1.0) / following)
            momentum = following
            scale *= 0.98
            stop, over = False, optimality <= self.tolerance
            if callback is not None:
                seconds = time.perf_counter() - began
                stop = bool(
                    callback(Iteration(number, objective, problem.nonzero, seconds, problem.x, optimality))
                )
            if kept.is_due(over, stop):
                numbers = [scale, momentum, float(objective), float(optimality), turned, number]
                try:
                    kept.save({**problem.state(kept.folder), "numbers": numbers}, stop=stop)
                except InputError as error:
                    kept.give_up(str(error))
            if stop or over:
                reason = "callback" if stop else "converged"
                break
        return Result(problem.x, objective, number, reason, optimality)


@dataclass(eq=False, repr=False)
class StochasticProximal(Estimator):
    """Accelerated proximal steps on mini-batches: Algorithm 1 of Nelakanti et al. 2013.

    The method is SAGE (Hu et al. 2009).

    Every pass visits all samples in a new random order, in batches of equal size (within one sample), each scaled to
    stand for all samples: every step's gradient is unbiased, that of the last batch too. L and mu are in units of the
    metric of :class:`FISTA`, at least ``RARE`` for every weight; a loss without ``curvature`` has the metric 1.

    Differs from the print: line 6 has rho tau Z, which is SAGE's own, where the paper prints (1 - mu) Z; only with
    rho tau are its three coefficients, over rho tau + mu, an affine combination that leaves W = Z alone. ``W`` starts
    at ``start``, not 0. The metric takes the place of a single 1/rho.

    Parameters
    ----------
    batch_size : number of samples per step; 400 in the paper.
    passes : most passes over the samples.
    lipschitz : L of Algorithm 1, the curvature of the loss against the metric. ``"auto"``: see :meth:`constants`.
    mu : mu of Algorithm 1, the strong convexity. Larger values shrink the steps sooner. ``"auto"``: see
        :meth:`constants`.
    tolerance : share of the objective; training stops when a pass changes less.
    seed : seed of the order of the samples.
    """

    batch_size: int = 400
    passes: int = 10
    lipschitz: float | Literal["auto"] = "auto"
    mu: float | Literal["auto"] = "auto"
    tolerance: float = 1e-6
    seed: int = 0

    def __post_init__(self) -> None:
        check_counts(self.passes, self.batch_size)
        for name, value in (("lipschitz", self.lipschitz), ("mu", self.mu)):
            if value != "auto" and not (np.isfinite(value) and value > 0):
                raise ValueError(f"{name} must be 'auto' or a positive number, not {value!r}.")
        if not 0 <= self.tolerance < 1:
            raise ValueError(f"tolerance must be at least 0 and below 1, not {self.tolerance!r}.")

    def constants(self, scale: float, evenness: float = 1.0) -> tuple[float, float]:
        """L and mu where a sample of a batch stands for ``scale`` samples.

        After p passes, each of ``scale`` steps, SAGE moves Z by 1 / (L tau + mu / tau) of the gradient in the metric,
        with tau = 2 / (p scale). For the weight of a feature that was seen once, whose metric is RARE, that is

            1 / (2 a / p + b p / 2)  nats   with  L = a scale^2 / RARE,  mu = b / RARE

        each time the feature comes by: constants a and b make the steps the same whatever the size of the text. With
        a = EARLY and b = LATE they grow to 2 in the first pass and fall as 4 / p from the third.

        mu is there against noise: it is less where batches are much of the sum, by 1 - 1 / scale (no noise in a
        batch of all samples), and where a penalty levels the metric, by ``evenness``, the mean share of a weight's
        own curvature in the metric.
        """
        L = max(EARLY * scale * scale / RARE, LEAST) if self.lipschitz == "auto" else self.lipschitz
        mu = evenness * (1.0 - 1.0 / scale) * LATE / RARE if self.mu == "auto" else self.mu
        return float(L), float(mu)

    @resumable
    def solve(
        self,
        loss: MiniBatchLoss,
        penalty: ProximalPenalty,
        start: Floats | None = None,
        callback: Callback | None = None,
        samples: npt.NDArray[np.int64] | None = None,
    ) -> Result:
        """Minimise loss + penalty; ``samples`` limits the passes to some samples (new text, say)."""
        self._check(loss, penalty)
        rng = np.random.default_rng(self.seed)
        samples = np.arange(loss.n_samples) if samples is None else samples
        n_batches = max(1, -(-samples.size // self.batch_size))
        w = np.zeros(loss.n_weights) if start is None else start.astype(np.float64)
        z, point, gradient, step, moved = w.copy(), *np.zeros((4, w.size))
        objective = loss.value_and_gradient(w, gradient) + penalty.value(w)
        scale = loss.n_samples * n_batches / max(1, samples.size)
        L, _ = self.constants(scale)
        # One sample moves a rare weight by scale / (L d) at once: more than 1 would overshoot.
        least = max(RARE, scale / L) if isinstance(loss, CurvedLoss) else 0.0
        own, d = curvature(loss, gradient, least), metric(loss, penalty, gradient, least)
        L, mu = self.constants(scale, float(np.mean(own / d)) if d.size else 1.0)
        gradient[:] = 0.0
        touched = np.empty(0, np.int32)
        tau, delta, rho = 1.0, 1.0, L + mu  # line 2
        before = objective
        if saved := here().state:
            w, z, rng = saved["w"], saved["z"], restored_rng(rng, saved["rng"])
            tau, delta, rho, objective = saved["numbers"]

        def one_pass(number: int) -> tuple[float, Floats]:
            nonlocal touched, tau, delta, rho, before, objective
            for batch in np.array_split(rng.permutation(samples), n_batches):
                bindings.solvers_average(w, z, tau, point)  # line 4
                share = loss.n_samples / max(1, batch.size)
                _, touched = loss.batch_value_and_gradient(batch, share, point, gradient, touched)
                # line 5: ParamUpdate, line 1
                bindings.solvers_forward_step(point, gradient, d, rho, step, moved)
                penalty.prox(moved, step, w)  # its lines 2 and 3
                bindings.solvers_sage_average(point, w, rho, tau, mu, z)  # line 6
                tau = 0.5 * (np.sqrt(4.0 * delta + delta * delta) - delta)  # line 7
                rho = L + mu / delta
                delta *= 1.0 - tau
            before, objective = objective, _value(loss, w, moved) + penalty.value(w)
            return objective, w

        def is_over(number: int) -> bool:
            return bool(abs(before - objective) <= self.tolerance * abs(objective))

        def state() -> State:
            numbers = [float(number) for number in (tau, delta, rho, objective)]
            return {"z": z, "rng": rng.bit_generator.state, "numbers": numbers}

        return run_passes(one_pass, self.passes, callback, state, is_over)

    def _check(self, loss: object, penalty: object) -> None:
        require(loss, MiniBatchLoss, self, "a loss with batch_value_and_gradient", "SGD")
        require(penalty, ProximalPenalty, self, "a penalty with prox", "SGD")
        if "auto" in (self.lipschitz, self.mu):
            needs = "a loss with curvature, or else numbers for lipschitz and mu"
            require(loss, CurvedLoss, self, needs, "StochasticProximal(lipschitz=..., mu=...)")


def curvature(loss: BatchLoss, gradient: Floats, least: float = 0.0) -> Floats:
    """Curvature of the loss, or 1 if it has none, at least ``least``."""
    d = loss.curvature(gradient) if isinstance(loss, CurvedLoss) else np.ones(loss.n_weights)
    return np.maximum(d, least)


def metric(loss: BatchLoss, penalty: ProximalPenalty, gradient: Floats, least: float = 0.0) -> Floats:
    """The diagonal to measure steps by: the loss's curvature, at least ``least``.

    A penalty whose prox cannot take any steps, because weights of one group must share theirs, has ``level(d)``: the
    least diagonal of at least ``d`` with which it can be taken.
    """
    d = curvature(loss, gradient, least)
    level = getattr(penalty, "level", None)  # asked for by name, since a penalty may hand on another's
    return d if level is None else np.asarray(level(d))


def _value(loss: BatchLoss, w: Floats, spare: Floats) -> float:
    """The loss alone, where it has a cheaper way than the gradient."""
    value = getattr(loss, "value", None)
    return float(loss.value_and_gradient(w, spare) if value is None else value(w))
