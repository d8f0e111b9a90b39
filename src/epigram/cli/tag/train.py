"""``epigram tag train``: trains a CRF, segment, maxent or history-based tagger."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from epigram.cli import console
from epigram.cli.cluster import Cluster, NShards, Shards
from epigram.cli.options import EVERY, ModelOutput, Resume, Seconds, Threads
from epigram.errors import InputError

if TYPE_CHECKING:
    from epigram.chain.estimator import SentenceEstimator
    from epigram.chain.labels import Labels
    from epigram.cli.run import TrainingRun
    from epigram.features.columns import Column, Columns
    from epigram.features.template import Template

Format = Literal["auto", "conll", "conllu", "text", "slash"]
FILES, LEARNING, STOPPING, RESULTS = "Files", "Learning", "Rates and stopping", "Results"


def command(
    context: typer.Context,
    train: Annotated[Path, typer.Argument(metavar="TRAIN", help="Sentences with labels; - is stdin.")],
    output: ModelOutput,
    dev: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Held-out sentences that choose the pass.", rich_help_panel=FILES),
    ] = None,
    template: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            help="chunking, ner, pos, richer with a + behind, or a CRF++ template; by default what fits the columns.",
            rich_help_panel=FILES,
        ),
    ] = None,
    classes: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Word classes as lm classes writes them, looked up for words of column 0.",
            rich_help_panel=FILES,
        ),
    ] = None,
    gazetteer: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Phrases, a line each, or type<TAB>phrase; the longest are marked in the text.",
            rich_help_panel=FILES,
        ),
    ] = None,
    vectors: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="A word and its numbers a line, as word2vec writes.", rich_help_panel=FILES
        ),
    ] = None,
    format: Annotated[
        Format, typer.Option(help="Of the files; auto: by their names.", rich_help_panel=FILES)
    ] = "auto",
    separator: Annotated[
        str | None,
        typer.Option(help="One character between cells (white space by default).", rich_help_panel=FILES),
    ] = None,
    comments: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PREFIX", help="Skip lines that begin with this; repeatable.", rich_help_panel=FILES
        ),
    ] = None,
    label_column: Annotated[
        int | None,
        typer.Option(
            help="Column of labels, from 0; from the right if negative (-1; 3 for CoNLL-U).",
            rich_help_panel=FILES,
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="N,N",
            help="Columns the template sees as its 0, 1, ... (all but the labels; 1 for CoNLL-U).",
            rich_help_panel=FILES,
        ),
    ] = None,
    alternatives: Annotated[
        str | None,
        typer.Option(
            metavar="C",
            help="Labels may be known in part: with |, A|B is either label, and | alone any label.",
            rich_help_panel=FILES,
        ),
    ] = None,
    model: Annotated[
        Literal["crf", "segment", "maxent", "history"],
        typer.Option(
            help="A CRF, one with features of whole segments, each token alone, or each after the tags on its left.",
            rich_help_panel=LEARNING,
        ),
    ] = "crf",
    solver: Annotated[
        Literal["sgd", "adagrad", "owlqn", "lbfgs"] | None,
        typer.Option(help="By default what fits the penalty.", rich_help_panel=LEARNING),
    ] = None,
    l1: Annotated[
        str | None,
        typer.Option(
            metavar="auto|C",
            help="C * sum |w| (1 without --l2); auto: what suits --dev, or a tenth of the sentences.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    l2: Annotated[
        float | None,
        typer.Option(metavar="C", min=0.0, help="C * sum w^2 (1 for lbfgs).", rich_help_panel=LEARNING),
    ] = None,
    min_count: Annotated[
        int, typer.Option(min=1, help="Occurrences a feature needs.", rich_help_panel=LEARNING)
    ] = 1,
    pairs: Annotated[
        Literal["seen", "all"],
        typer.Option(
            help="Weights for pairs of feature and label: those seen, or all.", rich_help_panel=LEARNING
        ),
    ] = "seen",
    constrain: Annotated[
        Literal["iob1", "iob2", "ioe2", "bioes"] | None,
        typer.Option(help="Forbid transitions that break the scheme.", rich_help_panel=LEARNING),
    ] = None,
    order: Annotated[
        int,
        typer.Option(
            min=1, max=2, help="2: weights on label triples too, for --model crf.", rich_help_panel=LEARNING
        ),
    ] = 1,
    class_weight: Annotated[
        str | None,
        typer.Option(metavar="balanced|LABEL=W,...", help="Weights of labels.", rich_help_panel=LEARNING),
    ] = None,
    method: Annotated[
        Literal["cumulative", "lazy", "clipping", "naive"],
        typer.Option(help="How SGD applies l1.", rich_help_panel=STOPPING),
    ] = "cumulative",
    schedule: Annotated[
        Literal["auto", "linear", "exponential", "inverse"],
        typer.Option(
            help="How SGD's rate falls; auto: linear, or exponential with --eta0 or --decay.",
            rich_help_panel=STOPPING,
        ),
    ] = "auto",
    eta0: Annotated[
        str,
        typer.Option(
            metavar="auto|RATE", help="First learning rate of sgd and adagrad.", rich_help_panel=STOPPING
        ),
    ] = "auto",
    decay: Annotated[
        float | None,
        typer.Option(
            help="Learning-rate decay per pass (chosen from --passes; 0.95 for adagrad).",
            rich_help_panel=STOPPING,
        ),
    ] = None,
    batch_size: Annotated[
        int, typer.Option(min=1, help="Sentences a step of SGD.", rich_help_panel=STOPPING)
    ] = 1,
    passes: Annotated[
        str | None,
        typer.Option(
            metavar="auto|N",
            help="Passes of SGD, most iterations of others (30; 2000); auto: SGD stops by its objective.",
            rich_help_panel=STOPPING,
        ),
    ] = None,
    tolerance: Annotated[
        float,
        typer.Option(help="Relative optimality at which owlqn and lbfgs stop.", rich_help_panel=STOPPING),
    ] = 1e-4,
    patience: Annotated[
        int | None,
        typer.Option(
            min=1, help="Stop after so many passes without a better --dev score.", rich_help_panel=STOPPING
        ),
    ] = None,
    shards: Shards = None,
    n_shards: NShards = None,
    cluster: Cluster = None,
    checkpoint: Seconds = EVERY,
    resume: Resume = False,
    threads: Threads = 1,
    seed: Annotated[int, typer.Option(help="Same seed, same bits.")] = 0,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.png|svg",
            help="Objective and active features against passes.",
            rich_help_panel=RESULTS,
        ),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="One JSON object on standard output.", rich_help_panel=RESULTS)
    ] = False,
) -> None:
    """Learn a tagger from a file. Ctrl-C keeps the best model so far."""
    from epigram.chain.partial_labels import alternatives as read_alternatives
    from epigram.cli.plots import plot_training
    from epigram.cli.run import Sharding, TrainingRun
    from epigram.features.formats import ColumnSpec
    from epigram.files import read_bytes
    from epigram.tagging.column_tagger import warn_of_labels, warn_of_lengths, warn_of_unknown

    run = TrainingRun(output, plot, json, checkpoint, resume, context=context)
    if patience is not None and dev is None:
        raise InputError("--patience needs --dev, held-out sentences whose score says when to stop")
    if separator is not None and (len(separator) != 1 or not separator.isascii()):
        raise InputError(f"--separator is one ASCII character, not {separator!r}")
    if cluster is not None and solver is None and not l2:
        solver = "owlqn"
        console.stderr().print(
            "[dim]solver owlqn, since SGD works on one machine only; --solver chooses[/dim]"
        )
    strength = _strength(l1, solver, l2)
    chosen, number, l2 = solver_of(solver, None if isinstance(strength, str) else strength, l2, {
        "method": method, "schedule": schedule, "eta0": eta0, "decay": decay, "batch_size": batch_size,
        "passes": _passes(passes), "tolerance": tolerance, "seed": seed, "threads": threads,
    })  # fmt: skip
    settings: dict[str, Any] = {
        "l1": "auto" if strength == "auto" else number, "l2": l2, "solver": chosen, "pairs": pairs,
        "min_count": min_count,
        "class_weight": weights_of(class_weight), "patience": patience, "threads": threads, "random_state": seed,
    }  # fmt: skip
    if model == "segment":
        if constrain not in (None, "iob2") or settings.pop("pairs") != "seen":
            raise InputError("--model segment reads labels as iob2, and has weights for seen pairs")
    elif constrain is not None:
        if model != "crf":
            raise InputError(f"--constrain needs --model crf; {model} has no transitions")
        settings["constrain"] = constrain
    if order != 1:
        if model != "crf":
            raise InputError(f"--order 2 needs --model crf, not {model}")
        settings["order"] = order
    if alternatives is not None and (model != "crf" or order != 1):
        raise InputError("--alternatives needs --model crf and --order 1")
    lists = {"classes": classes, "gazetteer": gazetteer, "vectors": vectors}
    spec = ColumnSpec(format, separator, tuple(comments or ()))
    if (sharding := Sharding(shards, n_shards, cluster)).asked_for:
        if alternatives is not None:
            raise InputError("--alternatives needs all sentences in memory, without --shards and --cluster")
        if strength == "auto" and dev is None:
            raise InputError(
                "--l1 auto with --shards and --cluster needs --dev FILE to choose by; or give a number"
            )
        if model in ("history", "segment") or order != 1 or solver == "adagrad":
            raise InputError(
                "--shards and --cluster take --model crf or maxent, --order 1, and --solver sgd, owlqn or lbfgs"
            )
        from epigram.cli.sharded import tagger_on_shards

        tagger_on_shards(
            run,
            train,
            dev,
            sharding,
            settings,
            lambda head: spec.completed(head, str(train), label_column, _numbers(columns)),
            lambda observations, labels: fitting_template(
                template, model, observations, labels.strings
            ).with_lists(**lists),
            spec,
            _record,
        )
        return
    corpus = spec.parse(read_bytes(train), str(train))
    spec = spec.completed(corpus, str(train), label_column, _numbers(columns))
    observations, labels = spec.split(corpus)
    warn_of_labels(train, labels.strings, len(observations.columns[0].strings))
    warn_of_lengths(train, corpus.n_sentences, corpus.n_tokens)
    held_out = None if dev is None else spec.split(spec.parse(read_bytes(dev), str(dev)))
    if held_out is not None:
        warn_of_unknown(held_out[1].strings, labels.strings, dev)
    ptr = observations.sentence_ptr
    answers = labels if alternatives is None else read_alternatives(labels, ptr, alternatives)
    names = [
        name
        for cell in labels.strings
        for name in (cell.split(alternatives) if alternatives else [cell])
        if name
    ]
    chosen_template = fitting_template(template, model, observations, names).with_lists(**lists)
    chosen_template.check(observations.n_columns, str(train))
    estimator = _estimator(model, chosen_template, settings)
    _fit(run, estimator, observations, answers, held_out)
    estimator.columns_ = spec
    record = {**_record(estimator), "train_seconds": run.cost["seconds"], "template": chosen_template.path}
    run.finish(
        record,
        save=lambda: estimator.save(output),
        draw=lambda target: plot_training(estimator.history_, target),
    )


def _strength(text: str | None, solver: str | None, l2: float | None) -> float | str | None:
    """``--l1``: a number, or ``auto`` where nothing else is penalised."""
    if text is None or text == "auto":
        if text and (l2 or solver not in (None, "sgd", "owlqn", "adagrad")):
            raise InputError("--l1 auto is for l1 alone, with --solver sgd, adagrad or owlqn")
        return text
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0.0 <= number < float("inf"):
        raise InputError(f"--l1 is auto or a number of at least 0, not {text!r}")
    return number


def solver_of(
    name: str | None, l1: float | None, l2: float | None, options: dict[str, Any]
) -> tuple[Any, float, float]:
    """A solver and the strengths of the penalty, from options that may be missing."""
    from epigram.solvers.quasi_newton import LBFGS, OWLQN

    if options["passes"] == "auto" and (name not in (None, "sgd") or l2):
        raise InputError("--passes auto is for --solver sgd; others stop by themselves, or take a number")
    if l2 is None:
        l2 = 1.0 if name == "lbfgs" and not l1 else 0.0
    if l1 is None:
        l1 = 0.0 if l2 and name != "owlqn" else 1.0
    usual = name is None
    name = name or ("sgd" if not l2 else "owlqn" if l1 else "lbfgs")
    if name in ("sgd", "adagrad") and l2:
        raise InputError(
            f"--solver {name} takes --l1 only; use --solver owlqn for --l1 with --l2, lbfgs for --l2"
        )
    if name == "lbfgs" and l1:
        raise InputError("--solver lbfgs takes --l2 only; use --solver owlqn for --l1")
    if name == "owlqn" and not l1:
        raise InputError("--solver owlqn needs --l1 above 0; use --solver lbfgs for --l2 alone")
    if name in ("sgd", "adagrad"):
        return _stochastic(name, options), l1, l2
    if not options["tolerance"] > 0.0:
        raise InputError(f"--tolerance is above 0, not {options['tolerance']!r}")
    from epigram.solvers.make import SETTLED

    kind = OWLQN if name == "owlqn" else LBFGS
    limit, threads = options["passes"] or 2000, options["threads"]
    settled = SETTLED if usual and name == "owlqn" else 0.0
    solver = kind(tolerance=options["tolerance"], max_iterations=limit, threads=threads, settled=settled)
    return solver, l1, l2


def _stochastic(name: str, options: dict[str, Any]) -> Any:
    """SGD or AdaGrad."""
    from epigram.solvers.adagrad import AdaGrad
    from epigram.solvers.sgd import SGD

    if name == "adagrad":
        return AdaGrad(**_steps(options, decay=0.95))
    return SGD(options["method"], options["schedule"], **_steps(options, decay="auto"))


def _steps(options: dict[str, Any], decay: float | str) -> dict[str, Any]:
    """The options that all stochastic solvers have."""
    return {
        "eta0": _rate(options["eta0"]),
        "decay": decay if options["decay"] is None else _between(options["decay"]),
        "passes": options["passes"] or 30,
        "batch_size": options["batch_size"],
        "random_state": options["seed"],
    }


def weights_of(text: str | None) -> dict[str, float] | str | None:
    """``balanced``, or ``LABEL=W,LABEL=W``."""
    if text is None or text == "balanced":
        return text
    weights = {}
    for item in text.split(","):
        label, equals, number = item.rpartition("=")
        try:
            weights[label] = float(number)
        except ValueError:
            equals = ""
        if not equals or weights[label] < 0:
            raise InputError(f"--class-weight is balanced or LABEL=W,LABEL=W with W >= 0, not {item!r}")
    return weights


def _passes(text: str | None) -> int | str | None:
    if text is None or text == "auto":
        return text
    if not text.isdecimal() or int(text) < 1:
        raise InputError(f"--passes is auto or a whole number of at least 1, not {text!r}")
    return int(text)


def _rate(text: str) -> float | str:
    if text == "auto":
        return text
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0.0 < rate < float("inf"):
        raise InputError(f"--eta0 is auto or a number above 0, not {text!r}")
    return rate


def _between(decay: float) -> float:
    if not 0.0 < decay <= 1.0:
        raise InputError(f"--decay is above 0 and at most 1, not {decay!r}")
    return decay


def _numbers(text: str | None) -> tuple[int, ...] | None:
    """``0,1`` as numbers."""
    try:
        return None if text is None else tuple(int(item) for item in text.split(","))
    except ValueError:
        raise InputError(f"--columns is a list of numbers such as 0,1, not {text!r}") from None


def fitting_template(name: str | None, model: str, observations: Columns, labels: list[str]) -> Template:
    """The template asked for, or the built-in one that fits; without its ``B`` lines for tokens one by one."""
    from epigram.chain.chunks import are_chunk_labels
    from epigram.features.template import Template

    if name is None:
        chunked = are_chunk_labels(labels)
        name = "chunking" if observations.n_columns > 1 else "ner" if chunked else "pos"
        name += "+" if model == "segment" else ""
        console.stderr().print(f"[dim]template {name}; see epigram tag template {name}[/dim]")
    template = Template.load(name)
    if model != "maxent":
        return template
    lines = [line for line in template.text.splitlines() if not line.strip().startswith("B")]
    return Template.parse("\n".join(lines) + "\n", template.path)


def _estimator(model: str, template: Template, settings: dict[str, Any]) -> SentenceEstimator:
    from epigram.tagging.crf import CRFTagger
    from epigram.tagging.history import MaxentTagger
    from epigram.tagging.segment import SegmentTagger

    kind: Any = {"history": MaxentTagger, "segment": SegmentTagger}.get(model, CRFTagger)
    estimator: SentenceEstimator = kind(template, **settings)
    return estimator


def _fit(
    run: TrainingRun,
    estimator: SentenceEstimator,
    observations: Columns,
    labels: Labels,
    dev: tuple[Columns, Column] | None,
) -> None:
    """Fit with a progress display."""
    passes = getattr(estimator.solver, "passes", None)
    total = passes if isinstance(passes, int) else None
    with run.progress("passes" if passes else "iterations", total, "pass") as show:
        show(0, "reading features")

        def on_pass(entry: dict[str, Any]) -> bool:
            status = f"objective {entry['objective']:,.1f}, {entry['nonzero']:,} active"
            if "dev_score" in entry:
                status += f", dev {entry['dev_score']:.2%}"
            return show(entry["iteration"], status)

        estimator.fit(observations, labels, dev=dev, callback=on_pass)


def _record(estimator: Any) -> dict[str, Any]:
    """The fit as the command reports it."""
    fit, history = estimator.fit_, estimator.history_
    record = {
        "passes": fit["iterations"],
        "stopped": fit["stopped"],
        "objective": fit["objective"],
        "active_features": fit["active_features"],
        "features": fit["features"],
        "labels": len(estimator.classes_),
        "sentences": fit["sentences"],
        "tokens": fit["tokens"],
    }
    if "path" in fit:
        record["l1"] = fit["l1"]
    scored = [entry for entry in history if "dev_score" in entry]
    if scored:
        best = max(scored, key=lambda entry: entry["dev_score"])
        record |= {"dev_score": best["dev_score"], "best_pass": best["iteration"]}
    return record
