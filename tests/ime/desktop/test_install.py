"""Installation in a fresh home, its removal, and what the doctor says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from unittest import mock

import pytest

from epigram import KanaKanjiConverter
from epigram.cli import main
from epigram.ime.desktop.install import EnginePlaces, doctor, uninstall


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = tmp_path / "home"
    found.mkdir()
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "IBUS_COMPONENT_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(found))
    KanaKanjiConverter.build(["橋/はし を"]).save(tmp_path / "m.epigram")
    return found


def run(*words: str) -> int:
    with mock.patch("sys.argv", ["epigram", *words]):
        try:
            return int(main() or 0)
        except SystemExit as ended:
            return int(ended.code or 0)


def test_install_and_uninstall_leave_no_file(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("ime", "install", str(tmp_path / "m.epigram"), "--system") == 0
    said = capsys.readouterr().out
    assert f"sudo install -Dm644 {home}/.local/share/ibus/component/epigram.xml /usr/share/ibus" in said
    places = EnginePlaces()
    assert all(file.is_file() and home in file.parents for file in places.all)
    settings = json.loads(places.settings.read_text())
    assert settings["command"][3:6] == ["ime", "server", str(tmp_path / "m.epigram")]
    assert str(places.engine) in places.component.read_text()
    assert places.environment.read_text() == (
        f"IBUS_COMPONENT_PATH={home}/.local/share/ibus/component:/usr/share/ibus/component\n"
    )
    compile(places.engine.read_text(), "ibus_engine.py", "exec")
    assert run("ime", "uninstall") == 0
    assert [file for file in home.rglob("*") if file.is_file()] == []
    assert uninstall() == []


def test_uninstall_keeps_the_files_of_others(home: Path, tmp_path: Path) -> None:
    run("ime", "install", str(tmp_path / "m.epigram"))
    other = EnginePlaces().component.with_name("other.xml")
    other.touch()
    uninstall()
    assert [file for file in home.rglob("*") if file.is_file()] == [other]


def test_the_doctor_says_what_to_do(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = {check.name: check.is_fine for check in doctor()}
    assert not any(state[name] for name in ("engine", "component", "component path", "model", "server"))
    run("ime", "install", str(tmp_path / "m.epigram"))
    state = {check.name: check.is_fine for check in doctor()}
    assert all(state[name] for name in ("engine", "component", "model"))
    capsys.readouterr()
    assert run("ime", "doctor") == 1
    said = capsys.readouterr().out
    assert "missing  component path: log in again" in said
    assert "missing  server: it starts with the first key" in said


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"command": 3, "socket": ""}'])
def test_the_doctor_takes_corrupt_settings_for_none(home: Path, tmp_path: Path, content: str) -> None:
    run("ime", "install", str(tmp_path / "m.epigram"))
    EnginePlaces().settings.write_text(content)
    state = {check.name: check.is_fine for check in doctor()}
    assert (state["engine"], state["model"], state["component"]) == (False, False, True)


def test_the_engine_is_a_short_script() -> None:
    engine = Path(__file__).parents[3] / "src/epigram/ime/desktop/ibus_engine.py"
    text = engine.read_text()
    assert len(text.splitlines()) <= 250
    assert not re.search("(import|from) epigram", text)
