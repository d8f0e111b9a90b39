"""What ``epigram tag train`` does once its options are read: files, solver, fit with progress, model file, report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from epigram.cli import console
from epigram.cli.stopping import EXIT_CODE, GracefulStop
from epigram.errors import InputError
from epigram.tagging.columns import Column, Columns
from epigram.tagging.files import CONLLU_TAG, CONLLU_WORD, ColumnSpec
from epigram.tagging.template import Template
from epigram.text import read_bytes

Part = tuple[Columns, Column]


@dataclass(frozen=True)
class Plan:
    """What to learn from what, and the estimator's settings."""

    train: Path
    output: Path
    dev: Path | None
    model: str
    template: str | None
    settings: dict[str, Any]


def carry_out(
    plan: Plan,
    format: str,
    separator: str | None,
    comments: tuple[str, ...],
    label_column: int | None,
    columns: str | None,
    plot: Path | None,
    json: bool,
) -> None:
    """Read, fit, save, report; exit code 130 where the fit was interrupted."""
    if separator is not None and (len(separator) != 1 or not separator.isascii()):
        raise InputError(f"--separator is one ASCII character, not {separator!r}")
    reading = ColumnSpec(format, separator, comments)
    corpus = reading.parse(read_bytes(plan.train), str(plan.train))
    reading = _complete(reading, corpus, str(plan.train), label_column, columns)
    train = reading.split(corpus)
    dev = None if plan.dev is None else reading.split(reading.parse(read_bytes(plan.dev), str(plan.dev)))
    template = _template(plan.template, plan.model, train)
    template.check(train[0].n_columns, str(plan.train))
    estimator = _estimator(plan.model, template, plan.settings)
    watch = console.Stopwatch()
    interrupted = _fit(estimator, train, dev)
    record = {
        **_record(estimator),
        "train_seconds": watch.seconds,
        "cpu_seconds": watch.cpu_seconds,
        "template": template.path,
        "interrupted": interrupted,
    }
    record["bytes"] = save(estimator, reading, plan.output)
    if plot is not None:
        from epigram.tagging.plots import plot_training

        plot_training(estimator.history_, plot)
    console.print_json(record) if json else console.facts(str(plan.output), record)
    if interrupted:
        raise typer.Exit(EXIT_CODE)


def solver_of(
    name: str | None, l1: float | None, l2: float | None, options: dict[str, Any]
) -> tuple[Any, float, float]:
    """A solver and the strengths of the penalty, from options that may be missing."""
    from epigram.solvers import LBFGS, OWLQN

    if name == "projected" or options["radius"] is not None:
        return _inside_ball(name, l1, l2, options), 0.0, 0.0
    if l2 is None:
        l2 = 1.0 if name == "lbfgs" and not l1 else 0.0
    if l1 is None:
        l1 = 0.0 if l2 and name != "owlqn" else 1.0
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
    kind = OWLQN if name == "owlqn" else LBFGS
    limit, threads = options["passes"] or 2000, options["threads"]
    return kind(tolerance=options["tolerance"], max_iterations=limit, threads=threads), l1, l2


def _stochastic(name: str, options: dict[str, Any]) -> Any:
    """SGD or AdaGrad."""
    from epigram.solvers import SGD, AdaGrad

    if name == "adagrad":
        return AdaGrad(**_steps(options, decay=0.95))
    return SGD(options["method"], options["schedule"], **_steps(options, decay="auto"))


def _inside_ball(name: str | None, l1: float | None, l2: float | None, options: dict[str, Any]) -> Any:
    """Projected SGD, which takes a limit where the others take a price."""
    from epigram.solvers import ProjectedSGD

    if name not in (None, "projected"):
        raise InputError(f"--radius is for --solver projected; {name} takes --l1 or --l2")
    if l1 or l2:
        raise InputError("--solver projected takes --radius, a limit on sum |w|, instead of --l1 and --l2")
    if options["radius"] is None or not 0.0 < options["radius"] < float("inf"):
        raise InputError(
            f"--solver projected needs --radius R, above 0, as the limit on sum |w|; it is {options['radius']!r}"
        )
    return ProjectedSGD(options["radius"], **_steps(options, decay=0.85))


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


def _complete(
    reading: ColumnSpec, corpus: Columns, path: str, label_column: int | None, columns: str | None
) -> ColumnSpec:
    """The columns of labels and observations, as asked for or as usual for the format."""
    conllu = reading.format == "conllu" or (
        reading.format == "auto" and path.removesuffix(".gz").endswith((".conllu", ".conllup"))
    )
    n = corpus.n_columns
    label = (CONLLU_TAG if conllu else -1) if label_column is None else label_column
    corpus.split(label)  # an error where there is no such column
    if columns is None:
        observed = (CONLLU_WORD,) if conllu else tuple(k for k in range(n) if k != label % n)
    else:
        observed = _numbers(columns, n, label % n)
    if not observed:
        raise InputError("one column only: words and labels need one each", path=path)
    return ColumnSpec(
        "conllu" if conllu else reading.format, reading.separator, reading.comments, label, observed, n
    )


def _numbers(text: str, n: int, label: int) -> tuple[int, ...]:
    try:
        chosen = tuple(int(item) for item in text.split(","))
    except ValueError:
        raise InputError(f"--columns is a list of numbers such as 0,1, not {text!r}") from None
    for k in chosen:
        if not 0 <= k < n:
            raise InputError(f"--columns: there is no column {k}; there are {n}, counted from 0")
        if k == label:
            raise InputError(f"--columns: column {k} holds the labels")
    return chosen


def _template(name: str | None, model: str, train: Part) -> Template:
    """The template asked for, or the built-in one that fits; without its ``B`` lines for tokens one by one."""
    from epigram.tagging.metrics import are_chunk_labels

    if name is None:
        chunked = are_chunk_labels(train[1].strings)
        name = "chunking" if train[0].n_columns > 1 else "ner" if chunked else "pos"
        console.stderr().print(f"[dim]template {name}; see epigram tag template {name}[/dim]")
    template = Template.load(name)
    if model != "maxent":
        return template
    lines = [line for line in template.text.splitlines() if not line.strip().startswith("B")]
    return Template.parse("\n".join(lines) + "\n", template.path)


def _estimator(model: str, template: Template, settings: dict[str, Any]) -> Any:
    from epigram.tagging import CRFTagger, MaxentTagger

    return (MaxentTagger if model == "history" else CRFTagger)(template, **settings)


def _fit(estimator: Any, train: Part, dev: Part | None) -> bool:
    """Fit with a progress display; True if a signal stopped it."""
    solver = estimator.solver
    total = getattr(solver, "passes", None)
    what = "passes" if total else "iterations"
    with console.progress() as bar:

        def say() -> None:
            bar.console.print("[yellow]stopping after this pass; Ctrl-C again stops at once[/yellow]")

        task = bar.add_task(what, total=total, status="reading features")
        with GracefulStop(say) as stop:

            def show(entry: dict[str, Any]) -> bool:
                status = f"objective {entry['objective']:,.1f}, {entry['nonzero']:,} active"
                if "dev_score" in entry:
                    status += f", dev {entry['dev_score']:.2%}"
                bar.update(task, completed=entry["iteration"], status=status)
                return stop.asked

            estimator.fit(*train, dev=dev, callback=show)
    return stop.asked


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
    scored = [entry for entry in history if "dev_score" in entry]
    if scored:
        best = max(scored, key=lambda entry: entry["dev_score"])
        record |= {"dev_score": best["dev_score"], "best_pass": best["iteration"]}
    return record


def save(estimator: Any, reading: ColumnSpec, output: Path) -> int:
    """Write the model file, which remembers how its training file was read; returns its size."""
    from epigram.storage.atomic import write_atomically
    from epigram.tagging.storage import to_model_file

    file = to_model_file(estimator)
    file.header["columns"] = reading.as_dict()
    content = file.to_bytes()
    write_atomically(output, content)
    return len(content)
