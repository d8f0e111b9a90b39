"""A reranker learns which order of words is English: candidates are sentences with words exchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from epigram import cli
from epigram.cli.demo.tagger import spark
from epigram.datasets import sample

if TYPE_CHECKING:
    from epigram.rerank import NBest

CANDIDATES = 8


def show(seed: int) -> None:
    """Make lists, learn by BLasso, choose the step on other lists, look at the strongest features."""
    from rich.markup import escape

    from epigram.rerank import BLasso, Reranker

    screen = cli.stdout()
    screen.rule("[bold]a reranker picks the best of a list", style="dim")
    train, dev, test = (_lists(part, n, seed) for part, n in (("train", 800), ("dev", 100), ("test", 100)))
    screen.print(
        f"{len(train)} lists of {CANDIDATES} candidates: a sentence, and the same with two neighbours exchanged. "
        "At first all look alike.\n"
    )
    reranker = Reranker(BLasso(steps=3000, eps=0.5), measure="wer").fit(train, dev=dev)
    losses = reranker.curves_.losses
    screen.print(
        f"  loss       [cyan]{spark(losses[:: max(1, len(losses) // 40)].tolist())}[/]  along the path"
    )
    before, after = (model.error_rate(test) for model in (reranker.at(0), reranker))
    screen.print(
        f"  words wrong on lists it has not seen: [bold]{before:.1f} %[/] before, [bold]{after:.1f} %[/] after "
        f"{reranker.step_} steps, with {np.count_nonzero(reranker.weights_)} features\n",
        highlight=False,
    )
    wins = (reranker.explain(test, k) for k in range(len(test)))
    shown = max(wins, key=lambda one: one.lead * (one.winner_text == one.id))
    screen.print(f"  instead of [dim]{escape(shown.base_text)}[/]", highlight=False)
    screen.print(f"  it picks   [bold]{escape(shown.winner_text)}[/]", highlight=False)
    for term in shown.terms[:4]:
        screen.print(f"    {term.lift:+.2f}  [dim]{escape(term.feature)}[/]", highlight=False)


def _lists(part: str, n: int, seed: int) -> NBest:
    """Lists of one sentence and variants of it, in random order, all with the same base score."""
    from epigram.rerank import NBest

    rng = np.random.default_rng([seed, n, len(part)])
    made: list[dict[str, Any]] = []
    for words in sample.plain(part, n, seed=seed):
        variants = [words, *(_exchanged(words, rng) for _ in range(CANDIDATES - 1))]
        texts = [" ".join(variants[k]) for k in rng.permutation(len(variants))]
        made.append(
            {
                "id": " ".join(words),
                "reference": " ".join(words),
                "candidates": [{"text": t, "score": 0.0} for t in texts],
            }
        )
    return NBest.from_lists(made)


def _exchanged(words: list[str], rng: np.random.Generator) -> list[str]:
    variant = list(words)
    i = rng.integers(max(len(words) - 1, 1))
    variant[i : i + 2] = variant[i : i + 2][::-1]
    return variant
