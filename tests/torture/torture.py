"""Damage every kind of file and read it in processes of their own, for a stated time; say what broke.

    python tests/torture/torture.py --seconds 600 --seed 1
    python tests/torture/torture.py --files 500000 --jobs 2

The same on a core that stops at the first wrong access (``python hatch_build.py sanitize``), in a copy of the sources:

    LD_PRELOAD="$(cc -print-file-name=libasan.so) $(cc -print-file-name=libubsan.so)" \\
        ASAN_OPTIONS=detect_leaks=0:max_allocation_size_mb=4000 python tests/torture/torture.py --files 500000

A process that dies, hangs, takes too much memory or shows a traceback is a failure; the damaged file is made smaller
while it still fails and kept under ``cases``, where the tests read it for ever.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import readers
from child import slug
from mutations import mutate_text

HERE = Path(__file__).parent
CASES = HERE / "cases"
PER_CHILD = 20_000  # making the healthy ones takes two seconds


def run_child(
    seed: str, first: int, last: int, names: list[str], distinct: set[str], enough: Callable[[], bool]
) -> tuple[int, Counter[str], dict[int, str]]:
    """Cases in one process: where it stopped, what came out, and what was wrong in which case.

    Digests of the files go into ``distinct``; it stops early where ``enough()`` says so.
    """
    command = [sys.executable, str(HERE / "child.py"), seed, str(first), str(last), *names]
    counts: Counter[str] = Counter()
    wrong: dict[int, str] = {}
    begun = None
    stale = os.environ | {"MALLOC_PERTURB_": "165"}  # memory that nobody has written to is full of it
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace", env=stale) as child:
        assert child.stdout is not None
        for line in child.stdout:
            mark, number, rest = line.rstrip("\n").split(" ", 2)
            if mark == ">":
                begun = int(number), rest
                continue
            name, what, digest = rest.split("\t", 2)
            distinct.add(digest)
            begun = None
            counts[f"{name}\t{what if mark == '=' else 'FAILED'}"] += 1
            if mark == "!":
                wrong[int(number)] = f"{name}: {what}"
            if enough():
                child.kill()
                return int(number) + 1, counts, wrong
        code = child.wait()
    if begun is not None:
        number, name = begun
        counts[f"{name}\tFAILED"] += 1
        wrong[number] = (
            f"{name}: the process ended with {code} ({'10 s of CPU time' if code == -27 else 'a fault'})"
        )
        return number + 1, counts, wrong
    if code:
        raise SystemExit(f"the process that reads the files ended with {code}")
    return last, counts, wrong


def keep(seed: str, case: int, names: list[str]) -> Path:
    """The damaged file of a case, made smaller while it still fails, in the folder of cases."""
    known = readers.formats()
    chosen = [name for name in known if not names or name in names]
    name = chosen[case % len(chosen)]
    content = known[name].damage(known[name].content, Random(f"{seed} {case}"))
    if known[name].damage is mutate_text:
        content = smaller(name, content)
    CASES.mkdir(exist_ok=True)
    path = CASES / f"{slug(name)}.{hashlib.sha256(content).hexdigest()[:8]}"
    path.write_bytes(content)
    return path


def smaller(name: str, content: bytes) -> bytes:
    """Leave out lines, halves first, while reading still fails."""
    lines, size = content.split(b"\n"), content.count(b"\n") + 1
    while size > 1:
        size = (size + 1) // 2
        k = 0
        while k < len(lines) and len(lines) > 1:
            rest = lines[:k] + lines[k + size :]
            if rest and fails(name, b"\n".join(rest)):
                lines = rest
            else:
                k += size
    return b"\n".join(lines)


def fails(name: str, content: bytes) -> bool:
    """Whether a file breaks its reader."""
    command = [sys.executable, str(HERE / "child.py"), "--file", name]
    done = subprocess.run(command, input=content, capture_output=True, check=False)
    return done.returncode != 0 or b"!" in done.stdout


def main() -> None:
    """Run and report; exit code 1 where something broke."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, help="stop after so long; 600 without --files")
    parser.add_argument("--files", type=int, help="stop after so many different files")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--first", type=int, default=0, help="the number of the first")
    parser.add_argument("--format", action="append", default=[], help="only this one; may be repeated")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--keep", action="store_true", help="keep the files that broke something")
    given = parser.parse_args()
    if given.seconds is None and given.files is None:
        given.seconds = 600.0
    begun, counts, distinct = time.monotonic(), Counter[str](), set[str]()
    wrong: dict[int, str] = {}

    def enough() -> bool:
        """Whether so much time is over, or so many files were read."""
        over = given.seconds is not None and time.monotonic() > begun + given.seconds
        return over or (given.files is not None and len(distinct) >= given.files)

    def run(first: int) -> None:
        """The cases from this one to the next process's."""
        at, last = first, first + PER_CHILD
        while at < last and not enough():
            at, found, failures = run_child(given.seed, at, last, given.format, distinct, enough)
            counts.update(found)
            wrong.update(failures)
            for case, what in failures.items():
                print(f"case {case}: {what}", flush=True)
                if given.keep and case >= 0:
                    print(f"  kept as {keep(given.seed, case, given.format)}", flush=True)
        if at > first:
            seconds = time.monotonic() - begun
            files = f"{len(distinct):,} files, {seconds:,.0f} s, {len(wrong)} failures"
            print(files, file=sys.stderr, flush=True)

    with ThreadPoolExecutor(given.jobs) as pool:
        most = given.first + PER_CHILD * 100_000  # more than can be read
        for _ in pool.map(run, range(given.first, most, PER_CHILD)):
            pass
    for name in sorted(counts):
        print(f"{counts[name]:9,} {name}")
    seconds = time.monotonic() - begun
    print(
        f"{len(distinct):9,} different files of {sum(counts.values()):,} in {seconds:,.0f} s, "
        f"seed {given.seed}: {len(wrong)} failures"
    )
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
