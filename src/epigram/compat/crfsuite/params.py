"""Names, types and defaults of the parameters of CRFsuite's five training algorithms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Param(NamedTuple):
    """A parameter: the function that reads its text, its default, and its help text."""

    read: Callable[[str], Any]
    default: Any
    help: str


def _number(text: str) -> float:
    """Read a number; as in CRFsuite, other text counts as zero."""
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
PASSES = Param(_integer, 100, "Maximum number of passes over the data.")

ALGORITHMS: dict[str, dict[str, Param]] = {
    "lbfgs": {
        **MODEL,
        "c1": Param(_number, 0.0, "Strength of the l1 penalty, c1 * sum of |w|."),
        "c2": C2,
        "max_iterations": Param(_integer, 2147483647, "Maximum number of iterations."),
        "num_memories": Param(_integer, 6, "Number of earlier steps from which the curvature is estimated."),
        "epsilon": Param(
            _number, 1e-5, "Stop when the gradient's norm is below this share of the weights' norm."
        ),
        "period": PERIOD,
        "delta": Param(
            _number, 1e-5, "Stop when the objective fell by no more than this share of it in the last period."
        ),
        "linesearch": Param(
            str, "MoreThuente", "Accepted for compatibility: steps are always found by halving."
        ),
        "max_linesearch": Param(
            _integer, 20, "Accepted for compatibility: a step is halved at most 30 times."
        ),
    },
    "l2sgd": {
        **MODEL,
        "c2": C2,
        "max_iterations": Param(_integer, 1000, "Maximum number of passes over the data."),
        "period": PERIOD,
        "delta": Param(
            _number, 1e-6, "Stop when the objective fell by no more than this share of it in the last period."
        ),
        "calibration.eta": Param(_number, 0.1, "The first learning rate that is tried."),
        "calibration.rate": Param(_number, 2.0, "Factor between the rates that are tried."),
        "calibration.samples": Param(_number, 1000.0, "Number of sequences on which a rate is tried."),
        "calibration.candidates": Param(
            _integer, 10, "Number of rates that lower the loss before the search turns or ends."
        ),
        "calibration.max_trials": Param(_integer, 20, "Maximum number of rates that are tried."),
    },
    "averaged-perceptron": {
        **MODEL,
        "max_iterations": PASSES,
        "epsilon": Param(_number, 0.0, "Stop when the mean share of wrong labels in a pass is below this."),
    },
    "passive-aggressive": {
        **MODEL,
        "type": Param(_integer, 1, "Step size: 0 unlimited, 1 at most c (PA-I), 2 softened by c (PA-II)."),
        "c": Param(_number, 1.0, "Aggressiveness."),
        "error_sensitive": Param(_flag, True, "The margin grows with the number of wrong labels."),
        "averaging": Param(_flag, True, "Average the weights after every sequence."),
        "max_iterations": PASSES,
        "epsilon": Param(_number, 0.0, "Stop when the mean loss of a pass is below this."),
    },
    "arow": {
        **MODEL,
        "variance": Param(_number, 1.0, "Initial variance of every weight."),
        "gamma": Param(_number, 1.0, "Trade-off between the loss and the change of the weights."),
        "max_iterations": PASSES,
        "epsilon": Param(_number, 0.0, "Stop when the mean loss of a pass is not above this."),
    },
}
ALIASES = {"ap": "averaged-perceptron", "pa": "passive-aggressive"}
