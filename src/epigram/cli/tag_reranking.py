"""``epigram tag rerank``: a second look at the best labellings of a stored tagger, trained and put into its file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from epigram.errors import InputError


def rerank(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A CRF with a template: *.epigram.")],
    train: Annotated[Path, typer.Argument(metavar="TRAIN", help="The sentences that it was trained on.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="MODEL", help="Where both go, as one file.")
    ],
    k: Annotated[int, typer.Option(min=1, help="Labellings looked at a sentence.")] = 10,
    folds: Annotated[int, typer.Option(min=2, help="Parts of the jack-knife, a training each.")] = 5,
    reach: Annotated[
        int,
        typer.Option(min=0, help="Sentences before and after one that words and names may agree with."),
    ] = 0,
    min_count: Annotated[int, typer.Option(min=1, help="Sentences that a feature must matter in.")] = 3,
    learner: Annotated[
        str, typer.Option(help="softmax, blasso, boosting, lasso or another one of rerank train.")
    ] = "softmax",
    json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Train a second look at the tagger's best labellings, by features of whole chunks; both become one model."""
    from epigram.cli.training import TrainingRun
    from epigram.rerank.model import make_learner
    from epigram.storage import load
    from epigram.tagging import CRFTagger, RerankedTagger
    from epigram.tagging.formats import ColumnSpec
    from epigram.tagging.storage import FAMILY
    from epigram.text import read_bytes

    run = TrainingRun(output, json=json, checkpoint=0.0)
    chosen = make_learner(learner)
    tagger = load(model, FAMILY)
    if isinstance(tagger, RerankedTagger):
        tagger = tagger.tagger_
    if not isinstance(tagger, CRFTagger) or tagger.model_.template is None:
        raise InputError(
            "only a CRF with a template has labellings to look at; train with --model crf", path=model
        )
    spec = tagger.columns_ or ColumnSpec()
    observations, labels = spec.split(spec.parse(read_bytes(train), str(train)))
    reranked = RerankedTagger(tagger, learner=chosen, k=k, folds=folds, min_count=min_count, reach=reach)
    with run.progress("folds", total=folds, step="fold") as show:
        reranked.fit(observations, labels, learnt=tagger, callback=show)
    record: dict[str, Any] = {**reranked.fit_, "train_seconds": run.cost["seconds"]}
    run.finish(record, save=lambda: reranked.save(output))
