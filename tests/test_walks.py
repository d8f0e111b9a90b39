"""A command goes through few files of the library: so many has to read who follows it by hand.

Counted are the files with a function that ran, also while modules were loaded; class bodies and comprehensions are not
functions. A walk may become shorter; whoever makes one longer has a reason, and says so here.

The limits rose by 1 to 9 files when large modules were split by the layout of packages, and when options came to be
derived from constructors (cli/options.py, cli/solvers.py), and by one when SGD took the pass loop of the
other stochastic solvers (solvers/stochastic.py). They are to fall again.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from epigram.datasets import sample

WALK = """
import sys, threading
from pathlib import Path
import epigram
from epigram.cli import main

home = str(Path(epigram.__file__).parent)
walked = set()

def note(frame, event, _):
    code = frame.f_code
    is_function = code.co_flags & 2 and not code.co_name.endswith(("comp>", "genexpr>"))  # 2: it has fast locals
    if event == "call" and is_function and code.co_filename.startswith(home):
        walked.add(code.co_filename[len(home) + 1 :])

target, sys.argv = sys.argv[1], ["epigram", *sys.argv[2:]]
threading.setprofile(note)
sys.setprofile(note)
try:
    main()
finally:
    sys.setprofile(None)
    Path(target).write_text("\\n".join(sorted(walked)))
"""
WALKS = {
    "tag train train.txt --dev dev.txt --passes 3": 49,
    "lm train text.txt --valid valid.txt --model loglinear": 40,
    "lm train text.txt --valid valid.txt": 48,
    "lm train text.txt --valid valid.txt --classes 5 --budget 5": 43,
    "rerank train lists.jsonl": 27,
    "ime build background.txt": 44,
    "ime adapt ime.epigram domain.txt": 46,
    "ime adapt ime.epigram domain.txt --method map-kn+blasso": 53,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small data for every command, and a converter."""
    where, rng = tmp_path_factory.mktemp("walks"), random.Random(0)
    for part in ("train", "dev"):
        (where / f"{part}.txt").write_text(sample.columns(part, 60), "utf-8")
    words = [f"w{k}" for k in range(20)]
    for name in ("text", "valid"):
        lines = [" ".join(rng.choices(words, k=rng.randint(4, 12))) for _ in range(60)]
        (where / f"{name}.txt").write_text("\n".join(lines) + "\n")
    with (where / "lists.jsonl").open("w") as file:
        for _ in range(20):
            right = rng.choices("abcdefg", k=6)
            ways = [right, *([rng.choice([word, "a"]) for word in right] for _ in range(4))]
            candidates = [{"text": " ".join(way), "score": -rng.random()} for way in ways]
            print(json.dumps({"reference": " ".join(right), "candidates": candidates}), file=file)
    (where / "background.txt").write_text("\n".join(sample.BACKGROUND) + "\n", "utf-8")
    (where / "domain.txt").write_text("\n".join(sample.DOMAIN) + "\n", "utf-8")
    walk(where, "ime build background.txt", "ime.epigram")
    return where


def walk(folder: Path, command: str, output: str) -> list[str]:
    """Run a command that writes a model, and return the files that it went through."""
    words = [sys.executable, "-c", WALK, "walked.txt", *command.split(), "-o", output]
    done = subprocess.run(words, cwd=folder, env=dict(os.environ), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return (folder / "walked.txt").read_text().split()


@pytest.mark.parametrize("command", WALKS)
def test_a_command_goes_through_few_files(command: str, folder: Path) -> None:
    walked = walk(folder, command, "made.epigram")
    assert (folder / "made.epigram").exists()
    assert len(walked) <= WALKS[command], "\n".join(walked)
