"""``epigram tag update``: continues the training of a stored tagger."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from epigram.cli.options import Json, Model
from epigram.cli.tag.arguments import Alternatives, read_answers
from epigram.errors import InputError

if TYPE_CHECKING:
    from epigram.cli.run import TrainingRun
    from epigram.features.columns import Columns
    from epigram.features.formats import ColumnSpec

CALL = 500  # sentences learnt from between two looks at Ctrl-C


def command(
    context: typer.Context,
    model: Model,
    train: Path,
    output: Path | None = None,
    dev: Path | None = None,
    alternatives: Alternatives = None,
    json: Json = False,
) -> None:
    """Train a tagger on more sentences. Ctrl-C keeps the model so far.

    Parameters
    ----------
    train : More sentences with labels; - reads standard input.
    output -o MODEL : Model file to write [default: MODEL]
    dev FILE : Held-out sentences that are scored before and after.
    """
    from epigram.chain.storage import FAMILY
    from epigram.cli.run import TrainingRun
    from epigram.features.formats import ColumnSpec
    from epigram.files import read_bytes
    from epigram.storage import load
    from epigram.tagging.column_tagger import warn_of_lengths, warn_of_unknown

    run = TrainingRun(output or model, json=json, checkpoint=0.0, context=context)
    estimator = load(model, FAMILY)
    if not hasattr(estimator, "partial_fit"):
        raise InputError(
            "a reranked tagger cannot be trained further; update the tagger, then use tag rerank", path=model
        )
    spec = estimator.columns_ or ColumnSpec()
    corpus = spec.parse(read_bytes(train), str(train))
    held_out = None if dev is None else spec.parse(read_bytes(dev), str(dev))
    warn_of_lengths(train, corpus.n_sentences, corpus.n_tokens)
    for path, own in ((train, corpus), (dev, held_out)):
        if own is not None and alternatives is None:
            warn_of_unknown(spec.split(own)[1].strings, estimator.classes_, path)
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

    n = corpus.n_sentences
    with run.progress("sentences", n, "part") as show:
        for first in range(0, max(n, 1), CALL):
            observations, labels = spec.split(corpus.take(np.arange(first, min(first + CALL, n))))
            estimator.partial_fit(observations, read_answers(labels, observations.sentence_ptr, alternatives))
            if show(min(first + CALL, n), f"{estimator.fit_['active_features']:,} active"):
                break


def _score(estimator: Any, spec: ColumnSpec, held_out: Columns) -> float:
    """F1 where labels are chunk labels, else accuracy, as with ``--dev`` of training."""
    from epigram.chain.chunks import are_chunk_labels
    from epigram.tagging.column_tagger import ColumnTagger

    beam = getattr(estimator, "beam", 1)
    tagger = ColumnTagger(estimator.kind, estimator.model_, spec, beam)
    observations, gold = spec.split(held_out)
    report = tagger.evaluate(gold, tagger.decode(tagger.model.encode(observations), observations), held_out)
    return report.overall.f1 if are_chunk_labels(tagger.model.labels) else report.accuracy
