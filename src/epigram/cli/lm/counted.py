"""``lm train --model kneser-ney``: trains within given memory, sorting on disk at need."""

from __future__ import annotations

import re
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from epigram.cli import console
from epigram.cli.cluster import engine_of
from epigram.cli.options import parameters, refusal
from epigram.cli.run import EXIT_CODE, TrainingRun, subject_of_command
from epigram.errors import InputError
from epigram.files import make_folder
from epigram.lm.ngram.kneser_ney import KneserNeyLM

if TYPE_CHECKING:
    from epigram.lm.ngram.train import Training

UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def _sorting(
    memory: str | None = None, tmp: Path | None = None, mapped: bool = False, dry_run: bool = False
) -> None:
    """Options of sorting on disk.

    Kneser-Ney models
    -----------------
    memory SIZE : Memory to work in, such as 500M or 4G; what does not fit is sorted on disk [default: a quarter of
        what is free]
    tmp FOLDER : Folder for what is sorted on disk [default: that of the model]
    mapped : Write the model uncompressed, for memory mapping, as epigram lm map does; without --bits.
    dry_run : Print the estimated words, memory, disk and CPU seconds, and stop.
    """


SORTING = parameters(_sorting)
"""Options of a command that can sort on disk; :func:`train_counted` reads them."""


class Stopped(Exception):
    """Raised inside a training that the user stops."""


def read_size(text: str) -> int:
    """Read a number of bytes such as ``500M`` or ``1.5G``.

    Examples
    --------
    >>> read_size("1.5G")
    1500000000
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)B?", text.strip().upper())
    if match is None or float(match[1]) == 0:
        raise refusal("memory", f"a size such as 500M or 4G, not {text!r}")
    return int(float(match[1]) * UNITS[match[2]])


def train_counted(
    run: TrainingRun,
    context: typer.Context,
    model: KneserNeyLM,
    text: Path,
    tokens: str,
    valid: Path | None,
    bits: int,
    settings: dict[str, Any],
) -> None:
    """Train a Kneser-Ney model, write it as a stream and report."""
    from epigram.lm.ngram.train import LEAST_MEMORY, Training, default_memory
    from epigram.lm.tokenizer import Tokenizer
    from epigram.storage.file import load

    memory = default_memory() if settings["memory"] is None else read_size(settings["memory"])
    if memory < LEAST_MEMORY:
        raise refusal("memory", f"at least {LEAST_MEMORY // 10**6}M, not {settings['memory']}")
    folder = settings["tmp"] or run.output.parent
    if settings["tmp"] is not None:
        make_folder(folder)
    work = folder / f"{run.output.name}.sorting"
    tokenizer = None if tokens == "words" else Tokenizer.of(tokens)
    if bits and settings["mapped"]:
        raise InputError("--bits is for compressed model files; leave out --mapped or --bits.")
    cluster: str | None = settings["cluster"]
    training = Training(
        model, [text], work, memory, bits, settings["mapped"], tokenizer, sorts=cluster is not None
    )
    if settings["dry_run"]:
        if not text.is_file():
            raise refusal("dry_run", "for a text in a file, whose size it can see; standard input has none")
        on_disk = training.need.disk if training.on_disk else 0
        need = asdict(training.need) | {"disk": on_disk, "memory": min(training.need.memory, memory)}
        console.report(need | {"on_disk": training.on_disk}, str(text), run.json)
        return
    if training.on_disk:
        training.subject = subject_of_command(context)
        console.note(
            f"{training.need.words:,} words or so: sorting on disk in {folder}, where it needs about "
            f"{training.need.disk / 1e9:.1f} GB ({memory / 1e9:.1f} GB of memory)"
        )
    with nullcontext() if cluster is None else engine_of(cluster, 1) as training.engine:
        n = _train(run, training, settings["resume"], settings["checkpoint"] > 0)
    perplexity = None if valid is None else load(run.output, "lm").perplexity(valid)
    record = {
        "perplexity_valid": perplexity,
        "parameters": n,
        "nonzero": n,
        "trie_nodes": n,
        "tree_nodes": None,
        "iterations": 0,
        "objective": None,
        "words": training.n_words,
    }
    run.finish(record, save=lambda: None)


def _train(run: TrainingRun, training: Training, resume: bool, keeps: bool) -> int:
    """Train with a progress bar; what was sorted goes, unless the user stops and may resume."""
    kept = False
    with run.progress("training", 100, "block") as show:

        def told(phase: str, at: int, of: int) -> None:
            if show(100 * at // max(of, 1), description=phase):
                raise Stopped

        training.told = told
        try:
            return training.run(run.output, resume)
        except Stopped:
            kept = keeps and training.on_disk
        finally:
            if not kept:
                training.remove()
    if kept:
        console.note(f"stopped; --resume continues from {training.work}, which is removed then")
    else:
        console.note("stopped; nothing was kept")
    raise typer.Exit(EXIT_CODE)
