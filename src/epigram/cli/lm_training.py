"""What ``epigram lm train`` does once its options are read: fit with progress, model file, report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from epigram.cli import console
from epigram.cli.stopping import EXIT_CODE, GracefulStop
from epigram.errors import InputError

if TYPE_CHECKING:
    from epigram.lm.loglinear.model import LogLinearLM
    from epigram.lm.vocabulary import Vocabulary
    from epigram.protocols import Iteration, Solver
    from epigram.tuning import Trial


def vocabulary_of(path: Path | None) -> Vocabulary | None:
    """The given list of words, if any."""
    from epigram.lm.vocabulary import Vocabulary

    return None if path is None else Vocabulary.read(path)


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


def loglinear(
    text: Path,
    output: Path,
    valid: Path | None,
    bits: int,
    plot: Path | None,
    json: bool,
    keep_text: bool,
    **settings: Any,
) -> None:
    """Fit a log-linear model, save it, report; exit code 130 where the fit was interrupted."""
    from epigram.lm.loglinear.model import LogLinearLM

    model = LogLinearLM(**settings)
    watch = console.Stopwatch()
    history, interrupted = _fit(model, text, valid)
    tree = model.tree_
    record = {
        "perplexity_valid": getattr(model, "valid_perplexity_", None),
        "parameters": model.n_parameters_,
        "nonzero": model.n_nonzero_,
        "trie_nodes": tree.n_trie,
        "tree_nodes": tree.n_tree,
        "iterations": model.n_iter_,
        "objective": model.objective_,
        "stopped": model.reason_,
        "strength": model.strength_.strength,
        "depth_weight": model.strength_.depth_weight,
        "ridge": model.strength_.ridge,
        "trials": len(model.trials_),
        "words": len(model.vocabulary_),
        "positions": tree.n_positions,
        "seconds": watch.seconds,
        "cpu_seconds": watch.cpu_seconds,
        "interrupted": interrupted,
    }
    model.save(output, bits, keep_text, {"cpu_seconds": watch.cpu_seconds})
    record["bytes"] = output.stat().st_size
    if plot is not None:
        from epigram.lm.plots import plot_training

        plot_training(model.trials_, history, plot)
    console.print_json(record) if json else console.facts(str(output), record)
    if interrupted:
        raise typer.Exit(EXIT_CODE)


def _fit(model: LogLinearLM, text: Path, valid: Path | None) -> tuple[list[Iteration], bool]:
    """Fit with a progress bar; a first Ctrl-C ends it with the weights so far."""
    from epigram.lm.corpus import Corpus
    from epigram.lm.solver import most_iterations

    history: list[Iteration] = []
    corpus = Corpus.read(
        text,
        model.vocabulary,
        min_count=model.min_count,
        max_words=model.max_words,
        training=True,
    )
    with console.progress() as bar, GracefulStop(lambda: bar.log("stopping after this iteration")) as stop:
        task = bar.add_task("training", total=most_iterations(model._solver()), status="")
        trials = 0

        def on_iteration(now: Iteration) -> bool:
            history.append(now)
            gap = "" if now.optimality is None else f", gap {now.optimality:.1e}"
            status = f"objective {now.objective:,.0f}, {now.nonzero:,} weights{gap}"
            bar.update(task, completed=now.number, status=status)
            return stop.asked

        def on_trial(trial: Trial) -> bool:
            nonlocal trials
            trials += 1
            bar.update(task, description=f"trial {trials}: held-out perplexity {trial.perplexity:.2f}")
            return stop.asked

        model.fit(corpus, valid=valid, callback=on_iteration, on_trial=on_trial)
    return history, stop.asked


def kneser_ney(text: Path, output: Path, valid: Path | None, bits: int, json: bool, **settings: Any) -> None:
    """Count, smooth, save and report."""
    from epigram.lm.ngram.kneser_ney import KneserNeyLM

    watch = console.Stopwatch()
    model = KneserNeyLM(**settings).fit(text)
    record = {
        "perplexity_valid": None if valid is None else model.perplexity(valid),
        "parameters": model.backoff_.n_ngrams,
        "nonzero": model.backoff_.n_ngrams,
        "trie_nodes": model.backoff_.n_ngrams,
        "tree_nodes": None,
        "iterations": 0,
        "objective": None,
        "words": len(model.vocabulary_),
        "seconds": watch.seconds,
        "cpu_seconds": watch.cpu_seconds,
    }
    model.save(output, bits, fit={"perplexity_valid": record["perplexity_valid"]})
    record["bytes"] = output.stat().st_size
    console.print_json(record) if json else console.facts(str(output), record)
