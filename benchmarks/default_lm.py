"""Cost of the default language model against Kneser-Ney: python benchmarks/default_lm.py [--words N] [--whole]

The default mixes a log-linear model with modified Kneser-Ney, strengths and shares chosen on a sample; ``--whole`` adds
the choice on the whole text, which takes longer. CPU seconds and peak memory of one process each, order 5, and the
perplexity of text that was not learnt: the first words of ``english-novels`` and the 100,000 words after them, and the
Penn Treebank's training and validation parts. Data are looked for in EPIGRAM_DATA.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from _bars import Claims
from _data import DATA
from epigram.lm.default import fit_beside
from epigram.lm.loglinear.model import LogLinearLM
from epigram.lm.ngram.kneser_ney import KneserNeyLM
from experiments.structured_lm.text import novels

ORDER, NEXT = 5, 100_000
BAR = 12.0
"""Times the CPU seconds of Kneser-Ney."""


def write_texts(folder: Path, n_words: int) -> dict[str, tuple[Path, Path]]:
    """Text to learn and text to judge by, as files."""
    corpus = novels(str(DATA))
    cuts = np.searchsorted(corpus.sentence_ptr, [n_words, n_words + NEXT]).tolist()
    found = folder / "train.txt", folder / "next.txt"
    for path, part in zip(found, (corpus.take(0, cuts[0]), corpus.take(*cuts)), strict=True):
        path.write_text("".join(" ".join(words) + "\n" for words in part.sentences()), encoding="utf-8")
    return {"novels": found, "ptb": (DATA / "ptb" / "ptb.train.txt.gz", DATA / "ptb" / "ptb.valid.txt")}


def train(text: Path, other: Path, how: str) -> None:
    """Train one model in this process; prints CPU seconds, megabytes and perplexity."""
    began = time.process_time()
    if how == "kneser-ney":
        model: Any = KneserNeyLM(ORDER).fit(text)
    else:
        settings = {"sample": 10**12} if how == "whole" else {}
        model = fit_beside(LogLinearLM(order=ORDER), text, **settings).mixture
    seconds = time.process_time() - began
    status = Path("/proc/self/status").read_text("ascii")  # ru_maxrss begins with that of the parent
    megabytes = int(status.split("VmHWM:")[1].split()[0]) / 1024
    print(seconds, megabytes, model.perplexity(other))


def measure(texts: tuple[Path, Path], how: str) -> tuple[float, float, float]:
    """CPU seconds, peak megabytes and perplexity of a training in another process."""
    command = [sys.executable, __file__, "--train", *map(str, texts), how]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    seconds, megabytes, perplexity = map(float, found.split())
    return seconds, megabytes, perplexity


def compare(
    claims: Claims,
    name: str,
    ours: tuple[float, ...],
    other: tuple[float, ...],
    bars: tuple[float | None, ...],
) -> None:
    """Claims about time, memory and perplexity."""
    for what, one, two, bar in zip(("CPU s", "peak MB", "perplexity"), ours, other, bars, strict=True):
        claims.add(f"{name}: {what}", f"{one:.2f}", f"{two:.2f}", one / two, bar)


def main() -> int:
    """Print the claims; exit code 1 where one is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--words", type=int, default=1_000_000, help="words of the novels [default: 1000000]")
    parser.add_argument("--whole", action="store_true", help="also choose on the whole text")
    parser.add_argument("--train", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.train:
        train(Path(given.train[0]), Path(given.train[1]), given.train[2])
        return 0
    claims = Claims(rival="Kneser-Ney")
    with tempfile.TemporaryDirectory() as folder:
        for name, texts in write_texts(Path(folder), given.words).items():
            plain, mixed = (measure(texts, how) for how in ("kneser-ney", "default"))
            compare(claims, name, mixed, plain, (BAR, None, 1.0))
            if given.whole:
                compare(claims, f"{name}, chosen on all", mixed, measure(texts, "whole"), (None, None, 1.003))
    return 0 if all(claim.met for claim in claims.claims) else 1


if __name__ == "__main__":
    sys.exit(main())
