"""The class-factored language model against modified Kneser-Ney: perplexity, training time, scoring speed.

Strengths were chosen on validation text (Penn Treebank) or are chosen here on the end of the training text (AP);
test text is read once, by the finished model. Mixtures (a second clustering, Kneser-Ney) get their weights from
the same held-out text. ``figure`` draws perplexity on validation text against the CPU seconds of training for
Kneser-Ney, plain tree models and class-factored ones.

    python benchmarks/class_lm.py [ptb] [threads] [ap] [wikitext] [figure]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from _bars import Claims
from _data import DATA
from epigram.lm.base import LanguageModel
from epigram.lm.cache import CachedLM
from epigram.lm.corpus import Corpus
from epigram.lm.document.model import DocumentLM, fit_document
from epigram.lm.factored.classes import WordClasses
from epigram.lm.factored.loss import Factor
from epigram.lm.factored.model import ClassFactoredLM
from epigram.lm.loglinear.model import LogLinearLM
from epigram.lm.loglinear.tree import Positions
from epigram.lm.mixture import InterpolatedLM, interpolate
from epigram.lm.ngram.kneser_ney import KneserNeyLM

T = TypeVar("T")


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """A result and its CPU seconds."""
    began = time.process_time()
    result = work()
    return result, time.process_time() - began


def ptb_parts() -> tuple[Corpus, Corpus, Corpus]:
    """Training, validation and test text of the Penn Treebank."""
    train = Corpus.read(DATA / "ptb" / "ptb.train.txt.gz")
    rest = [Corpus.read(DATA / "ptb" / f"ptb.{part}.txt", train.vocabulary) for part in ("valid", "test")]
    return train, rest[0], rest[1]


def ptb(claims: Claims) -> None:
    """One model at fixed settings, its speed, and mixtures."""
    train, valid, test = ptb_parts()
    rival, rival_seconds = timed(lambda: KneserNeyLM(5).fit(train))
    model, seconds = timed(lambda: ClassFactoredLM(classes=200, budget=0).fit(train))
    kneser_ney = rival.perplexity(test)
    found = model.perplexity(test)
    claims.add("PTB test perplexity, one model", f"{found:.2f}", f"{kneser_ney:.2f}", found, 120.0)
    claims.add(
        "PTB training CPU s, classes included", f"{seconds:.1f}", f"{rival_seconds:.1f}", seconds, 90.0
    )
    n = test.n_tokens + test.n_sentences
    speed = n / min(timed(lambda: model.score_stream(test.stream()[1:]))[1] for _ in range(5))
    claims.add("words scored a CPU s", f"{speed:,.0f}", "", speed, 1_000_000, at_least=True)
    contexts = ("", "<s>", "<s> the company said", "unseen the of")
    worst = max(abs(float(model.distribution(context).sum()) - 1) for context in contexts)
    claims.add("largest |sum of probabilities - 1|", f"{worst:.1e}", "", worst, 1e-9)
    other = ClassFactoredLM(classes=200, budget=0, random_state=1).fit(train)
    mixture = interpolate([model, other, rival], valid)
    mixed = mixture.perplexity(test)
    shares = " ".join(f"{share:.2f}" for share in mixture.weights)
    claims.add(f"PTB, mixed {shares}", f"{mixed:.2f}", f"{kneser_ney:.2f}", mixed, 115.0)
    for name, one in (("one model", model), ("mixed", mixture)):
        cached = CachedLM.chosen(one, valid).perplexity(test)
        claims.add(f"PTB, {name}, with a cache of 500 words", f"{cached:.2f}", "", cached, None)
    document, more = timed(lambda: DocumentLM.chosen(model, valid))
    found = document.perplexity(test)
    claims.add("PTB, one model, beyond the sentence", f"{found:.2f}", "", found, 113.0)
    claims.add("PTB training CPU s, all of it", f"{seconds + more:.1f}", "", seconds + more, 120.0)
    together = interpolate([document, DocumentLM.chosen(other, valid), rival], valid)
    found = together.perplexity(test)
    claims.add("PTB, mixed, beyond the sentence", f"{found:.2f}", "", found, 108.0)
    found = CachedLM.chosen(together, valid).perplexity(test)
    claims.add("PTB, mixed, beyond the sentence, with a cache", f"{found:.2f}", "", found, 99.0)


def ap(claims: Claims) -> None:
    """The four AP splits: everything is chosen on the end of each training text."""
    single, document, mixed, rivals = [], [], [], []
    for k in range(4):
        corpus = Corpus.read(DATA / "lm-splits" / f"apnews.s{k}.train.txt.gz")
        test = Corpus.read(DATA / "lm-splits" / f"apnews.s{k}.test.txt.gz", corpus.vocabulary)
        first, held_out = corpus.split_known(0.1)
        parts: list[LanguageModel] = [KneserNeyLM(5).fit(first)]
        whole: list[LanguageModel] = [KneserNeyLM(5).fit(corpus)]
        for seed in (0, 1):
            tried = ClassFactoredLM(budget=40, random_state=seed).fit(first, valid=held_out)
            strengths = {"class_strength": tried.class_strength_, "word_strength": tried.word_strength_}
            settings = {"classes": tried.classes_.n_classes, "random_state": seed, "budget": 0.0}
            parts.append(tried)
            whole.append(ClassFactoredLM(**settings, **strengths).fit(corpus))  # type: ignore[arg-type]
        shares = interpolate(parts, held_out).weights
        mixture = InterpolatedLM(whole, shares.tolist())
        rivals.append(whole[0].perplexity(test))
        single.append(whole[1].perplexity(test))
        document.append(fit_document(ClassFactoredLM(budget=40), corpus).perplexity(test))
        mixed.append(mixture.perplexity(test))
        found = " ".join(f"{figures[-1]:.2f}" for figures in (rivals, single, document, mixed))
        print(f"split {k}: {found}", file=sys.stderr, flush=True)
    rival = float(np.mean(rivals))
    for name, values, bar in (
        ("one model", single, None),
        ("one model, beyond the sentence", document, 128.5),
        ("two clusterings and Kneser-Ney", mixed, 128.5),
    ):
        mean = float(np.mean(values))
        claims.add(f"AP, mean of 4, {name}", f"{mean:.2f}", f"{rival:.2f}", mean, bar)


def wikitext(claims: Claims) -> None:
    """WikiText-2, paragraphs as lines, at the settings of the Penn Treebank."""
    folder = DATA / "wikitext-2"
    train = Corpus.read(folder / "wiki.train.shuffled-articles.tokens.gz")
    test = Corpus.read(folder / "wiki.test.tokens", train.vocabulary)
    rival = KneserNeyLM(5).fit(train).perplexity(test)
    model, seconds = timed(lambda: ClassFactoredLM(classes=300, budget=0).fit(train))
    found = model.perplexity(test)
    claims.add("WikiText-2 test perplexity, ratio", f"{found:.2f}", f"{rival:.2f}", found / rival, 0.85)
    claims.add("WikiText-2 training CPU s", f"{seconds:.0f}", "", seconds, None)


def figure(claims: Claims) -> None:
    """Perplexity on the validation text against CPU seconds of training; docs/class-factored.svg."""
    from matplotlib.figure import Figure

    train, valid, _ = ptb_parts()
    strength = {"strength": 0.45, "depth_weight": 1.6, "ridge": 0.06}
    families: dict[str, dict[str, Callable[[], LanguageModel]]] = {
        "modified Kneser-Ney": {f"order {n}": lambda n=n: KneserNeyLM(n).fit(train) for n in (2, 3, 4, 5)},  # type: ignore[misc]
        "plain tree, elastic net": {
            f"order {n}": lambda n=n: LogLinearLM(order=n, **strength).fit(train)  # type: ignore[misc]
            for n in (2, 3, 5)
        },
        "class-factored, 200 classes": {
            f"order {n}": lambda n=n: ClassFactoredLM(classes=200, order=n, budget=0).fit(train)  # type: ignore[misc]
            for n in (2, 3, 5)
        },
    }
    picture = Figure(figsize=(7, 4.5), layout="constrained")
    axes = picture.subplots()
    for (family, models), colour, mark in zip(
        families.items(), ("#0072B2", "#E69F00", "#009E73"), "os^", strict=True
    ):
        points = []
        for name, fit in models.items():
            model, seconds = timed(fit)
            points.append((seconds, model.perplexity(valid)))
            axes.annotate(
                name, points[-1], xytext=(-6, -4), textcoords="offset points", fontsize=8, ha="right"
            )
            claims.add(f"{family}, {name}: valid perplexity", f"{points[-1][1]:.2f}", "", seconds, None)
        axes.plot(*zip(*points, strict=True), marker=mark, color=colour, label=family)
    axes.set(
        xscale="log", xlabel="CPU seconds of training", ylabel="perplexity, Penn Treebank validation text"
    )
    axes.margins(x=0.12)
    axes.legend()
    axes.grid(alpha=0.3)
    picture.savefig(Path(__file__).parents[1] / "docs" / "class-factored.svg")


def threads(claims: Claims) -> None:
    """Loss and gradient over the Penn Treebank on one thread and on two in turn, by the clock on the wall."""
    train, _, _ = ptb_parts()
    positions, classes = Positions.of(train), WordClasses.learn(train, 200, max_passes=3)
    rng, least = np.random.default_rng(0), np.zeros(2)
    for part in ("class", "word"):
        factor = Factor(part, classes, ClassFactoredLM().contexts_of(part))
        losses = [factor.loss(positions, n) for n in (1, 2)]
        w = rng.random(losses[0].n_weights) * (rng.random(losses[0].n_weights) < 0.3)
        out, seconds = np.empty_like(w), np.full((10, 2), np.inf)
        for row in seconds:
            for k, loss in enumerate(losses):
                began = time.perf_counter()
                loss.value_and_gradient(w, out)
                row[k] = time.perf_counter() - began
        one, two = seconds.min(axis=0)
        least += one, two
        claims.add(
            f"{part} part, ms on one thread and two", f"{1e3 * two:.0f}", f"{1e3 * one:.0f}", one / two, None
        )
    ratio = float(least[0] / least[1])
    claims.add("two threads, loss and gradient, times", f"{ratio:.2f}", "", ratio, 1.7, at_least=True)


PARTS = {"ptb": ptb, "threads": threads, "ap": ap, "wikitext": wikitext, "figure": figure}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", default=[], metavar="|".join(PARTS))
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    claims = Claims(chosen.json, rival="Kneser-Ney")
    for part in chosen.parts or PARTS:
        PARTS[part](claims)
    return claims.exit_code


if __name__ == "__main__":
    sys.exit(main())
