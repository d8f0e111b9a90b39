"""Claim: a tagger learns on without forgetting. The rival is training on everything at once.

CoNLL-2000 chunking, l1 = 1, default settings, F1 on the test part in per cent. 2,000 sentences are fitted; the next
1, 5, 50, 500 may cost at most 0.3 points, in one call or many, for a tagger from a file as for one in memory. All the
remaining sentences in calls of 100 must end within 0.5 points of training on all at once, after ``fit`` and with
no ``fit`` at all. Takes about 2 CPU minutes.
"""

from __future__ import annotations

import sys
import time
from copy import deepcopy

import numpy as np

from _bars import Claims
from _data import DATA
from epigram import CRFTagger
from epigram.chain.metrics import evaluate
from epigram.features.columns import Columns
from epigram.tagging import read_columns

FITTED, CALL = 2_000, 100


def f1(tagger: CRFTagger, test: Columns) -> float:
    """Chunk F1, in per cent."""
    X, y = test.split(-1)
    gold = [[row[0] for row in sentence] for sentence in Columns(test.sentence_ptr, [y]).rows()]
    return 100.0 * evaluate(gold, tagger.predict(X)).overall.f1


def learn(tagger: CRFTagger, train: Columns, first: int, last: int, call: int) -> CRFTagger:
    """Sentences ``first`` to ``last`` in calls of so many."""
    for at in range(first, last, call):
        tagger.partial_fit(*train.take(np.arange(at, min(at + call, last))).split(-1))
    return tagger


def main() -> None:
    train, test = (read_columns(DATA / "conll2000" / f"{part}.txt") for part in ("train", "test"))
    n = train.n_sentences
    claims = Claims(rival="rival")
    fitted = CRFTagger("chunking").fit(*train.take(np.arange(FITTED)).split(-1))
    before = f1(fitted, test)
    stored = fitted.to_bytes()
    for k, call in ((1, 1), (5, 5), (50, 50), (500, 500), (500, 50)):
        for where, tagger in (("memory", deepcopy(fitted)), ("file", CRFTagger.from_bytes(stored))):
            after = f1(learn(tagger, train, FITTED, FITTED + k, call), test)
            name = f"F1 after {k} more in calls of {call}, from {where}"
            claims.add(name, f"{after:.2f}", f"{before:.2f}", before - after, 0.3)
    whole = f1(CRFTagger("chunking").fit(*train.split(-1)), test)
    for name, tagger, first in (
        ("F1 after all the rest in calls of 100", fitted, FITTED),
        ("F1 of a stream in calls of 100", CRFTagger("chunking"), 0),
    ):
        began = time.process_time()
        after = f1(learn(tagger, train, first, n, CALL), test)
        active = tagger.fit_["active_features"]
        print(f"  {active:,} active, {time.process_time() - began:.0f} CPU s", file=sys.stderr)
        claims.add(name, f"{after:.2f}", f"{whole:.2f}", whole - after, 0.5)
    sys.exit(claims.exit_code)


if __name__ == "__main__":
    main()
