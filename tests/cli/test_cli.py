"""Streams that are full, closed or of another encoding; files in and out; what is written beside others."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import stat
import subprocess
import sys
import tarfile
import warnings
from pathlib import Path

import pytest

from epigram.cli import run_app
from epigram.datasets import sample
from epigram.datasets.sample import BACKGROUND
from epigram.errors import DataWarning, InputError, WrongInputWarning
from epigram.files import parse_json, read_bytes, read_lines, shown, stream_lines, write_atomically
from epigram.ime.build import build
from epigram.ime.corrections import Journal, Lesson
from epigram.ime.kana import read_sentences
from epigram.lm.corpus import Corpus
from epigram.lm.ngram.arpa import parse_arpa
from epigram.lm.vocabulary import Vocabulary
from epigram.tagging import read_columns
from in_process import epigram

OLD = Path(__file__).parents[1] / "storage" / "old"


def by_shell(command: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """A command by the shell, so that its streams can be led anywhere."""
    line = command.replace("epigram ", f"{sys.executable} -m epigram ", 1)
    return subprocess.run(
        line, shell=True, capture_output=True, env={**os.environ, **environment}, check=False
    )


@pytest.mark.parametrize("streams", ["> /dev/full", ">&-", "<&-"])
def test_full_and_closed_streams(streams: str) -> None:
    done = by_shell(f"epigram inspect {OLD / 'tagger.laconic'} {streams}")
    assert b"Traceback" not in done.stderr
    assert done.stderr.count(b"\n") <= 1
    assert done.returncode == (0 if streams == "<&-" else 2)
    if streams == ">&-":
        assert done.stderr == b"epigram: cannot write: standard output is closed\n"


def test_other_locales_read_and_write_utf8() -> None:
    right = by_shell(f"epigram ime convert {OLD / 'converter.laconic'} きょうはあめです").stdout
    assert "今日は雨です" in right.decode()
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    assert (
        by_shell(f"epigram ime convert {OLD / 'converter.laconic'} きょうはあめです", **plain).stdout == right
    )
    ascii_only = by_shell(
        f"epigram ime convert {OLD / 'converter.laconic'} きょうはあめです", PYTHONIOENCODING="ascii"
    )
    assert b"Traceback" not in ascii_only.stderr


def test_control_characters_are_spelled_out(tmp_path: Path) -> None:
    assert shown("a\x1b[31m\tb\nc\x9b") == "a\\x1b[31m\tb\nc\\x9b"
    done = by_shell(f"epigram inspect {tmp_path}/$(printf 'no\\033[31m')")
    assert b"\x1b" not in done.stderr
    assert b"\\x1b" in done.stderr


def test_an_input_is_not_written_over(tmp_path: Path) -> None:
    text = tmp_path / "io.txt"
    text.write_text("The DT B-NP\ndog NN I-NP\n\n" * 3)
    before = text.read_bytes()
    for command in (f"epigram tag train {text} -o {text}", f"epigram lm train {text} -o {text}"):
        done = by_shell(command)
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
    from epigram.files import _claim

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
    bomb.write_bytes(gzip.compress(b"a" * 100_000_000, 9))
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


def test_shards_that_do_not_fit_on_the_disk_are_said_with_path_and_reason(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("".join(f"word{k} and\n" for k in range(3000)))
    command = f"{sys.executable} -B -m epigram lm train {tmp_path}/text -o {tmp_path}/m --shards {tmp_path}/s"
    limited = f"ulimit -f 8; {command} --order 2 --strength 1 --ridge 0.1 --depth-weight 1"
    done = subprocess.run(["bash", "-c", limited], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith(f"epigram: {tmp_path}/s/")
    assert done.stderr.endswith("cannot write: File too large\n")


def test_an_error_of_the_system_without_a_reason_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    def short() -> None:
        raise OSError("10 requested and 3 written")

    with pytest.raises(SystemExit):
        run_app(short)
    assert capsys.readouterr().err == "epigram: cannot write: 10 requested and 3 written\n"


@pytest.mark.parametrize("number", ["SIGTERM", "SIGINT"])
def test_a_signal_while_a_file_is_written_leaves_no_temporary_file(number: str, tmp_path: Path) -> None:
    (tmp_path / "words.tsv").write_text("はし\t橋\n", "utf-8")
    program = f"import os, signal; os.fsync = lambda _: signal.raise_signal(signal.{number})\n"
    command = [sys.executable, "-c", f"{program}from epigram.cli import main; main()", "ime", "words"]
    done = subprocess.run(
        [*command, tmp_path / "words.tsv", "--user", tmp_path / "j"], capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (130, b"")
    assert os.listdir(tmp_path) == ["words.tsv"]


JSON_LINES = b"".join(json.dumps({"id": k, "text": f"a rose is {k}"}).encode() + b"\n" for k in range(5))
TABLE = b'id,name,text\n1,a,a rose is a rose\n2,b,a tulip\n3,c,"roses, red"\n'
PLAIN = b"a rose is a rose\na tulip , a rose\nyes\n"
MODEL = Path(__file__).parents[1] / "storage" / "old" / "tagger.laconic"


def tar(content: bytes) -> bytes:
    """An archive of one file."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as writer:
        entry = tarfile.TarInfo("text")
        entry.size = len(content)
        writer.addfile(entry, io.BytesIO(content))
    return archive.getvalue()


REFUSED = {
    "jsonl": (JSON_LINES, "jq -r .text"),
    "json": (b'[\n  {"content" : "a rose"}\n]\n', "jq -r .content"),
    "jsonl.gz": (gzip.compress(JSON_LINES), "jq -r .text"),
    "csv": (TABLE, "cells between commas"),
    "tsv": (TABLE.replace(b",", b"\t").replace(b"\t ", b" "), "cells between tabs"),
    "zst": (b"\x28\xb5\x2f\xfd\x04\x00\x41", "zstd -d"),
    "xz": (lzma.compress(PLAIN), "xz -dk"),
    "lzma": (lzma.compress(PLAIN, lzma.FORMAT_ALONE), "xz -dk"),
    "bz2": (bz2.compress(PLAIN), "bzip2 -dk"),
    "empty bz2": (bz2.compress(b""), "bzip2 -dk"),
    "zip": (b"PK\x03\x04\x14\x00", "unzip"),
    "empty zip": (b"PK\x05\x06" + bytes(18), "unzip"),
    "7z": (b"7z\xbc\xaf\x27\x1c\x00\x04", "7z x"),
    "tar": (tar(PLAIN), "tar -xf"),
    "pdf": (b"%PDF-1.7\n1 0 obj\n", "pdftotext"),
    "conllu": (sample.treebank("dev").encode(), "awk -F"),
    "parquet": (b"PAR1\x15\x04\x15", "Parquet"),
    "utf16": (PLAIN.decode().encode("utf-16"), "iconv -f UTF-16"),
    "utf16le": (PLAIN.decode().encode("utf-16-le"), "iconv -f UTF-16"),
    "utf16be": (PLAIN.decode().encode("utf-16-be"), "iconv -f UTF-16"),
    "epigram": (MODEL.read_bytes(), "an epigram model file"),
}  # fmt: skip
READERS = {
    "lm": Corpus.read,
    "more": lambda path: Corpus.more(path, Vocabulary([])),
    "ime": read_sentences,
    "tag": lambda path: read_columns(path, "text"),
    "lines": lambda path: list(read_lines(path, sentences=True)),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("kind", REFUSED)
def test_other_formats_are_refused_by_every_reader_of_text(tmp_path: Path, kind: str, reader: str) -> None:
    content, said = REFUSED[kind]
    file = tmp_path / "text"
    file.write_bytes(content)
    with pytest.raises(InputError, match=r"expected|this is") as error:
        READERS[reader](file)
    assert said in str(error.value)
    assert str(file) in str(error.value)


@pytest.mark.parametrize("reader", [name for name in READERS if name != "ime"])  # which wants kana
@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        b"{ he said }\n{ she said }\n{ they said }\n",
        b'" a , b "\n" c , d "\n" e , f "\n',
        b"Two roads diverged,\nAnd sorry I could,\nAnd be one,\n",
        b"one two\n" * 30,
        b"one two\n\none two\n",
    ],
)
def test_plain_text_is_read_without_a_warning(tmp_path: Path, text: bytes, reader: str) -> None:
    file = tmp_path / "text"
    file.write_bytes(text)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        READERS[reader](file)


def test_suspicious_text_is_warned_of(tmp_path: Path) -> None:
    columns, pairs = tmp_path / "columns", tmp_path / "pairs"
    columns.write_text(sample.columns("dev"), "utf-8")
    pairs.write_bytes(b"1,a rose\n2,a tulip\n3,a lily\n")
    with pytest.warns(WrongInputWarning, match="a file of columns"):
        Corpus.read(columns)
    with pytest.warns(WrongInputWarning, match="2 cells between commas"):
        Corpus.read(pairs)


ROWS = b"a DT\nrose NN\nis VB\n\na DT\ntulip NN\nis VB\n\na DT\nlily NN\nis VB\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (ROWS, "a file of columns"),
        (ROWS[:34], "a file of columns"),
        (ROWS, "awk '{printf"),
        (ROWS.replace(b" ", b"\t"), "cut -f2 FILE"),
        (b"1,a rose\n2,a tulip\n3,a lily\n", "cut -d, -f2 FILE"),
    ],
)
@pytest.mark.parametrize(
    "command",
    ["train {} -o {}.out --model modified-kneser-ney", "eval OLD {}", "score OLD {}", "prepare {} -o {}.out"],
)
def test_suspicious_text_is_refused_unless_quiet(
    tmp_path: Path, command: str, content: bytes, said: str
) -> None:
    file = tmp_path / "text"
    file.write_bytes(content)
    words = command.replace("{}", str(file)).replace("OLD", str(MODEL.with_name("loglinear.laconic"))).split()
    done = epigram("lm", *words)
    assert done.returncode == 2
    assert said in done.stderr.decode()
    assert "--quiet reads it" in done.stderr.decode()
    assert not Path(f"{file}.out").exists()
    quiet = epigram("lm", *words, "--quiet")
    assert (quiet.returncode, b"a file of columns" in quiet.stderr) == (0, False)


@pytest.mark.parametrize(
    "command",
    [
        "lm update OLD {} -o {}.out",
        "lm classes {} -o {}.out",
        "lm prepare {} -o {}.out",
        "ime build {} -o {}.out",
    ],
)
def test_commands_refuse_json_lines(tmp_path: Path, command: str) -> None:
    file = tmp_path / "docs.txt"
    file.write_bytes(JSON_LINES)
    words = command.replace("{}", str(file)).replace("OLD", str(MODEL.with_name("loglinear.laconic"))).split()
    done = epigram(*words)
    assert done.returncode == 2
    assert b"JSON, but plain text" in done.stderr
    assert not Path(f"{file}.out").exists()
