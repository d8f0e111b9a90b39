"""What ``epigram lm train`` does once its options are read: make the model, fit it with progress, save, report."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epigram.cli.training import TrainingRun
from epigram.errors import InputError

if TYPE_CHECKING:
    from epigram.lm.factored.model import ClassFactoredLM
    from epigram.lm.loglinear.model import LogLinearLM
    from epigram.lm.loglinear.penalty import Strength
    from epigram.lm.vocabulary import Vocabulary
    from epigram.protocols import Iteration, Solver
    from epigram.tuning import Trial

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


def vocabulary_of(path: Path | None) -> Vocabulary | None:
    """The given list of words, if any."""
    from epigram.lm.vocabulary import Vocabulary

    return None if path is None else Vocabulary.read(path)


def number_of(text: str, name: str) -> Any:
    """``auto`` or a number."""
    if text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{name} is auto or a number, not {text!r}.") from None


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


def strengths_of(penalty: str, **numbers: Any) -> dict[str, Any]:
    """Both strengths of a class-factored model with the given numbers; None (to be searched) where all are ``auto``."""
    from epigram.lm.factored.search import first_strength

    given = {name: value for name, value in numbers.items() if value != "auto"}
    if not given:
        return {"class_strength": None, "word_strength": None}
    return {f"{part}_strength": replace(first_strength(penalty, part), **given) for part in ("class", "word")}


def solver_of(
    name: str, max_iterations: int | None, tolerance: float | None, seed: int, **stochastic: Any
) -> str | Solver:
    """The name alone, or Algorithm 1 with the options that were given for it."""
    from epigram.solvers.proximal import StochasticProximal

    given = {option: value for option, value in stochastic.items() if value is not None}
    if name == "stochastic" and max_iterations is not None:
        raise InputError("--max-iterations is for --solver fista; say how many passes with --passes.")
    if name != "stochastic" and given:
        options = ", ".join(f"--{option.replace('_', '-')}" for option in given)
        raise InputError(f"{options}: for --solver stochastic only; leave out or add that.")
    if not given:
        return name
    if tolerance is not None:
        given["tolerance"] = tolerance
    try:
        return StochasticProximal(seed=seed, **given)
    except ValueError as wrong:
        raise InputError(str(wrong)) from wrong


def train(
    run: TrainingRun,
    model: LogLinearLM | ClassFactoredLM,
    text: Path,
    valid: Path | None,
    bits: int,
    keep_text: bool,
) -> None:
    """Fit a log-linear or class-factored model, save it, report."""
    from epigram.lm.plots import plot_training

    history = _fit(run, model, text, valid)
    cost = {"cpu_seconds": run.cost["cpu_seconds"]}
    run.finish(
        {"perplexity_valid": getattr(model, "valid_perplexity_", None), **_record(model)},
        save=lambda: model.save(run.output, bits, keep_text, cost),
        draw=lambda plot: plot_training(model.trials_, history, plot),
    )


def _fit(
    run: TrainingRun, model: LogLinearLM | ClassFactoredLM, text: Path, valid: Path | None
) -> list[tuple[int, float | None]]:
    """Fit with a progress bar; returns number and optimality of each iteration."""
    from epigram.lm.solver import most_iterations

    history: list[tuple[int, float | None]] = []
    trials = 0
    with run.progress("training", most_iterations(model._solver())) as show:

        def on_iteration(now: Iteration) -> bool:
            history.append((now.number, now.optimality))  # not the weights: a search has many fits
            gap = "" if now.optimality is None else f", gap {now.optimality:.1e}"
            return show(now.number, f"objective {now.objective:,.0f}, {now.nonzero:,} weights{gap}")

        def on_trial(trial: Trial) -> bool:
            nonlocal trials
            trials += 1
            # What matters comes first: a narrow screen cuts the rest.
            classes = f", {trial.n_classes} classes" if trial.n_classes else ""
            best = f"best of {trials} fits: {trial.best:.2f}"
            return show(0, description=f"{best} (now {trial.perplexity:.2f}{classes})")

        model.fit(text, valid=valid, callback=on_iteration, on_trial=on_trial)
    return history


def _record(model: LogLinearLM | ClassFactoredLM) -> dict[str, Any]:
    """The fit as the command reports it."""
    from epigram.lm.loglinear.model import LogLinearLM

    common = {
        "parameters": model.n_parameters_,
        "nonzero": model.n_nonzero_,
        "iterations": model.n_iter_,
        "objective": model.objective_,
        "trials": len(model.trials_),
        "words": len(model.vocabulary_),
    }
    if isinstance(model, LogLinearLM):
        tree, strength = model.tree_, model.strength_
        return common | {
            "trie_nodes": tree.n_trie,
            "tree_nodes": tree.n_tree,
            "positions": tree.n_positions,
            "stopped": model.reason_,
            "strength": strength.strength,
            "depth_weight": strength.depth_weight,
            "ridge": strength.ridge,
        }
    return common | {
        "classes": model.classes_.n_classes,
        "class_contexts": str(model.class_model_.contexts),
        "class_strength": _written(model.class_strength_),
        "word_contexts": str(model.word_model_.contexts),
        "word_strength": _written(model.word_strength_),
    }


def _written(strength: Strength) -> str:
    return (
        f"strength {strength.strength:.4g}, depth weight {strength.depth_weight:.4g}, ridge {strength.ridge:.4g}, "
        f"side {strength.side:.4g}"
    )


def kneser_ney(run: TrainingRun, text: Path, valid: Path | None, bits: int, **settings: Any) -> None:
    """Count, smooth, save and report."""
    from epigram.lm.ngram.kneser_ney import KneserNeyLM

    model = KneserNeyLM(**settings).fit(text)
    n, perplexity = model.backoff_.n_ngrams, None if valid is None else model.perplexity(valid)
    record = {
        "perplexity_valid": perplexity,
        "parameters": n,
        "nonzero": n,
        "trie_nodes": n,
        "tree_nodes": None,
        "iterations": 0,
        "objective": None,
        "words": len(model.vocabulary_),
    }
    run.finish(record, save=lambda: model.save(run.output, bits, fit={"perplexity_valid": perplexity}))
