"""Installs the IBus engine for a user, removes it, and checks what it needs."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

SYSTEM_COMPONENTS = "/usr/share/ibus/component"
PYTHON = "/usr/bin/python3"
"""Python of the system, which has gi."""
COMPONENT = """<?xml version="1.0" encoding="utf-8"?>
<component>
  <name>org.freedesktop.IBus.Epigram</name>
  <description>epigram</description>
  <exec>{command}</exec>
  <version>1</version>
  <license>MIT</license>
  <textdomain>epigram</textdomain>
  <engines>
    <engine>
      <name>epigram</name>
      <language>ja</language>
      <license>MIT</license>
      <layout>default</layout>
      <longname>Epigram</longname>
      <description>Japanese input method of epigram</description>
      <symbol>あ</symbol>
      <rank>1</rank>
    </engine>
  </engines>
</component>
"""


class InstallCheck(NamedTuple):
    """Result of one check, and what to do if it failed."""

    name: str
    is_fine: bool
    advice: str


class EnginePlaces:
    """Files that an installation writes, in the folders of a user."""

    def __init__(self) -> None:
        home = Path.home()
        data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local/share")
        config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
        self.engine = data / "epigram-ime/ibus_engine.py"
        self.settings = data / "epigram-ime/engine.json"
        self.component = data / "ibus/component/epigram.xml"
        self.environment = config / "environment.d/epigram-ime.conf"

    @property
    def all(self) -> list[Path]:
        """All files."""
        return [self.engine, self.settings, self.component, self.environment]


def install(model: Path, journal: Path, path: Path) -> EnginePlaces:
    """Write the engine, its component and the environment of the session."""
    places = EnginePlaces()
    for file in places.all:
        file.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "epigram", "ime", "server", str(model.resolve()), "--socket", str(path)]
    command += ["--user", str(journal.resolve())]
    places.engine.write_text(
        files("epigram.ime.desktop").joinpath("ibus_engine.py").read_text("utf-8"), "utf-8"
    )
    places.engine.chmod(0o755)
    places.settings.write_text(json.dumps({"command": command, "socket": str(path)}), "utf-8")
    places.component.write_text(COMPONENT.format(command=escape(f"{PYTHON} {places.engine} --ibus")), "utf-8")
    folders = f"{places.component.parent}:{SYSTEM_COMPONENTS}"
    places.environment.write_text(f"IBUS_COMPONENT_PATH={folders}\n", "utf-8")
    return places


def uninstall() -> list[Path]:
    """Remove the files of an installation, and folders left empty; returns the files."""
    removed = [file for file in EnginePlaces().all if file.exists()]
    for file in removed:
        file.unlink()
    for folder in [file.parent for file in removed] + [
        file.parent.parent for file in removed if "ibus" in file.parts
    ]:
        with suppress(OSError):  # not empty, or gone already
            folder.rmdir()
    return removed


def doctor() -> list[InstallCheck]:
    """Check daemon, gi, component, environment, model and server."""
    places = EnginePlaces()
    command, path = _installed_command(places)
    model = Path(command[5]) if len(command) > 5 else None
    probe = "import gi; gi.require_version('IBus', '1.0'); from gi.repository import IBus"
    has_python = Path(PYTHON).exists()
    has_gi = (
        has_python and not subprocess.run([PYTHON, "-c", probe], capture_output=True, check=False).returncode
    )
    in_path = str(places.component.parent) in os.environ.get("IBUS_COMPONENT_PATH", "").split(":")
    system = Path(SYSTEM_COMPONENTS, places.component.name).exists()
    again = "run: epigram ime install"
    return [
        InstallCheck(
            "ibus-daemon", shutil.which("ibus-daemon") is not None, "install ibus, such as: apt install ibus"
        ),
        InstallCheck("gi with IBus", has_gi, "install it, such as: apt install python3-gi gir1.2-ibus-1.0"),
        InstallCheck("engine", places.engine.exists() and bool(command), again),
        InstallCheck("component", places.component.exists(), again),
        InstallCheck("component path", in_path or system, "log in again; IBus reads the new component then"),
        InstallCheck("model", model is not None and model.exists(), f"its file is missing; {again}"),
        InstallCheck("server", _answers(path), "it starts with the first key of the engine"),
    ]


def _installed_command(places: EnginePlaces) -> tuple[list[str], str]:
    """Command and socket of the server; none if they are not installed or cannot be read."""
    try:
        found = json.loads(places.settings.read_text("utf-8"))
        return [str(word) for word in found["command"]], str(found["socket"])
    except (OSError, ValueError, KeyError, TypeError):
        return [], ""


def _answers(path: str) -> bool:
    """Whether a server answers at a socket."""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(2)
            connection.connect(path)
            connection.sendall(b"{}\n")
            return b'"preedit"' in connection.recv(65536)
    except OSError:
        return False
