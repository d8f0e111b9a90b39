"""``epigram ime words``: imports, removes or lists the words of a user."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from epigram.cli import console
from epigram.cli.options import Json


def command(
    user: Annotated[
        Path, typer.Option(metavar="FILE", help="Journal of corrections and user words (JSON lines).")
    ],
    dictionaries: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="DICTIONARY...", help="Dictionaries to import: Mozc, Google, MS-IME, ATOK or SKK."
        ),
    ] = None,
    remove: Annotated[
        list[str] | None,
        typer.Option(metavar="SURFACE/READING", help="User word to remove; may be repeated."),
    ] = None,
    json: Json = False,
) -> None:
    """Import, remove or list user words.

    Without DICTIONARY and --remove, print the surface and the reading of each word, one word per line.
    """
    from epigram.ime import KanaKanjiConverter
    from epigram.ime.corrections import Journal
    from epigram.ime.kana import split_token
    from epigram.ime.lexicon.dictionary_formats import read_dictionary

    converter = KanaKanjiConverter.build(["。"])
    converter.journal = Journal.load(converter.decoder, user)
    taken = [entry for path in dictionaries or () for entry in read_dictionary(path)]
    gone = [split_token(token)[::-1] for token in remove or ()]
    if taken:
        converter.add_words(taken)
    if gone:
        converter.remove_words(gone)
    if taken or gone:
        converter.journal.save(user)
    kept = converter.user_dictionary
    if json:
        console.print_json({"taken": len(taken), "removed": len(gone), "words": kept})
    elif taken or gone:
        print(f"{len(taken):,} words taken, {len(gone):,} removed, {len(kept):,} in {user}")
    else:
        for entry in kept:
            print(console.echoed(f"{entry.surface}\t{entry.reading}"))
