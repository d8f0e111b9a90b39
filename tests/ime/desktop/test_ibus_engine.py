"""The IBus engine without a screen: installed in a fresh home, listed, driven by keys, removed."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import epigram
from epigram import KanaKanjiConverter

DRIVER = Path(__file__).with_name("drive_ibus.py")
PYTHON = "/usr/bin/python3"
PROBE = "import gi; gi.require_version('IBus', '1.0'); from gi.repository import IBus"
SESSION = """
ibus-daemon --panel=disable --config=disable --xim=0 --cache=none 2>daemon.err &
daemon=$!
for k in $(seq 100); do ibus address 2>/dev/null | grep -q unix && break; sleep 0.1; done
ibus list-engine --name-only > engines 2>/dev/null
{python} {driver} '{keys}' > driven 2> driver.err
kill $daemon
"""


def has_ibus() -> bool:
    """Whether ibus, its bindings and a session bus are installed."""
    if not (shutil.which("ibus-daemon") and shutil.which("dbus-run-session") and Path(PYTHON).exists()):
        return False
    return subprocess.run([PYTHON, "-c", PROBE], capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not has_ibus(), reason="needs ibus, gir1.2-ibus-1.0, python3-gi and dbus")
def test_keys_become_text_through_ibus(tmp_path: Path) -> None:
    KanaKanjiConverter.build(["橋/はし を 渡る/わたる", "箸/はし", "箸/はし"]).save(tmp_path / "m.epigram")
    for folder in ("home", "run"):
        (tmp_path / folder).mkdir(mode=0o700)
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith(("XDG_", "IBUS_", "DBUS_", "DISPLAY", "WAYLAND"))},
        "HOME": str(tmp_path / "home"), "XDG_RUNTIME_DIR": str(tmp_path / "run"), "LC_ALL": "C.UTF-8",
        "PYTHONPATH": str(Path(epigram.__file__).parents[1]), "PATH": f"{os.environ['PATH']}:/usr/bin",
        "IBUS_COMPONENT_PATH": f"{tmp_path}/home/.local/share/ibus/component:/usr/share/ibus/component",
    }  # fmt: skip

    def command(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "epigram", "ime", *words],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert not done.returncode, done.stderr
        return done.stdout

    command("install", str(tmp_path / "m.epigram"))
    keys = [*"hashi", "space", "down", "enter", *"ame", "f7", "h", "enter", "mode", "a", "mode", "left"]
    script = SESSION.format(python=PYTHON, driver=DRIVER, keys=json.dumps(keys))
    subprocess.run(
        ["dbus-run-session", "--", "bash", "-c", script],
        cwd=tmp_path,
        env=environment,
        timeout=200,
        check=False,
    )
    told = [json.loads(line) for line in (tmp_path / "driven").read_text().splitlines()]
    errors = (tmp_path / "driver.err").read_text() + (tmp_path / "daemon.err").read_text()
    assert "epigram" in (tmp_path / "engines").read_text().split(), errors
    assert [value for kind, value in told if kind == "commit"] == ["橋", "アメ", "h"], errors
    shown = [value for kind, value in told if kind == "preedit"]
    assert {"h", "は", "はし", "箸", "橋", "アメ"} <= set(shown)
    assert ["箸", "橋"] in [value[:2] for kind, value in told if kind == "candidates"]
    handled = dict(value for kind, value in told if kind == "handled")
    assert (handled["enter"], handled["mode"], handled["left"]) == (True, True, False)
    assert next(value[1] for kind, value in reversed(told) if kind == "handled" and value[0] == "a") is False
    lessons = [json.loads(line) for line in (tmp_path / "m.corrections.jsonl").read_text().splitlines()]
    assert [lesson["chosen"] for lesson in lessons] == ["橋"]
    command("uninstall")
    left = [file for file in (tmp_path / "home").rglob("epigram*") if file.is_file()]
    assert left == []
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(str(tmp_path / "run/epigram-ime/socket"))
        server.sendall(b'{"stop": true}\n')
        assert json.loads(server.recv(1000)) == {"stopped": True}
