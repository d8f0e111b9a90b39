"""``epigram lm train``: trains a log-linear, class-factored or Kneser-Ney model."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias
from warnings import warn

import typer

from epigram.cli import console
from epigram.cli.cluster import Cluster, NShards, Shards
from epigram.cli.options import EVERY, Json, ModelOutput, Resume, Seconds
from epigram.cli.run import Sharding, TrainingRun
from epigram.errors import DataWarning, InputError
from epigram.files import read_lines, stream_lines

if TYPE_CHECKING:
    from epigram.lm.base import LanguageModel
    from epigram.lm.corpus import Corpus
    from epigram.lm.factored.model import ClassFactoredLM
    from epigram.lm.loglinear.model import LogLinearLM
    from epigram.lm.loglinear.penalties import Strength
    from epigram.lm.vocabulary import Vocabulary
    from epigram.protocols import Iteration, Solver
    from epigram.tuning import Trial

History: TypeAlias = list[tuple[int, float | None]]
MOSTLY = 0.9
"""Share of held-out lines that are in the training text above which they are no test of it."""
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


def command(
    context: typer.Context,
    text: Annotated[Path, typer.Argument(metavar="TEXT", help="One sentence a line (gzip too); - is stdin.")],
    output: ModelOutput,
    order: Annotated[int, typer.Option(min=0, help="Longest n-gram; 0 is unbounded.")] = 5,
    model: Annotated[
        Literal["auto", "loglinear", "kneser-ney", "modified-kneser-ney"],
        typer.Option(
            help="Kind of model; auto mixes loglinear and modified-kneser-ney, unless an option is for the former."
        ),
    ] = "auto",
    penalty: Annotated[
        Literal["elastic", "l1", "l2", "tree-l2", "tree-linf"] | None,
        typer.Option(help="What keeps weights small.", show_default="elastic"),
    ] = None,
    strength: Annotated[str, typer.Option(metavar="auto|X", help="Strength of the penalty.")] = "auto",
    depth_weight: Annotated[
        str, typer.Option(metavar="auto|A", help="The penalty grows by this factor for each word of context.")
    ] = "auto",
    ridge: Annotated[
        str, typer.Option(metavar="auto|X", help="Squared part of the elastic penalty.")
    ] = "auto",
    depth_weights: Annotated[
        Literal["features", "groups"],
        typer.Option(help="What --depth-weight acts on inside tree-l2 and tree-linf."),
    ] = "features",
    classes: Annotated[
        str | None,
        typer.Option(
            metavar="auto|K|FILE", help="Factor the model by word classes: a number, a class file, or auto."
        ),
    ] = None,
    budget: Annotated[
        str,
        typer.Option(
            metavar="60s|5m", help="With --classes: CPU time for choosing what is auto; 0 chooses nothing."
        ),
    ] = "60s",
    class_contexts: Annotated[
        str | None,
        typer.Option(metavar="'c1 w1; c2'", help="With --classes: what the class is predicted from."),
    ] = None,
    word_contexts: Annotated[
        str | None,
        typer.Option(
            metavar="'c1 w1; c2'", help="With --classes: what the word in its class is predicted from."
        ),
    ] = None,
    document: Annotated[
        bool,
        typer.Option(
            "--document",
            help="With --classes: lines are in order; look at what came before the sentence too.",
        ),
    ] = False,
    solver: Annotated[
        Literal["fista", "stochastic"] | None,
        typer.Option(help="Exact, or Algorithm 1 of the paper.", show_default="fista"),
    ] = None,
    valid: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Held-out text that chooses what is auto.")
    ] = None,
    held_out: Annotated[
        float, typer.Option(help="Without --valid: the share of the text, its end, that chooses.")
    ] = 0.1,
    unconstrained: Annotated[bool, typer.Option("--unconstrained", help="Allow negative weights.")] = False,
    calibrate: Annotated[
        bool, typer.Option(help="Choose a factor for the weights of each depth on the held-out text too.")
    ] = True,
    max_weights: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Keep so many weights, those worth most, and fit them again; without --classes also negative ones of "
            "pairs that come less often than expected.",
        ),
    ] = None,
    tokens: Annotated[
        str,
        typer.Option(
            metavar="words|chars|FILE",
            help="Cut text into words, characters, or the pieces of a sentencepiece (*.model) or tokenizers (*.json) "
            "model; the model file remembers it.",
        ),
    ] = "words",
    min_count: Annotated[int, typer.Option(min=1, help="Occurrences a word needs; others are <unk>.")] = 1,
    max_words: Annotated[int | None, typer.Option(min=1, help="Most words of the vocabulary.")] = None,
    vocab: Annotated[Path | None, typer.Option(metavar="FILE", help="The vocabulary, a word a line.")] = None,
    closed: Annotated[
        bool,
        typer.Option(
            "--closed", help="Give no probability to words outside the vocabulary; scores leave them out."
        ),
    ] = False,
    tolerance: Annotated[
        float | None,
        typer.Option(
            help="Stop when a step promises less than this share.", show_default="2e-7; 2e-5 with --classes"
        ),
    ] = None,
    max_iterations: Annotated[
        int | None,
        typer.Option(min=1, help="fista: stop in any case.", show_default="500; 300 with --classes"),
    ] = None,
    passes: Annotated[
        int | None, typer.Option(min=1, help="stochastic: passes over the text.", show_default="10")
    ] = None,
    batch_size: Annotated[
        int | None, typer.Option(min=1, help="stochastic: words a step.", show_default="400")
    ] = None,
    lipschitz: Annotated[
        float | None, typer.Option(help="stochastic: L of Algorithm 1.", show_default="auto")
    ] = None,
    mu: Annotated[
        float | None, typer.Option(help="stochastic: mu of Algorithm 1.", show_default="auto")
    ] = None,
    prune: Annotated[
        str,
        typer.Option(
            metavar="N|0,0,1,2",
            help="Kneser-Ney: drop n-grams of 3+ words seen at most so often; or a number for each order, from 1 on.",
        ),
    ] = "0",
    bits: Annotated[int, typer.Option(min=0, max=16, help="Bits of a stored weight; 0 in full.")] = 0,
    keep_text: Annotated[
        bool,
        typer.Option(
            "--keep-text/--no-text", help="Keep the text in the model file, where whoever has it can read it."
        ),
    ] = False,
    shards: Shards = None,
    n_shards: NShards = None,
    cluster: Cluster = None,
    threads: Annotated[int, typer.Option(min=1, help="Threads of the exact solver.")] = 1,
    seed: Annotated[int, typer.Option(help="Seed of the stochastic solver.")] = 0,
    checkpoint: Seconds = EVERY,
    resume: Resume = False,
    plot: Annotated[Path | None, typer.Option(metavar="PNG", help="Draw path and convergence.")] = None,
    json: Json = False,
) -> None:
    """Train a language model."""
    run = TrainingRun(output, plot, json, checkpoint, resume, context=context)
    sharding = Sharding(shards, n_shards, cluster)
    counted = model in ("kneser-ney", "modified-kneser-ney")
    if sharding.asked_for and (counted or classes is not None):
        option = f"--model {model}" if counted else "--classes"
        raise InputError(
            f"{option} reads the whole text into memory; --shards and --cluster are for log-linear models. "
            "Leave out one or the other."
        )
    if valid is not None:
        warn_if_learnt(text, valid)
    limits: dict[str, Any] = {
        "min_count": min_count,
        "max_words": max_words,
        "vocabulary": vocabulary_of(vocab),
    }
    source: Path | Corpus = text
    if tokens != "words":
        if sharding.asked_for:
            raise InputError("--tokens is for text that is read whole; leave out --shards and --cluster.")
        from epigram.lm.corpus import Corpus
        from epigram.lm.tokenizer import Tokenizer

        source = Corpus.read(text, **limits, training=True, tokenizer=Tokenizer.of(tokens))
    if counted:
        if classes is not None:
            raise InputError(f"--classes is for log-linear models; leave out --model {model} or --classes.")
        settings = {
            "open_vocabulary": not closed,
            "order": order,
            "modified": model == "modified-kneser-ney",
            "prune": counts_of(prune),
            **limits,
        }
        _kneser_ney(run, source, valid, bits, **settings)
        return
    if counts_of(prune) != 0:
        raise InputError(
            "--prune is for Kneser-Ney models; leave it out, or give a --model, or use --max-weights."
        )
    stochastic = {"passes": passes, "batch_size": batch_size, "lipschitz": lipschitz, "mu": mu}
    numbers = {
        "strength": number_of(strength, "--strength"),
        "depth_weight": number_of(depth_weight, "--depth-weight"),
        "ridge": number_of(ridge, "--ridge"),
    }
    common: dict[str, Any] = {
        "order": order,
        "penalty": penalty or "elastic",
        "nonnegative": not unconstrained,
        "solver": solver_of(solver or "fista", max_iterations, tolerance, seed, **stochastic),
        "max_iterations": max_iterations,
        "max_weights": max_weights,
        "held_out": held_out,
        "threads": threads,
        "random_state": seed,
        "open_vocabulary": not closed,
        **limits,
    }
    if document and classes is None:
        raise InputError("--document is for models with --classes; add --classes auto.")
    estimator: LogLinearLM | ClassFactoredLM
    if classes is None:
        from epigram.lm.loglinear.model import LogLinearLM

        estimator = LogLinearLM(
            **common,
            **numbers,
            tolerance=tolerance or 2e-7,
            depth_weights=depth_weights,
            calibrate=calibrate,
        )
        if sharding.asked_for:
            from epigram.cli.sharded import language_model_on_shards

            language_model_on_shards(run, estimator, text, valid, bits, sharding)
            return
        asked = (penalty, solver, max_weights) != (None, None, None) or unconstrained or not calibrate
        asked = asked or set(numbers.values()) != {"auto"} or depth_weights != "features" or keep_text
        if model == "auto" and not asked and order > 0:
            _train_beside(run, estimator, source, valid, bits)
            return
    else:
        from epigram.lm.factored.model import ClassFactoredLM

        if depth_weights != "features":
            raise InputError("--depth-weights is for models without --classes; leave out one of them.")
        estimator = ClassFactoredLM(
            **common,
            **strengths_of(penalty or "elastic", **numbers),
            tolerance=tolerance or 2e-5,
            classes=classes_of(classes),
            budget=seconds_of(budget),
            class_contexts=class_contexts,
            word_contexts=word_contexts,
        )
    _train(run, estimator, source, valid, bits, keep_text, document)


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
    from epigram.lm.factored.model import ClassFactoredLM

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
    """Fit a log-linear model, mix it with Kneser-Ney, save the mixture, say what was chosen and report."""
    from epigram.cli.plots import plot_trials
    from epigram.lm.default import fit_beside

    history: History = []
    with _watched(run, model, history) as watching:
        found = fit_beside(model, text, valid=valid, **watching)
    console.stderr().print(found.why, highlight=False)
    shares = dict(zip(("loglinear", "modified-kneser-ney"), found.mixture.weights.tolist(), strict=True))
    alone = dict(zip(shares, found.alone, strict=True))
    chosen = {"model": "mixture", "shares": shares, "perplexity_valid_alone": alone}
    run.finish(
        {"perplexity_valid": found.together, **chosen, **record_of(model)},
        save=lambda: found.mixture.save(run.output, bits, fit={"perplexity_valid": found.together}),
        draw=lambda plot: plot_trials(model.trials_, history, plot),
    )


@contextmanager
def _watched(
    run: TrainingRun, model: LogLinearLM | ClassFactoredLM, history: History
) -> Iterator[dict[str, Any]]:
    """A progress bar and the callbacks of a fit that move it; ``history`` gets number and optimality of iterations."""
    from epigram.lm.loglinear.problem import most_iterations

    trials = 0
    with run.progress("training", most_iterations(model.make_solver())) as show:

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

        yield {"callback": on_iteration, "on_trial": on_trial}


def record_of(model: LogLinearLM | ClassFactoredLM) -> dict[str, Any]:
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


def _kneser_ney(
    run: TrainingRun,
    text: Path | Corpus,
    valid: Path | None,
    bits: int,
    **settings: Any,
) -> None:
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


def warn_if_learnt(text: Path, valid: Path) -> None:
    """Say so where the held-out text is part of the training text."""
    if not (text.is_file() and valid.is_file()):
        return
    held_out = Counter(line for line in map(str.strip, read_lines(valid)) if line)
    learnt = {line for line in map(str.strip, stream_lines(text)) if line in held_out}
    if sum(held_out[line] for line in learnt) > MOSTLY * held_out.total():
        warn(
            f"{len(learnt):,} of {len(held_out):,} different lines of {valid} are in {text} too: what is chosen on "
            "text that the model learns does not fit other text, and its perplexity is far too low. Give other text, "
            "or leave out --valid to hold out the end of the training text.",
            DataWarning,
            stacklevel=2,
        )


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


def counts_of(text: str) -> int | list[int]:
    """A count, or one for each order between commas."""
    if not re.fullmatch(r"\d{1,9}(,\d{1,9})*", text):
        raise InputError(f"--prune {text!r}: a count, or one for each order, as 0,0,1.")
    counts = [int(part) for part in text.split(",")]
    return counts if "," in text else counts[0]


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
    from epigram.lm.factored.problem import first_strength

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
