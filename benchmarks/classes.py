"""Speed of word classes: python benchmarks/classes.py

CPU seconds of this process for a whole ``WordClasses.learn``, bigram counts included, one thread, after a warm-up;
PTB is the least of three runs. No rival is timed: the bars are absolute. The perplexity is that of the
class bigram model on its training text. ``english-novels`` is read with punctuation split off, a line a sentence.
Data are looked for in EPIGRAM_DATA.
"""

from __future__ import annotations

import sys
import time

from epigram.lm.corpus import Corpus
from epigram.lm.factored.classes import WordClasses
from epigram.lm.factored.exchange import ExchangePass
from epigram.lm.vocabulary import Vocabulary
from lm import DATA, novels

missed = 0


def claim(name: str, corpus: Corpus, n_classes: int, bar: float, times: int) -> None:
    """Time one clustering and show its line."""
    global missed
    measured = []
    for _ in range(times):
        passes: list[ExchangePass] = []
        began = time.process_time()
        WordClasses.learn(corpus, n_classes, callback=passes.append)
        measured.append(time.process_time() - began)
    met = min(measured) <= bar
    missed += not met
    print(
        f"{name:44s} {len(corpus.vocabulary):8,d} words {n_classes:5d} classes {len(passes):3d} passes "
        f"{passes[-1].perplexity:8.2f} perplexity {min(measured):8.2f} CPU s <= {bar:g} {'ok' if met else 'missed'}",
        flush=True,
    )


def most_frequent(corpus: Corpus, n_words: int) -> Corpus:
    """The text with its ``n_words`` most frequent words, </s> and <unk> among them; others are <unk>."""
    kept = Vocabulary([*corpus.vocabulary.words[1 : n_words - 1], "<unk>"])
    return Corpus.of(corpus.sentences(), kept, training=True)


if __name__ == "__main__":
    ptb = Corpus.read(DATA / "ptb" / "ptb.train.txt.gz")
    WordClasses.learn(ptb.take(0, 100), 10)
    claim("PTB", ptb, 200, 10.0, 3)
    claim("english-novels", most_frequent(novels(), 50_000), 500, 300.0, 1)
    sys.exit(int(missed > 0))
