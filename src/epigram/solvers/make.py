"""Solvers by name: checks that the settings and the penalty fit the solver."""

from __future__ import annotations

import inspect
from typing import Any

from epigram import solvers
from epigram.errors import InputError
from epigram.protocols import L1Penalty, L2Penalty, Penalty, Solver, is_plain

SETTLED = 1e-3  # a default OWL-QN stops when ten iterations lowered the objective by less than this share
SOLVERS = {
    "sgd": "SGD",
    "adagrad": "AdaGrad",
    "owlqn": "OWLQN",
    "lbfgs": "LBFGS",
    "fista": "FISTA",
    "stochastic": "StochasticProximal",
}


def make(
    given: str | Solver | None,
    penalty: Penalty | None = None,
    *,
    random_state: int | None = 0,
    threads: int = 1,
    **settings: Any,
) -> Solver:
    """Return the solver given, or the one of that name, or the default solver of a penalty.

    Settings that are None are left to the solver; ``passes`` limits the iterations of solvers without passes.

    Examples
    --------
    >>> from epigram import L1, ElasticNet
    >>> make(None, L1(1.0)), make(None, ElasticNet(1.0, 1.0)), make("lbfgs", passes=9)
    (SGD(), OWLQN(settled=0.001), LBFGS(max_iterations=9))
    """
    if given is not None and not isinstance(given, str):
        if not hasattr(given, "solve"):
            raise InputError(f"solver must be a name or have a method solve; {given!r} has not.")
        return given
    if given is not None and given not in SOLVERS:
        raise InputError(f"solver must be one of {', '.join(SOLVERS)}, or an object, not {given!r}.")
    name = given or _default_name(penalty)
    settings = {key: value for key, value in settings.items() if value is not None}
    known = _settings(name)
    if "passes" in settings and "passes" not in known:
        if settings["passes"] == "auto":
            raise InputError(f"passes='auto' is for the solver sgd; give {name} a number.")
        settings["max_iterations"] = settings.pop("passes")
    for key in settings:
        if key not in known:
            others = [other for other in SOLVERS if key in _settings(other)]
            listed = " or ".join([", ".join(others[:-1]), others[-1]] if others[1:] else others)
            raise InputError(
                f"{key} is not a setting of the solver {name}; leave it out, or use {listed}."
                if others
                else f"{key} is not a setting of any solver."
            )
    if penalty is not None:
        check_penalty(name, penalty)
    defaults: dict[str, Any] = {"random_state": random_state, "seed": random_state, "threads": threads}
    if given is None and name == "owlqn":
        defaults["settled"] = SETTLED
    settings = {key: value for key, value in defaults.items() if key in known} | settings
    made: Solver = getattr(solvers, SOLVERS[name])(**settings)
    return made


def check_penalty(name: str, penalty: Penalty) -> None:
    """Refuse a penalty that the solver of this name cannot minimise."""
    l1, l2 = getattr(penalty, "l1", 0.0), getattr(penalty, "l2", 0.0)
    if name in ("sgd", "adagrad") and l2:
        raise InputError(
            f"the solver {name} takes l1 only; use owlqn for l1 with l2, lbfgs for l2 without l1."
        )
    if name == "lbfgs" and l1:
        raise InputError("the solver lbfgs takes l2 only; use owlqn for l1.")
    if name == "owlqn" and not l1:
        raise InputError("the solver owlqn needs l1 above 0; use lbfgs for l2 alone.")


def _default_name(penalty: Penalty | None) -> str:
    """Choose SGD for a pure l1 penalty, a quasi-Newton method for l2, and FISTA for all others."""
    if not is_plain(penalty) or not isinstance(penalty, L1Penalty | L2Penalty):
        return "fista"
    if getattr(penalty, "l2", 0.0):
        return "owlqn" if getattr(penalty, "l1", 0.0) else "lbfgs"
    return "sgd"


def _settings(name: str) -> list[str]:
    return list(inspect.signature(getattr(solvers, SOLVERS[name])).parameters)
