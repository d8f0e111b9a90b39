"""``epigram lm next``: the most probable next words."""

from __future__ import annotations

from epigram.cli import console
from epigram.cli.lm.models import Model, Words, open_model
from epigram.cli.options import Json


def command(
    model: Model,
    words: Words = "",
    k: int = 10,
    json: Json = False,
) -> None:
    """Print the most probable next words.

    Parameters
    ----------
    k -k >= 1 : Number of words.
    """
    found = open_model(model).next_words(words, k)
    if json:
        console.print_json([{"word": word, "probability": p} for word, p in found])
        return
    console.table(words or "(no context)", ("word", "probability"), found)
