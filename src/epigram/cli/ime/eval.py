"""``epigram ime eval``: character error rate of a converter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from epigram.cli import console
from epigram.cli.options import Json

if TYPE_CHECKING:
    pass
from epigram.cli.ime.arguments import Model, Raw, Text, load_converter, read_sentences, show_progress


def command(
    model: Model,
    text: Text,
    k: Annotated[
        int, typer.Option("--nbest", min=1, help="Candidates for the oracle; 1 leaves it out.")
    ] = 20,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many sentences.")] = None,
    raw: Raw = False,
    json: Json = False,
) -> None:
    """Error rates of a converter on text with readings."""
    from epigram.ime.evaluate import evaluate as measured

    converter = load_converter(model)
    sentences = read_sentences(text, raw)[:limit]
    with show_progress("converting", len(sentences)) as tick:
        scores = measured(converter, sentences, k, tick).record()
    console.report(scores, str(text), json)
