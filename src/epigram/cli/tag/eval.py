"""``epigram tag eval``: precision, recall, F1, accuracy and speed of a tagger."""

from __future__ import annotations

from pathlib import Path

from epigram.cli import console
from epigram.cli.options import Json, Model, Threads


def command(
    model: Model,
    test: Path,
    label_column: int | None = None,
    threads: Threads = 1,
    json: Json = False,
) -> None:
    """Compute precision, recall and F1 as conlleval counts them, accuracy and speed.

    Parameters
    ----------
    test : Sentences with labels; - reads standard input.
    label_column : Column of the labels [default: as in training]
    """
    from dataclasses import replace

    from epigram.cli.tag import items as tag_items
    from epigram.cli.tag.output import show_report
    from epigram.files import read_bytes
    from epigram.tagging.column_tagger import ColumnTagger, warn_of_lengths, warn_of_unknown

    if tag_items.is_meant(model):
        tag_items.evaluate(model, test, threads, json)
        return
    tagger = ColumnTagger.load(model)
    raw = read_bytes(test)
    watch = console.Stopwatch()
    corpus = tagger.reading.parse(raw, str(test))
    reading = tagger.reading_for(corpus)
    if label_column is not None:
        n = reading.n_columns and max(reading.n_columns, corpus.n_columns)
        reading = replace(reading, label_column=label_column, n_columns=n)
    observations, gold = reading.split(corpus)
    warn_of_unknown(gold.strings, tagger.model.labels, test)
    warn_of_lengths(test, corpus.n_sentences, corpus.n_tokens)
    predicted = tagger.decode(tagger.model.encode(observations), observations, threads)
    cost = watch.seconds, watch.cpu_seconds
    report = tagger.evaluate(gold, predicted, corpus)
    show_report(report, corpus.n_sentences, cost, tagger.model.labels, f"{model} on {test}", json)
