"""``epigram tag rerank``: trains a reranker on the n-best labellings of a CRF."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from epigram.cli.options import Json
from epigram.cli.rerank.arguments import LearnerName
from epigram.cli.tag.arguments import load_crf


def command(
    context: typer.Context,
    model: Path,
    train: Path,
    output: Path,
    others: list[Path] | None = None,
    k: int = 10,
    folds: int = 5,
    reach: int = 0,
    min_count: int = 3,
    learner: LearnerName = "softmax",
    json: Json = False,
) -> None:
    """Train a reranker on a tagger's n-best labellings; both are stored in one model.

    Parameters
    ----------
    model : CRF with a template (*.epigram).
    train : Sentences that the tagger was trained on.
    output -o MODEL : Model file to write, with tagger and reranker.
    others --with MODEL : Tagger to average with MODEL; may be given several times.
    k >= 1 : Number of labellings per sentence to rerank.
    folds >= 2 : Number of parts for cross-validation; each takes one training.
    reach >= 0 : Number of sentences around one that its labels are compared with.
    min_count >= 1 : Least number of sentences in which a feature differs between labellings.
    learner : Method that trains the reranker.
    """
    from epigram.cli.run import TrainingRun
    from epigram.features.formats import ColumnSpec
    from epigram.files import read_bytes
    from epigram.rerank.model import make_learner
    from epigram.tagging.stacked.reranked import RerankedTagger

    run = TrainingRun(output, json=json, checkpoint=0.0, context=context)
    chosen = make_learner(learner)
    taggers = [load_crf(one) for one in (model, *(others or ()))]
    tagger = taggers[0]
    spec = tagger.columns_ or ColumnSpec()
    observations, labels = spec.split(spec.parse(read_bytes(train), str(train)))
    reranked = RerankedTagger(taggers, learner=chosen, k=k, folds=folds, min_count=min_count, reach=reach)
    with run.progress("folds", total=folds, step="fold") as show:
        reranked.fit(observations, labels, learnt=taggers, callback=show)
    record: dict[str, Any] = {**reranked.fit_, "train_seconds": run.cost["seconds"]}
    run.finish(record, save=lambda: reranked.save(output))
