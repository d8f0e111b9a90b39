"""Claim: the automatic settings of ``SGD()`` need no tuning, on the tasks of the reproduction of Tsuruoka et al. 2009.

The first rival is a fair grid for the paper's schedule, eta_0 decay^(k/N), both numbers at once: from the best point so
far its eight neighbours are tried until none is better. The second is automatic too but for its first rate, of which
five are tried. The objective after 30 passes must come within 0.5 % of the best of both, that of ``passes="auto"`` of
the grid's, at 1.3 times the CPU time of one run of the grid (automatic passes are shown, not held to a bar).
Run with task names to do some only: ``python benchmarks/learning_rate.py conll2000``. About eight minutes in all.
"""

from __future__ import annotations

import math
import sys
import time
from itertools import product

from _bars import Claims
from _data import DATA
from epigram import L1, SGD
from epigram.chain.problem import ChainProblem
from epigram.errors import DivergenceError
from experiments.sgd_l1.tasks import TASKS, problem_of

STRENGTHS = {"conll2000": 0.7, "jnlpba": 2.0, "genia-pos": 0.35, "ud-ewt": 0.7, "wsj-sample": 0.35}
"""Of l1: what the reproduction chose on held-out sentences."""

RATES = (0.025, 0.035, 0.05, 0.07, 0.1, 0.14, 0.2, 0.25, 0.35, 0.5, 0.7, 1.0, 1.4)
DECAYS = (0.8, 0.85, 0.9, 0.93, 0.95, 0.97)
FIRST = 0.9  # of the decays; the first rate is the one next to the automatic
AROUND = (0.5, 0.7, 1.0, 1.4, 2.0)  # times the automatic rate
BAR, COST = 1.005, 1.3


class Runs:
    """Trainings of one task: objectives, and the CPU seconds of the last."""

    def __init__(self, problem: ChainProblem, l1: float) -> None:
        self.problem, self.penalty, self.seconds = problem, L1(l1), 0.0
        self.by_place: dict[tuple[int, int], float] = {}

    def reached(self, solver: SGD) -> float:
        """The objective at the end."""
        began = time.process_time()
        try:
            result = solver.solve(self.problem.loss, self.penalty)
            objective, self.passes = result.objective, result.iterations
        except DivergenceError:
            objective = math.inf
        self.seconds = time.process_time() - began
        print(f"  {solver}: {objective:,.1f}, {self.seconds:.1f} CPU s", file=sys.stderr, flush=True)
        return objective

    def at(self, place: tuple[int, int]) -> float:
        """The objective at a point of the grid; infinite outside."""
        if place not in self.by_place:
            rate, decay = place
            inside = 0 <= rate < len(RATES) and 0 <= decay < len(DECAYS)
            self.by_place[place] = (
                self.reached(SGD(eta0=RATES[rate], decay=DECAYS[decay])) if inside else math.inf
            )
        return self.by_place[place]

    def grid(self, first: float) -> tuple[float, float, float]:
        """The best eta_0 and decay, none of whose neighbours is better, and their objective."""
        best = min(range(len(RATES)), key=lambda k: abs(math.log(RATES[k] / first))), DECAYS.index(FIRST)
        before = None
        while best != before:
            before = best
            around = [(best[0] + a, best[1] + b) for a, b in product((0, -1, 1), repeat=2)]
            best = min(around, key=self.at)
        return RATES[best[0]], DECAYS[best[1]], self.at(best)


def compare(task: str, claims: Claims) -> None:
    """The automatic settings of one task against both rivals."""
    print(task, file=sys.stderr)
    runs = Runs(problem_of(TASKS[task].final(str(DATA))[0], TASKS[task].template()), STRENGTHS[task])
    automatic = runs.reached(SGD())
    ours = runs.seconds
    unlimited = runs.reached(SGD(passes="auto"))
    passes = runs.passes
    first = SGD().calibrate(runs.problem.loss, runs.penalty)
    rate, decay, best = runs.grid(first)
    runs.reached(SGD(eta0=rate, decay=decay))
    theirs = runs.seconds
    tuned = min(runs.reached(SGD(schedule="linear", eta0=times * first)) for times in AROUND)
    claims.add(
        f"{task}: against eta0 {rate}, decay {decay}",
        f"{automatic:,.1f}",
        f"{best:,.1f}",
        automatic / best,
        BAR,
    )
    claims.add(
        f"{task}: against its own best eta0", f"{automatic:,.1f}", f"{tuned:,.1f}", automatic / tuned, BAR
    )
    claims.add(
        f"{task}: automatic passes ({passes})", f"{unlimited:,.1f}", f"{best:,.1f}", unlimited / best, BAR
    )
    claims.add(f"{task}: CPU s", f"{ours:.1f}", f"{theirs:.1f}", ours / theirs, COST)


def main() -> None:
    claims = Claims(rival="tuned")
    for task in sys.argv[1:] or STRENGTHS:
        compare(task, claims)
    sys.exit(claims.exit_code)


if __name__ == "__main__":
    main()
