"""``epigram parse run``: parses a CoNLL-U file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from epigram.cli import console
from epigram.cli.options import Model, Threads
from epigram.cli.parse.arguments import Decoding, load_parser, parse_all
from epigram.errors import InputError


def command(
    model: Model,
    source: Annotated[
        Path, typer.Argument(metavar="[INPUT]", help="CoNLL-U; - reads standard input.")
    ] = Path("-"),
    decoding: Decoding = None,
    nbest: Annotated[
        int | None,
        typer.Option(
            metavar="K", min=1, help="Number of best trees to print per sentence, each with its probability."
        ),
    ] = None,
    keep: Annotated[
        bool,
        typer.Option("--keep", help="Keep the heads and relations of the input, except _."),
    ] = False,
    picture: Annotated[
        bool, typer.Option("--picture", help="Draw the trees instead of writing CoNLL-U.")
    ] = False,
    svg: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Folder to write each tree to, as 1.svg, 2.svg, ...")
    ] = None,
    threads: Threads = 1,
    json: Annotated[bool, typer.Option("--json", help="Print JSON lines, one object per sentence.")] = False,
) -> None:
    """Parse a CoNLL-U file; prints it with heads and relations filled in."""
    import sys

    from epigram.cli.parse.output import json_lines, nbest_lines, pictures, write_svg
    from epigram.parsing.treebank import read_treebank

    estimator = load_parser(model, decoding, threads)
    bank = read_treebank(source)
    if nbest is not None:
        if not hasattr(estimator, "arcs_"):
            raise InputError("--nbest is for parsers; this model labels the nodes of given trees")
        lines = nbest_lines(estimator, bank, nbest, keep)
    else:
        predicted = parse_all(estimator, bank, keep)
        if svg is not None:
            write_svg(bank, predicted, svg)
        if json:
            lines = json_lines(bank, predicted)
        elif picture:
            lines = pictures(bank, predicted)
        else:
            heads = predicted.heads if predicted.column is None else None
            lines = bank.written(heads, {predicted.column or "deprel": predicted.labels})
    sys.stdout.buffer.write(console.echoed("".join(lines)).encode())
    sys.stdout.buffer.flush()
