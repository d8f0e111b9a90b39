"""FISTA whose vectors stay with the shards: the driver keeps the part that shards share, and sums a few numbers.

The same steps as :class:`epigram.solvers.proximal.FISTA` (Beck and Teboulle 2009, with restarts and a diagonal
metric): gradient at y, proximal step, three inner products, extrapolation. All are sums over weights, so a shard does
them on its own weights. Two questions an iteration travel: the shared part of y and of its gradient, then the shared
part of the step.

A shard's vectors are a state that dies with its worker. Every message has a number, a shard answers the last one
again, and one that was made anew is told all messages since the first: it ends with the same bits. Where the training
keeps a checkpoint, every shard writes its state to a file of its own; messages from before are then forgotten, and a
later run goes on from there.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from epigram._core.native import family
from epigram.errors import InputError
from epigram.protocols import Callback, Floats, Iteration, ProximalPenalty, Result
from epigram.resuming import Piece, State, piece
from epigram.scale.engine import Engine

BEHIND = "behind"
Message = tuple[Any, ...]
Places = Sequence[npt.NDArray[np.integer[Any]] | slice]
"""Of each part, the numbers of its shared weights among all that are shared."""


class PartLoss(Protocol):
    """The loss of a shard; the first ``n_shared`` of its weights are those that the driver keeps."""

    n_shared: int
    n_weights: int

    def value(self, w: Floats) -> float:
        """The loss alone."""
        ...

    def value_and_gradient(self, w: Floats, out: Floats) -> float:
        """Loss and gradient."""
        ...

    def curvature(self, gradient: Floats) -> Floats:
        """As of :class:`epigram.solvers.proximal.CurvedLoss`."""
        ...


class Vectors(Protocol):
    """Where a part has its vectors between two questions: in memory (:class:`Held`) or in a file."""

    def __getitem__(self, name: str, /) -> Floats:
        """What has this name."""
        ...

    def __setitem__(self, name: str, vector: Floats, /) -> None:
        """Keep it."""
        ...

    def spare(self, name: str, /) -> Floats:
        """As long as what has this name, to be written over."""
        ...


class Held(dict[str, Floats]):
    """Vectors in memory."""

    def spare(self, name: str, /) -> Floats:
        """See :class:`Vectors`."""
        return self[name]


class Part:
    """A shard's loss, the penalty of its own weights, and its part of the solver's vectors, which start at 0.

    A vector is read from ``vectors`` where a question needs it, and given back where it was changed.
    """

    loss: PartLoss
    penalty: ProximalPenalty

    def __init__(self, n_weights: int, vectors: Vectors | None = None) -> None:
        self.vectors: Vectors = Held() if vectors is None else vectors
        for name in ("x", "new", "y", "gradient", "d"):
            self.vectors[name] = np.zeros(n_weights)
        self._x, self._new = "x", "new"  # the names change places with every step
        self.tried = False
        self.heard, self.answer = 0, None

    def hear(self, message: Message) -> Any:
        """Do what a message says, once; answer the last one again; say so where messages are missing."""
        number, kind, *what = message
        if kind == "kept" and number in (self.heard, self.heard + 1):  # changes nothing, and is large
            self.heard = number
            return self.kept(*what)
        if number == self.heard:
            return self.answer
        if number != self.heard + 1 and kind != "restore":  # which needs nothing from before
            return BEHIND
        self.answer = getattr(self, kind)(*what)
        self.heard = number
        return self.answer

    def at_y(self, pull: float, shared: Floats, turned: bool) -> tuple[Any, ...]:
        """Accept the last step, if there was one, then loss and gradient at y."""
        n, core, vectors = self.loss.n_shared, family("solvers"), self.vectors
        y = vectors.spare("y") if self.tried else vectors["y"]
        if self.tried:
            new, x = vectors[self._new], vectors[self._x]
            core.extrapolate(y.size - n, new[n:], x[n:], pull, y[n:])
            del new, x
            self._x, self._new = self._new, self._x
        y[:n] = shared
        vectors["y"] = y
        gradient = vectors.spare("gradient")
        value = self.loss.value_and_gradient(y, gradient)
        vectors["gradient"] = gradient
        if turned:
            vectors["d"] = self.loss.curvature(gradient)
        return value, gradient[:n].copy()

    def attempt(self, scale: float, shared: Floats) -> tuple[float, ...]:
        """A proximal step of this size: what the driver asks about it."""
        y, gradient, d = (self.vectors[name] for name in ("y", "gradient", "d"))
        return self.measured(self.step(scale, y, gradient, d), shared, y, gradient, d)

    def step(self, scale: float, y: Floats, gradient: Floats, d: Floats) -> Floats:
        """The proximal step of the own weights."""
        n, new = self.loss.n_shared, self.vectors.spare(self._new)
        steps, point = np.empty((2, y.size - n))
        family("solvers").forward_step(y.size - n, y[n:], gradient[n:], d[n:], scale, steps, point)
        self.penalty.prox(point, steps, new[n:])
        return new

    def measured(
        self, new: Floats, shared: Floats, y: Floats, gradient: Floats, d: Floats
    ) -> tuple[float, ...]:
        """What the driver asks about the step: three inner products, loss, penalty and weights that are not 0."""
        n, sums = self.loss.n_shared, np.empty(3)
        x = self.vectors[self._x]
        family("solvers").measure(y.size - n, y[n:], new[n:], x[n:], gradient[n:], d[n:], sums)
        new[:n] = shared
        self.tried = True
        self.vectors[self._new] = new
        value = self.loss.value(new)
        nonzero = float(np.count_nonzero(new[n:]))
        return (*sums.tolist(), value, self.penalty.value(new[n:]), nonzero)

    def store(self, path: Path) -> str:
        """Write what the next step needs, after an accepted one; returns why that failed, or nothing."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as file:
                for name in (self._x, self._new, "d"):
                    np.ascontiguousarray(self.vectors[name]).tofile(file)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            return f"{path}: cannot write: {error.strerror or error}"
        return ""

    def restore(self, path: Path) -> None:
        """Read it back."""
        names, n = (self._x, self._new, "d"), self.loss.n_weights
        try:
            if path.stat().st_size != len(names) * n * 8:
                raise InputError(
                    "damaged: not as long as it was; leave out --resume to start afresh", path=path
                )
            with path.open("rb") as file:
                for name in names:
                    self.vectors[name] = np.fromfile(file, np.float64, n)
        except OSError as error:
            said = f"cannot read: {error.strerror}; leave out --resume to start afresh"
            raise InputError(said, path=path) from error
        self.tried = True

    def kept(self, *what: Any) -> Any:
        """What becomes part of the model."""
        raise NotImplementedError

    def weights(self) -> Floats:
        """The weights after the last accepted step: those of the last attempt."""
        return self.vectors[self._new if self.tried else self._x]


def hear(part: Part, message: Message) -> Any:
    """On a worker."""
    return part.hear(message)


def hear_all(part: Part, messages: list[Message]) -> None:
    """On a worker: what a part that was made anew has missed."""
    for message in messages:
        if message[0] > part.heard:
            part.hear(message)


@dataclass
class Talk:
    """Numbered messages to all parts, and what was said so far, where the engine may lose a part.

    Vectors of a message are over all shared weights; ``places`` are those of each part.
    """

    engine: Engine
    parts: Sequence[Any]
    places: Places
    number: int = 0
    said: list[Message] = field(default_factory=list)

    def ask(self, kind: str, *what: Any) -> list[Any]:
        """The answers of all parts, in their order."""
        return self._answers(range(len(self.parts)), self._message(kind, *what))

    def store(self, folder: Path) -> str:
        """Have all parts write their states to a folder; returns why that failed, or nothing."""
        failed = next(filter(None, self.ask("store", folder)), "")
        if not failed and self.engine.may_lose:
            self.said = [(self.number, "restore", folder)]
        return str(failed)

    def in_turn(self, kind: str, *what: Any) -> Iterator[Any]:
        """The answers of all parts, in their order; no more at a time than work at the same time."""
        message, some = self._message(kind, *what), max(self.engine.workers, 1)
        for first in range(0, len(self.parts), some):
            yield from self._answers(range(len(self.parts))[first : first + some], message)

    def _message(self, kind: str, *what: Any) -> Message:
        self.number += 1
        message = (self.number, kind, *what)
        if self.engine.may_lose:
            self.said.append(tuple(x.copy() if isinstance(x, np.ndarray) else x for x in message))
        return message

    def _answers(self, asked: Sequence[int], message: Message) -> list[Any]:
        while True:
            parts = self.parts if len(asked) == len(self.parts) else [self.parts[k] for k in asked]
            answers = self.engine.ask(hear, parts, [self._to(k, message) for k in asked])
            behind = [
                k for k, answer in zip(asked, answers, strict=True)
                if isinstance(answer, str) and answer == BEHIND
            ]  # fmt: skip
            if not behind:
                return answers
            missed = [[self._to(k, old) for old in self.said if old[0] < message[0]] for k in behind]
            self.engine.ask(hear_all, [self.parts[k] for k in behind], missed)

    def _to(self, k: int, message: Message) -> Message:
        """A message as part k hears it: of vectors its own places, of a folder its own file."""
        return tuple(
            x[self.places[k]] if isinstance(x, np.ndarray) else x / f"{k:05d}" if isinstance(x, Path) else x
            for x in message
        )


class SharedPenalty(Protocol):
    """What shared weights cost, and how they take a step together with the weights of the parts."""

    def metric(self, d: Floats, places: Places, told: Sequence[Any]) -> Floats:
        """The curvature that steps can be taken with; ``told`` are the answers at y."""
        ...

    def step(self, talk: Talk, scale: float, point: Floats, step: Floats, new: Floats) -> tuple[Any, ...]:
        """Writes the shared weights after a proximal step to ``new``; returns what the parts are told of it."""
        ...

    def value(self, w: Floats) -> float:
        """The price of the shared weights after the last step."""
        ...


@dataclass(frozen=True)
class Separate:
    """A penalty that is a sum over weights: shared ones know nothing of the others."""

    penalty: ProximalPenalty

    def metric(self, d: Floats, places: Places, told: Sequence[Any]) -> Floats:
        """As it is."""
        return d

    def step(self, talk: Talk, scale: float, point: Floats, step: Floats, new: Floats) -> tuple[Any, ...]:
        """The prox."""
        self.penalty.prox(point, step, new)
        return scale, new

    def value(self, w: Floats) -> float:
        """The penalty's."""
        return self.penalty.value(w)


def summed(places: Places, answers: Sequence[Floats], out: Floats, add: Any = np.add) -> Floats:
    """What all parts say about shared weights, in the order of the parts; ``add`` may be a maximum."""
    out[:] = 0.0
    for mine, answer in zip(places, answers, strict=True):
        out[mine] = add(out[mine], answer)
    return out


def minimise(
    talk: Talk,
    start: Floats,
    counts: Floats,
    penalty: SharedPenalty,
    tolerance: float,
    max_iterations: int,
    callback: Callback | None = None,
) -> Result:
    """Minimise the sum of the parts' losses + penalties; returns the shared weights.

    Parameters
    ----------
    start : the shared weights to start from; the parts' own start at 0.
    counts : of the shared weights, in the whole text: what their curvature is made of.
    penalty : of the shared weights: :class:`Separate`, or :class:`~epigram.scale.grouped.SharedGroups`.
    """
    with piece(f"{len(talk.parts)} shards that share {start.size} weights") as kept:
        return _descend(talk, start, counts, penalty, tolerance, max_iterations, callback, kept)


def _descend(
    talk: Talk,
    start: Floats,
    counts: Floats,
    penalty: SharedPenalty,
    tolerance: float,
    max_iterations: int,
    callback: Callback | None,
    kept: Piece,
) -> Result:
    """The iterations, from the start or from where an earlier run was."""
    core, began, n = family("solvers"), time.perf_counter(), start.size
    x = start.copy()
    y, gradient, new, point, step = x.copy(), *np.empty((4, n))
    sums = np.empty(3)
    scale, momentum, pull, turned = 1.0, 1.0, 0.0, True
    objective, optimality, reason, done = np.inf, np.inf, "limit", 0
    if saved := kept.state:
        x, y, d = saved["x"], saved["y"], saved["d"]
        scale, momentum, pull, objective, optimality, turned, done = saved["numbers"]
        talk.ask("restore", Path(saved["folder"]))
    number = done
    for number in range(done + 1, max_iterations + 1):
        told = talk.ask("at_y", pull, y, turned)
        at_y = float(sum(answer[0] for answer in told))
        summed(talk.places, [answer[1] for answer in told], gradient)
        if turned:
            d = penalty.metric(counts + np.maximum(gradient, 0.0), talk.places, told)
        while True:
            core.forward_step(n, y, gradient, d, scale, step, point)
            what = penalty.step(talk, scale, point, step, new)
            core.measure(n, y, new, x, gradient, d, sums)
            told = talk.ask("attempt", *what)
            size, slope, along = (float(sums[k] + sum(answer[k] for answer in told)) for k in range(3))
            at_new = float(sum(answer[3] for answer in told))
            if at_new <= at_y + slope + 0.5 * scale * size + 1e-12 * abs(at_y) or scale > 1e18:
                break
            scale *= 1.5
        objective = at_new + penalty.value(new) + float(sum(answer[4] for answer in told))
        optimality = 0.5 * scale * size / max(abs(objective), 1e-300)
        turned = along < 0
        momentum_new = 1.0 if turned else 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum * momentum))
        pull = 0.0 if turned else (momentum - 1.0) / momentum_new
        core.extrapolate(n, new, x, pull, y)
        x, new, momentum = new, x, momentum_new
        scale *= 0.98
        stop, over = False, optimality <= tolerance
        if callback is not None:
            nonzero = int(np.count_nonzero(x) + sum(answer[5] for answer in told))
            seconds = time.perf_counter() - began
            stop = bool(callback(Iteration(number, objective, nonzero, seconds, x, optimality)))
        if kept.is_due(over, stop):
            numbers = [scale, float(momentum), float(pull), objective, optimality, turned, number]
            _keep(talk, kept, {"x": x, "y": y, "d": d, "numbers": numbers}, stop)
        if stop or over:
            reason = "callback" if stop else "converged"
            break
    return Result(x, objective, number, reason, optimality)


def _keep(talk: Talk, kept: Piece, state: State, stop: bool) -> None:
    """Note where the iterations stand; what was noted before is removed then, and not earlier."""
    folder = kept.folder.resolve() / f"{state['numbers'][-1]}"
    if failed := talk.store(folder):
        kept.give_up(failed)
        return
    kept.save({**state, "folder": str(folder)}, stop=stop)
    for other in folder.parent.iterdir():
        if other != folder:
            shutil.rmtree(other, ignore_errors=True)
