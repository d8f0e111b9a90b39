"""Claim: the automatic rates of ``SGD()`` need no tuning. The rival is the grid of Tsuruoka et al. 2009, section 4.1.

For each task the grid is searched as the paper does (eta_0 in 1.0, 0.5, 0.2, 0.1 by the objective after 30 passes,
then the decay in 0.9, 0.85, 0.8); the automatic rate must come within 0.5 % of the best objective found.
Run with task names to do some only: ``python benchmarks/learning_rate.py chunking``. Takes minutes a task.
"""

from __future__ import annotations

import sys
import time

from _bars import Claims
from _data import DATA
from epigram import SGD, CRFTagger
from epigram.tagging import read_columns

TASKS = {
    "chunking": ("conll2000/train.txt", "chunking"),
    "entities": ("jnlpba/Genia4ERtask1.iob2", "ner"),
    "parts of speech": ("genia-pos/train.tsv", "pos"),
}
RATES = (1.0, 0.5, 0.2, 0.1)
DECAYS = (0.9, 0.8)


def objective(columns: tuple[object, object], template: str, solver: SGD) -> float:
    """Objective after 30 passes at C = 1."""
    began = time.process_time()
    fit = CRFTagger(template, l1=1.0, solver=solver).fit(*columns).fit_
    print(
        f"  eta0 {solver.eta0}, decay {solver.decay}: objective {fit['objective']:,.1f}, "
        f"{fit['active_features']:,} active, {time.process_time() - began:.0f} CPU s",
        file=sys.stderr,
        flush=True,
    )
    return float(fit["objective"])


def main() -> None:
    claims = Claims()
    for task in sys.argv[1:] or TASKS:
        path, template = TASKS[task]
        columns = read_columns(DATA / path).split(-1)
        print(task, file=sys.stderr)
        automatic = objective(columns, template, SGD())
        by_rate = {rate: objective(columns, template, SGD(eta0=rate, decay=0.85)) for rate in RATES}
        rate = min(by_rate, key=lambda eta0: by_rate[eta0])
        by_decay = [objective(columns, template, SGD(eta0=rate, decay=decay)) for decay in DECAYS]
        best = min(*by_rate.values(), *by_decay)
        claims.add(
            f"{task}: objective, auto against grid",
            f"{automatic:,.1f}",
            f"{best:,.1f}",
            automatic / best,
            1.005,
        )
    sys.exit(claims.exit_code)


if __name__ == "__main__":
    main()
