"""What ``epigram tag update`` does: more sentences for a stored tagger, in calls of ``partial_fit``, with progress."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import typer

from epigram.cli import console
from epigram.cli.stopping import EXIT_CODE, GracefulStop
from epigram.cli.tag_training import save
from epigram.storage import ModelFile
from epigram.tagging.columns import Columns
from epigram.tagging.files import ColumnSpec, FileTagger
from epigram.text import read_bytes

CALL = 500  # sentences learnt from between two looks at Ctrl-C


def carry_out(model: Path, train: Path, output: Path, dev: Path | None, json: bool) -> None:
    """Read, learn, save, report; exit code 130 where it was interrupted."""
    from epigram.tagging.storage import FAMILY, from_model_file

    file = ModelFile.load(model, FAMILY)
    reading = ColumnSpec.of_header(file.header)
    estimator = from_model_file(file)
    corpus = reading.parse(read_bytes(train), str(train))
    held_out = None if dev is None else reading.parse(read_bytes(dev), str(dev))
    record: dict[str, Any] = {"sentences": corpus.n_sentences, "tokens": corpus.n_tokens}
    if held_out is not None:
        record["dev_score_before"] = _score(estimator, reading, held_out)
    watch = console.Stopwatch()
    interrupted = _learn(estimator, reading, corpus)
    record |= {
        "samples": estimator.fit_["samples"],
        "active_features": estimator.fit_["active_features"],
        "labels": len(estimator.classes_),
        "train_seconds": watch.seconds,
        "cpu_seconds": watch.cpu_seconds,
        "interrupted": interrupted,
    }
    if held_out is not None:
        record["dev_score"] = _score(estimator, reading, held_out)
    record["bytes"] = save(estimator, reading, output)
    console.print_json(record) if json else console.facts(str(output), record)
    if interrupted:
        raise typer.Exit(EXIT_CODE)


def _learn(estimator: Any, reading: ColumnSpec, corpus: Columns) -> bool:
    """All sentences, in calls of ``CALL``; True if a signal stopped it."""
    n = corpus.n_sentences
    with console.progress() as bar, GracefulStop() as stop:
        task = bar.add_task("sentences", total=n, status="")
        for first in range(0, max(n, 1), CALL):
            part = corpus.take(np.arange(first, min(first + CALL, n)))
            estimator.partial_fit(*reading.split(part))
            active = estimator.fit_["active_features"]
            bar.update(task, completed=min(first + CALL, n), status=f"{active:,} active")
            if stop.asked:
                break
    return stop.asked


def _score(estimator: Any, reading: ColumnSpec, held_out: Columns) -> float:
    """F1 where labels are chunk labels, else accuracy, as with ``--dev`` of training."""
    from epigram.tagging.metrics import are_chunk_labels
    from epigram.tagging.storage import kind_of

    beam = getattr(estimator, "beam", 1)
    tagger = FileTagger(kind_of(estimator), estimator.model_, reading, beam)
    observations, gold = reading.split(held_out)
    report = tagger.evaluate(gold, tagger.decode(tagger.model.encode(observations)), held_out)
    return report.overall.f1 if are_chunk_labels(tagger.model.labels) else report.accuracy
