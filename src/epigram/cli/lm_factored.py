"""What ``epigram lm train --classes`` does once its options are read: search within the budget, model file, report."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from epigram.cli import console
from epigram.cli.stopping import EXIT_CODE, GracefulStop
from epigram.errors import InputError

if TYPE_CHECKING:
    from epigram.lm.factored.model import ClassFactoredLM
    from epigram.lm.loglinear.penalty import Strength
    from epigram.protocols import Iteration
    from epigram.tuning import Trial

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


def seconds_of(text: str) -> float:
    """A duration such as ``90``, ``60s``, ``5m`` or ``1h``."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text.strip())
    if match is None:
        raise InputError(f"--budget {text!r} is no duration; write 60s, 5m or 1h.")
    return float(match[1]) * _UNITS[match[2]]


def classes_of(text: str) -> int | str | Path:
    """``auto``, a number of classes or a class file."""
    if text == "auto":
        return text
    if text.isdecimal():
        if int(text) < 2:
            raise InputError(f"--classes {text}: two classes at least, one of them for </s>.")
        return int(text)
    if not Path(text).is_file():
        raise InputError(
            f"--classes {text!r} is neither auto, a number nor a file; make one with epigram lm classes."
        )
    return Path(text)


def strengths_of(penalty: str, **numbers: Any) -> dict[str, Strength | None]:
    """Both strengths with the given numbers in them; None (to be searched) where all are ``auto``."""
    from epigram.lm.factored.search import first_strength

    given = {name: value for name, value in numbers.items() if value != "auto"}
    if not given:
        return {"class_strength": None, "word_strength": None}
    return {f"{part}_strength": replace(first_strength(penalty, part), **given) for part in ("class", "word")}


def train(
    text: Path,
    output: Path,
    valid: Path | None,
    bits: int,
    plot: Path | None,
    json: bool,
    keep_text: bool,
    **settings: Any,
) -> None:
    """Fit a class-factored model, save it, report; exit code 130 where the fit was interrupted."""
    from epigram.lm.factored.model import ClassFactoredLM

    model = ClassFactoredLM(**settings)
    watch = console.Stopwatch()
    history, interrupted = _fit(model, text, valid)
    model.save(output, bits, keep_text, {"cpu_seconds": watch.cpu_seconds})
    record = {
        "perplexity_valid": getattr(model, "valid_perplexity_", None),
        "classes": model.classes_.n_classes,
        "parameters": model.n_parameters_,
        "nonzero": model.n_nonzero_,
        "iterations": model.n_iter_,
        "objective": model.objective_,
        "class_contexts": str(model.class_model_.contexts),
        "class_strength": _written(model.class_strength_),
        "word_contexts": str(model.word_model_.contexts),
        "word_strength": _written(model.word_strength_),
        "trials": len(model.trials_),
        "words": len(model.vocabulary_),
        "seconds": watch.seconds,
        "cpu_seconds": watch.cpu_seconds,
        "interrupted": interrupted,
        "bytes": output.stat().st_size,
    }
    if plot is not None:
        from epigram.lm.plots import plot_training

        plot_training(model.trials_, history, plot)
    console.print_json(record) if json else console.facts(str(output), record)
    if interrupted:
        raise typer.Exit(EXIT_CODE)


def _written(strength: Strength) -> str:
    return (
        f"strength {strength.strength:.4g}, depth weight {strength.depth_weight:.4g}, ridge {strength.ridge:.4g}, "
        f"side {strength.side:.4g}"
    )


def _fit(model: ClassFactoredLM, text: Path, valid: Path | None) -> tuple[list[Iteration], bool]:
    """Fit with a progress line that shows the best so far; a first Ctrl-C ends it with the weights so far."""
    from epigram.lm.corpus import Corpus
    from epigram.lm.solver import most_iterations

    history: list[Iteration] = []
    seen: list[Trial] = []
    limits = {"min_count": model.min_count, "max_words": model.max_words}
    corpus = Corpus.read(text, model.vocabulary, training=True, **limits)  # type: ignore[arg-type]
    with console.progress() as bar, GracefulStop(lambda: bar.log("stopping after this iteration")) as stop:
        task = bar.add_task("training", total=most_iterations(model._solver()), status="")

        def on_iteration(now: Iteration) -> bool:
            history.append(now)
            gap = "" if now.optimality is None else f", gap {now.optimality:.1e}"
            status = f"objective {now.objective:,.0f}, {now.nonzero:,} weights{gap}"
            bar.update(task, completed=now.number, status=status)
            return stop.asked

        def on_trial(trial: Trial) -> bool:
            seen.append(trial)
            # What matters comes first: a narrow screen cuts the rest.
            said = f"best of {len(seen)} fits: {trial.best:.2f}"
            bar.update(task, description=f"{said} (now {trial.perplexity:.2f}, {trial.n_classes} classes)")
            return stop.asked

        model.fit(corpus, valid=valid, callback=on_iteration, on_trial=on_trial)
    return history, stop.asked
