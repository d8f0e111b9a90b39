"""``epigram ime build``: builds a kana-kanji converter from text or from SudachiDict."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Annotated

import typer

from epigram.cli import console
from epigram.cli.ime.arguments import Quantise, Raw, describe, read_sentences
from epigram.cli.options import EVERY, Json, Output, Resume, Seconds
from epigram.errors import InputError


def command(
    context: typer.Context,
    output: Output,
    texts: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="TEXT...", help="Files of surface/reading tokens; needed unless --sudachi is given."
        ),
    ] = None,
    lexicon: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Word list: surface, reading and optionally cost and part of speech, separated by tabs.",
        ),
    ] = None,
    sudachi: Annotated[
        bool,
        typer.Option(
            "--sudachi", help="Add the words of the installed SudachiDict; without TEXT, use its costs too."
        ),
    ] = False,
    prune: Annotated[
        int, typer.Option(min=0, help="Drop trigrams that occur at most this often: a smaller model.")
    ] = 0,
    rescore: Annotated[
        bool,
        typer.Option(help="Add a rescorer of the best conversions: fewer errors, at half the speed."),
    ] = True,
    raw: Raw = False,
    checkpoint: Seconds = EVERY,
    resume: Resume = False,
    quantise: Quantise = False,
    json: Json = False,
) -> None:
    """Build a converter from text with readings and word lists, or from SudachiDict alone."""
    from epigram.cli.run import TrainingRun
    from epigram.ime import KanaKanjiConverter, WordList, read_word_list

    building = TrainingRun(output, None, json, checkpoint, resume, context=context)
    if not texts:
        if not sudachi or lexicon:
            raise InputError(
                "no text to build from; give files of surface/reading tokens, or --sudachi without --lexicon for a "
                "converter by the costs of SudachiDict alone"
            )
        with console.stderr().status("reading SudachiDict"):
            converter = KanaKanjiConverter.from_sudachi()
        building.finish(describe(converter, output), lambda: converter.save(output, quantise=quantise))
        return
    lists = [read_word_list(path) for path in lexicon or ()]
    if sudachi:
        from epigram.ime.lexicon.sudachi import read_sudachi

        lists.append(read_sudachi().words())
    words = WordList.joined(lists)
    sources: list[str | PathLike[str]] = [*texts]
    if raw:
        sources = [" ".join(tokens) for path in texts for tokens in read_sentences(path, raw)]
    with console.stderr().status("counting"), building.checkpoint:
        converter = KanaKanjiConverter.build(sources, words, prune=prune, rescore=rescore)
    building.finish(describe(converter, output), lambda: converter.save(output, quantise=quantise))
