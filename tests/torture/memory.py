"""Memory over many predictions of every family: it stays where it was.

    python tests/torture/memory.py --predictions 20000

Each model answers as it does in the other tests of this folder, a tenth of the times to warm up, and then again and
again; what the process holds at the end may be at most ``--megabytes`` more than after the warm-up.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Callable
from pathlib import Path
from resource import getpagesize
from tempfile import TemporaryDirectory

import readers

from epigram.storage import describe, load


def resident() -> float:
    """Megabytes that this process holds."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * getpagesize() / (1 << 20)


def growth(ask: Callable[[], object], times: int) -> float:
    """Megabytes more after so many questions than after a tenth of them."""
    for _ in range(max(times // 10, 10)):
        ask()
    gc.collect()
    before = resident()
    for _ in range(times):
        ask()
    gc.collect()
    return resident() - before


def main() -> None:
    """Run and report; exit code 1 where memory grew."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--predictions", type=int, default=20_000)
    parser.add_argument("--megabytes", type=float, default=4.0)
    given = parser.parse_args()
    grown = []
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        for name, content in readers._models().items():
            path.write_bytes(content)
            model, use = load(path), readers.use_of(describe(path)[0].family)
            more = growth(lambda use=use, model=model: use(model), given.predictions)  # type: ignore[misc]
            print(f"{more:+7.2f} MB over {given.predictions:,} predictions of {name}", flush=True)
            if more > given.megabytes:
                grown.append(name)
    print(f"memory grew: {', '.join(grown)}" if grown else "memory stays where it was")
    sys.exit(bool(grown))


if __name__ == "__main__":
    main()
