"""``epigram lm sample``: samples sentences from a language model."""

from __future__ import annotations

from typing import Annotated

import typer

from epigram.cli import console
from epigram.cli.lm.models import Model, open_model


def command(
    model: Model,
    n: Annotated[int, typer.Option("-n", min=1, help="How many sentences.")] = 5,
    words: Annotated[str | None, typer.Option("--context", metavar="WORDS", help="Go on from here.")] = None,
    seed: Annotated[int | None, typer.Option(help="The same seed, the same sentences.")] = None,
    max_words: Annotated[int, typer.Option(min=1, help="Longest sentence.")] = 200,
) -> None:
    """Random sentences of the model, one a line."""
    language_model = open_model(model)
    for sentence in language_model.sample(n, context=words, seed=seed, max_words=max_words):
        print(console.echoed(language_model.vocabulary_.join(sentence)))
