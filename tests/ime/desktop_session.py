"""A fresh home in which the IBus engine is installed, for tests of the desktop."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import epigram

PYTHON = "/usr/bin/python3"
DAEMON = """
ibus-daemon --panel=disable --config=disable --xim=0 --cache=none 2>daemon.err &
daemon=$!
for k in $(seq 100); do ibus address 2>/dev/null | grep -q unix && break; sleep 0.1; done
"""
"""Beginning of a script in a session bus; it ends with ``kill $daemon``."""


def can_import(*modules: str) -> bool:
    """Whether the system's Python has bindings of these libraries, and the programs of IBus are there."""
    if not (shutil.which("ibus-daemon") and shutil.which("dbus-run-session") and Path(PYTHON).exists()):
        return False
    probe = "import gi\n" + "\n".join(
        f"gi.require_version({name!r}, {version!r}); from gi.repository import {name}"
        for name, version in (module.split("-") for module in modules)
    )
    return subprocess.run([PYTHON, "-c", probe], capture_output=True, check=False).returncode == 0


class DesktopHome:
    """Home, runtime folder and environment of a user."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("home", "run"):
            (folder / name).mkdir(mode=0o700)
        left_out = ("XDG_", "IBUS_", "DBUS_", "DISPLAY", "WAYLAND", "GTK_")
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(left_out)},
            "HOME": str(folder / "home"), "XDG_RUNTIME_DIR": str(folder / "run"), "LC_ALL": "C.UTF-8",
            "PYTHONPATH": str(Path(epigram.__file__).parents[1]), "PATH": f"{os.environ['PATH']}:/usr/bin",
            "IBUS_COMPONENT_PATH": f"{folder}/home/.local/share/ibus/component:/usr/share/ibus/component",
        }  # fmt: skip

    def ime(self, *words: str) -> str:
        """Run a command of ``epigram ime``; returns what it prints."""
        command = [sys.executable, "-m", "epigram", "ime", *words]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)
        assert not done.returncode, done.stderr
        return done.stdout

    def run(self, *command: str) -> str:
        """Run a command in the folder; returns its standard error with that of the daemon."""
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            timeout=200,
            check=False,
            capture_output=True,
            text=True,
        )
        errors = [path.read_text() for path in self.folder.glob("*.err")]
        return "\n".join([done.stderr, *errors])


@contextmanager
def installed(folder: Path, model: Path) -> Iterator[DesktopHome]:
    """Install the engine for a model in a fresh home; uninstalls it, and stops the server, at the end."""
    home = DesktopHome(folder)
    home.ime("install", str(model))
    yield home
    home.ime("uninstall")
    assert [file for file in (folder / "home").rglob("epigram*") if file.is_file()] == []
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(str(folder / "run/epigram-ime/socket"))
        server.sendall(b'{"stop": true}\n')
        assert server.recv(1000) == b'{"stopped": true}\n'
