"""``epigram classify eval``: measures a classifier on labelled documents."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from epigram.cli.classify.arguments import FileFormat, Files, LabelField
from epigram.cli.documents import Field
from epigram.cli.options import Json, Model, Threads
from epigram.errors import DataWarning

SHOWN = 20
SQUARE = 12
"""Most labels of a confusion matrix in the terminal; of more labels the most frequent confusions are listed."""


def command(
    model: Model,
    files: Files,
    field: Field = None,
    label: LabelField = None,
    format: FileFormat = None,
    precision: float | None = None,
    train: list[Path] | None = None,
    threads: Threads = 1,
    json: Json = False,
) -> None:
    """Accuracy, macro and micro F1, a table per label, confusions, calibration error.

    Parameters
    ----------
    precision P : Set thresholds with this precision on FILE, and write them to MODEL.
    train FILE : Training documents: those that occur in FILE too are counted.
    """
    from epigram.classify import evaluate
    from epigram.cli import console
    from epigram.cli.classify.arguments import load_classifier, read_labelled

    classifier = load_classifier(model).set_params(threads=threads)
    texts, labels = read_labelled(files, field, label, format)
    known = {str(name) for name in classifier.classes_.tolist()}
    seen = (
        {" ".join(one.split()) for one in read_labelled(train, field, label, format)[0]} if train else set()
    )
    for n, said in (
        (sum(not known.issuperset(names) for names in labels), "have labels that the model does not know"),
        (sum(not one.strip() for one in texts), "have no text"),
        (len(texts) - len(set(texts)), "are copies of others"),
        (sum(" ".join(one.split()) in seen for one in texts), "are training documents too"),
    ):
        if n:
            warnings.warn(DataWarning(f"{n:,} documents {said}"), stacklevel=1)
    several = classifier.several_
    gold = labels if several else [names[0] if len(names) == 1 else names for names in labels]
    if precision is not None:
        plain = [tuple(map(str, one)) if several else one for one in gold]
        classifier.classes_ = classifier.classes_.astype(str)
        classifier.set_thresholds(texts, plain, precision).save(model)
    found = classifier.predict(texts)
    predicted = [tuple(map(str, one)) for one in found] if several else [str(one) for one in found]
    proba = None if several else classifier.predict_proba(texts).max(axis=1)
    report = evaluate(gold, predicted, proba)
    record: dict[str, Any] = {
        "documents": len(texts), "accuracy": report.accuracy, "macro_f1": report.macro_f1,
        "micro_f1": report.micro_f1, "calibration_error": report.ece,
    }  # fmt: skip
    confusions = sorted(
        ((a, b, n) for (a, b), n in report.confusion.items() if a != b), key=lambda row: -row[2]
    )
    if json:
        record["labels"] = [row._asdict() for row in report.labels]
        record["confusion"] = [[a, b, n] for (a, b), n in sorted(report.confusion.items())]
        console.print_json(record)
        return
    console.facts(str(model), record)
    rows = [
        (s.label, f"{s.precision:.4f}", f"{s.recall:.4f}", f"{s.f1:.4f}", f"{s.n_documents:,}")
        for s in report.labels
    ]
    console.table("labels", ("label", "precision", "recall", "F1", "documents"), rows)
    names = [s.label for s in report.labels]
    if len(names) > SQUARE or several:
        console.table("most frequent confusions", ("label", "taken for", "documents"), confusions[:SHOWN])
        return
    matrix = [(a, *(report.confusion.get((a, b), 0) for b in names)) for a in names]
    console.table("confusion matrix", ("label \\ taken for", *names), matrix)
