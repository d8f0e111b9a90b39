"""``epigram ime``: every command on small text, bad input with exit code 2, typing through a pseudo-terminal."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from epigram import KanaKanjiConverter
from epigram.storage import ModelFile
from in_process import epigram

TEXT = "\n".join(
    ["橋/はし を 渡る/わたる", "箸/はし を 使う/つかう", "箸/はし で 食べる/たべる", "端/はし を 歩く/あるく"]
    * 5
)
COMMAND = [sys.executable, "-m", "epigram", "ime"]


def ime(*arguments: object, stdin: str | bytes = "") -> subprocess.CompletedProcess[str]:
    done = epigram("ime", *arguments, stdin=stdin if isinstance(stdin, bytes) else stdin.encode())
    return subprocess.CompletedProcess(arguments, done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("ime")
    (path / "text.txt").write_text(TEXT + "\n")
    (path / "words.tsv").write_text("羽子\tはし\n")
    (path / "domain.txt.gz").write_bytes(gzip.compress("\n".join(["端/はし で 食べる/たべる"] * 12).encode()))
    built = ime(
        "build", path / "text.txt", "--lexicon", path / "words.tsv", "-o", path / "m.epigram", "--json"
    )
    assert built.returncode == 0, built.stderr
    assert json.loads(built.stdout)["sentences"] == 20
    return path


def test_convert_takes_the_installed_model_where_none_is_given(folder, monkeypatch):
    import epigram.cli.ime.convert as command

    assert command.split_model(["きょう"]) == ("japanese", ["きょう"])
    assert command.split_model([]) == ("japanese", [])
    assert command.split_model([str(folder / "m.epigram"), "は"]) == (str(folder / "m.epigram"), ["は"])
    monkeypatch.setattr(command, "model_path", lambda name: folder / "m.epigram")
    assert ime("convert", "はしをわたる").stdout == "橋を渡る\n"


def test_convert_arguments_and_lines(folder):
    assert ime("convert", folder / "m.epigram", "はしをわたる", "はし").stdout == "橋を渡る\n箸\n"
    lines = ime("convert", folder / "m.epigram", stdin="はしをわたる\n\nhello 😀\n")
    assert (
        ime("convert", folder / "m.epigram", "-", stdin="はしをわたる\n\nhello 😀\n").stdout == lines.stdout
    )
    assert lines.stdout == "橋を渡る\n\nhello 😀\n"
    assert ime("convert", folder / "m.epigram", "--romaji", "hashiwowataru").stdout == "橋を渡る\n"


def test_a_rescorer_and_a_smaller_file(folder):
    out = folder / "small.epigram"
    built = ime("build", folder / "text.txt", "--rescore", "--quantise", "-o", out)
    assert built.returncode == 0, built.stderr
    assert ime("convert", out, "はしをわたる").stdout == "橋を渡る\n"
    said = epigram("inspect", out).stdout.decode()
    assert "n-grams of characters" in said


def test_candidates_and_explanation(folder):
    rows = ime("convert", folder / "m.epigram", "はし", "--nbest", 4).stdout.splitlines()
    assert [row.split("\t")[1] for row in rows][:3] == ["箸", "橋", "端"] or len(rows) == 4
    scores = [float(row.split("\t")[0]) for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert "箸/はし" in ime("convert", folder / "m.epigram", "はし", "--explain").stdout


def test_lists_adaptation_and_scores(folder):
    model, text = folder / "m.epigram", folder / "domain.txt.gz"
    made = ime("nbest", model, text, "-o", folder / "lists.jsonl", "--nbest", 5)
    assert made.returncode == 0, made.stderr
    first = json.loads((folder / "lists.jsonl").read_text().splitlines()[0])
    assert first["reference"] == ["端/はし", "で", "食べる/たべる"] or first["reference"] == "端で食べる"
    assert len(first["candidates"]) == 5
    before = json.loads(ime("eval", model, text, "--json").stdout)
    for method in ("map-kn", "blasso"):
        done = ime("adapt", model, text, "--dev", text, "--method", method, "-o", folder / "a.epigram")
        assert done.returncode == 0, done.stderr
        after = json.loads(ime("eval", folder / "a.epigram", text, "--json").stdout)
        assert after["cer"] == 0 < before["cer"]
        assert set(after) >= {
            "cer",
            "cer_normalised",
            "sentence_accuracy",
            "oracle_cer",
            "sentences_per_second",
        }


def test_inspect_knows_the_family(folder):
    done = epigram("inspect", folder / "m.epigram", "--json")
    assert json.loads(done.stdout)["family"] == "ime"


def test_bad_input_is_one_sentence_and_exit_code_2(folder, tmp_path):
    (tmp_path / "bad.tsv").write_text("京都 きょうと\n")
    (tmp_path / "empty.txt").write_text("\n")
    ModelFile("tagger", {}, {}).save(tmp_path / "t.epigram")
    model, text = folder / "m.epigram", folder / "text.txt"
    cases = {
        "bad.tsv:1: expected surface<TAB>reading": (
            "build",
            text,
            "--lexicon",
            tmp_path / "bad.tsv",
            "-o",
            tmp_path / "x",
        ),
        "no words": ("build", tmp_path / "empty.txt", "-o", tmp_path / "x"),
        "cannot read": ("build", tmp_path / "none.txt", "-o", tmp_path / "x"),
        "holds a tagger, not a kana-kanji converter": ("convert", tmp_path / "t.epigram", "はし"),
        "not an epigram model file": ("convert", text, "はし"),
        "100,000 characters; at most 2,000": ("convert", model),
        "unknown method 'magic'": ("adapt", model, text, "--method", "magic", "-o", tmp_path / "x"),
        "no sentences": ("eval", model, tmp_path / "empty.txt"),
        "the folder does not exist": ("build", text, "-o", tmp_path / "no" / "x"),
        "needs a terminal": ("type", model),
    }
    for says, arguments in cases.items():
        done = ime(*arguments, stdin="か" * 100_000 + "\n")
        assert done.returncode == 2, (says, done.stderr)
        assert says in done.stderr
        assert "Traceback" not in done.stderr
        assert not (tmp_path / "x").exists()


def test_text_that_is_not_utf8(folder):
    done = ime("convert", folder / "m.epigram", stdin="はし".encode("shift_jis"))
    assert done.returncode == 2
    assert "not UTF-8" in done.stderr


def test_typing_in_a_terminal(folder):
    """Romaji, space, arrow, enter; the correction is stored and holds for the next run."""
    pty = pytest.importorskip("pty")
    journal = folder / "me.jsonl"
    command = [*COMMAND, "type", str(folder / "m.epigram"), "--user", str(journal)]
    first = typed(pty, command, ["hashide", " ", "\x1b[B", "\r", "\x04"])
    committed = [line for line in first.splitlines() if line.endswith("で") and "\x1b" not in line[-3:]]
    assert committed, first
    lesson = json.loads(journal.read_text())
    assert lesson["reading"] == "はしで"
    assert lesson["chosen"] != "箸で"
    again = typed(pty, command, ["hashide", " ", "\r", "\x04"])
    assert f"{lesson['chosen']}\r\n" in again
    done = ime("convert", folder / "m.epigram", "はしで", "--user", journal)
    assert done.stdout == f"{lesson['chosen']}\n"


def typed(pty, command: list[str], keys: list[str]) -> str:
    """What a terminal shows while keys are typed one after the other."""
    process, terminal = pty.fork()
    if process == 0:
        os.execvpe(command[0], command, {**os.environ, "TERM": "xterm"})
    shown = b""

    def read_until(mark: bytes, start: int, seconds: float = 600, times: int = 1) -> None:
        nonlocal shown
        end = time.monotonic() + seconds
        while len(re.findall(mark, shown[start:])) < times and time.monotonic() < end:
            try:
                shown += os.read(terminal, 4096)
            except OSError:
                return

    read_until(b"Ctrl-D ends", 0)
    for key in keys:
        before = len(shown)
        os.write(terminal, key.encode())
        drawn = rb"\x1b\[\d+A\r" if key != "\x04" else b"never"
        read_until(drawn, before, 30, times=len(key) if key.isalpha() else 1)
    os.waitpid(process, 0)
    os.close(terminal)
    return shown.decode()


def test_words_and_corrections_are_listed_searched_exported_and_forgotten(folder, tmp_path):
    me, out = tmp_path / "me.jsonl", tmp_path / "out"
    (tmp_path / "d.txt").write_text("えぴ\tEpi\t名詞\nきろ\tkm/h\t名詞\n")
    assert "2 words taken" in ime("words", tmp_path / "d.txt", "--user", me).stdout
    assert ime("words", "--user", me, "--search", "Epi").stdout == "Epi\tえぴ\n"
    for kind in ("mozc", "google", "ms-ime", "atok", "skk"):
        assert ime("words", "--user", me, "--export", out, "--format", kind).returncode == 0
        again = tmp_path / f"{kind}.jsonl"
        assert ime("words", out, "--user", again).returncode == 0, kind
        assert sorted(ime("words", "--user", again).stdout.split("\n")) == ["", "Epi\tえぴ", "km/h\tきろ"]
    converter = KanaKanjiConverter.load(folder / "m.epigram")
    converter.open_journal(me)
    converter.learn("はしで", "端で")
    converter.learn("はし", "橋")
    converter.journal.save(me)
    listed = ime("corrections", "--user", me).stdout
    assert listed == "1\tはしで\t端で\n2\tはし\t橋\n"
    assert ime("corrections", "--user", me, "--search", "橋").stdout == "2\tはし\t橋\n"
    assert ime("corrections", "--user", me, "--export", out).returncode == 0
    assert ime("corrections", "--user", me, "--forget", 1).stdout == "1\tはし\t橋\n"
    assert ime("convert", folder / "m.epigram", "はしで", "--user", me).stdout == "箸で\n"
    assert ime("corrections", "--user", me, "--import", out).stdout == "1\tはし\t橋\n2\tはしで\t端で\n"
    assert len(ime("words", "--user", me).stdout.splitlines()) == 2
    assert ime("corrections", "--user", me, "--export", out, "--format", "mozc").returncode == 0
    assert out.read_text() == "はし\t橋\t名詞\nはしで\t端で\t名詞\n"


def test_bad_requests_for_words_corrections_and_settings(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    me = tmp_path / "me.jsonl"
    cases = {
        "no correction 3": ("corrections", "--user", me, "--forget", 3),
        "no such file": ("corrections", "--user", me, "--import", tmp_path / "none"),
        "unknown format 'x'": ("words", "--user", me, "--export", tmp_path / "o", "--format", "x"),
        "expected NAME=VALUE": ("settings", "layout"),
        "layout must be one of": ("settings", "layout=x"),
        "no installed model of this name": ("type", "klingon"),
    }
    for says, arguments in cases.items():
        done = ime(*arguments)
        assert (done.returncode, says in done.stderr) == (2, True), done.stderr
    assert ime("settings", "layout=kana").stdout == "punctuation=、。\nwidth=mixed\nlayout=kana\n"
    assert "layout=kana" in ime("settings").stdout
