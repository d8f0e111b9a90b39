"""``epigram classify update``: trains a classifier on further documents."""

from __future__ import annotations

from pathlib import Path

import typer

from epigram.cli.classify.arguments import FileFormat, Files, LabelField
from epigram.cli.documents import Field
from epigram.cli.options import Json, Model, Threads


def command(
    context: typer.Context,
    model: Model,
    files: Files,
    output: Path | None = None,
    field: Field = None,
    label: LabelField = None,
    format: FileFormat = None,
    threads: Threads = 1,
    json: Json = False,
) -> None:
    """Train a classifier on further documents, whose labels may be new.

    Parameters
    ----------
    output -o MODEL : Model file to write [default: MODEL]
    """
    from epigram.cli.classify.arguments import load_classifier, read_labelled
    from epigram.cli.classify.train import clean
    from epigram.cli.run import TrainingRun

    run = TrainingRun(output or model, json=json, checkpoint=0.0, context=context)
    classifier = load_classifier(model).set_params(threads=threads)
    texts, labels = clean(*read_labelled(files, field, label, format), classifier.several_, files[0])
    y = labels if classifier.several_ else [names[0] if len(names) == 1 else names for names in labels]
    with run.progress("training"):
        classifier.partial_fit(texts, y)
    record = {name: value for name, value in classifier.fit_.items() if name != "trials"}
    run.finish(record, save=lambda: classifier.save(run.output))
