"""``epigram lm next``: the most probable next words."""

from __future__ import annotations

from typing import Annotated

import typer

from epigram.cli import console
from epigram.cli.lm.models import Model, Words, open_model
from epigram.cli.options import Json


def command(
    model: Model,
    words: Words = "",
    k: Annotated[int, typer.Option("-k", min=1, help="Number of words.")] = 10,
    json: Json = False,
) -> None:
    """Print the most probable next words."""
    found = open_model(model).next_words(words, k)
    if json:
        console.print_json([{"word": word, "probability": p} for word, p in found])
        return
    console.table(words or "(no context)", ("word", "probability"), found)
