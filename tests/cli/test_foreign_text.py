"""Files of other formats where plain text is expected: recognised by content and refused, or warned of."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import warnings
from pathlib import Path

import pytest

from epigram.datasets import sample
from epigram.errors import DataWarning, InputError
from epigram.files import read_lines
from epigram.ime.kana import read_sentences
from epigram.lm.corpus import Corpus
from epigram.lm.vocabulary import Vocabulary
from epigram.tagging import read_columns
from in_process import epigram

JSON_LINES = b"".join(json.dumps({"id": k, "text": f"a rose is {k}"}).encode() + b"\n" for k in range(5))
TABLE = b'id,name,text\n1,a,a rose is a rose\n2,b,a tulip\n3,c,"roses, red"\n'
PLAIN = b"a rose is a rose\na tulip , a rose\nyes\n"
MODEL = Path(__file__).parents[1] / "storage" / "old" / "tagger.laconic"
REFUSED = {
    "jsonl": (JSON_LINES, "jq -r .text"),
    "json": (b'[\n  {"content" : "a rose"}\n]\n', "jq -r .content"),
    "jsonl.gz": (gzip.compress(JSON_LINES), "jq -r .text"),
    "csv": (TABLE, "cells between commas"),
    "tsv": (TABLE.replace(b",", b"\t").replace(b"\t ", b" "), "cells between tabs"),
    "zst": (b"\x28\xb5\x2f\xfd\x04\x00\x41", "zstd -d"),
    "xz": (lzma.compress(PLAIN), "xz -dk"),
    "bz2": (bz2.compress(PLAIN), "bzip2 -dk"),
    "zip": (b"PK\x03\x04\x14\x00", "unzip"),
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


@pytest.mark.parametrize("reader", READERS)
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
    with pytest.warns(DataWarning, match="a file of columns"):
        Corpus.read(columns)
    with pytest.warns(DataWarning, match="2 cells between commas"):
        Corpus.read(pairs)
    done = epigram("--strict", "lm", "train", columns, "-o", tmp_path / "model")
    assert done.returncode == 2
    assert b"a file of columns" in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        "lm train {} -o {}.out",
        "lm train {} -o {}.out --strength 1 --ridge 0 --depth-weight 1 --shards {}.shards",
        "lm train {} -o {}.out --model modified-kneser-ney --tokens chars",
        "lm eval OLD {}",
        "lm score OLD {}",
        "lm filter OLD {} --keep 0.5 -o {}.out",
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
