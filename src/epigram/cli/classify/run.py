"""``epigram classify run``: labels documents."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

from epigram.cli.classify.arguments import FileFormat, Files
from epigram.cli.documents import Field
from epigram.cli.options import Model, Threads

BATCH = 2000


def command(
    model: Model,
    files: Files = [Path("-")],  # noqa: B006 - typer copies it
    field: Field = None,
    format: FileFormat = None,
    top: int = 1,
    reject: float = 0.0,
    json: bool = False,
    threads: Threads = 1,
) -> None:
    """Print label and probability of every document; an empty line for a malformed one.

    Parameters
    ----------
    top -k >= 1 : Labels of each document.
    reject P : Give no label if the best is less probable than P.
    json : A JSON object a line.
    """
    from epigram.cli import console
    from epigram.cli.classify.arguments import fields_of, load_classifier
    from epigram.records import RecordReader

    classifier = load_classifier(model).set_params(threads=threads)
    names = [str(name) for name in classifier.classes_.tolist()]
    reader = RecordReader([str(path) for path in files], fields_of(field, None), format, keep_malformed=True)
    documents = iter(reader)
    while batch := list(islice(documents, BATCH)):
        proba = classifier.predict_proba([document.text for document in batch])
        for document, row in zip(batch, proba, strict=True):
            found = [] if document.error else labels_of(classifier, names, row, top, reject)
            if json:
                record = {"labels": [{"label": name, "probability": round(p, 6)} for name, p in found]}
                console.print_line(record)
            else:
                print(console.echoed("\t".join(f"{name}\t{p:.6f}" for name, p in found)))
    reader.refuse_blank()


def labels_of(
    classifier: Any, names: list[str], row: Any, top: int, reject: float
) -> list[tuple[str, float]]:
    """Labels of a document above their thresholds, most probable first."""
    order = sorted(range(len(names)), key=lambda k: -row[k])
    found = [(names[k], float(row[k])) for k in order if row[k] >= reject]
    if classifier.several_ and top == 1:
        return [(name, p) for name, p in found if p >= classifier.thresholds_.get(name, 0.5)]
    least = classifier.thresholds_
    return [(name, p) for name, p in found if p >= least.get(name, 0.0)][:top]
