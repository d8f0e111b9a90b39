"""Losses and proximal problems that are sums over shards, in the order of the shards.

:class:`ShardedLoss` is a loss for OWL-QN and L-BFGS: a shard computes its value and gradient, and keeps no state.

:class:`ShardedProblem` is a problem for FISTA whose vectors stay with the shards (:mod:`epigram.solvers.proximal`). All
steps are sums over weights, so a shard makes them on its own weights; this process has the shared ones. An iteration
sends two messages: the shared part of y and of its gradient, then the shared part of the step. Workers are stateful: a
shard's state is lost with its worker. Every message names the state that it is for, and a shard in another state,
because it was rebuilt or has answered before, reports that (:class:`ShardLost`). All shards then return to the last
checkpoint that each of them has written (:meth:`Shards.restore`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from epigram.checkpoint import State, check_counts, check_vectors
from epigram.errors import EpigramError, InputError, reason
from epigram.outofcore.engine import Engine
from epigram.protocols import Floats, ProximalPenalty
from epigram.solvers.proximal import Iterates, LocalProblem, ProximalStep

LOST = "lost"
Places = Sequence[npt.NDArray[np.integer[Any]] | slice]
"""Of each shard, the indices of its weights (of a problem: of its shared ones) among those of this process."""


class ShardLost(EpigramError):
    """Raised when a shard is not in the state that a message is for: its worker died."""


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


def add_up(places: Places, answers: Sequence[Floats], out: Floats) -> Floats:
    """Add up vectors of all shards, in the order of the shards."""
    out[:] = 0.0
    for mine, answer in zip(places, answers, strict=True):
        out[mine] += answer
    return out


class ShardedLoss:
    """Sum of the losses of the shards of an engine; a :class:`~epigram.protocols.BatchLoss`.

    A shard has only the weights of features that occur in it, and no others travel.

    Parameters
    ----------
    engine : where the shards are.
    shards : handles of things with ``value_and_gradient``, made by the engine.
    places : for each shard, the indices of its weights among all.
    n_weights, n_samples : of the whole.

    Examples
    --------
    >>> from epigram.outofcore.engine import Here
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
        self, engine: Engine, shards: Sequence[Any], places: Places, n_weights: int, n_samples: int
    ) -> None:
        self.engine, self.shards, self.places = engine, shards, places
        self.n_weights, self.n_samples = n_weights, n_samples

    def value_and_gradient(self, w: Floats, out: Floats) -> float:
        """Sum of sample losses at ``w``; its gradient is written to ``out``."""
        answers = self.engine.ask(evaluate, self.shards, [w[places] for places in self.places])
        add_up(self.places, [gradient for _, gradient in answers], out)
        return float(sum(value for value, _ in answers))

    def summed_gradients(self, w: Floats) -> tuple[Floats, Floats]:
        """For each weight, the sums over samples of its gradient at ``w`` and of the square of that."""
        answers = self.engine.ask(summed_gradients, self.shards, [w[places] for places in self.places])
        sums, squares = (
            add_up(self.places, found, np.empty(self.n_weights)) for found in zip(*answers, strict=True)
        )
        return sums, squares


class Shard:
    """A shard of a proximal problem: an ordinary problem whose first weights the driver moves.

    ``turn`` counts the changes of its state; a step counts as accepted when the next question comes.
    """

    problem: LocalProblem
    turn = 0
    tried = False

    def answer(self, before: int | None, after: int, name: str, arguments: Sequence[Any]) -> Any:
        """Call a method if the shard is in the state ``before`` (None: in any state)."""
        if before not in (None, self.turn):
            return LOST
        found = getattr(self, name)(*arguments)
        self.turn = after
        return found

    def linearise(self, momentum: float, shared: Floats, new_metric: bool) -> tuple[float, Floats]:
        """Accept the last step, if there was one; loss and shared part of the gradient at y."""
        problem, n = self.problem, self.problem.n_shared
        if self.tried:
            problem.accept(momentum, shared)
        else:
            y = problem.vectors["y"]
            y[:n] = shared
            problem.vectors["y"] = y
        self.tried = False
        return problem.linearise(new_metric), problem.vectors["gradient"][:n].copy()

    def try_step(self, scale: float, shared: Floats) -> tuple[ProximalStep, int]:
        """Step of the own weights, and how many of them are not 0."""
        step = self.problem.try_step(scale, shared)
        self.tried = True
        return step, int(np.count_nonzero(self.weights()[self.problem.n_shared :]))

    def weights(self) -> Floats:
        """The weights after the last step."""
        return self.problem.new if self.tried else self.problem.x

    def state(self) -> dict[str, Floats]:
        """State after an accepted step, for the next iteration."""
        return {"x": self.problem.x, "new": self.problem.new, "d": self.problem.vectors["d"]}

    def put(self, state: dict[str, Floats]) -> None:
        """Continue from a state; from an empty one, at 0."""
        n, self.tried = self.problem.loss.n_weights, bool(state)
        self.problem.restore(state or {"x": np.zeros(n), "y": np.zeros(n)})

    def store(self, path: Path) -> str:
        """Write the state to a file; returns why that failed, or nothing."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as file:
                np.savez(file, **self.state())  # type: ignore[arg-type]
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            return f"{path}: cannot write: {reason(error)}"
        return ""

    def restore(self, path: Path | None) -> None:
        """Continue from the state in a file, or from the beginning."""
        state: dict[str, Any] = {}
        try:
            if path is not None:
                with np.load(path) as file:
                    state = dict(file)
        except (OSError, ValueError, EOFError, BadZipFile) as error:
            said = f"corrupt checkpoint of a shard ({error}); leave out --resume to start afresh"
            raise InputError(said, path=path) from error
        check_vectors(state, self.problem.loss.n_weights)
        self.put(state)


def answer(shard: Shard, question: tuple[Any, ...]) -> Any:
    """Answer on a worker."""
    return shard.answer(*question)


class Shards:
    """The shards of a proximal problem, wherever an engine keeps them.

    Vectors of a question are over all shared weights: each shard gets those at its ``places``. Folders become files of
    a shard.
    """

    def __init__(self, engine: Engine, handles: Sequence[Any], places: Places) -> None:
        self.engine, self.handles, self.places = engine, handles, places
        self.turn = 0

    def change(self, name: str, *arguments: Any) -> list[Any]:
        """The answers of all shards to a question that changes them."""
        self.turn += 1
        return self._ask(range(len(self.handles)), self.turn - 1, name, arguments)

    def read(self, name: str, *arguments: Any, asked: Sequence[int] | None = None) -> list[Any]:
        """The answers of all shards, or of those ``asked``, to a question that does not change them."""
        return self._ask(range(len(self.handles)) if asked is None else asked, self.turn, name, arguments)

    def store(self, folder: Path) -> None:
        """Have all shards write their states to a folder."""
        if failed := next(filter(None, self.read("store", folder)), ""):
            raise InputError(failed)

    def restore(self, folder: Path | None) -> None:
        """Return all shards to the states in a folder, or to the beginning."""
        self.turn += 1
        self._ask(range(len(self.handles)), None, "restore", [folder])

    def _ask(
        self, asked: Sequence[int], before: int | None, name: str, arguments: Sequence[Any]
    ) -> list[Any]:
        questions = [(before, self.turn, name, [self._to(k, x) for x in arguments]) for k in asked]
        handles = [self.handles[k] for k in asked]
        answers = self.engine.ask(answer, handles, questions, may_move=before is None)
        if any(isinstance(found, str) and found == LOST for found in answers):
            raise ShardLost("a worker lost its shard")
        return answers

    def _to(self, k: int, argument: Any) -> Any:
        if isinstance(argument, np.ndarray):
            return argument[self.places[k]]
        return argument / f"{k:05d}.npz" if isinstance(argument, Path) else argument


class ShardedProblem(Iterates):
    """Sum of the losses and penalties of shards, as a problem for FISTA.

    Parameters
    ----------
    shards : each with its own weights.
    start : the shared weights to start from.
    counts : of the shared weights, in the whole text: what their curvature is made of.
    penalty : of the shared weights; a sum over weights.
    """

    def __init__(self, shards: Shards, start: Floats, counts: Floats, penalty: ProximalPenalty) -> None:
        super().__init__(penalty, start)
        self.shards, self.counts = shards, counts
        self.momentum, self.folder, self._nonzero = 0.0, "", 0

    @property
    def nonzero(self) -> int:
        """Weights that are not 0, of all shards."""
        return super().nonzero + self._nonzero

    def linearise(self, new_metric: bool) -> float:
        """See :class:`~epigram.solvers.proximal.ProximalProblem`; shards accept the last step now."""
        answers = self.shards.change("linearise", self.momentum, self.vectors["y"], new_metric)
        gradient = self.vectors.spare("gradient", self.counts.size)
        self.vectors["gradient"] = add_up(self.shards.places, [found for _, found in answers], gradient)
        if new_metric:
            self.vectors["d"] = self.counts + np.maximum(gradient, 0.0)
        return float(sum(value for value, _ in answers))

    def try_step(self, scale: float) -> ProximalStep:
        """See :class:`~epigram.solvers.proximal.ProximalProblem`."""
        penalty, sums = self.move(scale)
        answers = self.shards.change("try_step", scale, self.new)
        steps = [step for step, _ in answers]
        self._nonzero = sum(found for _, found in answers)
        loss, own = (float(sum(getattr(step, name) for step in steps)) for name in ("loss", "penalty"))
        size, slope, along = (
            float(mine + sum(getattr(step, name) for step in steps))
            for mine, name in zip(sums, ("size", "slope", "along"), strict=True)
        )
        return ProximalStep(loss, penalty + own, loss + penalty + own, size, slope, along)

    def accept(self, momentum: float, shared: Floats | tuple[()] = ()) -> None:
        """See :class:`~epigram.solvers.proximal.ProximalProblem`."""
        super().accept(momentum)
        self.momentum = momentum

    def state(self, folder: Path) -> State:
        """See :class:`.ProximalProblem`; the previous state stays until this one is saved."""
        self.folder = str(folder.resolve() / ("1" if self.folder.endswith("0") else "0"))
        self.shards.store(Path(self.folder))
        own = {name: vector.copy() for name, vector in super().state(folder).items()}  # steps write over them
        return {**own, "momentum": self.momentum, "folder": self.folder}

    def restore(self, state: State) -> None:
        """See :class:`~epigram.solvers.proximal.ProximalProblem`."""
        check_vectors(state, self.counts.size)
        check_counts(state)
        super().restore(state)
        self.momentum, self.folder = float(state["momentum"]), str(state["folder"])
        self.shards.restore(Path(self.folder))
