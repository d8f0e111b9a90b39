"""Speed of the tagger against python-crfsuite on CoNLL-2000, same features, one thread each, CPU seconds, same run.

Ours are timed from columns in memory to a finished estimator, features included; CRFsuite's ``train`` alone, its
features being made before. Kernels are compiled before anything is timed. Wall clock only for two threads.
``--quick`` leaves out what takes CRFsuite a 30-pass run; ``--record FILE`` keeps the figures as JSON.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from _bars import Claims
from _crfsuite import Part, conll2000, python_features, run, tag, trainer_of
from epigram import OWLQN, SGD, CRFTagger
from epigram.chain.metrics import evaluate
from epigram.datasets import fetch
from epigram.features.formats import read_columns

PASSES = 30
OWLQN_ITERATIONS = 40
TARGET = 0.935
QUICKLY = {"eta0": 0.5, "decay": 0.6, "passes": 8}  # chosen on the last 1,000 sentences of the training part


def cpu(call: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of a call, and its result."""
    began = time.process_time()
    result = call()
    return time.process_time() - began, result


def least(call: Callable[[], Any], repeats: int) -> float:
    """The least CPU seconds of several calls."""
    return min(cpu(call)[0] for _ in range(repeats))


def warm(train: Part) -> None:
    """Compile everything that is timed."""
    few = train.take(np.arange(50))
    for solver in (SGD(passes=1), OWLQN(max_iterations=2)):
        tagger = CRFTagger("chunking", solver=solver).fit(
            few.columns, few.labels, dev=(few.columns, few.labels)
        )
    tagger.model_.decode(tagger.model_.encode(read_columns(fetch("conll2000", "test.txt")).split(-1)[0]))


def sgd(train: Part) -> CRFTagger:
    """30 passes of cumulative SGD, all else by default."""
    return CRFTagger("chunking", l1=1.0, solver=SGD(passes=PASSES)).fit(train.columns, train.labels)


class _Timed(CRFTagger):
    """Knows what its held-out evaluations cost."""

    def decode_ids(self, *arguments: Any) -> Any:
        spent, result = cpu(lambda: super(_Timed, self).decode_ids(*arguments))
        self.evaluation = getattr(self, "evaluation", 0.0) + spent
        return result


def seconds_to_target(train: Part, test: Part) -> tuple[float, int, float]:
    """CPU seconds until test F1 reaches the target, evaluations not counted; the pass; the F1."""
    tagger = _Timed("chunking", l1=1.0, solver=SGD(**QUICKLY))
    reached: list[tuple[float, int, float]] = []
    began = time.process_time()

    def watch(entry: dict[str, Any]) -> bool:
        spent = time.process_time() - began - tagger.evaluation
        reached[:] = [(spent, entry["iteration"], entry["dev_score"])]
        return bool(entry["dev_score"] >= TARGET)

    tagger.fit(train.columns, train.labels, dev=(test.columns, test.labels), callback=watch)
    return reached[0]


def per_iteration(train: Part, threads: int, iterations: int, clock: Callable[[], float]) -> float:
    """Seconds an OWL-QN iteration, between the first and the last."""
    ticks: list[float] = []
    solver = OWLQN(max_iterations=iterations, tolerance=1e-12, threads=threads)
    tagger = CRFTagger("chunking", l1=1.0, solver=solver, threads=threads)
    tagger.fit(train.columns, train.labels, callback=lambda entry: ticks.append(clock()))
    return (ticks[-1] - ticks[0]) / (len(ticks) - 1)


def compare_training(train: Part, test: Part, features: Any, folder: Path, claims: Claims) -> CRFTagger:
    """30 passes, and the time to a good F1; ours runs before and after theirs, the mean counts."""
    before, tagger = cpu(lambda: sgd(train))
    reached_before = seconds_to_target(train, test)
    rival = run(
        trainer_of(
            features, train.names, "l2sgd", c2=1.0, max_iterations=PASSES, period=PASSES + 1, delta=1e-9
        ),
        folder / "l2.crfsuite",
    )
    after, _ = cpu(lambda: sgd(train))
    reached_after = seconds_to_target(train, test)
    ours, theirs = (before + after) / 2, rival.cpu_seconds
    claims.add(f"SGD, {PASSES} passes, CPU s", f"{ours:.2f}", f"{theirs:.2f} (l2sgd)", ours / theirs, 0.2)
    ours = (reached_before[0] + reached_after[0]) / 2
    predicted = tag(folder / "l2.crfsuite", map(python_features, test.columns.rows()))
    f1 = evaluate(test.names, predicted).overall.f1
    claims.add(
        f"time to test F1 {100 * TARGET:.1f} (pass {reached_before[1]}), CPU s",
        f"{ours:.2f} (F1 {100 * reached_before[2]:.2f})",
        f"{theirs:.2f} (F1 {100 * f1:.2f})",
        ours / theirs if reached_before[2] >= TARGET else float("inf"),
        0.15,
    )
    return tagger


def compare_owlqn(train: Part, features: Any, folder: Path, claims: Claims) -> None:
    """Cost of an iteration; CRFsuite says its own (CPU time) after each."""
    before = per_iteration(train, 1, OWLQN_ITERATIONS, time.process_time)
    rival = run(
        trainer_of(features, train.names, "lbfgs", c1=1.0, c2=0.0, max_iterations=OWLQN_ITERATIONS),
        folder / "l1.crfsuite",
    )
    after = per_iteration(train, 1, OWLQN_ITERATIONS, time.process_time)
    ours, theirs = (before + after) / 2, float(np.mean(rival.seconds_by_iteration[1:]))
    claims.add("OWL-QN, CPU s an iteration", f"{ours:.3f}", f"{theirs:.3f} (lbfgs c1=1)", ours / theirs, 0.35)


def compare_tagging(tagger: CRFTagger, rivals: dict[str, Path], claims: Claims) -> None:
    """From the file on disk to labels; then CRFsuite's tagging without reading and features, for comparison."""
    path = fetch("conll2000", "test.txt")
    n = read_columns(path).n_tokens
    model = tagger.model_

    def ours() -> None:
        model.decode(model.encode(read_columns(path).split(-1)[0]))

    def theirs(rival: Path) -> None:
        lines = path.read_text(encoding="utf-8").split("\n\n")
        sentences = [[tuple(line.split(" ")) for line in block.splitlines()] for block in lines if block]
        tag(rival, map(python_features, sentences))

    ours()
    mine = least(ours, 5)
    for name, rival in rivals.items():
        spent = least(lambda rival=rival: theirs(rival), 2)
        mine = min(mine, least(ours, 5))
        claims.add(
            f"tagging from a file, tokens per CPU s ({name})",
            f"{n / mine:,.0f}",
            f"{n / spent:,.0f}",
            spent / mine,
            30.0,
            at_least=True,
        )
        ready = list(map(python_features, read_columns(path).rows()))
        spent = least(lambda rival=rival, ready=ready: tag(rival, ready), 2)
        claims.add(
            f"  its features made before ({name})",
            f"{n / mine:,.0f}",
            f"{n / spent:,.0f}",
            spent / mine,
            None,
        )


def compare_threads(train: Part, claims: Claims) -> None:
    """Wall clock of OWL-QN on one thread and on two, three times in turn, the best of each."""
    one, two = float("inf"), float("inf")
    for _ in range(3):
        one = min(one, per_iteration(train, 1, 12, time.perf_counter))
        two = min(two, per_iteration(train, 2, 12, time.perf_counter))
    claims.add(
        "OWL-QN, two threads, wall s an iteration",
        f"{two:.3f}",
        f"{one:.3f} (ours, one)",
        one / two,
        1.8,
        True,
    )


# Linux counts what a process held before it became another program, so the parent must be a small one.
WAITER = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
print(status, usage.ru_maxrss)
"""


def peak_memory(*words: str) -> float:
    """Most megabytes that ``epigram tag train`` held."""
    with tempfile.TemporaryDirectory() as folder:
        train = [sys.executable, "-m", "epigram", "tag", "train", str(fetch("conll2000", "train.txt"))]
        command = [sys.executable, "-c", WAITER, *train, "-o", f"{folder}/m.epigram", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    status, kilobytes = map(int, done.stdout.split())
    assert status == 0
    return kilobytes / 1024


PARTS = ("training", "tagging", "owlqn", "threads", "memory")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="leave out CRFsuite's 30 passes")
    options.add_argument("--only", help=f"some of {','.join(PARTS)}")
    options.add_argument("--record", type=Path, help="keep the figures as JSON")
    chosen = options.parse_args()
    parts = (
        set(chosen.only.split(",")) if chosen.only else set(PARTS) - ({"training"} if chosen.quick else set())
    )
    claims = Claims(chosen.record)
    train, test = conll2000("train"), conll2000("test")
    warm(train)
    features = [python_features(rows) for rows in train.columns.rows()]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        tagger = compare_training(train, test, features, folder, claims) if "training" in parts else None
        if "owlqn" in parts:
            compare_owlqn(train, features, folder, claims)
        if "tagging" in parts:
            rivals = {"l1 model": folder / "l1.crfsuite", "l2sgd model": folder / "l2.crfsuite"}
            there = {name: path for name, path in rivals.items() if path.exists()}
            compare_tagging(tagger or sgd(train), there, claims)
    if "threads" in parts:
        compare_threads(train, claims)
    if "memory" in parts:
        for name, bar, words in (
            ("sgd", 200, ("--passes", "2")),
            ("owlqn", 200, ("--solver", "owlqn", "--passes", "15")),
        ):
            used = peak_memory(*words)
            claims.add(f"peak memory of tag train, {name}, MB", f"{used:.0f}", "", used, bar)
    return claims.exit_code


if __name__ == "__main__":
    sys.exit(main())
