"""``epigram lm train``: trains a log-linear, class-factored or Kneser-Ney model."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from warnings import warn

import typer

from epigram.cli import console
from epigram.cli.documents import Field, plain_text
from epigram.cli.lm.counted import SORTING, train_counted
from epigram.cli.options import TRAINING, Seed, Text, Threads, derived, given, options, parameters, refusal
from epigram.cli.run import SHARDING, Sharding, TrainingRun
from epigram.errors import DataWarning, InputError
from epigram.files import read_lines, stream_lines
from epigram.lm.factored.model import ClassFactoredLM
from epigram.lm.loglinear.model import LogLinearLM
from epigram.lm.ngram.kneser_ney import KneserNeyLM
from epigram.lm.vocabulary import Vocabulary
from epigram.solvers.proximal import StochasticProximal

if TYPE_CHECKING:
    from epigram.lm.base import LanguageModel
    from epigram.lm.corpus import Corpus
    from epigram.lm.loglinear.penalties import Strength
    from epigram.protocols import Iteration, Solver
    from epigram.tuning import SearchTrial

History: TypeAlias = list[tuple[int, float | None]]
MOSTLY = 0.9
"""Share of held-out lines that are in the training text above which they are no test of it."""
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
TEXT, LOG_LINEAR, CLASSES, SOLVER = "Text", "Log-linear models", "Word classes", "Solver"
SORTED = ("memory", "tmp", "mapped", "dry_run")
LIMITS = ("min_count", "max_words")
STRENGTH = ("strength", "depth_weight", "ridge")
COUNTED = ("kneser-ney", "modified-kneser-ney")
MODELS: dict[str, type] = {"loglinear": LogLinearLM, "kneser-ney": KneserNeyLM}


def read_seconds(text: str) -> float:
    """Read a duration such as ``90``, ``60s``, ``5m`` or ``1h``."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text.strip())
    if match is None:
        raise refusal("budget", f"a duration such as 60s, 5m or 1h, not {text!r}")
    return float(match[1]) * _UNITS[match[2]]


def read_counts(text: str) -> int | list[int]:
    """Read a count, or one for each order between commas."""
    if not re.fullmatch(r"\d{1,9}(,\d{1,9})*", text):
        raise refusal("prune", f"a count, or one for each order such as 0,0,1, not {text!r}")
    counts = [int(part) for part in text.split(",")]
    return counts if "," in text else counts[0]


def read_classes(text: str) -> int | str | Path:
    """Read ``auto``, a number of classes or the name of a class file."""
    if text == "auto":
        return text
    if text.isdecimal():
        if int(text) < 2:
            raise refusal("classes", f"two classes at least, one of them for </s>, not {text}")
        return int(text)
    if not Path(text).is_file():
        raise refusal("classes", f"auto, a number or a file made by epigram lm classes, not {text!r}")
    return Path(text)


def _choices(
    tokens: str = "words",
    vocab: Path | None = None,
    closed: bool = False,
    keep_text: bool = False,
    unconstrained: bool = False,
    document: bool = False,
) -> None:
    """Options of the text and of one kind of model.

    Parameters
    ----------
    keep_text --keep-text/--no-text : Store the text in the model file, where everyone can read it.

    Text
    ----
    tokens words|chars|FILE : Tokens: words, characters, or pieces of a sentencepiece (*.model) or tokenizers
        (*.json) model; stored in the model file.
    vocab FILE : Vocabulary, one word per line.
    closed : Give no probability to words outside the vocabulary; scores leave them out.

    Log-linear models
    -----------------
    unconstrained : Allow negative weights.

    Word classes
    ------------
    document : With --classes, and lines in order: use the sentences before a sentence too.
    """


@derived(
    parameters(_choices),
    options(LogLinearLM, TEXT, only=(*LIMITS, "held_out"), bounds={"held_out": (0.0, 1.0)}),
    options(LogLinearLM, only=("order",), bounds={"order": (0, None)}),
    options(
        LogLinearLM,
        LOG_LINEAR,
        only=("penalty", *STRENGTH, "depth_weights", "calibrate", "max_weights"),
    ),
    options(
        ClassFactoredLM,
        CLASSES,
        only=("classes", "budget", "class_contexts", "word_contexts"),
        defaults={"classes": "no classes", "budget": "60s"},
        readers={"classes": ("auto|K|FILE", read_classes), "budget": ("60s|5m", read_seconds)},
    ),
    options(
        LogLinearLM,
        SOLVER,
        only=("tolerance", "max_iterations"),
        defaults={"tolerance": "2e-7; 2e-5 with --classes", "max_iterations": "500; 300 with --classes"},
    ),
    options({"stochastic": StochasticProximal}, SOLVER, skip=("seed",)),
    options(KneserNeyLM, "Kneser-Ney models", only=("prune",), readers={"prune": ("N|0,0,1,2", read_counts)}),
    SORTING,
    SHARDING,
    TRAINING,
)
def command(
    context: typer.Context,
    text: Text,
    valid: Path | None = None,
    field: Field = None,
    model: Literal["auto", "loglinear", "kneser-ney", "modified-kneser-ney"] = "auto",
    solver: Literal["fista", "stochastic"] | None = None,
    best: bool = False,
    bits: int = 0,
    threads: Threads = 1,
    seed: Seed = 0,
    **settings: Any,
) -> None:
    """Train a language model from text: log-linear, class-factored, Kneser-Ney, or a mixture.

    Parameters
    ----------
    model : Kind of model; auto mixes loglinear and modified-kneser-ney, unless an option is of the former.
    best : Mix in a class-factored model, and use earlier sentences where blank lines part documents: better
        predictions for --budget more seconds; no ARPA form.
    bits >= 0 <= 16 : Bits of a stored weight; 0 stores it in full.

    Text
    ----
    valid FILE : Held-out text that settings are chosen on.

    Solver
    ------
    solver : Solver: exact, or Algorithm 1 of the paper [default: fista]
    """
    counted = model in COUNTED
    # Kneser-Ney resumes from its working folder, not from MODEL.checkpoint.
    run = TrainingRun.of(context, settings | {"resume": settings["resume"] and not counted})
    sharding = Sharding.of(settings)
    text, valid = plain_text(text, field), None if valid is None else plain_text(valid, field)
    classes, tokens, vocab = settings["classes"], settings["tokens"], settings["vocab"]
    is_chosen = solver is not None or _is_chosen(settings)
    _check(settings, sharding, model, best, is_chosen)
    if valid is not None:
        warn_if_learnt(text, valid)
    estimator = given(settings, MODELS, "kneser-ney" if counted else "loglinear", "--model")
    estimator["vocabulary"] = None if vocab is None else Vocabulary.read(vocab)
    estimator["open_vocabulary"] = not settings["closed"]
    source: Path | Corpus = text
    if counted:
        estimator["modified"] = model == "modified-kneser-ney"
        train_counted(run, context, KneserNeyLM(**estimator), text, tokens, valid, bits, settings)
        return
    if tokens != "words":
        if sharding.asked_for:
            raise InputError("--tokens is for text that is read whole; leave out --shards and --cluster.")
        from epigram.lm.corpus import Corpus
        from epigram.lm.tokenizer import Tokenizer

        limits = {"min_count": settings["min_count"] or 1, "max_words": settings["max_words"]}
        source = Corpus.read(
            text, vocabulary=estimator["vocabulary"], **limits, training=True, tokenizer=Tokenizer.of(tokens)
        )
    estimator |= {"nonnegative": not settings["unconstrained"], "threads": threads, "random_state": seed}
    estimator["solver"] = make_solver(solver or "fista", seed, settings)
    keep_text = settings["keep_text"]
    if classes is not None:
        _train(run, _with_classes(estimator, settings), source, valid, bits, keep_text, settings["document"])
        return
    fitted = LogLinearLM(**estimator)
    mixes = model == "auto" and fitted.order > 0
    if best:
        _train_best(run, fitted, given(settings, {"": ClassFactoredLM}, "", "--best"), source, valid, bits)
    elif sharding.asked_for:
        from epigram.cli.sharded import language_model_on_shards

        language_model_on_shards(run, fitted, text, valid, bits, sharding)
    elif mixes and not is_chosen:
        _train_beside(run, fitted, source, valid, bits)
    else:
        _train(run, fitted, source, valid, bits, keep_text, document=False)


def _check(settings: dict[str, Any], sharding: Sharding, model: str, best: bool, is_chosen: bool) -> None:
    """Refuse options that do not fit together."""
    counted = model in COUNTED
    given = [f"--{name.replace('_', '-')}" for name in SORTED if settings[name]]
    if given and not counted:
        raise InputError(
            f"{given[0]} is for --model kneser-ney or modified-kneser-ney; leave it out or add that."
        )
    classes = settings["classes"]
    if counted and (sharding.folder or sharding.n_shards):
        raise InputError(
            f"--shards is for log-linear models; --model {model} sorts on disk without it: leave it out."
        )
    if sharding.asked_for and classes is not None:
        raise InputError(
            "--shards and --cluster are for log-linear models, --classes is not; leave out one or the other."
        )
    if settings["document"] and classes is None:
        raise InputError("--document is for models with --classes; add --classes auto.")
    if best:
        if model != "auto" or classes is not None or is_chosen:
            raise InputError(
                "--best chooses models and settings itself; of its options it takes --budget and --order."
            )
        if sharding.asked_for:
            raise InputError("--best reads the whole text into memory; leave out --shards and --cluster.")
    elif classes is None and settings["budget"] is not None:
        raise InputError("--budget is for --best and --classes; add one of them.")
    if counted and classes is not None:
        raise InputError(f"--classes is for log-linear models; leave out --model {model} or --classes.")


def _is_chosen(settings: dict[str, Any]) -> bool:
    """Whether a setting was given that a mixture does not choose by itself."""
    names = ("penalty", *STRENGTH, "depth_weights", "calibrate", "max_weights")
    given = any(settings[name] not in (None, "auto", "features", True) for name in names)
    return given or any(settings[name] for name in ("unconstrained", "keep_text"))


def _with_classes(estimator: dict[str, Any], settings: dict[str, Any]) -> ClassFactoredLM:
    """Return a class-factored model with the strengths that are given, for both parts."""
    from epigram.lm.factored.problem import first_strength

    if "depth_weights" in estimator:
        raise InputError("--depth-weights is for models without --classes; leave out one of them.")
    own = given(settings, {"": ClassFactoredLM}, "", "--classes")
    numbers = {name: value for name in STRENGTH if (value := estimator.pop(name, "auto")) != "auto"}
    estimator.pop("calibrate", None)
    if numbers:
        penalty = estimator.get("penalty", "elastic")
        for part in ("class", "word"):
            own[f"{part}_strength"] = replace(first_strength(penalty, part), **numbers)
    return ClassFactoredLM(**{**estimator, **own})


def make_solver(name: str, seed: int, settings: dict[str, Any]) -> str | Solver:
    """Return the name of a solver, or Algorithm 1 with the options that were given for it."""
    stochastic = ("passes", "batch_size", "lipschitz", "mu")
    chosen = {option: settings[option] for option in stochastic if settings[option] is not None}
    if name == "stochastic" and settings["max_iterations"] is not None:
        raise InputError("--max-iterations is for --solver fista; say how many passes with --passes.")
    if name != "stochastic" and chosen:
        listed = ", ".join(f"--{option.replace('_', '-')}" for option in chosen)
        raise InputError(f"{listed}: for --solver stochastic only; leave out or add that.")
    if not chosen:
        return name
    if settings["tolerance"] is not None:
        chosen["tolerance"] = settings["tolerance"]
    try:
        return StochasticProximal(seed=seed, **chosen)
    except ValueError as wrong:
        raise InputError(str(wrong)) from wrong


def _train(
    run: TrainingRun,
    model: LogLinearLM | ClassFactoredLM,
    text: Path | Corpus,
    valid: Path | None,
    bits: int,
    keep_text: bool,
    document: bool,
) -> None:
    """Fit a log-linear or class-factored model, save it, report."""
    from epigram.cli.plots import plot_trials
    from epigram.lm.document.model import fit_document

    history: History = []
    made: LanguageModel = model
    with _watched(run, model, history) as watching:
        if document and isinstance(model, ClassFactoredLM):
            made = fit_document(model, text, valid=valid, **watching)
        else:
            model.fit(text, valid=valid, **watching)
    record = {"perplexity_valid": getattr(model, "valid_perplexity_", None), **record_of(model)}
    if document:
        record["perplexity_valid_sentences"] = record["perplexity_valid"]
        record["perplexity_valid"] = None if valid is None else made.perplexity(valid)
    run.finish(
        record,
        save=lambda: made.save(run.output, bits, keep_text),
        draw=lambda plot: plot_trials(model.trials_, history, plot),
    )


def _train_beside(
    run: TrainingRun, model: LogLinearLM, text: Path | Corpus, valid: Path | None, bits: int
) -> None:
    """Fit a log-linear model, mix it with Kneser-Ney, save the mixture and report."""
    from epigram.cli.plots import plot_trials
    from epigram.lm.default import fit_beside

    history: History = []
    with _watched(run, model, history) as watching:
        found = fit_beside(model, text, valid=valid, **watching)
    console.note(found.why)
    shares = dict(zip(("loglinear", "modified-kneser-ney"), found.mixture.weights.tolist(), strict=True))
    alone = dict(zip(shares, found.alone, strict=True))
    chosen = {"model": "mixture", "shares": shares, "perplexity_valid_alone": alone, "sample": found.sample}
    run.finish(
        {"perplexity_valid": found.together, **chosen, **record_of(model)},
        save=lambda: found.mixture.save(run.output, bits, fit={"perplexity_valid": found.together}),
        draw=lambda plot: plot_trials(model.trials_, history, plot),
    )


def _train_best(
    run: TrainingRun,
    model: LogLinearLM,
    settings: dict[str, Any],
    text: Path | Corpus,
    valid: Path | None,
    bits: int,
) -> None:
    """Fit the best mixture in a time budget, save it and report."""
    from epigram.cli.plots import plot_trials
    from epigram.lm.best import fit_best

    history: History = []
    common = {
        name: getattr(model, name) for name in ("vocabulary", "open_vocabulary", "threads", "random_state")
    }
    factored = ClassFactoredLM(**{"order": min(max(model.order, 2), 16)} | settings | common)
    with _watched(run, model, history) as watching:
        found = fit_best(model, factored, text, valid=valid, **watching)
    console.note(found.why)
    run.finish(
        {
            "perplexity_valid": found.together,
            "perplexity_valid_default": found.default,
            "model": "mixture",
            "shares": found.shares,
            "perplexity_valid_alone": found.alone,
            "trials": len(factored.trials_),
            "classes": factored.classes_.n_classes,
            "words": len(found.model.vocabulary_),
        },
        save=lambda: found.model.save(run.output, bits, fit={"perplexity_valid": found.together}),
        draw=lambda plot: plot_trials(factored.trials_, history, plot),
    )


@contextmanager
def _watched(
    run: TrainingRun, model: LogLinearLM | ClassFactoredLM, history: History
) -> Iterator[dict[str, Any]]:
    """Yield the callbacks of a fit that move a progress bar and append to ``history``."""
    from epigram.lm.loglinear.problem import most_iterations

    trials = 0
    with run.progress("training", most_iterations(model.make_solver())) as show:

        def on_iteration(now: Iteration) -> bool:
            history.append((now.number, now.optimality))  # not the weights: a search has many fits
            gap = "" if now.optimality is None else f", gap {now.optimality:.1e}"
            return show(now.number, f"objective {now.objective:,.0f}, {now.nonzero:,} weights{gap}")

        def on_trial(trial: SearchTrial) -> bool:
            nonlocal trials
            trials += 1
            # What matters comes first: a narrow screen cuts the rest.
            classes = f", {trial.n_classes} classes" if trial.n_classes else ""
            best = f"best of {trials} fits: {trial.best:.2f}"
            return show(0, description=f"{best} (now {trial.perplexity:.2f}{classes})")

        yield {"callback": on_iteration, "on_trial": on_trial}


def record_of(model: LogLinearLM | ClassFactoredLM) -> dict[str, Any]:
    """The fit as the command reports it."""
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


def warn_if_learnt(text: Path, valid: Path) -> None:
    """Say so where the held-out text is part of the training text."""
    if str(valid) == "-" or valid.is_fifo():  # can be read only once
        return
    held_out = Counter(line for line in map(str.strip, read_lines(valid, sentences=True)) if line)
    if not held_out:
        raise InputError("--valid has no sentences: the file is empty or blank", path=valid)
    if not text.is_file():
        return
    learnt = {line for line in map(str.strip, stream_lines(text)) if line in held_out}
    if sum(held_out[line] for line in learnt) > MOSTLY * held_out.total():
        warn(
            f"{len(learnt):,} of {len(held_out):,} different lines of {valid} are in {text} too: what is chosen on "
            "text that the model learns does not fit other text, and its perplexity is far too low. Give other text, "
            "or leave out --valid to hold out the end of the training text.",
            DataWarning,
            stacklevel=2,
        )
