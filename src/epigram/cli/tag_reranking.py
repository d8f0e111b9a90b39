"""``epigram tag pool``: stored taggers become one. ``epigram tag rerank``: a second look at their best labellings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from epigram.errors import InputError

if TYPE_CHECKING:
    from epigram.tagging.crf import CRFTagger


def pool(
    models: Annotated[list[Path], typer.Argument(metavar="MODEL...", help="CRFs: *.epigram files.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="Where the pool goes.")],
    shares: Annotated[
        str | None, typer.Option(metavar="W,W", help="The weight of each, by default the same.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Make one tagger of several with the same labels: its weights are the mean of theirs."""
    from epigram.cli.training import TrainingRun
    from epigram.tagging.pooled import pool as pool_taggers

    run = TrainingRun(output, json=json, checkpoint=0.0)
    try:
        given = None if shares is None else [float(share) for share in shares.split(",")]
    except ValueError:
        raise InputError(f"--shares are numbers such as 1,2, not {shares!r}") from None
    whole = pool_taggers([stored_chain(model) for model in models], given)
    run.finish(dict(whole.fit_), save=lambda: whole.save(output))


def rerank(
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
        str, typer.Option(help="softmax, blasso, boosting, lasso or another one of rerank train.")
    ] = "softmax",
    json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Train a second look at the tagger's best labellings, by features of whole chunks; both become one model."""
    from epigram.cli.training import TrainingRun
    from epigram.rerank.model import make_learner
    from epigram.tagging.formats import ColumnSpec
    from epigram.tagging.reranked import RerankedTagger
    from epigram.text import read_bytes

    run = TrainingRun(output, json=json, checkpoint=0.0)
    chosen = make_learner(learner)
    taggers = [stored_chain(one) for one in (model, *(others or ()))]
    tagger = taggers[0]
    spec = tagger.columns_ or ColumnSpec()
    observations, labels = spec.split(spec.parse(read_bytes(train), str(train)))
    reranked = RerankedTagger(taggers, learner=chosen, k=k, folds=folds, min_count=min_count, reach=reach)
    with run.progress("folds", total=folds, step="fold") as show:
        reranked.fit(observations, labels, learnt=taggers, callback=show)
    record: dict[str, Any] = {**reranked.fit_, "train_seconds": run.cost["seconds"]}
    run.finish(record, save=lambda: reranked.save(output))


def stored_chain(model: Path) -> CRFTagger:
    """A stored CRF with a template, without its second look."""
    from epigram.storage import load
    from epigram.tagging.crf import CRFTagger
    from epigram.tagging.reranked import RerankedTagger
    from epigram.tagging.storage import FAMILY

    tagger = load(model, FAMILY)
    if isinstance(tagger, RerankedTagger):
        tagger = tagger.tagger_
    if not isinstance(tagger, CRFTagger) or tagger.model_.template is None:
        raise InputError(
            "only a CRF with a template has labellings to look at; train with --model crf", path=model
        )
    return tagger
