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
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A CRF with a template: *.epigram.")],
    train: Annotated[Path, typer.Argument(metavar="TRAIN", help="The sentences that it was trained on.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="MODEL", help="Where both go, as one file.")
    ],
    others: Annotated[
        list[Path] | None,
        typer.Option("--with", metavar="MODEL", help="Pool MODEL with this one too; may be repeated."),
    ] = None,
    k: Annotated[int, typer.Option(min=1, help="Labellings looked at a sentence.")] = 10,
    folds: Annotated[int, typer.Option(min=2, help="Parts of the jack-knife, a training each.")] = 5,
    reach: Annotated[
        int,
        typer.Option(min=0, help="Sentences before and after one that words and names may agree with."),
    ] = 0,
    min_count: Annotated[int, typer.Option(min=1, help="Sentences that a feature must matter in.")] = 3,
    learner: Annotated[
        LearnerName, typer.Option(help="Method that learns the weights of the reranker.")
    ] = "softmax",
    json: Json = False,
) -> None:
    """Train a second look at the tagger's best labellings, by features of whole chunks; both become one model."""
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
