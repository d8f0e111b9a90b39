"""``epigram tag rerank``: trains a reranker on the n-best labellings of a CRF."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from epigram.cli.options import Json
from epigram.cli.rerank.arguments import LearnerName
from epigram.cli.tag.arguments import load_crf


def command(
    context: typer.Context,
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="CRF with a template (*.epigram).")],
    train: Annotated[Path, typer.Argument(metavar="TRAIN", help="Sentences that the tagger was trained on.")],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="MODEL", help="Model file to write, with tagger and reranker."
        ),
    ],
    others: Annotated[
        list[Path] | None,
        typer.Option(
            "--with", metavar="MODEL", help="Tagger to average with MODEL; may be given several times."
        ),
    ] = None,
    k: Annotated[int, typer.Option(min=1, help="Number of labellings per sentence to rerank.")] = 10,
    folds: Annotated[
        int, typer.Option(min=2, help="Number of parts for cross-validation; each takes one training.")
    ] = 5,
    reach: Annotated[
        int,
        typer.Option(min=0, help="Number of sentences around one that its labels are compared with."),
    ] = 0,
    min_count: Annotated[
        int,
        typer.Option(min=1, help="Least number of sentences in which a feature differs between labellings."),
    ] = 3,
    learner: Annotated[LearnerName, typer.Option(help="Method that trains the reranker.")] = "softmax",
    json: Json = False,
) -> None:
    """Train a reranker on a tagger's n-best labellings; both are stored in one model."""
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
