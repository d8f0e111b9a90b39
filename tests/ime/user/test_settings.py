"""Settings survive a process, a damaged file, and refuse what has no meaning."""

from __future__ import annotations

from pathlib import Path

import pytest

from epigram.errors import InputError
from epigram.ime.user.settings import VALUES, UserSettings


@pytest.mark.parametrize("content", ["", "[]", "{", '{"layout": 3}', '{"colour": "red"}', "\x00"])
def test_a_damaged_file_gives_the_defaults(tmp_path: Path, content: str) -> None:
    (tmp_path / "s").write_text(content)
    assert UserSettings.load(tmp_path / "s") == UserSettings()


def test_settings_are_kept_but_for_the_private_mode(tmp_path: Path) -> None:
    settings = UserSettings()
    for name, values in VALUES.items():
        settings.set(name, values[-1])
    settings.save(tmp_path / "folder" / "s")
    settings.private = False
    assert UserSettings.load(tmp_path / "folder" / "s") == settings


@pytest.mark.parametrize(("name", "value"), [("layout", "dvorak"), ("private", 1), ("x", 1), ("width", None)])
def test_unknown_values_are_refused(name: str, value: object) -> None:
    with pytest.raises(InputError, match=name):
        UserSettings().set(name, value)
