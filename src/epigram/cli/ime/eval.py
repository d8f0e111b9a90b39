"""``epigram ime eval``: error rates of a converter."""

from __future__ import annotations

from epigram.cli import console
from epigram.cli.ime.arguments import Model, Raw, Text, load_converter, read_sentences, show_progress
from epigram.cli.options import Json


def command(
    model: Model,
    text: Text,
    k: int = 20,
    limit: int | None = None,
    raw: Raw = False,
    json: Json = False,
) -> None:
    """Measure the error rates of a converter on text with readings.

    Parameters
    ----------
    k --nbest >= 1 : Number of candidates for the oracle; 1 leaves the oracle out.
    limit >= 1 : Evaluate only the first LIMIT sentences.
    """
    from epigram.ime.evaluate import evaluate as measured

    converter = load_converter(model)
    sentences = read_sentences(text, raw)[:limit]
    with show_progress("converting", len(sentences)) as tick:
        scores = measured(converter, sentences, k, tick).record()
    console.report(scores, str(text), json)
