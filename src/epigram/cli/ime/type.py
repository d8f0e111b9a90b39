"""``epigram ime type``: an input method in the terminal."""

from __future__ import annotations

from epigram.cli.ime.arguments import Installed, User, open_installed


def command(
    model: Installed = None,
    user: User = None,
    private: bool = False,
) -> None:
    """Type Japanese in the terminal.

    Type romaji or kana, convert with space, choose with the arrows, commit with enter. Corrections are learnt.

    Parameters
    ----------
    private : Learn nothing in this session.
    """
    from epigram.ime.typing.editor import Editor
    from epigram.ime.typing.terminal import run
    from epigram.ime.user.settings import UserSettings, settings_file

    converter, _, journal = open_installed(model, user)
    settings = UserSettings.load(settings_file())
    settings.private = private
    run(Editor(converter, settings=settings), lambda: converter.journal.save(journal))
