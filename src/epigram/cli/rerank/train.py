"""``epigram rerank train``: trains a reranker on n-best lists."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from epigram.cli.options import TRAINING, derived, options
from epigram.cli.plots import plot_paths
from epigram.cli.rerank.arguments import (
    LearnerName,
    Lists,
    Lm,
    References,
    open_language_models,
    percent,
)
from epigram.cli.rerank.learning import LEARNING
from epigram.cli.run import TrainingRun
from epigram.files import read_lines
from epigram.rerank import NBest, Progress, Reranker, error_rate, read_nbest, with_language_models
from epigram.rerank.lm_features import check_models
from epigram.rerank.model import make_learner

FEATURES = options(Reranker, "Features and choices", bounds={"chars": (0, None), "held_out": (0.0, 1.0)})


@derived(
    FEATURES,
    LEARNING,
    TRAINING,
)
def command(
    context: typer.Context,
    nbest: Lists,
    dev: Path | None = None,
    learner: LearnerName = "blasso",
    headwords: Path | None = None,
    headword_tags: str | None = None,
    known: Path | None = None,
    lm: Lm = None,
    references: References = None,
    dev_references: References = None,
    **settings: Any,
) -> None:
    """Train a reranker; settings that are not given are chosen on held-out lists.

    Parameters
    ----------
    dev NBEST : Held-out lists that choose the step and the settings.
    learner : Method of training.
    headwords FILE : Content words, one per line; pairs of them become features.
    headword_tags TAG,TAG : Tags of content words, for lists with tags.
    known --from MODEL : Model whose path is continued, with its settings.
    """
    run = TrainingRun.of(context, settings)
    chosen = make_learner(learner, **{option.name: settings[option.name] for option in LEARNING})
    if known:
        model = Reranker.load(known)
    else:
        words = (
            None if headwords is None else [word for line in read_lines(headwords) if (word := line.strip())]
        )
        own = {option.name: value for option in FEATURES if (value := settings[option.name]) is not None}
        tags = headword_tags.split(",") if headword_tags else None
        model = Reranker(chosen, headwords=words, headword_tags=tags, **own)
    scorers = open_language_models(lm)
    if known:
        check_models(model.space_.names, len(scorers))
    lists, dev_lists = read_nbest(nbest, references), read_nbest(dev, dev_references) if dev else None
    if scorers:
        lists = with_language_models(lists, scorers)
        dev_lists = None if dev_lists is None else with_language_models(dev_lists, scorers)
    steps = settings["steps"]
    with run.progress("training", total=steps, step="step") as show:

        def on_step(now: Progress) -> bool:
            rate = "" if now.dev_rate is None else f", dev {model.measure} {now.dev_rate:.2f}"
            return show(now.step, f"loss {now.loss:,.0f}, {now.nonzero:,} weights{rate}", now.trial or None)

        if known:
            model.resume(lists, steps=steps, dev=dev_lists, callback=on_step)
        else:
            model.fit(lists, dev=dev_lists, callback=on_step)
    run.finish(
        _record(model, dev_lists),
        lambda: model.save(run.output),
        lambda target: plot_paths({learner: model}, target),
    )


def _record(model: Reranker, dev: NBest | None) -> dict[str, Any]:
    """The fit as the command reports it."""
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
        record["cer_dev"] = None if dev is None else error_rate(dev, model.predict(dev), "cer")
    return record
