"""``epigram lm sample``: samples sentences from a language model."""

from __future__ import annotations

from typing import Annotated

import typer

from epigram.cli import console
from epigram.cli.lm.models import Model, open_model


def command(
    model: Model,
    n: Annotated[int, typer.Option("-n", min=1, help="Number of sentences.")] = 5,
    words: Annotated[
        str | None, typer.Option("--context", metavar="WORDS", help="Words that each sentence begins with.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of the random numbers; same seed, same sentences.")
    ] = None,
    max_words: Annotated[int, typer.Option(min=1, help="Most words of a sentence.")] = 200,
) -> None:
    """Sample sentences from a model, one per line."""
    language_model = open_model(model)
    for sentence in language_model.sample(n, context=words, seed=seed, max_words=max_words):
        print(console.echoed(language_model.vocabulary_.join(sentence)))
