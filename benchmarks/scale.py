"""What shards and a cluster cost: CPU beyond kernels, wall time against threads, bytes, and what 64 workers would do.

    python benchmarks/scale.py [--tokens N] [--shards K] [--words N]

Taggers: sentences of CoNLL-2000 chunking, repeated with other words up to the size asked for, one million tokens a
shard by default. Language model: newswire of the data folder, else the sample text. Exits 1 where a bar is
missed.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from epigram import LogLinearLM
from epigram.datasets import sample
from epigram.features.formats import ColumnSpec
from epigram.features.template import Template
from epigram.files import read_text
from epigram.lm.outofcore.encode import write_stream
from epigram.lm.outofcore.loglinear import fit_stream
from epigram.lm.outofcore.partition import Split
from epigram.outofcore import Here, connect
from epigram.tagging.outofcore.crf import TaggerShards
from epigram.tagging.outofcore.encode import write_shards

BARS = {"CPU beyond kernels": 0.10, "2 workers / 2 threads": 1.15, "tagger bytes": 16.0, "LM bytes": 40.0}
READING = ColumnSpec("conll", None, (), -1, (0, 1), 3)


def sentences() -> str:
    """Chunking text: CoNLL-2000 where it is, else the sample."""
    path = Path(os.environ.get("EPIGRAM_DATA", "")) / "conll2000" / "train.txt"
    if path.is_file():
        return path.read_text("utf-8")
    lines = (
        "".join(" ".join(t) + "\n" for t in sentence) + "\n" for sentence in sample.tagged("train", 2000)
    )
    return "".join(lines)


def corpus(path: Path, tokens: int) -> int:
    """Write a text of so many tokens; words of later copies that are rare get a mark, so that features grow."""
    text = sentences()
    n = text.count("\n") - text.count("\n\n")
    copies = max(1, round(tokens / n))
    with path.open("w", encoding="utf-8") as out:
        for k in range(copies):
            mark = f"_{k}"
            out.write(
                text
                if not k
                else re.sub(r"^([A-Z]\w{4,})(?= )", lambda m, s=mark: m[1] + s, text, flags=re.M)
            )
    return copies * n


def plain_text(path: Path, words: int) -> None:
    """Write a text of so many words, a sentence a line."""
    folder = Path(os.environ.get("EPIGRAM_DATA", ""))
    source = folder / "ptb" / "ptb.train.txt.gz"
    lines = (
        read_text(source).splitlines()
        if source.is_file()
        else [" ".join(t[0] for t in sentence) for sentence in sample.tagged("train", 3000)]
    )
    with path.open("w", encoding="utf-8") as out:
        for line in itertools.cycle(lines):
            out.write(line + "\n")
            words -= len(line.split())
            if words <= 0:
                return


class Cost:
    """Wall and CPU seconds of the driver and of the workers between two moments."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self.begin = self._now()
        self.kernel = engine.kernel_seconds

    def _now(self) -> tuple[float, float, float]:
        workers = sum(self.engine.client.run(time.process_time).values())
        return time.perf_counter(), time.process_time(), workers

    def end(self) -> tuple[float, float, float, float]:
        """Wall, driver, workers, kernels."""
        kernel = self.engine.kernel_seconds - self.kernel
        return *(b - a for a, b in zip(self.begin, self._now(), strict=True)), kernel  # type: ignore[return-value]


def taggers(home: Path, tokens: int, n_shards: int, rounds: int) -> dict[str, float]:
    """Costs of evaluations of the chain loss on two workers, beside two threads."""
    n_tokens = corpus(home / "train.txt", tokens)
    began = time.process_time()
    write_shards([home / "train.txt"], home / "s", Template.load("chunking"), READING, n_shards=n_shards)
    encoding = time.process_time() - began
    shards = TaggerShards.open(home / "s")
    seen = shards.seen()
    layout = shards.layout(seen)
    w = np.random.default_rng(0).normal(size=layout.n_features) * 0.1
    gradient = np.empty_like(w)
    own = sum(places.size for places in shards.places(layout, seen))
    threads = shards.loss(Here(2), layout, seen)
    with connect("local:2") as engine:
        loss = shards.loss(engine, layout, seen)
        expected = threads.value_and_gradient(w, gradient)
        assert loss.value_and_gradient(w, gradient) == expected
        walls, here, costs = [], [], []
        for _ in range(rounds):
            began = time.perf_counter()
            threads.value_and_gradient(w, gradient)
            here.append(time.perf_counter() - began)
            moved, cost = engine.sent + engine.received, Cost(engine)
            loss.value_and_gradient(w, gradient)
            costs.append(cost.end())
            walls.append(costs[-1][0])
            moved = engine.sent + engine.received - moved
    _, driver, workers, kernel = min(costs, key=lambda c: (c[1] + c[2] - c[3]) / c[3])
    return {
        "tokens": n_tokens,
        "features": layout.n_features,
        "shards": shards.manifest.n_shards,
        "own features a shard": own / shards.manifest.n_shards,
        "encoding, us a token": 1e6 * encoding / n_tokens,
        "kernel, us a token": 1e6 * kernel / n_tokens,
        "driver CPU s": driver,
        "workers CPU s": workers,
        "kernels CPU s": kernel,
        "CPU beyond kernels": (driver + workers - kernel) / kernel,
        "2 workers / 2 threads": min(walls) / min(here),
        "tagger bytes": moved / own,
    }


def language_model(home: Path, words: int, n_shards: int, iterations: int) -> dict[str, float]:
    """Costs of an iteration of FISTA on the shards of a language model."""
    plain_text(home / "text", words)
    manifest = write_stream([home / "text"], home / "lm")
    settings: dict[str, Any] = {
        "order": 5,
        "strength": 0.4,
        "depth_weight": 1.7,
        "ridge": 0.06,
        "tolerance": 1e-12,
    }
    probe = LogLinearLM(**settings)
    split = Split.of(manifest, n_shards, 5, "elastic", probe.first_strength()[0], True)
    n_words = manifest.header["words"]
    with connect("local:2") as engine:
        marks: list[tuple[int, float]] = []

        def mark(now: Any) -> None:
            marks.append((engine.sent + engine.received, engine.kernel_seconds))

        model = fit_stream(
            LogLinearLM(**settings, max_iterations=iterations), manifest, engine, n_shards, mark
        )
    moved = (marks[-1][0] - marks[0][0]) / (len(marks) - 1)
    kernel = (marks[-1][1] - marks[0][1]) / (len(marks) - 1)
    return {
        "words": manifest.header["tokens"],
        "vocabulary": n_words,
        "shards": len(split.recipes),
        "nonzero": float(model.n_nonzero_),
        "kernel, us a word and iteration": 1e6 * kernel / manifest.header["tokens"],
        "LM bytes": moved / (n_words * len(split.recipes)),
    }


def table_64(tag: dict[str, float], lm: dict[str, float]) -> list[tuple[str, float]]:
    """What 64 workers would take for 10^8 sentences and 10^9 words, from speeds and bytes measured above."""
    workers, network = 64, 1.25e9  # bytes a second: 10 Gb/s at the driver
    tokens = 24e8
    features = tag["features"] * (tokens / tag["tokens"]) ** 0.68
    own = (
        features * tag["own features a shard"] / tag["features"] / 2
    )  # 38 M tokens a worker: less of all than here
    kernel = tokens * tag["kernel, us a token"] * 1e-6 / workers
    words, shards = 1e9, 64
    return [
        ("tagger, 10^8 sentences: shards of 1 M tokens", tokens / 1e6),
        ("  data a worker, GB (92 bytes a token, mapped)", 92 * tokens / workers / 1e9),
        ("  kernels an evaluation, s", kernel),
        ("  bytes an evaluation through the driver, GB", 16 * own * workers / 1e9),
        ("  network an evaluation at 10 Gb/s, s", 16 * own * workers / network),
        (
            "language model, 10^9 words: kernels an iteration, s",
            words * lm["kernel, us a word and iteration"] * 1e-6 / 64,
        ),
        ("  bytes an iteration for a vocabulary of 200,000, GB", lm["LM bytes"] * 2e5 * shards / 1e9),
        ("  network an iteration at 10 Gb/s, s", lm["LM bytes"] * 2e5 * shards / network),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tokens", type=int, default=2_000_000)
    parser.add_argument("--shards", type=int, default=2)
    parser.add_argument("--words", type=int, default=900_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tag = taggers(Path(folder), given.tokens, given.shards, given.rounds)
        lm = language_model(Path(folder), given.words, 8, 6)
    for name, value in [*tag.items(), *lm.items()]:
        print(f"{name:<58}{value:>16,.4g}" if value < 1e4 else f"{name:<58}{value:>16,.0f}")
    print("\nfrom these, on 64 workers")
    for name, value in table_64(tag, lm):
        print(f"{name:<58}{value:>16,.4g}")
    missed = 0
    print(f"\n{'':<30}{'measured':>12}{'bar':>10}")
    for name, bar in BARS.items():
        measured = {**tag, **lm}[name]
        missed += measured > bar * 1.0001
        print(f"{name:<30}{measured:>12.3f}{bar:>10.2f}{'  missed' if measured > bar * 1.0001 else ''}")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
