"""``epigram ime words``: imports, exports, removes, searches or lists the words of a user."""

from __future__ import annotations

from pathlib import Path

from epigram.cli import console
from epigram.cli.ime.arguments import Export, Format, Journal, Search, open_words
from epigram.cli.options import Json


def command(
    dictionaries: list[Path] | None = None,
    user: Journal = None,
    remove: list[str] | None = None,
    search: Search = None,
    export: Export = None,
    format: Format = "epigram",
    json: Json = False,
) -> None:
    """Import, export, remove, search or list user words.

    Without DICTIONARY and --remove, print the surface and the reading of each word, one word per line.

    Parameters
    ----------
    dictionaries DICTIONARY... : Dictionaries to import: Mozc, Google, MS-IME, ATOK or SKK.
    remove SURFACE/READING : User word to remove; may be repeated.
    """
    from epigram.ime.kana import split_token
    from epigram.ime.lexicon.dictionary_formats import read_dictionary, write_dictionary

    path, converter = open_words(user)
    taken = [entry for path_ in dictionaries or () for entry in read_dictionary(path_)]
    gone = [split_token(token)[::-1] for token in remove or ()]
    if taken:
        converter.add_words(taken)
    if gone:
        converter.remove_words(gone)
    if taken or gone:
        converter.journal.save(path)
    words = converter.user_dictionary
    kept = [one for one in words if search is None or search in one.reading or search in one.surface]
    if export is not None:
        write_dictionary(kept, export, "mozc" if format == "epigram" else format)
    if json:
        console.print_json({"taken": len(taken), "removed": len(gone), "words": kept})
    elif export is not None:
        print(f"{len(kept):,} words in {export}")
    elif taken or gone:
        print(f"{len(taken):,} words taken, {len(gone):,} removed, {len(words):,} in {path}")
    else:
        for entry in kept:
            print(console.echoed(f"{entry.surface}\t{entry.reading}"))
