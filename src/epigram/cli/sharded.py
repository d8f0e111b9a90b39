"""``train --shards`` and ``--cluster``: trains a model on a folder of shards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epigram.cli.cluster import engine_of, record_of, say_if_small, status_of
from epigram.errors import InputError

if TYPE_CHECKING:
    from epigram.cli.run import Sharding, TrainingRun
    from epigram.features.formats import ColumnSpec
    from epigram.features.template import Template
    from epigram.lm.loglinear.model import LogLinearLM
    from epigram.outofcore.dataset import Manifest
    from epigram.outofcore.engine import Engine, Told
    from epigram.protocols import Iteration
    from epigram.tagging.outofcore.crf import TaggerShards
    from epigram.tuning import SearchTrial

HEAD = 1 << 20  # bytes of the text that say what its columns are


def tagger_on_shards(
    run: TrainingRun,
    train: Path,
    dev: Path | None,
    sharding: Sharding,
    settings: dict[str, Any],
    spec_of: Callable[[Any], ColumnSpec],
    template_of: Callable[[Any, Any], Template],
    spec: ColumnSpec,
    record_of_fit: Callable[[Any], dict[str, Any]],
) -> None:
    """Write the shards, unless they are there, train on them, save, report."""
    from epigram.cli.plots import plot_training
    from epigram.cli.run import watch
    from epigram.files import read_bytes
    from epigram.tagging.column_tagger import warn_of_labels, warn_of_lengths, warn_of_unknown
    from epigram.tagging.crf import CRFTagger

    folder = sharding.folder_for(run.output)
    with engine_of(sharding.cluster, settings["threads"]) as engine:
        with run.progress("shards") as show:
            shards, spec = _shards(
                train, folder, sharding, settings, spec_of, template_of, spec, engine, show
            )
        facts = shards.manifest.header
        say_if_small(sharding.cluster, facts["tokens"])
        warn_of_labels(train, facts["classes"])
        warn_of_lengths(train, facts["sentences"], facts["tokens"])
        held_out = None if dev is None else spec.split(spec.parse(read_bytes(dev), str(dev)))
        if held_out is not None:
            warn_of_unknown(held_out[1].strings, facts["classes"], dev)
        estimator = CRFTagger(shards.template, **settings)
        passes = getattr(settings["solver"], "passes", None)
        total = passes if isinstance(passes, int) else None  # "auto" is not known before
        with run.progress("passes" if passes else "iterations", total) as show:
            callback = watch(show, lambda: status_of(engine))
            estimator.fit_shards(shards, engine=engine, dev=held_out, callback=callback)
        work = record_of(engine)
    estimator.columns_ = spec
    record = {
        **record_of_fit(estimator),
        "train_seconds": run.cost["seconds"],
        "template": shards.template.path,
        "shards": shards.manifest.n_shards,
        **work,
    }
    run.finish(
        record,
        save=lambda: estimator.save(run.output),
        draw=lambda target: plot_training(estimator.history_, target),
    )


def _shards(
    train: Path,
    folder: Path,
    sharding: Sharding,
    settings: dict[str, Any],
    spec_of: Any,
    template_of: Any,
    spec: ColumnSpec,
    engine: Engine,
    show: Any,
) -> tuple[TaggerShards, ColumnSpec]:
    """The shards of this text and these settings: those that are there, or new ones."""
    from epigram.outofcore.dataset import is_finished
    from epigram.outofcore.file_slices import BLANK_LINE, LINE, cut
    from epigram.tagging.outofcore.crf import TaggerShards
    from epigram.tagging.outofcore.encode import is_current, write_shards

    _check_file(train)
    ends = LINE if spec.format in ("text", "slash") else BLANK_LINE
    head = cut([train], ends, HEAD)
    if not head:
        raise InputError("no tokens: the file is empty or blank", path=train)
    corpus = spec.parse(head[0].read(), str(train))
    spec = spec_of(corpus)
    template = template_of(*spec.split(corpus))
    asked = (sharding.n_shards, settings["min_count"], settings["pairs"])
    if is_finished(folder):
        found = TaggerShards.open(folder)
        if is_current(found.manifest, [train], template, spec, *asked):
            return found, spec

    write_shards(
        [train], folder, template, spec,
        n_shards=asked[0], min_count=asked[1], pairs=asked[2], engine=engine, told=_told(show, engine),
    )  # fmt: skip
    return TaggerShards.open(folder), spec


def language_model_on_shards(
    run: TrainingRun,
    model: LogLinearLM,
    text: Path,
    valid: Path | None,
    bits: int,
    sharding: Sharding,
) -> None:
    """Write the text as a folder of ids, fit a model on its shards, save it, report."""
    from epigram.cli.plots import plot_trials
    from epigram.lm.loglinear.problem import most_iterations
    from epigram.lm.outofcore.loglinear import check_sharded, solve_stream

    check_sharded(model, valid is not None)
    history: list[tuple[int, float | None]] = []
    with engine_of(sharding.cluster, model.threads) as engine:
        with run.progress("words") as show:
            manifest = _words(model, text, sharding.folder_for(run.output), engine, _told(show, engine))
        say_if_small(sharding.cluster, manifest.header["tokens"])
        with run.progress("training", most_iterations(model.make_solver())) as show:

            def on_iteration(now: Iteration) -> bool:
                history.append((now.number, now.optimality))
                status = f"objective {now.objective:,.0f}, {now.nonzero:,} weights, gap {now.optimality:.1e}"
                return show(now.number, status + status_of(engine))

            def on_trial(trial: SearchTrial) -> bool:
                return show(0, description=f"best fit: {trial.best:.2f} (now {trial.perplexity:.2f})")

            fitted = solve_stream(model, manifest, engine, sharding.n_shards, on_iteration, valid, on_trial)
            record = fitted.record
        run.finish(
            {**record, **record_of(engine)},
            save=lambda: fitted.save(run.output, bits),
            draw=lambda plot: plot_trials(fitted.trials, history, plot),
        )


def _words(model: LogLinearLM, text: Path, folder: Path, engine: Engine, told: Told) -> Manifest:
    """The text as a folder of ids, within the limits that the model sets to its vocabulary."""
    from epigram.lm.outofcore.encode import write_stream

    _check_file(text)
    limits: dict[str, Any] = {
        "min_count": model.min_count,
        "max_words": model.max_words,
        "vocabulary": model.vocabulary,
    }
    return write_stream([text], folder, engine=engine, told=told, **limits)


def _check_file(text: Path) -> None:
    if str(text) == "-":
        raise InputError("--shards takes a file, not standard input: it is read more than once")


def _told(show: Any, engine: Engine) -> Told:
    """Callback that shows the progress of writing shards, and stops on request."""

    def told(what: str, done: int, total: int) -> None:
        if show(done, f"of {total}{status_of(engine)}", what):
            raise KeyboardInterrupt

    return told
