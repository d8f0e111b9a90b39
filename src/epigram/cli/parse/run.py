"""``epigram parse run``: parses a CoNLL-U file."""

from __future__ import annotations

from pathlib import Path

from epigram.cli import console
from epigram.cli.options import JsonLines, Model, Threads
from epigram.cli.parse.arguments import Decoding, load_parser, parse_all
from epigram.errors import InputError


def command(
    model: Model,
    source: Path = Path("-"),
    decoding: Decoding = None,
    nbest: int | None = None,
    keep: bool = False,
    picture: bool = False,
    svg: Path | None = None,
    threads: Threads = 1,
    json: JsonLines = False,
) -> None:
    """Parse a CoNLL-U file; prints it with heads and relations filled in.

    Parameters
    ----------
    source [INPUT] : CoNLL-U; - reads standard input.
    nbest K >= 1 : Number of best trees to print per sentence, each with its probability.
    keep : Keep the heads and relations of the input, except _.
    picture : Draw the trees instead of writing CoNLL-U.
    svg FOLDER : Folder to write each tree to, as 1.svg, 2.svg, ...
    """
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
    console.write(lines)
