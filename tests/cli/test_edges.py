"""Streams that are full, closed or of another encoding; files in and out; what is written beside others."""

from __future__ import annotations

import gzip
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from epigram.errors import InputError
from epigram.ime.build import build
from epigram.ime.corrections import Journal, Lesson
from epigram.ime.sample import BACKGROUND
from epigram.lm.ngram.arpa import parse_arpa
from epigram.text import parse_json, read_bytes, shown, stream_lines, write_atomically

OLD = Path(__file__).parents[1] / "storage" / "old"


def epigram(command: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """A command by the shell, so that its streams can be led anywhere."""
    line = command.replace("epigram ", f"{sys.executable} -m epigram ", 1)
    return subprocess.run(
        line, shell=True, capture_output=True, env={**os.environ, **environment}, check=False
    )


@pytest.mark.parametrize("streams", ["> /dev/full", ">&-", "<&-"])
def test_full_and_closed_streams(streams: str) -> None:
    done = epigram(f"epigram inspect {OLD / 'tagger.laconic'} {streams}")
    assert b"Traceback" not in done.stderr
    assert done.stderr.count(b"\n") <= 1
    assert done.returncode == (2 if "full" in streams else 0)


def test_other_locales_read_and_write_utf8() -> None:
    right = epigram(f"epigram ime convert {OLD / 'converter.laconic'} きょうはあめです").stdout
    assert "今日は雨です" in right.decode()
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    assert (
        epigram(f"epigram ime convert {OLD / 'converter.laconic'} きょうはあめです", **plain).stdout == right
    )
    ascii_only = epigram(
        f"epigram ime convert {OLD / 'converter.laconic'} きょうはあめです", PYTHONIOENCODING="ascii"
    )
    assert b"Traceback" not in ascii_only.stderr


def test_control_characters_are_spelled_out(tmp_path: Path) -> None:
    assert shown("a\x1b[31m\tb\nc\x9b") == "a\\x1b[31m\tb\nc\\x9b"
    done = epigram(f"epigram inspect {tmp_path}/$(printf 'no\\033[31m')")
    assert b"\x1b" not in done.stderr
    assert b"\\x1b" in done.stderr


def test_an_input_is_not_written_over(tmp_path: Path) -> None:
    text = tmp_path / "io.txt"
    text.write_text("The DT B-NP\ndog NN I-NP\n\n" * 3)
    before = text.read_bytes()
    for command in (f"epigram tag train {text} -o {text}", f"epigram lm train {text} -o {text}"):
        done = epigram(command)
        assert done.returncode == 2, done.stderr
        assert b"is an input" in done.stderr
    assert text.read_bytes() == before


def test_modes_are_kept_and_leftovers_removed(tmp_path: Path) -> None:
    target = tmp_path / "m"
    write_atomically(target, b"1")
    target.chmod(0o600)
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    mine = next(iter(_names_while_writing(tmp_path, target)))
    left = tmp_path / mine.replace(f"-{os.getpid()}-", f"-{dead.pid}-")
    left.write_bytes(b"half")
    write_atomically(target, b"2")
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["m"]


def _names_while_writing(folder: Path, target: Path) -> list[str]:
    from epigram.text import _claim

    claimed = _claim(target)
    names = [path.name for path in folder.iterdir() if path != target]
    claimed.unlink()
    return names


def test_two_writers_of_one_journal_keep_both(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    decoder = build(BACKGROUND[:6]).decoder
    one, other = Journal.load(decoder, path), Journal.load(decoder, path)
    one.append(Lesson("はし", "橋"))
    one.save(path)
    other.append(Lesson("はし", "端"))
    other.save(path)
    assert [lesson.chosen for lesson in Journal.load(decoder, path).lessons] == ["橋", "端"]
    one.pop()
    one.save(path)
    one.save(path)
    assert [json.loads(line)["chosen"] for line in path.read_text("utf-8").splitlines()] == ["端"]


def test_gzip_bombs_stop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = tmp_path / "b.gz"
    bomb.write_bytes(gzip.compress(b"\0" * 100_000_000, 9))
    for read in (read_bytes, lambda path: list(stream_lines(path))):
        with pytest.raises(InputError, match=r"unpacks to more than .* bytes; .*--max-bytes"):
            read(bomb)
    monkeypatch.setenv("EPIGRAM_MAX_BYTES", str(10**13))  # a limit is no size to allocate
    assert len(read_bytes(bomb)) == 100_000_000


@pytest.mark.parametrize("text", ['{"a": ' + "9" * 5000 + "}", "[" * 5000, '"\\ud800"', "{"])
def test_odd_json_is_one_sentence(text: str) -> None:
    with pytest.raises(InputError, match="broken JSON"):
        parse_json(text, "x", 3)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("\\data\\\nngram 1=1\n\n\\1-grams:\n-1 a\n\n\\end\\\n\\2-grams:\n", "a section after"),
        (
            "\\data\\\nngram 1=1\nngram 2=2147483648\n\n\\1-grams:\n-1 a\n\n\\2-grams:\n-1 a a\n\n\\end\\\n",
            "too short",
        ),
        ("\\data\\\nngram 1=1\n\n\\1-grams:\n31 a\n\n\\end\\\n", "a probability above 1"),
        ("\\data\\\nngram 1=1\n\n\\1-grams:\ninf a\n\n\\end\\\n", "a probability above 1"),
        ("\\data\\\nngram 1=" + "9" * 5000 + "\n\n\\1-grams:\n-1 a\n\n\\end\\\n", "expected 'ngram N=COUNT'"),
    ],
)
def test_odd_arpa_is_one_sentence(text: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        parse_arpa(text.encode())
