"""``epigram tag update``: more sentences for a stored tagger, in calls of ``partial_fit``, with progress."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from epigram.errors import InputError

if TYPE_CHECKING:
    from epigram.cli.training import TrainingRun
    from epigram.tagging.formats import Columns, ColumnSpec

CALL = 500  # sentences learnt from between two looks at Ctrl-C


def update(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A *.epigram file.")],
    train: Annotated[Path, typer.Argument(metavar="TRAIN", help="More sentences with labels; - is stdin.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="MODEL", help="Where the model goes (over the old one)."),
    ] = None,
    dev: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Held-out sentences, scored before and after.")
    ] = None,
    alternatives: Annotated[
        str | None,
        typer.Option(metavar="C", help="Labels may be known in part: with |, A|B is either, | alone any."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Learn from more sentences, in files such as it was trained on. Ctrl-C keeps what is learnt so far."""
    from epigram.cli.training import TrainingRun
    from epigram.storage import load
    from epigram.tagging.formats import ColumnSpec
    from epigram.tagging.storage import FAMILY
    from epigram.text import read_bytes

    run = TrainingRun(output or model, json=json, checkpoint=0.0)
    estimator = load(model, FAMILY)
    if not hasattr(estimator, "partial_fit"):
        raise InputError(
            "a second look does not learn on; update the tagger, then use tag rerank", path=model
        )
    spec = estimator.columns_ or ColumnSpec()
    corpus = spec.parse(read_bytes(train), str(train))
    held_out = None if dev is None else spec.parse(read_bytes(dev), str(dev))
    record: dict[str, Any] = {"sentences": corpus.n_sentences, "tokens": corpus.n_tokens}
    if held_out is not None:
        record["dev_score_before"] = _score(estimator, spec, held_out)
    _learn(run, estimator, spec, corpus, alternatives)
    record |= {
        "samples": estimator.fit_["samples"],
        "active_features": estimator.fit_["active_features"],
        "labels": len(estimator.classes_),
        "train_seconds": run.cost["seconds"],
    }
    if held_out is not None:
        record["dev_score"] = _score(estimator, spec, held_out)
    run.finish(record, save=lambda: estimator.save(run.output))


def _learn(
    run: TrainingRun, estimator: Any, spec: ColumnSpec, corpus: Columns, alternatives: str | None
) -> None:
    """All sentences, in calls of ``CALL``, or those before a signal came."""
    import numpy as np

    from epigram.tagging.partial_labels import alternatives as read_alternatives

    n = corpus.n_sentences
    with run.progress("sentences", n, "part") as show:
        for first in range(0, max(n, 1), CALL):
            observations, labels = spec.split(corpus.take(np.arange(first, min(first + CALL, n))))
            ptr = observations.sentence_ptr
            answers = labels if alternatives is None else read_alternatives(labels, ptr, alternatives)
            estimator.partial_fit(observations, answers)
            if show(min(first + CALL, n), f"{estimator.fit_['active_features']:,} active"):
                break


def _score(estimator: Any, spec: ColumnSpec, held_out: Columns) -> float:
    """F1 where labels are chunk labels, else accuracy, as with ``--dev`` of training."""
    from epigram.tagging.files import FileTagger
    from epigram.tagging.metrics import are_chunk_labels
    from epigram.tagging.storage import kind_of

    beam = getattr(estimator, "beam", 1)
    tagger = FileTagger(kind_of(estimator), estimator.model_, spec, beam)
    observations, gold = spec.split(held_out)
    report = tagger.evaluate(gold, tagger.decode(tagger.model.encode(observations), observations), held_out)
    return report.overall.f1 if are_chunk_labels(tagger.model.labels) else report.accuracy
