"""Solver options of taggers and parsers, and the solver and penalty that they choose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from epigram.errors import InputError
from epigram.penalties.separable import penalty_of
from epigram.protocols import Solver
from epigram.solvers.adagrad import AdaGrad
from epigram.solvers.make import make
from epigram.solvers.quasi_newton import LBFGS, OWLQN
from epigram.solvers.sgd import SGD

SOLVERS: dict[str, type] = {"sgd": SGD, "adagrad": AdaGrad, "owlqn": OWLQN, "lbfgs": LBFGS}
OFFERED = (
    "method",
    "schedule",
    "eta0",
    "decay",
    "passes",
    "batch_size",
    "tolerance",
    "max_iterations",
)
"""Parameters of solvers that are options; the others suit every training."""


def make_solver(
    name: str | None, settings: Mapping[str, Any], seed: int, threads: int, **usual: Any
) -> tuple[Solver, Any, float]:
    """Return the solver and the strengths of both penalties, from settings that may be None.

    ``usual`` are settings of SGD that take effect unless they are given.
    """
    l1, l2 = settings["l1"], settings["l2"]
    if l1 == "auto" and (l2 or name == "lbfgs"):
        raise InputError("--l1 auto is for l1 alone, with --solver sgd, adagrad or owlqn")
    if l2 is None:
        l2 = 1.0 if name == "lbfgs" and not l1 else 0.0
    if l1 is None:
        l1 = 0.0 if l2 and name != "owlqn" else usual.pop("l1", 1.0)
    usual.pop("l1", None)
    chosen = {key: settings[key] for key in OFFERED if settings.get(key) is not None}
    if name == "sgd" or (name is None and not l2):
        chosen = usual | chosen
    penalty = penalty_of(None, 1.0 if l1 == "auto" else l1, l2)
    return make(name, penalty, random_state=seed, threads=threads, **chosen), l1, l2
