"""Journals of corrections that are truncated, edited by hand or on a full disk."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from epigram.datasets.sample import BACKGROUND
from epigram.errors import DataWarning, InputError
from epigram.ime.build import build
from epigram.ime.corrections import Journal, Lesson
from epigram.ime.decoder import Decoder
from epigram.ime.lexicon.dictionary_formats import Entry


@pytest.fixture(scope="module")
def decoder() -> Decoder:
    return build(BACKGROUND[:6]).decoder


def chosen(decoder: Decoder, path: Path) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return [lesson.chosen for lesson in Journal.load(decoder, path).lessons]


def written(decoder: Decoder, path: Path, *words: str) -> bytes:
    journal = Journal(decoder)
    for word in words:
        journal.append(Lesson("はし", word))
    journal.save(path)
    return path.read_bytes()


def test_every_truncation_of_the_last_line_is_left_out_and_repaired(decoder: Decoder, tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    whole = written(decoder, path, "橋", "端")
    first = whole.index(b"\n") + 1
    for size in (first + 1, first + 9, whole.index("端".encode()) + 1, len(whole) - 2):
        path.write_bytes(whole[:size])
        with pytest.warns(DataWarning, match=r"j.jsonl: the last line is truncated and left out"):
            journal = Journal.load(decoder, path)
        journal.append(Lesson("はし", "箸"))
        journal.save(path)
        assert path.read_bytes().startswith(whole[:first])
        assert chosen(decoder, path) == ["橋", "箸"]


@pytest.mark.parametrize("undo", [False, True])
def test_a_last_line_without_its_end_is_a_line(undo: bool, decoder: Decoder, tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    path.write_bytes(written(decoder, path, "橋", "端").rstrip(b"\n"))
    journal = Journal.load(decoder, path)
    if undo:
        journal.pop()
    journal.append(Lesson("はし", "箸"))
    journal.save(path)
    assert chosen(decoder, path) == (["橋", "箸"] if undo else ["橋", "端", "箸"])


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Let writes beyond ``size`` bytes fail half way, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_an_append_that_fails_is_rolled_back(decoder: Decoder, tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    before = written(decoder, path, "橋")
    journal = Journal.load(decoder, path)
    journal.append(Lesson("はし", "端"))
    with (
        files_of_at_most(len(before) + 10),
        pytest.raises(InputError, match=r"j.jsonl: cannot write: File too"),
    ):
        journal.save(path)
    assert path.read_bytes() == before
    journal.save(path)
    assert chosen(decoder, path) == ["橋", "端"]


def test_a_journal_that_cannot_be_opened_is_one_sentence(decoder: Decoder, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none/j: cannot write: No such file"):
        Journal(decoder).save(tmp_path / "none" / "j")
    with pytest.raises(InputError, match="cannot read: Is a directory"):
        Journal.load(decoder, tmp_path)


def test_a_failed_save_of_words_ends_the_command_with_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "words.tsv").write_text("はし\t橋\n", "utf-8")
    (tmp_path / "j").touch()
    command = f"{sys.executable} -B -m epigram ime words {tmp_path}/words.tsv --user {tmp_path}/j"
    done = subprocess.run(
        ["bash", "-c", f"ulimit -f 0; {command}"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (2, f"epigram: {tmp_path}/j: cannot write: File too large\n")
    assert os.path.getsize(tmp_path / "j") == 0


@pytest.mark.parametrize("line", ['{"word": ' + "[" * 100_000, '{"word": ["\\ud800", "x"]}', '{"word": 3}'])
def test_lines_of_words_are_checked(line: str, decoder: Decoder, tmp_path: Path) -> None:
    (tmp_path / "j").write_text(line + "\n")
    with pytest.raises(InputError, match="j:1: not a word of a dictionary"):
        Journal.load(decoder, tmp_path / "j")


def test_line_separators_inside_a_text_do_not_end_a_line(decoder: Decoder, tmp_path: Path) -> None:
    journal = Journal(decoder, [Lesson("はし", "a\u2028b"), Lesson("はし", "橋")], [Entry("はし", "橋")])
    journal.save(tmp_path / "j")
    journal.lessons.pop(0)
    journal.save(tmp_path / "j")
    assert [
        json.loads(line).get("chosen") for line in (tmp_path / "j").read_text("utf-8").split("\n")[:-1]
    ] == [
        None,
        "橋",
    ]


WRITER = """
import sys
import time
from epigram.datasets.sample import BACKGROUND
from epigram.ime.build import build
from epigram.ime.corrections import Journal, Lesson

journal = Journal.load(build(BACKGROUND[:6]).decoder, sys.argv[1])
while True:
    if len(journal.lessons) % 5 == 4:
        journal.lessons.pop(0)  # the file is written again
    journal.append(Lesson("はし", str(len(journal.lessons)) * 200))
    journal.save(sys.argv[1])
    print(journal.lessons[-1].line(), end="", flush=True)
"""


def test_a_process_killed_while_it_writes_loses_nothing_it_had_written(
    decoder: Decoder, tmp_path: Path
) -> None:
    path = tmp_path / "j.jsonl"
    for wait in (0, 0.003, 0.01, 0.02, 0.05):
        with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            said = [writer.stdout.readline() for _ in range(7)]
            time.sleep(wait)
            writer.kill()
            said += [line for line in writer.stdout.readlines() if line.endswith(b"\n")]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            lessons = Journal.load(decoder, path).lessons
        assert said[-1].decode() in [lesson.line() for lesson in lessons[-2:]]
        assert all(lesson.chosen == lesson.chosen[:1] * len(lesson.chosen) for lesson in lessons)
    assert [other.name for other in tmp_path.iterdir() if other.suffix == ".jsonl"] == ["j.jsonl"]
