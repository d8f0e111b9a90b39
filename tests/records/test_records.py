"""Documents in and out: every format, what is malformed, compression, and records passed through to the byte."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epigram.errors import DataWarning, InputError
from epigram.records import Fields, RecordReader, RecordWriter, read_documents
from epigram.records.streams import pack

TEXTS = ["a rose is a rose", "is\ta rose", 'said "so" and, then', "größe 漢字", ""]


def contents(path: Path, **how: object) -> list[tuple[str, tuple[str, ...]]]:
    return [(d.text, d.labels) for d in RecordReader(path, labelled=True, **how)]  # type: ignore[arg-type]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "documents.jsonl"


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
def test_json_lines_compressed_or_not(tmp_path: Path, ending: str) -> None:
    lines = [json.dumps({"id": k, "text": text, "label": k % 2}) for k, text in enumerate(TEXTS)]
    path = tmp_path / f"a.jsonl{ending}"
    path.write_bytes(pack(path, "\n".join(lines).encode() + b"\n"))
    assert contents(path) == [(text, (str(k % 2),)) for k, text in enumerate(TEXTS)]


def test_other_compressions_are_refused(path: Path) -> None:
    path.write_bytes(bz2.compress(b'{"text": "a rose", "label": 1}\n'))
    with pytest.raises(InputError, match="bzip2 -dk FILE"):
        list(RecordReader(path))
    path.write_bytes(b"PAR1\x15\x04\x15")
    with pytest.raises(InputError, match="Parquet"):
        list(RecordReader(path, format="text"))


def test_lists_of_labels_are_several_labels(path: Path) -> None:
    path.write_text('{"text": "a", "labels": ["x", "y"]}\n{"text": "b", "labels": []}\n')
    assert contents(path) == [("a", ("x", "y")), ("b", ())]


def test_fasttext_lines(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_text("__label__a __label__b some words\n__label__a\nno label here\n")
    assert contents(path) == [("some words", ("a", "b")), ("", ("a",)), ("no label here", ())]


def test_a_table_with_a_header_and_cells_of_several_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('id,text,label\n1,"two\nlines, ""quoted""",x\n2,plain,y\n')
    assert contents(path) == [('two\nlines, "quoted"', ("x",)), ("plain", ("y",))]


def test_a_table_without_a_header_is_read_by_content(tmp_path: Path) -> None:
    rows = [(str(k % 4 + 1), f"title of number {k}", f"what number {k} is about") for k in range(30)]
    path = tmp_path / "a.csv"
    path.write_text("".join(f'"{a}","{b}","{c}"\n' for a, b, c in rows))
    assert contents(path) == [(f"{b} {c}", (a,)) for a, b, c in rows]


def test_an_unknown_header_is_recognised_because_it_stands_apart(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("verdict\tphrase\n" + "".join(f"{'yn'[k % 2]}\tphrase number {k}\n" for k in range(40)))
    assert contents(path)[:2] == [("phrase number 0", ("y",)), ("phrase number 1", ("n",))]
    assert len(contents(path)) == 40


def test_tables_in_files_of_any_name_if_labels_are_wanted(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("x\tsome words\ny\tother words\nx\tthird words\n")
    assert contents(path)[1] == ("other words", ("y",))
    assert next(iter(RecordReader(path))).text == "x\tsome words"


def test_fields_by_name_and_by_number(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("one\ttwo\tthree\n")
    assert contents(path, fields=Fields(("3",), "1")) == [("three", ("one",))]
    with pytest.raises(InputError, match="no field 'four'; the fields are"):
        contents(path, fields=Fields(("four",)))


def test_malformed_records_are_reported_by_line_and_counted(path: Path) -> None:
    path.write_bytes(b'{"text": "a"}\n{"text": \n{"other": 1}\n{"text": "\xff"}\n{"text": "b"}\n')
    reader = RecordReader(path)
    with pytest.warns(DataWarning, match=r"documents\.jsonl:2: left out: broken JSON"):
        assert [d.text for d in reader] == ["a", "b"]
    assert (reader.n_documents, reader.n_malformed) == (2, 3)
    with pytest.raises(InputError, match=r"documents\.jsonl:2: broken JSON"):
        list(RecordReader(path, strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kept = list(RecordReader(path, keep_malformed=True))
    assert [d.error is None for d in kept] == [True, False, False, False, True]
    assert kept[3].raw == b'{"text": "\xff"}'


def test_rows_of_another_width_are_malformed(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,label\na,x\nb\nc,y\n")
    with pytest.warns(DataWarning, match="expected 2 cells, found 1"):
        assert [text for text, _ in contents(path)] == ["a", "c"]


def test_a_stray_quote_does_not_swallow_what_follows(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('text,label\n5" pipe,x\n"two\nlines",y\nlast,x\n')
    assert contents(path) == [('5" pipe', ("x",)), ("two\nlines", ("y",)), ("last", ("x",))]


def test_truncated_compressed_data_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"text": "a"}\n' * 10_000)[:60])
    with pytest.raises(InputError, match="corrupt compressed data"):
        list(read_documents(path))


def test_standard_input(tmp_path: Path) -> None:
    code = "from epigram.records import read_documents as r; print([d.text for d in r('-')])"
    done = subprocess.run(
        [sys.executable, "-c", code], input='{"text": "a"}\n', capture_output=True, text=True
    )
    assert done.stdout == "['a']\n"


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), min_size=1, max_size=6))
def test_csv_records_are_those_of_the_csv_module(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerows([["text", "n"], *([text.replace("\r", "").replace("\0", ""), "1"] for text in texts)])
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    path.write_text(out.getvalue(), newline="")
    wanted = [row[0] for row in csv.reader(io.StringIO(out.getvalue(), newline=""))][1:]
    assert [d.text for d in read_documents(path, text="text")] == wanted


@pytest.mark.parametrize(
    ("name", "content", "wanted"),
    [
        (
            "a.jsonl",
            b'{"b":1,  "text":"x"}\r\n{"text":"y","z":[1.50]}\n',
            b'{"b":1,  "text":"x", "s": 1.5}\n',
        ),
        ("a.csv", b'id,text\n"1","a b"\n2,c\n', b'id,text,s\n"1","a b",1.5\n'),
        ("a.tsv", b"id\ttext\n1\ta b\n", b"id\ttext\ts\n1\ta b\t1.5\n"),
        ("a.txt", b"a b\n", b"1.5\ta b\n"),
    ],
)
def test_records_pass_through_unchanged_or_with_more_fields(
    tmp_path: Path, name: str, content: bytes, wanted: bytes
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    for added, expected in (({}, content.replace(b"\r", b"")), ({"s": 1.5}, wanted)):
        reader, writer = RecordReader(path), RecordWriter(tmp_path / f"out-{name}", list(added))
        for document in reader:
            writer.write(document, reader.format, added)
        writer.close()
        assert (tmp_path / f"out-{name}").read_bytes().startswith(expected)


def test_a_writer_continues_where_its_file_is_whole(tmp_path: Path) -> None:
    source = tmp_path / "a.txt"
    source.write_text("one\ntwo\nthree\n")
    documents = list(read_documents(source))
    first = RecordWriter(tmp_path / "b.txt.gz")
    first.write(documents[0], None)
    size = first.flush()
    first.write(documents[1], None)
    first.flush()
    second = RecordWriter(tmp_path / "b.txt.gz", size=size)
    for document in documents[1:]:
        second.write(document, None)
    second.close()
    assert [d.text for d in read_documents(tmp_path / "b.txt.gz")] == ["one", "two", "three"]


def test_parquet(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [{"id": 1, "text": "a rose", "label": "x"}, {"id": 2, "text": "is", "label": "y"}]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "a.parquet")
    assert contents(tmp_path / "a.parquet") == [("a rose", ("x",)), ("is", ("y",))]
    reader, writer = RecordReader(tmp_path / "a.parquet"), RecordWriter(tmp_path / "b.parquet")
    for document in reader:
        writer.write(document, reader.format, {"score": 0.5})
    writer.close()
    assert parquet.read_table(tmp_path / "b.parquet").to_pylist() == [{**row, "score": 0.5} for row in rows]


def test_a_cell_of_fifty_megabytes(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('id,text\n1,"' + "a line, and a\n" * 3_600_000 + '"\n2,short\n')
    assert [len(d.text) for d in read_documents(path)] == [14 * 3_600_000, 5]


@pytest.mark.parametrize(
    ("rows", "lines"),
    [
        ('1,"open\n2,fine\n3,"also fine"\n', [3, 4]),
        ('1,"open\n2,fine\n3,fine\n', [3, 4]),
        ('1,"closed"\n2,"open\n3,"two\nlines"\n4,fine\n', [2, 4, 6]),
        ('1,5" pipe\n2,"a ""b""\nc"\n3,"d","e"\n', [2, 3]),
    ],
)
def test_an_open_quote_costs_its_own_line(tmp_path: Path, rows: str, lines: list[int]) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,text\n" + rows)
    reader = RecordReader(path)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert [d.line for d in reader] == lines
    assert reader.n_malformed == len(said)
    assert reader.n_documents == len(lines)


def test_a_file_without_one_readable_record_is_an_error(path: Path) -> None:
    path.write_text("{broken\n")
    with pytest.warns(DataWarning), pytest.raises(InputError, match="no document could be read"):
        list(RecordReader(path))
