"""Settings of a user, kept in a JSON file: punctuation, width and keyboard layout.

The private mode is a setting, too, but ends with the process.

All editors of a process share one object, so that a change holds in every window. A file that is missing or that cannot
be read gives the defaults: typing goes on.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from epigram.errors import InputError
from epigram.storage import write_atomically

VALUES: dict[str, tuple[Any, ...]] = {
    "punctuation": ("、。", "，．", "、．", "，。"), "width": ("mixed", "half", "full"), "layout": ("romaji", "kana"),
    "private": (False, True),
}  # fmt: skip
"""Values of each setting, the default first. ``width`` is that of blanks, digits and Latin letters: ``mixed`` has
full-width blanks only."""


def user_folder(kind: str = "data") -> Path:
    """Folder of epigram's data or configuration of a user."""
    variable, usual = {"data": ("XDG_DATA_HOME", ".local/share"), "config": ("XDG_CONFIG_HOME", ".config")}[
        kind
    ]
    return Path(os.environ.get(variable) or Path.home() / usual) / "epigram"


def settings_file() -> Path:
    """File of the settings."""
    return user_folder("config") / "ime.json"


@dataclass
class UserSettings:
    """Settings of a user; in private mode nothing is learnt.

    Examples
    --------
    >>> settings = UserSettings()
    >>> settings.set("layout", "kana")
    >>> settings
    UserSettings(punctuation='、。', width='mixed', layout='kana', private=False)
    """

    punctuation: str = "、。"
    width: str = "mixed"
    layout: str = "romaji"
    private: bool = False

    def set(self, name: str, value: Any) -> None:
        """Change a setting; raises InputError for an unknown name or value."""
        if name not in VALUES:
            raise InputError(f"unknown setting {name!r}; settings are {', '.join(VALUES)}")
        if value not in VALUES[name] or type(value) is not type(VALUES[name][0]):
            known = ", ".join(json.dumps(one, ensure_ascii=False) for one in VALUES[name])
            raise InputError(f"{name} must be one of {known}, not {value!r}")
        setattr(self, name, value)

    @classmethod
    def load(cls, path: Path) -> UserSettings:
        """Read the settings of a file; what is missing or wrong has its default."""
        found = cls()
        try:
            for name, value in json.loads(path.read_text("utf-8")).items():
                found.set(name, value)
        except (OSError, ValueError, AttributeError, InputError):
            pass
        return found

    def save(self, path: Path) -> None:
        """Write the settings without the private mode, which ends with the process."""
        path.parent.mkdir(parents=True, exist_ok=True)
        kept = {name: getattr(self, name) for name in VALUES if name != "private"}
        write_atomically(path, json.dumps(kept, ensure_ascii=False).encode() + b"\n")
