"""The demo plays to its end, offline, and draws what it means to draw."""

from __future__ import annotations

import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from epigram.cli.demo import FAMILIES
from epigram.cli.demo.tagger import chunks, draw

types = st.sampled_from(["NP", "VP", "SBAR"])


@st.composite
def tagged(draw_: st.DrawFn) -> tuple[list[str], list[str], list[str]]:
    tags: list[str] = []
    pieces = st.tuples(types | st.just(""), st.integers(1, 4))
    for kind, length in draw_(st.lists(pieces, min_size=1, max_size=12)):
        tags += [f"B-{kind}", *[f"I-{kind}"] * (length - 1)] if kind else ["O"] * length
    lengths = draw_(st.lists(st.integers(1, 12), min_size=len(tags), max_size=len(tags)))
    words = [chr(ord("a") + k % 26) * length for k, length in enumerate(lengths)]
    gold = draw_(st.permutations(tags))
    return words, tags, list(gold)


@given(sentence=tagged(), width=st.integers(20, 100))
def test_drawing_shows_every_word_and_type_aligned(
    sentence: tuple[list[str], list[str], list[str]], width: int
) -> None:
    words, tags, gold = sentence
    lines = [line.plain for line in draw(words, tags, gold, width)]
    above, below = lines[::2], lines[1::2]
    assert " ".join(above).split() == words
    shown = " ".join(below).replace("✗", "").split()
    assert [kind for kind in shown if kind != "O"] == [chunk.type for chunk in chunks(tags) if chunk.type]
    assert " ".join(below).count("✗") == sum(chunk not in chunks(gold) for chunk in chunks(tags))
    for top, bottom in zip(above, below, strict=True):
        assert len(top) == len(bottom)


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
    assert "word: because" in done.stdout
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
