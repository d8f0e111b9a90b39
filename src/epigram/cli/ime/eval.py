"""``epigram ime eval``: character error rate of a converter."""

from __future__ import annotations

from typing import Annotated

import typer

from epigram.cli import console
from epigram.cli.ime.arguments import Model, Raw, Text, load_converter, read_sentences, show_progress
from epigram.cli.options import Json


def command(
    model: Model,
    text: Text,
    k: Annotated[
        int,
        typer.Option("--nbest", min=1, help="Number of candidates for the oracle; 1 leaves the oracle out."),
    ] = 20,
    limit: Annotated[int | None, typer.Option(min=1, help="Evaluate only the first LIMIT sentences.")] = None,
    raw: Raw = False,
    json: Json = False,
) -> None:
    """Measure the error rates of a converter on text with readings."""
    from epigram.ime.evaluate import evaluate as measured

    converter = load_converter(model)
    sentences = read_sentences(text, raw)[:limit]
    with show_progress("converting", len(sentences)) as tick:
        scores = measured(converter, sentences, k, tick).record()
    console.report(scores, str(text), json)
