"""The IBus engine in a GTK entry under Xvfb, as a person types: ``make desktop-test``."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from desktop_session import DAEMON, PYTHON, can_import, installed

from epigram import KanaKanjiConverter

ENTRY = Path(__file__).with_name("gtk_entry.py")
SCRIPT = """
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
        script = DAEMON + SCRIPT.format(python=PYTHON, entry=ENTRY)
        screen = ["xvfb-run", "-a", "-s", "-screen 0 640x240x24"]
        errors = home.run(*screen, "dbus-run-session", "--", "bash", "-c", script)
    assert (tmp_path / "chosen.txt").read_text().strip() == "epigram", errors
    shown = (tmp_path / "entry.txt").read_text().splitlines()
    assert "橋を渡る" in shown or "箸を渡る" in shown, errors
    assert shown[-1].endswith("を渡るPython"), errors
