"""``epigram ime type``: an input method in the terminal."""

from __future__ import annotations

from epigram.cli.ime.arguments import Model, User, load_converter


def command(model: Model, user: User = None) -> None:
    """Type Japanese in the terminal.

    Type romaji or kana, convert with space, choose with the arrows, commit with enter. Corrections are learnt.
    """
    from epigram.ime.typing.editor import Editor
    from epigram.ime.typing.terminal import run

    journal = user or model.with_suffix(".corrections.jsonl")
    converter = load_converter(model, journal)
    run(Editor(converter), lambda: converter.journal.save(journal))
