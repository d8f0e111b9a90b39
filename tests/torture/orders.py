"""Run the tests many times, each time in another order and with other examples; stop at the first failure.

    python tests/torture/orders.py --runs 20 --seed 1

Every run has a seed: of the order of files and of the tests in a file (``EPIGRAM_ORDER``), and of hypothesis. What
failed is repeated by the command that is shown.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import time

PYTEST = [sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadfile"]


def main() -> None:
    """Run and report; exit code 1 at the first run that failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1, help="of the first run; those after it count on")
    parser.add_argument("tests", nargs="*", help="files or folders; all by default")
    given = parser.parse_args()
    began = time.monotonic()
    for seed in range(given.seed, given.seed + given.runs):
        mode = {"EPIGRAM_ORDER": str(seed), "EPIGRAM_HYPOTHESIS": "orders"}
        command = [*PYTEST, f"--hypothesis-seed={seed}", *given.tests]
        code = subprocess.run(command, env=os.environ | mode).returncode
        print(
            f"seed {seed}: exit code {code}, {time.monotonic() - began:,.0f} s", file=sys.stderr, flush=True
        )
        if code:
            setting = " ".join(f"{name}={value}" for name, value in mode.items())
            sys.exit(f"failed with seed {seed}; again: {setting} {shlex.join(command)}")
    print(f"{given.runs} runs passed in {time.monotonic() - began:,.0f} s")


if __name__ == "__main__":
    main()
