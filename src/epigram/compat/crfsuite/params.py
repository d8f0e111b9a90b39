"""The settings of CRFsuite's five training algorithms: names, types, defaults, and what each is for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Param(NamedTuple):
    """One setting: how its text is read, its default, and a sentence about it."""

    read: Callable[[str], Any]
    default: Any
    help: str


def _number(text: str) -> float:
    """A number; as in CRFsuite, text that is none counts as zero."""
    try:
        return float(text)
    except ValueError:
        return 0.0


def _integer(text: str) -> int:
    return int(_number(text))


def _flag(text: str) -> bool:
    return bool(_integer(text))


MODEL = {
    "feature.minfreq": Param(_number, 0.0, "Features that occur less often than this are left out."),
    "feature.possible_states": Param(
        _flag, False, "Also give weights to pairs of attribute and label that are not in the training data."
    ),
    "feature.possible_transitions": Param(
        _flag, False, "Also give weights to pairs of labels that are not in the training data."
    ),
}
C2 = Param(_number, 1.0, "Strength of the l2 penalty, c2 * sum of w^2.")
PERIOD = Param(_integer, 10, "Number of iterations over which the improvement is measured.")
PASSES = Param(_integer, 100, "Most passes over the data.")

ALGORITHMS: dict[str, dict[str, Param]] = {
    "lbfgs": {
        **MODEL,
        "c1": Param(_number, 0.0, "Strength of the l1 penalty, c1 * sum of |w|."),
        "c2": C2,
        "max_iterations": Param(_integer, 2147483647, "Most iterations."),
        "num_memories": Param(_integer, 6, "How many earlier steps the curvature is estimated from."),
        "epsilon": Param(
            _number, 1e-5, "Stop when the gradient's norm is below this share of the weights' norm."
        ),
        "period": PERIOD,
        "delta": Param(
            _number, 1e-5, "Stop when the objective fell by no more than this share of it in the last period."
        ),
        "linesearch": Param(
            str, "MoreThuente", "Taken for compatibility: steps are always found by halving."
        ),
        "max_linesearch": Param(_integer, 20, "Taken for compatibility: a step is halved 30 times at most."),
    },
    "l2sgd": {
        **MODEL,
        "c2": C2,
        "max_iterations": Param(_integer, 1000, "Most passes over the data."),
        "period": PERIOD,
        "delta": Param(
            _number, 1e-6, "Stop when the objective fell by no more than this share of it in the last period."
        ),
        "calibration.eta": Param(_number, 0.1, "The first learning rate that is tried."),
        "calibration.rate": Param(_number, 2.0, "Factor between the rates that are tried."),
        "calibration.samples": Param(_number, 1000.0, "Sequences that a rate is tried on."),
        "calibration.candidates": Param(
            _integer, 10, "Rates that lower the loss before the search turns or ends."
        ),
        "calibration.max_trials": Param(_integer, 20, "Most rates that are tried."),
    },
    "averaged-perceptron": {
        **MODEL,
        "max_iterations": PASSES,
        "epsilon": Param(_number, 0.0, "Stop when the mean share of wrong labels in a pass is below this."),
    },
    "passive-aggressive": {
        **MODEL,
        "type": Param(_integer, 1, "Steps: 0 whole, 1 at most c (PA-I), 2 softened by c (PA-II)."),
        "c": Param(_number, 1.0, "Aggressiveness."),
        "error_sensitive": Param(_flag, True, "The margin grows with the number of wrong labels."),
        "averaging": Param(_flag, True, "Average the weights after every sequence."),
        "max_iterations": PASSES,
        "epsilon": Param(_number, 0.0, "Stop when the mean loss of a pass is below this."),
    },
    "arow": {
        **MODEL,
        "variance": Param(_number, 1.0, "Variance of every weight at first."),
        "gamma": Param(_number, 1.0, "How much a mistake is trusted less."),
        "max_iterations": PASSES,
        "epsilon": Param(_number, 0.0, "Stop when the mean loss of a pass is not above this."),
    },
}
ALIASES = {"ap": "averaged-perceptron", "pa": "passive-aggressive"}
