"""``epigram rerank train``: trains a reranker on n-best lists."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from epigram.cli.options import EVERY, Json, ModelOutput, Resume, Seconds
from epigram.errors import InputError

if TYPE_CHECKING:
    from epigram.rerank import Progress, Reranker
    from epigram.rerank.nbest import NBest
from epigram.cli.rerank.arguments import (
    Eps,
    LearnerName,
    Lists,
    Lm,
    Rate,
    References,
    Shrinkage,
    Smoothing,
    Steps,
    Strongest,
    Theta,
    Weakest,
    draw_paths,
    open_language_models,
    percent,
)


def command(
    context: typer.Context,
    nbest: Lists,
    output: ModelOutput,
    dev: Annotated[
        Path | None,
        typer.Option(metavar="NBEST", help="Held-out lists: they choose the step and the settings."),
    ] = None,
    learner: Annotated[LearnerName, typer.Option(help="Method that learns the path of models.")] = "blasso",
    eps: Eps = None,
    smoothing: Smoothing = None,
    shrinkage: Shrinkage = None,
    theta: Theta = None,
    rate: Rate = None,
    strongest: Strongest = None,
    weakest: Weakest = None,
    steps: Steps = None,
    held_out: Annotated[
        float,
        typer.Option(help="Without --dev: share of the lists, the last ones, that settings are chosen on."),
    ] = 0.1,
    ngrams: Annotated[int, typer.Option(min=1, help="Longest word n-gram.")] = 2,
    min_count: Annotated[int, typer.Option(min=1, help="Occurrences an n-gram needs.")] = 2,
    headwords: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Content words, one a line: adds headword bigrams.")
    ] = None,
    headword_tags: Annotated[
        str | None, typer.Option(metavar="TAG,TAG", help="Tags of content words, for lists with tags.")
    ] = None,
    chars: Annotated[int, typer.Option(min=0, help="Longest character n-gram; 0 for none.")] = 0,
    measure: Annotated[
        Literal["cer", "wer"], typer.Option(help="Error rate that training lowers: characters or words.")
    ] = "cer",
    risk: Annotated[
        float, typer.Option(min=0, help="Weigh a rival by its extra errors to this power.")
    ] = 0.0,
    patience: Annotated[
        int | None, typer.Option(min=1, help="Stop after so many steps without a better dev result.")
    ] = None,
    known: Annotated[
        Path | None,
        typer.Option("--from", metavar="MODEL", help="Go on from this model's path, with its settings."),
    ] = None,
    checkpoint: Seconds = EVERY,
    resume: Resume = False,
    lm: Lm = None,
    least_lead: Annotated[
        str,
        typer.Option(
            metavar="NUMBER|dev",
            help="Leave the first candidate unless another leads it by more; dev chooses on held-out lists.",
        ),
    ] = "0",
    references: References = None,
    dev_references: References = None,
    json: Json = False,
    plot: Annotated[Path | None, typer.Option(metavar="PNG", help="Draw the path.")] = None,
) -> None:
    """Learn a reranker. Settings that are not given are chosen on held-out lists; the whole path of models is kept."""
    from epigram.cli.run import TrainingRun
    from epigram.rerank import Reranker, read_nbest, with_language_models
    from epigram.rerank.lm_features import check_models
    from epigram.rerank.model import make_learner

    training = TrainingRun(output, plot, json, checkpoint, resume, context=context)
    chosen = make_learner(
        learner, steps=steps, eps=eps, smoothing=smoothing, shrinkage=shrinkage, theta=theta, rate=rate,
        strongest=strongest, weakest=weakest,
    )  # fmt: skip
    model = Reranker.load(known) if known else Reranker(
        chosen, ngrams, min_count, _words(headwords),
        headword_tags.split(",") if headword_tags else None, chars, measure, risk,
        patience, held_out, _lead(least_lead),
    )  # fmt: skip
    scorers = open_language_models(lm)
    if known:
        check_models(model.space_.names, len(scorers))
    lists, dev_lists = read_nbest(nbest, references), read_nbest(dev, dev_references) if dev else None
    if scorers:
        lists = with_language_models(lists, scorers)
        dev_lists = None if dev_lists is None else with_language_models(dev_lists, scorers)
    with training.progress("training", total=steps, step="step") as show:

        def tell(now: Progress) -> bool:
            rate = "" if now.dev_rate is None else f", dev {model.measure} {now.dev_rate:.2f}"
            return show(now.step, f"loss {now.loss:,.0f}, {now.nonzero:,} weights{rate}", now.trial or None)

        if known:
            model.resume(lists, steps=steps, dev=dev_lists, callback=tell)
        else:
            model.fit(lists, dev=dev_lists, callback=tell)
    training.finish(
        _fit_record(model, dev_lists),
        lambda: model.save(output),
        lambda target: draw_paths({learner: model}, target),
    )


def _fit_record(model: Reranker, dev: NBest | None) -> dict[str, Any]:
    curves, step = model.curves_, model.step_
    settings = {name: getattr(model.learner_, name) for name in model.learner_.usual if name != "steps"}
    record: dict[str, Any] = {
        **settings,
        "settings_tried": len(model.trials_),
        "held_out_lists": model.n_held_out_ if dev is None else len(dev),
        "steps": len(model.path_),
        "chosen_step": step,
        "loss": float(curves.losses[step]),
        "l1_norm": float(curves.l1_norms[step]),
        "nonzero": int(curves.nonzeros[step]),
        "base_weight": model.base_weight_,
        "least_lead": model.least_lead_,
        "features": model.space_.n_weights,
        f"{model.measure}_dev": percent(float(curves.dev_errors[step]), model.dev_length_),
    }
    if model.measure != "cer":
        record["cer_dev"] = None if dev is None else _cer(model, dev)
    return record


def _cer(model: Reranker, lists: NBest) -> float:
    from epigram.rerank import error_rate

    return error_rate(lists, model.predict(lists), "cer")


def _lead(text: str) -> float | Literal["dev"]:
    """The number, or ``dev``."""
    try:
        return "dev" if text == "dev" else float(text)
    except ValueError:
        raise InputError(f"--least-lead is a number or dev, not {text!r}") from None


def _words(path: Path | None) -> list[str] | None:
    from epigram.files import read_lines

    return None if path is None else [word for line in read_lines(path) if (word := line.strip())]
