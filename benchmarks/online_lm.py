"""Updates of language models against training on everything: perplexity and CPU time.

AP split 0: a model of all sentences but the last k learns these in one call, and in calls of 100 sentences; so does a
class-factored model (``factored``), whose classes are learnt from the first sentences. A model from a file without its
text learns them by MAP adaptation. Penn Treebank: CPU seconds of a call for 100 sentences against a fit of all.

    python benchmarks/online_lm.py [ap] [factored] [cost] [--order N]
"""

from __future__ import annotations

import argparse
import sys
import time
from copy import copy
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from _bars import Claims
from _data import DATA
from epigram.lm.corpus import Corpus
from epigram.lm.factored.model import ClassFactoredLM
from epigram.lm.loglinear.model import LogLinearLM

STRENGTHS = {
    "elastic": {"strength": 0.4, "depth_weight": 1.7, "ridge": 0.06},
    "tree-linf": {"strength": 0.6, "depth_weight": 1.15},
    "tree-l2": {"strength": 0.7, "depth_weight": 0.9},
}
SENTENCES = 100


def ap(claims: Claims, order: int) -> None:
    """Log-linear models of three penalties."""
    for penalty, strength in STRENGTHS.items():
        _goes_on(claims, penalty, LogLinearLM(order=order, penalty=penalty, tolerance=1e-6, **strength))


def factored(claims: Claims) -> None:
    """The class-factored model, at the strengths that were best on newswire."""
    _goes_on(claims, "class-factored", ClassFactoredLM(budget=0))


def _goes_on(claims: Claims, name: str, settings: LogLinearLM | ClassFactoredLM) -> None:
    """Perplexity of the test text before and after new text, against that of training on all of it."""
    train = Corpus.read(DATA / "lm-splits" / "apnews.s0.train.txt.gz")
    test = Corpus.read(DATA / "lm-splits" / "apnews.s0.test.txt.gz", train.vocabulary)
    exact = copy(settings).fit(train).perplexity(test)
    for k in (1, 10, 400, 2000):
        rest = train.n_sentences - k
        for size in (k,) if k < 400 else (k, SENTENCES):
            model = copy(settings).fit(train.take(0, rest))
            before = model.perplexity(test)
            if size == k:
                _without_text(claims, name, model, train.take(rest, train.n_sentences), test)
            for first in range(0, k, size):
                model.partial_fit(train.take(rest + first, rest + min(first + size, k)))
            after = model.perplexity(test)
            what = f"{name}, {k:,} new sentences, {size:,} a call"
            claims.add(f"{what}: against before", f"{after:.2f}", f"{before:.2f}", after / before, 1.01)
            claims.add(f"{what}: against all", f"{after:.2f}", f"{exact:.2f}", after / exact, 1.03)


def _without_text(
    claims: Claims, name: str, model: LogLinearLM | ClassFactoredLM, new: Corpus, test: Corpus
) -> None:
    """Perplexity of the test text before and after a model from a file without its text is adapted."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.epigram"
        model.save(path)
        adapted = type(model).load(path).partial_fit(new)
    before, after = model.perplexity(test), adapted.perplexity(test)
    what = f"{name}, {new.n_sentences:,} new sentences, without the old text: against before"
    claims.add(what, f"{after:.2f}", f"{before:.2f}", after / before, 1.01)


def cost(claims: Claims) -> None:
    """CPU seconds of an update by 100 sentences, on average over some, and of a fit of all text."""
    text = Corpus.read(DATA / "ptb" / "ptb.train.txt.gz")
    n, calls, used = 38_000, 5, []
    model = LogLinearLM(order=5, **STRENGTHS["elastic"]).fit(text.take(0, n))
    for first in range(n, n + SENTENCES * calls, SENTENCES):
        began = time.process_time()
        model.partial_fit(text.take(first, first + SENTENCES))
        used.append(time.process_time() - began)
    began = time.process_time()
    LogLinearLM(order=5, **STRENGTHS["elastic"]).fit(text.take(0, n + SENTENCES * calls))
    whole, call = time.process_time() - began, float(np.mean(used))
    claims.add(
        "seconds for 100 sentences: update against fit", f"{call:.3f}", f"{whole:.3f}", call / whole, 0.8
    )


def main() -> int:
    """Run what is asked for, or all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "parts",
        nargs="*",
        choices=["ap", "factored", "cost", []],
        metavar="PART",
        help="all of them by default",
    )
    parser.add_argument("--order", type=int, default=4)
    asked = parser.parse_args()
    claims = Claims(rival="rival")
    if "ap" in asked.parts or not asked.parts:
        ap(claims, asked.order)
    if "factored" in asked.parts or not asked.parts:
        factored(claims)
    if "cost" in asked.parts or not asked.parts:
        cost(claims)
    return claims.exit_code


if __name__ == "__main__":
    sys.exit(main())
