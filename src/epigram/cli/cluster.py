"""``--cluster``: the engine it stands for, and commands that treat sentence after sentence run on pieces of a file."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from epigram import cli
from epigram.errors import InputError

if TYPE_CHECKING:
    from epigram.scale.engine import Engine

SCALE = "More than memory, more than one machine"
Cluster = Annotated[
    str | None,
    typer.Option(
        metavar="local:N|ADDRESS|FILE",
        help="Work on a Dask cluster: N processes here, a scheduler's address or its file.",
        rich_help_panel=SCALE,
    ),
]
Shards = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="Encode the text into this folder and train from it: text larger than memory.",
        rich_help_panel=SCALE,
    ),
]
NShards = Annotated[
    int | None,
    typer.Option(min=1, metavar="K", help="Shards (by the size of the text).", rich_help_panel=SCALE),
]
PAYS = 10_000_000  # tokens from which a second machine is worth what it costs
SMALLEST = 1 << 16  # bytes of a piece


@contextmanager
def engine_of(cluster: str | None, threads: int) -> Iterator[Engine]:
    """Threads of this process, or a cluster."""
    if cluster is None:
        from epigram.scale.engine import Here

        yield Here(threads)
        return
    from epigram.scale.dask import connect

    with connect(cluster) as engine:
        yield engine


def say_if_small(cluster: str | None, tokens: int) -> None:
    """One machine is faster on a text of this size."""
    if cluster is not None and tokens < PAYS:
        cli.stderr().print(
            f"[dim]{tokens:,} tokens: one machine is faster below some {PAYS:,}; leave out --cluster[/dim]"
        )


def status_of(engine: Engine) -> str:
    """What a progress bar shows of a cluster; nothing of this process."""
    from epigram.scale.engine import Here

    if isinstance(engine, Here):
        return ""
    tally = engine.tally
    again = f", {tally.again} asked again" if tally.again else ""
    return f", {engine.workers} workers{again}, {tally.megabytes:,.0f} MB moved"


def record_of(engine: Engine) -> dict[str, Any]:
    """What a report says of a cluster."""
    from epigram.scale.engine import Here

    if isinstance(engine, Here):
        return {}
    tally = engine.tally
    return {
        "workers": engine.workers,
        "evaluations": tally.asked,
        "asked_again": tally.again,
        "megabytes_moved": tally.megabytes,
    }


def run_in_pieces(words: list[str], source: Path | None, cluster: str, between: re.Pattern[bytes]) -> None:
    """Run ``epigram WORDS`` with each piece of a file as its standard input; the outputs follow each other in order."""
    from epigram.scale.pieces import PARTITION_BYTES, cut

    if source is None or str(source) == "-":
        raise InputError("--cluster takes a file that all workers see, not standard input")
    if not source.is_file():
        raise InputError("cannot read: no such file", path=source)
    with engine_of(cluster, 1) as engine, cli.progress() as bar:
        size = source.stat().st_size // max(4 * engine.workers, 1)
        pieces = cut([source.resolve()], between, min(max(size, SMALLEST), PARTITION_BYTES))
        task = bar.add_task("pieces", total=len(pieces), status="")
        done = 0
        while done < len(pieces):
            some = pieces[done : done + 2 * engine.workers]
            for out in engine.ask(run_piece, engine.make(_itself, some), [words] * len(some)):
                sys.stdout.buffer.write(out)
            done += len(some)
            bar.update(task, completed=done, status=status_of(engine).removeprefix(", "))
    sys.stdout.buffer.flush()


def _itself(piece: Any) -> Any:
    return piece


def run_piece(piece: Any, words: list[str]) -> bytes:
    """On a worker: the output of a command for a piece of its input."""
    raw: bytes = piece.read()
    if not raw.strip() and words[0] != "ime":
        return raw if words[:2] == ["tag", "run"] and "--json" not in words else b""
    done = subprocess.run(
        [sys.executable, "-m", "epigram", *words], input=raw, capture_output=True, timeout=1500
    )
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["no message"]
        message = said[-1].removeprefix("epigram: ")
        place = re.match(r"-:(\d+): ", message)
        if place is not None:
            line = int(place[1]) + piece.lines_before()
            raise InputError(message[place.end() :], path=piece.path, line=line)
        raise InputError(message.removeprefix("-: "), path=piece.path)
    return done.stdout
