"""Stagewise learners: boosting, FSLR, BLasso, F-Boosting. Gao et al. 2006, Figures 1 and 2.

Each changes one weight a step and so draws a path of models; the loss does the arithmetic (StagewiseState),
the four learners differ only in their StagewiseRule:

=========== ======================= ================================================ ==================
learner     chooses by              moves by                                         backward steps
=========== ======================= ================================================ ==================
Boosting    optimal step (7)        shrinkage * optimal step smoothed by (16)        no
FSLR        optimal step (7)        the smaller of eps and the optimal step (11)     no
FBoosting   +-eps (12)              the smaller of eps and the optimal step (13)     theta = 1000: no
BLasso      +-eps (12)              the smaller of eps and the optimal step (13)     theta = 0: (14), (15)
=========== ======================= ================================================ ==================

Differs from the paper: a backward step ends at zero where the weight is smaller than eps, and is chosen by
the lasso loss (the same as (14) when all moves are eps); alpha divides the fall of the loss by the move
really made, which is eps unless the optimal step is smaller; (16) is solved exactly where value differences
are not +-1.

Settings that are None have no value yet: :class:`epigram.rerank.Reranker` chooses them on held-out lists; by itself
a learner takes its ``usual`` values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from epigram.protocols import Floats, Ints, Offsets
from epigram.rerank.losses import ExponentialLoss, StagewiseRule

CHUNK = 512
"""Steps between two calls of the callback."""


@dataclass(frozen=True, slots=True)
class WeightPath:
    """Path of models: step t changes ``features[ptr[t]:ptr[t+1]]`` by ``deltas``.

    Stepwise learners change one weight a step; others (a penalty strength, an epoch) change many.

    Examples
    --------
    >>> path = WeightPath.of_changes([0, 2, 0], [0.5, -0.5, 0.5], [3.0, 2.0, 1.0])
    >>> len(path), path.weights(3, 2).tolist(), path.weights(3).tolist()
    (3, [0.5, 0.0, -0.5], [1.0, 0.0, -0.5])
    """

    ptr: Offsets = field(repr=False)
    features: Ints = field(repr=False)
    deltas: Floats = field(repr=False)
    losses: Floats = field(repr=False)
    alphas: Floats = field(repr=False)

    @classmethod
    def empty(cls) -> WeightPath:
        """Make a path without steps."""
        return cls(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0), np.zeros(0), np.zeros(0))

    @classmethod
    def of_changes(
        cls, features: Ints | list[int], deltas: Floats | list[float], losses: Floats | list[float],
        alphas: Floats | None = None,
    ) -> WeightPath:  # fmt: skip
        """Make a path with one change per step."""
        n = len(features)
        return cls(
            np.arange(n + 1, dtype=np.int64),
            np.asarray(features, np.int32),
            np.asarray(deltas, np.float64),
            np.asarray(losses, np.float64),
            np.full(n, np.nan) if alphas is None else alphas,
        )

    @classmethod
    def of_model(cls, before: Floats, after: Floats, loss: float, alpha: float = np.nan) -> WeightPath:
        """Make a path of one step from one weight vector to another."""
        changed = np.flatnonzero(before != after).astype(np.int32)
        return cls(
            np.array([0, len(changed)]),
            changed,
            (after - before)[changed],
            np.array([loss]),
            np.array([alpha]),
        )

    def __len__(self) -> int:
        return len(self.losses)

    @classmethod
    def joined(cls, paths: list[WeightPath]) -> WeightPath:
        """Concatenate paths."""
        ends = np.cumsum([0] + [path.ptr[-1] for path in paths])
        ptrs = [path.ptr[1:] + end for path, end in zip(paths, ends, strict=False)]
        return cls(
            np.concatenate([np.zeros(1, np.int64), *ptrs]),
            *(
                np.concatenate([getattr(path, name) for path in paths])
                for name in ("features", "deltas", "losses", "alphas")
            ),
        )

    def weights(self, n_weights: int, step: int | None = None) -> Floats:
        """Weights after ``step`` steps (default: all)."""
        step = len(self) if step is None else step
        if not 0 <= step <= len(self):
            raise ValueError(f"step {step} is not on the path; it has steps 0 to {len(self)}.")
        w = np.zeros(n_weights)
        # In order, one by one, as the steps were taken: the same bits, and exact zeros.
        np.add.at(w, self.features[: self.ptr[step]], self.deltas[: self.ptr[step]])
        return w


class Learner:
    """Base class of learners, each of which computes a path of models.

    Settings that are None are chosen on held-out lists. ``usual`` holds the value each setting has where nothing
    chooses it. ``ladders`` holds the values a search may try, in rising order; it begins at the usual value and climbs
    or descends while held-out errors fall. ``steps`` is on no ladder: it is chosen on the path, which ends after
    ``most_steps`` at the latest.
    """

    usual: ClassVar[Mapping[str, float]] = {}
    ladders: ClassVar[Mapping[str, tuple[float, ...]]] = {}
    most_steps: ClassVar[int]
    steps: int | None

    @property
    def open_settings(self) -> list[str]:
        """Names of the settings that are None, ``steps`` among them."""
        return [name for name in self.usual if getattr(self, name) is None]

    def with_usual(self, *, but: tuple[str, ...] = ()) -> Self:
        """Copy with the usual values for settings that are None, except for those in ``but``.

        Examples
        --------
        >>> Boosting(shrinkage=0.5).with_usual(but=("steps",))
        Boosting(steps=None, smoothing=0.0001, shrinkage=0.5)
        """
        values = {name: self.usual[name] for name in self.open_settings if name not in but}
        return replace(self, **values)  # type: ignore[type-var]

    def value(self, name: str) -> float:
        """Return a setting, or its usual value where it is None."""
        value: float | None = getattr(self, name)
        return self.usual[name] if value is None else value

    @property
    def last_step(self) -> int:
        """Maximum number of steps."""
        return self.most_steps if self.steps is None else self.steps

    def walk(self, loss: Any, path: WeightPath, memory: dict[str, Any] | None = None) -> Iterator[WeightPath]:
        """Continue from the end of ``path``; yields new steps in chunks.

        ``memory`` takes, before each chunk, what is needed beside the path to continue to the same bits; a call with
        one that is not empty continues from it.
        """
        raise NotImplementedError


class Stagewise(Learner):
    """Base class of stagewise learners: a rule and a number of steps."""

    most_steps = 200_000

    @property
    def rule(self) -> StagewiseRule:
        """Rule that chooses and sizes a step."""
        raise NotImplementedError

    def walk(
        self, loss: ExponentialLoss, path: WeightPath, memory: dict[str, Any] | None = None
    ) -> Iterator[WeightPath]:
        """Continue from the end of ``path`` to the last step; yields the new steps in chunks."""
        alpha = float(path.alphas[-1]) if len(path) else np.inf
        state = loss.begin(self.rule, path.weights(loss.n_weights), alpha, len(path))
        if memory:
            state.restore(memory)
        left = self.last_step - len(path)
        while left > 0:
            wanted = min(left, CHUNK)
            steps = WeightPath.of_changes(*state.advance(wanted))
            if memory is not None:
                memory |= state.memory()
            if len(steps):
                yield steps
            left = left - wanted if len(steps) == wanted else 0


@dataclass(frozen=True)
class Boosting(Stagewise):
    """Figure 1 with the smoothing of equation 16 and the shrinkage of equation 9.

    Parameters
    ----------
    steps : number of steps of the path.
    smoothing : smoothing, equation 16.
    shrinkage : shrinkage, equation 9.
    """

    steps: int | None = None
    smoothing: float | None = None
    shrinkage: float | None = None

    usual: ClassVar[Mapping[str, float]] = {"steps": 20_000, "smoothing": 1e-4, "shrinkage": 1.0}
    ladders: ClassVar[Mapping[str, tuple[float, ...]]] = {
        "smoothing": (1e-7, 1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 1e-1),
        "shrinkage": (1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0),
    }

    def __post_init__(self) -> None:
        check_settings(self, steps=0, smoothing=0, shrinkage=0)
        if self.smoothing == 0:
            raise ValueError("smoothing must be > 0: without it a step can be infinite.")

    @property
    def rule(self) -> StagewiseRule:
        """Optimal search, smoothed optimal step."""
        return StagewiseRule(np.inf, np.inf, self.value("shrinkage"), self.value("smoothing"))


_EPS = tuple(2.0**k for k in range(-8, 5))


@dataclass(frozen=True)
class FSLR(Stagewise):
    """Forward stagewise linear regression: optimal search, steps of eps (equation 11).

    Parameters
    ----------
    steps : number of steps of the path.
    eps : size of a step.
    """

    steps: int | None = None
    eps: float | None = None

    usual: ClassVar[Mapping[str, float]] = {"steps": 20_000, "eps": 0.5}
    ladders: ClassVar[Mapping[str, tuple[float, ...]]] = {"eps": _EPS}

    def __post_init__(self) -> None:
        check_settings(self, steps=0, eps=1e-12)

    @property
    def rule(self) -> StagewiseRule:
        """Optimal search, fixed step."""
        return StagewiseRule(np.inf, self.value("eps"))


@dataclass(frozen=True)
class BLasso(Stagewise):
    """Figure 2: grid search, steps of eps, backward if the lasso loss falls by more than theta.

    Parameters
    ----------
    steps : length of the path, in steps, passes or penalty weights.
    eps : size of a step.
    theta : least decrease of the lasso loss for a backward step.
    """

    steps: int | None = None
    eps: float | None = None
    theta: float | None = None

    usual: ClassVar[Mapping[str, float]] = {"steps": 20_000, "eps": 0.5, "theta": 0.0}
    ladders: ClassVar[Mapping[str, tuple[float, ...]]] = {
        "eps": _EPS,
        "theta": (0.0, 0.01, 0.1, 1.0, 10.0, 100.0),
    }

    def __post_init__(self) -> None:
        check_settings(self, steps=0, eps=1e-12, theta=0)

    @property
    def rule(self) -> StagewiseRule:
        """Grid search, fixed step, backward steps."""
        return StagewiseRule(self.value("eps"), self.value("eps"), theta=self.value("theta"))


@dataclass(frozen=True)
class FBoosting(BLasso):
    """BLasso whose theta of 1000 forbids backward steps (section 5.3)."""

    theta: float | None = 1e3

    usual: ClassVar[Mapping[str, float]] = {"steps": 20_000, "eps": 0.5, "theta": 1e3}
    ladders: ClassVar[Mapping[str, tuple[float, ...]]] = {"eps": _EPS}


def check_settings(learner: object, **least: float) -> None:
    """Refuse a setting that is neither None nor a finite number of the least size."""
    for name, low in least.items():
        value = getattr(learner, name)
        if value is not None and not (np.isfinite(value) and value >= low):
            raise ValueError(f"{name} must be a finite number >= {low:g}, not {value!r}.")
