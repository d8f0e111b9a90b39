"""Files in and out: columns, CoNLL-U, plain and slashed text, gzip; bad files named with their line."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from epigram.errors import InputError
from epigram.features.columns import Columns
from epigram.features.formats import add_columns, parse_columns, read_columns

CONLLU = """# sent_id = 1
# text = It's here
1-2\tIt's\t_\t_\t_\t_\t_\t_\t_\t_
1\tIt\tit\tPRON\tPRP\t_\t3\tnsubj\t_\t_
2\t's\tbe\tAUX\tVBZ\t_\t3\tcop\t_\t_
3\there\there\tADV\tRB\t_\t0\troot\t_\t_
3.1\tempty\t_\t_\t_\t_\t_\t_\t_\t_

# sent_id = 2
1\t#\t#\tSYM\t#\t_\t0\troot\t_\t_
"""


def test_conllu_skips_comments_ranges_and_empty_nodes(tmp_path: Path) -> None:
    file = tmp_path / "x.conllu.gz"
    file.write_bytes(gzip.compress(CONLLU.encode()))
    corpus = read_columns(file)
    assert [[(row[1], row[3], row[4]) for row in sentence] for sentence in corpus.rows()] == [
        [("It", "PRON", "PRP"), ("'s", "AUX", "VBZ"), ("here", "ADV", "RB")],
        [("#", "SYM", "#")],
    ]


def test_a_hash_is_a_token_unless_comments_are_asked_for() -> None:
    raw = b"# # B-NP\n5 CD I-NP\n"
    assert parse_columns(raw, "x").n_tokens == 2
    assert (
        parse_columns(b"# a comment\n-DOCSTART- -X- O\n\nwe PRP B-NP\n", "x", comments=("#", "-DOC")).n_tokens
        == 1
    )


def test_a_given_separator_keeps_spaces_and_empty_cells() -> None:
    corpus = parse_columns(b"New York,NNP,\nis,,B\n", "x", separator=",")
    assert list(corpus.rows()) == [[("New York", "NNP", ""), ("is", "", "B")]]


def test_text_and_slashes() -> None:
    assert list(parse_columns(b"The cat\n\n  sat \r\n", "x", "text").rows()) == [
        [("The",), ("cat",)],
        [("sat",)],
    ]
    slashed = parse_columns(b"### a01 news\nThe/at 1/2/cd\n", "x", "slash", comments="###")
    assert list(slashed.rows()) == [[("The", "at"), ("1/2", "cd")]]
    with pytest.raises(InputError, match="x:2: expected word/tag"):
        parse_columns(b"a/b\nc\n", "x", "slash")


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "x: no tokens: the file is empty or blank"),
        (b"\n \n\t\r\n", "x: no tokens"),
        (b"a b c\n\nd e\n", "x:3: expected 3 columns, found 2$"),
        (b"a b\na b c\n", "x:2: expected 2 columns, found 3$"),
        (b"a b\n# a comment\n", "x:2: expected 2 columns, found 3; if lines that begin with '#'"),
        (b"a b\n\xff b\n", "x:2: invalid UTF-8"),
    ],
)
def test_bad_files_name_the_line(raw: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_columns(raw, "x")


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="format 'xml' is not one of"):
        parse_columns(b"a", "x", "xml")
    with pytest.raises(ValueError, match="separator is one ASCII character"):
        parse_columns(b"a", "x", separator="ab")
    with pytest.raises(InputError, match="cannot read"):
        read_columns("/nonexistent/file")


def test_a_byte_order_mark_is_no_part_of_a_word() -> None:
    assert parse_columns("\ufeffa b\n".encode(), "x").columns[0].strings == ["a"]


@pytest.mark.parametrize(
    ("raw", "tagged"),
    [
        ("a X\nb Y\n\nc Z\n", "a X 0\nb Y 1\n\nc Z 2\n"),
        ("a\tX\r\nb\tY\r\n\r\n\r\nc\tZ", "a\tX\t0\r\nb\tY\t1\r\n\r\n\r\nc\tZ\t2\n"),
        ("# note\na X\nb Y\n# note\n\nc Z\n\n# end\n", "# note\na X 0\nb Y 1\n# note\n\nc Z 2\n\n# end\n"),
        ("a\nb\n\nc\n", "a\t0\nb\t1\n\nc\t2\n"),
    ],
)
def test_writer_only_adds_cells(raw: str, tagged: str) -> None:
    corpus = parse_columns(raw.encode(), "x", comments="#")
    assert "".join(add_columns(corpus, [["0", "1", "2"]])) == tagged


def test_writer_of_text_and_rows() -> None:
    corpus = parse_columns("é b\nc\n".encode(), "x", "text")
    assert "".join(add_columns(corpus, [list("012"), list("xyz")])) == "é\t0\tx\nb\t1\ty\n\nc\t2\tz\n\n"
    assert "".join(add_columns(Columns.from_rows([[("a", "X")]]), [["0"]], separator=" ")) == "a X 0\n\n"


@pytest.mark.parametrize(
    ("file", "sentences", "tokens", "width"),
    [
        ("conll2000/train.txt", 8936, 211727, 3),
        ("conll2000/test.txt", 2012, 47377, 3),
        ("jnlpba/Genia4EReval1.iob2", 3856, 101039, 2),
        ("genia-pos/test.tsv", 2036, 50556, 2),
        ("ud-ewt/en_ewt-ud-train.conllu.gz", 12544, 204577, 10),
    ],
)
def test_counts_of_real_files(data: Path, file: str, sentences: int, tokens: int, width: int) -> None:
    corpus = read_columns(data / file)
    assert (corpus.n_sentences, corpus.n_tokens, corpus.n_columns) == (sentences, tokens, width)


def test_brown(data: Path) -> None:
    corpus = read_columns(data / "brown" / "brown.tagged.txt.gz", "slash", comments="### ")
    assert (corpus.n_sentences, corpus.n_tokens) == (57340, 1161192)
    assert len(corpus.columns[1].strings) == 472


def test_tagged_file_is_read_back(data: Path) -> None:
    corpus = read_columns(data / "conll2000" / "test.txt")
    labels = [corpus.columns[2].strings[i] for i in corpus.columns[2].ids]
    again = parse_columns("".join(add_columns(corpus, [labels])).encode(), "x")
    assert again.n_columns == 4
    assert again.columns[2].strings == again.columns[3].strings
