"""The IBus engine installed in a fresh home: driven by keys without a screen, and in a GTK entry."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from desktop_session import DAEMON, PYTHON, can_import, installed

from epigram import KanaKanjiConverter

DRIVER = Path(__file__).with_name("drive_ibus.py")
TEXT = [
    "橋/はし を 渡る/わたる",
    "箸/はし",
    "箸/はし",
    *["雨/あめ"] * 3,
    *["甘い/あまい 飴/あめ"] * 2,
    "有難う/ありがとう",
]
KEYS = [
    *"hashi", "space", "down", "enter", *"ame", "muhenkan", "h", "enter", "mode", "a", "mode", "left",
    ["around", "甘い", 2, 2], *"ame", "space", "enter",  # the text before the caret picks 飴
    ["around", "", 0, 0], *"ari", "tab", "enter",
    ["around", "橋を渡る", 4, 0], "henkan", "escape", "escape",
    ["property", "punctuation", 1], ",", "enter", ["property", "private", 1], *"ame", "space", "down", "enter",
    ["purpose", "PASSWORD"], "b",
]  # fmt: skip
SCRIPT = """
ibus list-engine --name-only > engines 2>/dev/null
{python} {driver} '{keys}' > driven 2> driver.err
kill $daemon
"""


@pytest.mark.skipif(not can_import("IBus-1.0"), reason="needs ibus, gir1.2-ibus-1.0, python3-gi and dbus")
def test_keys_become_text_through_ibus(tmp_path: Path) -> None:
    KanaKanjiConverter.build(TEXT).save(tmp_path / "m.epigram")
    with installed(tmp_path, tmp_path / "m.epigram") as home:
        script = DAEMON + SCRIPT.format(python=PYTHON, driver=DRIVER, keys=json.dumps(KEYS))
        errors = home.run("dbus-run-session", "--", "bash", "-c", script)
    told = [json.loads(line) for line in (tmp_path / "driven").read_text().splitlines()]
    assert "epigram" in (tmp_path / "engines").read_text().split(), errors
    commits = [value for kind, value in told if kind == "commit"]
    assert commits[:6] == ["橋", "アメ", "h", "飴", "有難う", "，"], errors
    assert commits[6:] in (["雨"], ["飴"]), errors
    assert ["mode", "punctuation", "width", "layout", "private"] in [
        v for kind, v in told if kind == "properties"
    ]
    shown = [value for kind, value in told if kind == "preedit"]
    assert "橋を渡る" in shown
    assert {"h", "は", "はし", "箸", "橋", "アメ"} <= set(shown)
    assert ["箸", "橋"] in [value[:2] for kind, value in told if kind == "candidates"]
    handled = dict(value for kind, value in told if kind == "handled")
    assert (handled["enter"], handled["mode"], handled["left"]) == (True, True, False)
    pressed = [value for kind, value in told if kind == "handled"]
    assert next(is_handled for key, is_handled in pressed if key == "a") is True
    assert pressed[pressed.index(["mode", True]) + 1] == ["a", False]
    assert pressed[-1] == ["b", False]
    lessons = [json.loads(line) for line in (tmp_path / "m.corrections.jsonl").read_text().splitlines()]
    assert [lesson["chosen"] for lesson in lessons] == ["橋", "有難う"]


ENTRY = Path(__file__).with_name("gtk_entry.py")
ENTRY_SCRIPT = """
ibus engine epigram
{python} {entry} > entry.txt 2> entry.err &
for k in $(seq 100); do window=$(xdotool search --name '^entry$') && break; sleep 0.1; done
xdotool windowfocus --sync $window; sleep 1
ibus engine > chosen.txt
xdotool type --delay 150 hashiwowataru
xdotool key --delay 300 space Down Return
xdotool type --delay 150 Python
xdotool key --delay 300 Return
sleep 1
xdotool key --delay 300 ctrl+a Henkan_Mode Return
sleep 1
kill $daemon
"""


@pytest.mark.slow
@pytest.mark.skipif(
    not (can_import("IBus-1.0", "Gtk-3.0") and shutil.which("xvfb-run") and shutil.which("xdotool")),
    reason="needs ibus, ibus-gtk3, xvfb, xdotool and GTK's bindings; make desktop-test",
)
def test_a_person_types_into_a_gtk_entry(tmp_path: Path) -> None:
    KanaKanjiConverter.build(["箸/はし を 持つ/もつ", "橋/はし を", "渡る/わたる"] * 2).save(
        tmp_path / "m.epigram"
    )
    with installed(tmp_path, tmp_path / "m.epigram") as home:
        home.environment["GTK_IM_MODULE"] = "ibus"
        script = DAEMON + ENTRY_SCRIPT.format(python=PYTHON, entry=ENTRY)
        screen = ["xvfb-run", "-a", "-s", "-screen 0 640x240x24"]
        errors = home.run(*screen, "dbus-run-session", "--", "bash", "-c", script)
    assert (tmp_path / "chosen.txt").read_text().strip() == "epigram", errors
    shown = (tmp_path / "entry.txt").read_text().splitlines()
    assert "橋を渡る" in shown or "箸を渡る" in shown, errors
    assert shown[-1].endswith("を渡るPython"), errors
