"""The demo plays to its end, offline, and draws what it means to draw."""

from __future__ import annotations

import subprocess
import sys

from epigram.cli.demo import FAMILIES
from epigram.cli.demo.tagger import draw


def test_drawing_shows_every_word_type_and_mistake() -> None:
    words = ["The", "cook", "tasted", "the", "soup"]
    tags, gold = ["B-NP", "I-NP", "B-VP", "B-NP", "I-NP"], ["B-NP", "I-NP", "B-VP", "I-VP", "I-NP"]
    drawn = draw(words, tags, gold, {"the", "cook", "soup"})
    assert drawn.plain == "  [NP The cook] [VP tasted] [NP the ✗ soup]"
    assert [drawn.plain[span.start : span.end] for span in drawn.spans if span.style == "underline"] == [
        "tasted"
    ]


def test_the_whole_demo_runs_offline() -> None:
    blocked = "import socket; socket.socket.connect = None; import sys; from epigram.cli import main; "
    done = subprocess.run(
        [sys.executable, "-c", blocked + "sys.argv = ['epigram', 'demo']; main()"],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert "training" in done.stderr, "progress goes to standard error"
    scores = {line.split()[0]: line.split() for line in done.stdout.splitlines() if line.strip()}
    assert {"NP", "VP", "PP", "SBAR", "ADJP", "ADVP", "PRT", "INTJ"} <= scores.keys()
    assert float(scores["all"][3]) > 96
    assert "here because" in done.stdout
    assert "two readings" in done.stdout
    for shown in (
        "watched  root",
        "over all trees:  watched",
        "perplexity",
        "after before the",
        "words wrong on lists",
        "it picks",
        "はしをつかう",
        "Where to go next",
    ):
        assert shown in done.stdout
    assert "\x1b" not in done.stdout, "no colours where nobody sees them"


def test_unknown_family() -> None:
    command = [sys.executable, "-m", "epigram", "demo", "opera"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"epigram: no family 'opera'; there are {', '.join(FAMILIES)}\n"
