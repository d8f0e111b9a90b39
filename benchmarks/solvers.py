"""Claims about AdaGrad on text chunking (CoNLL-2000), against SGD with cumulative penalty.

``python benchmarks/solvers.py [sentences]`` trains on so many sentences (1,000 by default), C = 1, 30 passes each:

- AdaGrad with its automatic rate reaches SGD's objective at its tuned rates within 1 %, with no more active features
  than 1.1 times as many;
- a pass of AdaGrad costs a small multiple of a pass of SGD: the time of a step does not grow with the number of all
  weights.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from _bars import Claims
from _data import DATA
from epigram import L1, SGD, AdaGrad
from epigram.chain.problem import ChainProblem
from epigram.protocols import Result
from experiments.sgd_l1.tasks import TASKS, problem_of

PASSES = 30
RATES, DECAYS = (1.0, 0.5, 0.2), (0.9, 0.85)


def timed(solver: object, problem: ChainProblem, penalty: object) -> tuple[Result, float]:
    """The result and CPU seconds."""
    began = time.process_time()
    result = solver.solve(problem.loss, penalty)  # type: ignore[attr-defined]
    return result, time.process_time() - began


def main() -> None:
    sentences = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    part, _ = TASKS["conll2000"].choosing(str(DATA), sentences)
    problem, penalty = problem_of(part, TASKS["conll2000"].template()), L1(1.0)
    for solver in (SGD(eta0=0.5, passes=1), AdaGrad(1.0, passes=1)):
        solver.solve(problem.loss, penalty)
    grid = [
        timed(SGD(eta0=eta0, decay=decay, passes=PASSES), problem, penalty)
        for eta0 in RATES
        for decay in DECAYS
    ]
    tuned, sgd_seconds = min(grid, key=lambda pair: pair[0].objective)
    claims = Claims(rival="SGD, best of grid")
    adaptive, _ = timed(AdaGrad(passes=PASSES), problem, penalty)
    claims.add(
        "AdaGrad, automatic: objective",
        f"{adaptive.objective:,.1f}",
        f"{tuned.objective:,.1f}",
        adaptive.objective / tuned.objective,
        1.01,
    )
    active, rival = np.count_nonzero(adaptive.w), np.count_nonzero(tuned.w)
    claims.add("AdaGrad, automatic: active features", f"{active:,}", f"{rival:,}", active / rival, 1.1)
    _, seconds = timed(AdaGrad(1.0, passes=PASSES), problem, penalty)
    claims.add("AdaGrad: CPU s a pass", *_a_pass(seconds, sgd_seconds), 4.0)
    sys.exit(claims.exit_code)


def _a_pass(seconds: float, rival: float) -> tuple[str, str, float]:
    return f"{seconds / PASSES:.3f}", f"{rival / PASSES:.3f}", seconds / rival


if __name__ == "__main__":
    main()
