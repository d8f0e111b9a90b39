"""``epigram lm train --shards`` and ``--cluster``: a text as a folder of ids, and a model fitted on its shards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epigram.cli.cluster import engine_of, record_of, say_if_small, status_of
from epigram.errors import InputError

if TYPE_CHECKING:
    from epigram.cli.training import TrainingRun
    from epigram.lm.loglinear.model import LogLinearLM
    from epigram.protocols import Iteration


def train_on_shards(
    run: TrainingRun,
    model: LogLinearLM,
    text: Path,
    valid: Path | None,
    bits: int,
    shards: Path | None,
    n_shards: int | None,
    cluster: str | None,
    report: Callable[[Any], dict[str, Any]],
) -> None:
    """Write the text as a folder of ids, fit a model on its shards, save it, report."""
    from epigram.lm.loglinear.sharded import check_sharded, fit_stream
    from epigram.lm.plots import plot_training
    from epigram.lm.sharding import write_stream

    check_sharded(model)
    if str(text) == "-":
        raise InputError("--shards takes a file, not standard input: all workers read it")
    folder = shards or run.output.with_name(f"{run.output.name}.shards")
    history: list[tuple[int, float | None]] = []
    limits: dict[str, Any] = {
        "min_count": model.min_count,
        "max_words": model.max_words,
        "vocabulary": model.vocabulary,
    }
    with engine_of(cluster, model.threads) as engine:
        with run.progress("words") as show:

            def told(what: str, done: int, total: int) -> None:
                if show(done, f"of {total}{status_of(engine)}", what):
                    raise KeyboardInterrupt

            manifest = write_stream([text], folder, engine=engine, told=told, **limits)
        say_if_small(cluster, manifest.header["tokens"])
        with run.progress("training", model.max_iterations or 500) as show:

            def on_iteration(now: Iteration) -> bool:
                history.append((now.number, now.optimality))
                status = f"objective {now.objective:,.0f}, {now.nonzero:,} weights, gap {now.optimality:.1e}"
                return show(now.number, status + status_of(engine))

            fit_stream(model, manifest, engine, n_shards, on_iteration)
        work = record_of(engine)
    if valid is not None:
        model.valid_perplexity_ = model.perplexity(valid)
    cost = {"cpu_seconds": run.cost["cpu_seconds"]}
    run.finish(
        {"perplexity_valid": getattr(model, "valid_perplexity_", None), **report(model), **work},
        save=lambda: model.save(run.output, bits, False, cost),
        draw=lambda plot: plot_training(model.trials_, history, plot),
    )
