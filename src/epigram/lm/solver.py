"""The solver of a log-linear model: by name, or an object with settings of its own; and its place in a model file."""

from __future__ import annotations

from typing import Any

from epigram.errors import InputError
from epigram.protocols import Solver
from epigram.solvers.proximal import FISTA, StochasticProximal

SOLVERS: dict[str, Any] = {"fista": FISTA, "stochastic": StochasticProximal}


def solver_of(
    given: str | Solver, tolerance: float, max_iterations: int | None, seed: int, most: int
) -> Solver:
    """``fista`` stops after ``max_iterations`` (``most`` where none are given), ``stochastic`` after its own passes.

    Examples
    --------
    >>> solver_of("stochastic", 1e-6, None, 0, most=500).passes
    10
    >>> solver_of(StochasticProximal(passes=3), 1e-6, None, 0, most=500).passes
    3
    >>> solver_of("stochastic", 1e-6, 500, 0, most=500)
    Traceback (most recent call last):
        ...
    epigram.errors.InputError: max_iterations is for fista; say how many passes with StochasticProximal(passes=...).
    """
    if isinstance(given, str) and given not in SOLVERS:
        raise InputError(f"unknown solver {given!r}; choose one of {', '.join(SOLVERS)}, or give an object.")
    if not isinstance(given, str) and not hasattr(given, "solve"):
        raise InputError(f"a solver is a name or has a method solve; {given!r} is neither.")
    if given == "fista":
        return FISTA(tolerance, most if max_iterations is None else max_iterations)
    if max_iterations is not None:
        raise InputError(
            "max_iterations is for fista; say how many passes with StochasticProximal(passes=...)."
        )
    return StochasticProximal(tolerance=tolerance, seed=seed) if isinstance(given, str) else given


def most_iterations(solver: Solver) -> int | None:
    """Where a progress bar ends: iterations or passes."""
    return getattr(solver, "max_iterations", getattr(solver, "passes", None))


def to_settings(solver: object) -> dict[str, Any]:
    """A solver with settings of its own, for the header of a model file: name and settings.

    Examples
    --------
    >>> again = from_settings(to_settings(StochasticProximal(passes=3)))["solver"]
    >>> type(again).__name__, again.passes
    ('StochasticProximal', 3)
    """
    name = next((name for name, kind in SOLVERS.items() if type(solver) is kind), None)
    return {} if name is None else {"solver": name, "solver_settings": vars(solver)}


def from_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings of a model file with the solver that :func:`to_settings` wrote."""
    if "solver_settings" not in settings:
        return settings
    return {**settings, "solver": SOLVERS[settings["solver"]](**settings["solver_settings"])}
