"""Reranker tour: BLasso learns to choose among n-best lists."""

from __future__ import annotations

import numpy as np

from epigram.cli import console
from epigram.cli.demo.tagger import spark
from epigram.datasets import sample

CANDIDATES = 8


def show(seed: int) -> None:
    """Train by BLasso, choose the step on other lists, print the strongest features."""
    from rich.markup import escape

    from epigram.rerank import BLasso, Reranker

    screen = console.stdout()
    screen.rule("[bold]a reranker picks the best of a list", style="dim")
    train, dev, test = (
        sample.lists(part, n, seed, CANDIDATES) for part, n in (("train", 800), ("dev", 100), ("test", 100))
    )
    screen.print(
        f"{len(train)} lists of up to {CANDIDATES} candidates: a sentence, and the same with two neighbours exchanged. "
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
    right = {one["id"]: one["reference"] for one in test}
    wins = (reranker.explain(test, k) for k in range(len(test)))
    shown = max(wins, key=lambda one: one.lead * (one.winner_text == right[one.id]))
    screen.print(f"  instead of [dim]{escape(shown.base_text)}[/]", highlight=False)
    screen.print(f"  it picks   [bold]{escape(shown.winner_text)}[/]", highlight=False)
    for term in shown.terms[:4]:
        screen.print(f"    {term.lift:+.2f}  [dim]{escape(term.feature)}[/]", highlight=False)
