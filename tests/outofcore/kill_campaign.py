"""A long campaign against workers (``make kills``): SIGKILL at random moments; every training ends with the same bits.

    python tests/outofcore/kill_campaign.py [KILLS]

On separately started processes: one worker at 20 random moments, all workers once, the same seat five times; then a
language model in shards, two kills; then the driver at five random moments, each time resumed. Each training has a
deadline.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from cluster_processes import OURS, Processes

from epigram import OWLQN, CRFTagger, LogLinearLM
from epigram.datasets import sample
from epigram.features.formats import ColumnSpec
from epigram.features.template import Template
from epigram.lm.outofcore.encode import write_stream
from epigram.lm.outofcore.loglinear import fit_stream
from epigram.outofcore import Here, connect
from epigram.tagging.outofcore.encode import write_shards

TEMPLATE = Template.parse("U0:%x[0,0]\nU1:%x[-1,1]/%x[0,0|suffix:1]\nU2:%x[0,0]/%x[1,0]\nB\n")
READING = ColumnSpec("conll", None, (), -1, (0, 1), 3)
DEADLINE = 240.0


class Killer(threading.Thread):
    """Kills workers at random moments and starts new ones, until told to stop; between two kills somebody answers."""

    def __init__(self, cluster: Processes, engine: Any, kills: int, all_at_once: bool, seed: int) -> None:
        super().__init__(daemon=True)
        self.cluster, self.engine, self.left, self.all_at_once = cluster, engine, kills, all_at_once
        self.random, self.done, self.killed = random.Random(seed), threading.Event(), 0

    def run(self) -> None:
        asked = 0
        while self.left and not self.done.wait(self.random.uniform(0.05, 1.5)):
            if self.engine.asked < asked + 2:
                continue
            asked = self.engine.asked
            self.left -= 1
            for k in range(2 if self.all_at_once else 1):
                self.cluster.kill_worker(k)  # the first may still count as alive
                self.killed += 1
            for _ in range(2 if self.all_at_once else 1):
                self.cluster.add_worker()


def weights(folder: Path, engine: Any) -> bytes:
    """The weights of a training of some seconds, as bytes."""
    tagger = CRFTagger(TEMPLATE, l1=0.1, solver=OWLQN(max_iterations=60, tolerance=1e-9))
    tagger.fit_shards(folder, engine=engine)
    model: bytes = tagger.model_.w.tobytes()
    return model


def attack(
    what: str, home: Path, kills: int, all_at_once: bool, train: Any, expected: Any, seed: int
) -> None:
    """One training under attack."""
    began = time.monotonic()
    with Processes(home, 2) as cluster, connect(str(cluster.file), deadline=DEADLINE) as engine:
        engine.lonely = DEADLINE  # on a busy machine a new worker may take longer than a user should wait
        killer = Killer(cluster, engine, kills, all_at_once, seed)
        killer.start()
        same, rounds = True, 0
        while killer.left or not rounds:
            same &= train(engine) == expected
            rounds += 1
            assert time.monotonic() - began < DEADLINE + 60 * kills, f"{what}: no end"
        killer.done.set()
        again = engine.again
    seconds = time.monotonic() - began
    print(
        f"{what}: {killer.killed} kills, {rounds} trainings, {again} asked again, {seconds:.0f} s, same bits: {same}"
    )
    assert same


def kill_driver(home: Path, kills: int, seed: int) -> None:
    """A command killed at random moments and resumed makes the file of one that was let alone."""
    words = ["tag", "train", str(home / "train.txt"), "--solver", "owlqn", "--passes", "40"]
    words += ["--shards", str(home / "driven"), "--n-shards", "3", "--checkpoint", "0.01", "-o"]
    env, chance, done = {**os.environ, "PYTHONPATH": OURS}, random.Random(seed), 0
    began = time.monotonic()

    def command(output: str, *more: str) -> subprocess.Popen[bytes]:
        given = [sys.executable, "-m", "epigram", *words, str(home / output), *more]
        return subprocess.Popen(given, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    assert command("let-alone").wait(timeout=DEADLINE) == 0
    resume: list[str] = []
    while done < kills:
        process = command("killed", *resume)
        try:
            process.wait(timeout=chance.uniform(0.3, 2.5))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(timeout=30)
            done += 1
            resume = ["--resume"] if (home / "killed.checkpoint").exists() else []
        else:  # it was faster: once more from the start
            resume = []
            (home / "killed").unlink()
    if not (home / "killed").exists():
        assert command("killed", *resume).wait(timeout=DEADLINE) == 0
    same = (home / "killed").read_bytes() == (home / "let-alone").read_bytes()
    print(f"driver: {done} kills, {time.monotonic() - began:.0f} s, same file: {same}")
    assert same


def main() -> None:
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        rows = sample.tagged("train", 1500)
        lines = ("".join(" ".join(t) + "\n" for t in sentence) + "\n" for sentence in rows)
        (home / "train.txt").write_text("".join(lines), "utf-8")
        write_shards([home / "train.txt"], home / "s", TEMPLATE, READING, n_shards=6)
        (home / "text").write_text("\n".join(" ".join(t[0] for t in s) for s in rows) + "\n", "utf-8")
        manifest = write_stream([home / "text"], home / "lm")

        def model(engine: Any) -> bytes:
            lm = LogLinearLM(order=4, strength=0.3, depth_weight=1.3, ridge=0.05, tolerance=1e-8)
            content: bytes = fit_stream(lm, manifest, engine, 5).weights_.tobytes()
            return content

        def tagger(engine: Any) -> bytes:
            return weights(home / "s", engine)

        expected, expected_model = tagger(Here()), model(Here())
        for number, (what, n, everyone, train, wanted) in enumerate([
            (f"one worker, {kills} moments", kills, False, tagger, expected),
            ("all workers at once", 1, True, tagger, expected),
            ("the same seat five times", 5, False, tagger, expected),
            ("language model, two kills", 2, False, model, expected_model),
        ]):  # fmt: skip
            place = home / f"cluster-{number}"
            place.mkdir()
            attack(what, place, n, everyone, train, wanted, number)
        kill_driver(home, 5, 0)


if __name__ == "__main__":
    main()
