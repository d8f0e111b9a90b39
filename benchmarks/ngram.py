"""Kneser-Ney, back-off queries and ARPA on the Penn Treebank, CPU seconds on one thread.

Rivals: the kenlm package, loaded in the same run from the ARPA file we write, for queries and perplexity;
``lmplz``, which has no Python package, by the CPU seconds measured for it on a 2.5 GHz Xeon.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import kenlm
import numpy as np

from epigram.datasets import fetch
from epigram.lm.corpus import Corpus
from epigram.lm.ngram.arpa import read_arpa, write_arpa
from epigram.lm.ngram.kneser_ney import KneserNeyLM

LMPLZ_SECONDS = {5: 3.2, 12: 9.5}


def seconds(call: Callable[[], object], repeats: int = 5) -> float:
    times = []
    for _ in range(repeats):
        began = time.process_time()
        call()
        times.append(time.process_time() - began)
    return min(times)


def main() -> int:
    train_path, test_path = fetch("ptb", "ptb.train.txt.gz"), fetch("ptb", "ptb.test.txt")
    model = KneserNeyLM(5).fit(train_path)
    test = Corpus.read(test_path, model.vocabulary_)
    rows: list[tuple[str, float, float, str, float, bool]] = []

    for order, theirs in LMPLZ_SECONDS.items():
        mine = seconds(lambda order=order: KneserNeyLM(order).fit(train_path), 3)
        rows.append((f"train modified KN, order {order} [s]", mine, theirs, "<=", 1.5, mine <= 1.5 * theirs))

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ptb.arpa"
        writing = seconds(lambda: write_arpa(model.backoff_, path), 2)
        reading = seconds(lambda: read_arpa(path), 2)
        rival = kenlm.Model(str(path))
        rival_reading = seconds(lambda: kenlm.Model(str(path)), 1)

    lines = [" ".join(sentence) for sentence in test.sentences()]
    n_words = test.n_tokens + test.n_sentences
    mine = n_words / seconds(lambda: model.evaluate(test)) / 1e6
    theirs = n_words / seconds(lambda: [rival.score(line) for line in lines], 3) / 1e6
    rows.append(("score a text [M words/s]", mine, theirs, ">= 2 M;", 0.0, mine >= 2.0))

    context = "the stock market"
    mine = seconds(lambda: [model.distribution(context) for _ in range(200)]) / 200 * 1e3
    theirs = seconds(lambda: loop_of_scores(rival, context.split(), model.vocabulary_.words), 3) * 1e3
    rows.append(("full distribution [ms]", mine, theirs, "<=", 0.05, mine <= 0.05 * theirs))

    ours = model.perplexity(test)
    total = sum(rival.score(line) for line in lines)
    theirs = 10 ** (-total / n_words)
    rows.append(("perplexity through ARPA", ours, theirs, "within", 1e-4, abs(ours / theirs - 1) <= 1e-4))

    print(f"{'':36s} {'epigram':>10s} {'rival':>10s} {'ratio':>9s}  bar")
    for name, mine, theirs, sign, bar, ok in rows:
        print(
            f"{name:36s} {mine:10.4f} {theirs:10.4f} {mine / theirs:9.5f}  {sign} {bar:g} {'ok' if ok else 'missed'}"
        )
    print(
        f"ARPA, {model.backoff_.n_ngrams:,} n-grams: written in {writing:.2f} s, read in {reading:.2f} s "
        f"(kenlm reads it in {rival_reading:.2f} s)"
    )
    return 0 if all(row[-1] for row in rows) else 1


def loop_of_scores(rival: kenlm.Model, context: list[str], words: list[str]) -> np.ndarray:
    """What a user of kenlm does for the next-word distribution."""
    state, following = kenlm.State(), kenlm.State()
    rival.NullContextWrite(state)
    for word in context:
        rival.BaseScore(state, word, following)
        state, following = following, state
    return 10.0 ** np.array([rival.BaseScore(state, word, following) for word in words])


if __name__ == "__main__":
    sys.exit(main())
