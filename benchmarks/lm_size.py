"""Perplexity against size: models with so many weights, and Kneser-Ney models with as many n-grams.

Penn Treebank, order 5. The rival is pruned by count as KenLM does it, with many cutoffs; beside a size stands the
best of those that are not larger. Strengths are chosen on validation text, those of the plain model by the default
search. Draws docs/size.svg. Before that, the default model against Kneser-Ney on little text: some thousand words of
the Penn Treebank's training text and of AP news, judged by the next 20,000.

    python benchmarks/lm_size.py [--json FILE]
"""

from __future__ import annotations

import argparse
import gzip
import sys
from itertools import product
from pathlib import Path

import numpy as np

from _bars import Claims
from _data import DATA
from class_lm import ptb_parts
from epigram.lm import fit_beside
from epigram.lm.corpus import Corpus
from epigram.lm.factored.model import ClassFactoredLM
from epigram.lm.loglinear.model import LogLinearLM
from epigram.lm.ngram.kneser_ney import KneserNeyLM

SIZES = (100_000, 200_000, 400_000, 1_000_000, 2_000_000, 4_000_000)
PLAIN = {160_000: 157.0, 330_000: None, 420_000: None}
"""The bar of the plain model at each size."""

LITTLE = (5_000, 10_000, 20_000, 50_000)
"""Words of training text."""

Curve = list[tuple[int, float]]
"""Sizes and perplexities."""


def pruned(train: Corpus, test: Corpus) -> Curve:
    """Kneser-Ney models of all sizes."""
    cutoffs = (0, 1, 2, 3, 5)
    settings = {(order, (0, *sorted(some))) for order in (2, 3, 5) for some in product(cutoffs, repeat=2)}
    models = (KneserNeyLM(order, prune=prune[:order]).fit(train) for order, prune in sorted(settings))
    return sorted((model.backoff_.n_ngrams, model.perplexity(test)) for model in models)


def best(curve: Curve, size: int) -> float:
    """The lowest perplexity of a model of at most so many n-grams."""
    return min(perplexity for own, perplexity in curve if own <= size)


def little_text(claims: Claims) -> None:
    """The default model is nowhere behind Kneser-Ney."""
    for name, path in (("PTB", "ptb/ptb.train.txt.gz"), ("AP", "lm-splits/apnews.s0.train.txt.gz")):
        lines = gzip.decompress((DATA / path).read_bytes()).decode().splitlines()
        ends = np.cumsum([len(line.split()) for line in lines])
        for words in LITTLE:
            cut, end = np.searchsorted(ends, (words, words + 20_000)).tolist()
            text, rest = lines[:cut], lines[cut:end]
            other = KneserNeyLM(5).fit(text).perplexity(rest)
            found = fit_beside(LogLinearLM(), text).mixture.perplexity(rest)
            claims.add(
                f"default, {words:,} words of {name}", f"{found:.2f}", f"{other:.2f}", found / other, 1.0
            )


def plain(train: Corpus, valid: Corpus, test: Corpus, rival: Curve, claims: Claims) -> Curve:
    """Log-linear models over words alone."""
    curve = []
    for size, bar in PLAIN.items():
        found = LogLinearLM(max_weights=size).fit(train, valid=valid).perplexity(test)
        claims.add(f"plain, {size:,} weights", f"{found:.2f}", f"{best(rival, size):.2f}", found, bar)
        curve.append((size, found))
    return curve


def factored(train: Corpus, test: Corpus, rival: Curve, claims: Claims) -> Curve:
    """Class-factored models, at least a tenth below the rival everywhere."""
    curve = []
    for size in SIZES:
        model = ClassFactoredLM(classes=200, budget=0, max_weights=size).fit(train)
        found, other = model.perplexity(test), best(rival, size)
        claims.add(f"class-factored, {size:,} weights", f"{found:.2f}", f"{other:.2f}", found / other, 0.9)
        curve.append((size, found))
    return curve


def draw(curves: dict[str, Curve], path: Path) -> None:
    """The curves, lower is better."""
    from matplotlib.figure import Figure

    picture = Figure(figsize=(7, 4.5), layout="constrained")
    axes = picture.subplots()
    for (name, curve), colour, mark in zip(
        curves.items(), ("#0072B2", "#E69F00", "#009E73"), "os^", strict=True
    ):
        axes.plot(*zip(*curve, strict=True), marker=mark, color=colour, label=name)
    axes.set(xscale="log", xlabel="weights, or n-grams", ylabel="perplexity, Penn Treebank test text")
    axes.legend()
    axes.grid(alpha=0.3)
    picture.savefig(path)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path)
    claims = Claims(parser.parse_args().json, rival="Kneser-Ney")
    little_text(claims)
    train, valid, test = ptb_parts()
    rival = pruned(train, test)
    curves = {
        "modified Kneser-Ney, pruned by count": [(size, best(rival, size)) for size in SIZES],
        "plain": plain(train, valid, test, rival, claims),
        "class-factored, 200 classes": factored(train, test, rival, claims),
    }
    draw(curves, Path(__file__).parents[1] / "docs" / "size.svg")
    return claims.exit_code


if __name__ == "__main__":
    sys.exit(main())
