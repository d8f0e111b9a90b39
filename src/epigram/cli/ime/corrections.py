"""``epigram ime corrections``: lists, forgets, exports and imports learnt corrections."""

from __future__ import annotations

from pathlib import Path

from epigram.cli import console
from epigram.cli.ime.arguments import Export, Format, Journal, Search, open_words
from epigram.cli.options import Json
from epigram.errors import InputError


def command(
    user: Journal = None,
    search: Search = None,
    forget: list[int] | None = None,
    export: Export = None,
    format: Format = "epigram",
    source: Path | None = None,
    json: Json = False,
) -> None:
    """List learnt corrections by number; search, forget, export or import them.

    The formats of other input methods hold the reading and the text of each correction as a word.

    Parameters
    ----------
    forget NUMBER : Correction to forget; may be repeated.
    source --import FILE : Corrections to add, as --export writes them.
    """
    from epigram.ime.corrections import Journal as Corrections
    from epigram.ime.lexicon.dictionary_formats import Entry, write_dictionary
    from epigram.storage import write_atomically

    path, converter = open_words(user)
    journal = converter.journal
    if source is not None:
        if not source.exists():
            raise InputError("cannot read: there is no such file", path=source)
        known = {repr(lesson) for lesson in journal.lessons}
        more = Corrections.load(converter.decoder, source).lessons
        if not more:
            raise InputError("no corrections; expected a file that --export wrote", path=source)
        journal.lessons += [lesson for lesson in more if repr(lesson) not in known]
    for number in sorted(set(forget or ()), reverse=True):
        if not 1 <= number <= len(journal.lessons):
            raise InputError(f"no correction {number}; there are {len(journal.lessons)}")
        del journal.lessons[number - 1]
    if forget or source is not None:
        journal.save(path)
    rows = [
        (number, lesson)
        for number, lesson in enumerate(journal.lessons, 1)
        if search is None or search in lesson.reading or search in lesson.chosen
    ]
    if export is not None and format == "epigram":
        write_atomically(export, "".join(lesson.line() for _, lesson in rows).encode())
    elif export is not None:
        write_dictionary([Entry(lesson.reading, lesson.chosen) for _, lesson in rows], export, format)
    elif json:
        found = [
            {"number": k, "reading": one.reading, "text": one.chosen, "before": one.before} for k, one in rows
        ]
        console.print_json({"file": str(path), "corrections": found})
    else:
        for number, lesson in rows:
            print(console.echoed(f"{number}\t{lesson.reading}\t{lesson.chosen}"))
    if export is not None:
        print(f"{len(rows):,} corrections in {export}")
