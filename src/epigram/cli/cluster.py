"""Option ``--cluster``, and the engine it chooses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from epigram.cli import console

if TYPE_CHECKING:
    from epigram.outofcore.engine import Engine

Cluster = Annotated[
    str | None,
    typer.Option(
        metavar="local:N|ADDRESS|FILE",
        help="Work on a Dask cluster: N processes here, a scheduler's address or its file.",
        rich_help_panel="More than memory, more than one machine",
    ),
]
PAYS = 10_000_000  # tokens from which a second machine is worth what it costs


@contextmanager
def engine_of(cluster: str | None, threads: int) -> Iterator[Engine]:
    """Threads of this process, or a cluster."""
    if cluster is None:
        from epigram.outofcore.engine import Here

        yield Here(threads)
        return
    from epigram.outofcore.dask import connect

    with connect(cluster) as engine:
        yield engine


def say_if_small(cluster: str | None, tokens: int) -> None:
    """One machine is faster on a text of this size."""
    if cluster is not None and tokens < PAYS:
        console.stderr().print(
            f"[dim]{tokens:,} tokens: one machine is faster below some {PAYS:,}; leave out --cluster[/dim]"
        )


def status_of(engine: Engine) -> str:
    """Progress text of a cluster: workers and retries; empty for this process."""
    from epigram.outofcore.dask import DaskEngine

    if not isinstance(engine, DaskEngine):
        return ""
    again = f", {engine.again} asked again" if engine.again else ""
    return f", {engine.workers} workers{again}, {engine.megabytes:,.0f} MB moved"


def record_of(engine: Engine) -> dict[str, Any]:
    """Fields of a report about a cluster."""
    from epigram.outofcore.dask import DaskEngine

    if not isinstance(engine, DaskEngine):
        return {}
    return {
        "workers": engine.workers,
        "evaluations": engine.asked,
        "asked_again": engine.again,
        "megabytes_moved": engine.megabytes,
    }
