"""Damage model files and read them in the JavaScript runtime: each gives an answer, or an error in one sentence.

python tests/torture/javascript.py --files 50000 --jobs 2
"""

from __future__ import annotations

import argparse
import hashlib
import resource
import shutil
import struct
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.resources import files
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import readers
from mutations import mutate_model

from epigram.storage import ModelFile
from epigram.web.export import as_read
from epigram.web.support import obstacles

NODE = shutil.which("node")
MODULE = Path(str(files("epigram.web") / "epigram.mjs"))
BATCH, SECONDS = 250, 300
"""Files of a process, and its CPU time, after which it counts as hanging."""


def healthy() -> dict[str, bytes]:
    """Model files of every kind that a page can be made of, as a page stores them."""
    made = {name: ModelFile.from_bytes(content) for name, content in readers._models().items()}
    return {
        name: as_read(file).to_bytes(compress=False) for name, file in made.items() if not obstacles(file)
    }


def run_batch(models: dict[str, bytes], seed: str, first: int, last: int) -> tuple[Counter[str], list[str]]:
    """Read the files of some cases in one process: outcomes, and what was wrong; the first of each kind is healthy."""
    names, distinct = list(models), set()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "files"
        with path.open("wb") as out:
            for case in range(first, last):
                content = models[names[case % len(names)]]
                if case >= len(names):
                    content = mutate_model(content, Random(f"{seed} {case}"), False)
                distinct.add(hashlib.sha256(content).digest())
                out.write(struct.pack("<I", len(content)) + content)
        command = [str(NODE), str(Path(__file__).with_suffix(".mjs")), MODULE.as_uri(), str(path)]
        limit = partial(resource.setrlimit, resource.RLIMIT_CPU, (SECONDS, SECONDS))
        done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=limit)
    counts, wrong, begun = Counter(distinct=len(distinct)), [], first
    for line in done.stdout.splitlines():
        if line.startswith(">"):
            begun = first + int(line[2:])
            continue
        counts[f"{names[begun % len(names)]}\t{line[2:] if line.startswith('=') else 'FAILED'}"] += 1
        if line.startswith("!") or (begun < len(names) and line != "= read"):
            wrong.append(f"case {begun}, {names[begun % len(names)]}: {line[2:]}")
    if done.returncode:
        wrong.append(f"case {begun}: the process ended with {done.returncode} {done.stderr[-500:]}")
    return counts, wrong


def main() -> None:
    """Run and report; exit code 1 where something broke."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=50_000, help="damaged files")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    given = parser.parse_args()
    if NODE is None or not MODULE.with_name("core.wasm").exists():
        print("node is not installed, or core.wasm was not built: nothing is read")
        return
    models, counts = healthy(), Counter[str]()
    wrong: list[str] = []
    with ThreadPoolExecutor(given.jobs) as pool:
        begins = range(0, given.files, BATCH)
        ends = [min(begin + BATCH, given.files) for begin in begins]
        for found, failed in pool.map(partial(run_batch, models, given.seed), begins, ends):
            counts += found
            wrong += failed
    print(f"{counts.pop('distinct'):,} different files (seed {given.seed})")
    for name, n in sorted(counts.items()):
        print(f"{n:7,} {name}")
    print("\n".join(wrong))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
