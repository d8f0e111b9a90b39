"""N-best formats in and out, and what bad input is told."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epigram import InputError, NBest, read_nbest
from epigram.rerank import write_nbest
from epigram.rerank.formats import json_lines
from reference.rerank_lists import edit_distance, oracle, random_lists

WORD = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Z")), min_size=1, max_size=4)
NUMBER = st.floats(-1e6, 1e6)
CANDIDATE = st.fixed_dictionaries(
    {"tokens": st.lists(WORD, max_size=4), "score": NUMBER},
    optional={
        "features": st.dictionaries(WORD, NUMBER, max_size=2),
        "errors": st.integers(0, 9),
        "text": st.text(),
    },
)
LISTS = st.lists(
    st.fixed_dictionaries(
        {"id": st.text(max_size=3), "candidates": st.lists(CANDIDATE, min_size=1, max_size=3)},
        optional={"reference": st.lists(WORD, max_size=4)},
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=50)
@given(records=LISTS)
def test_json_lines_come_back(
    records: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    lists = NBest.from_lists(records)
    file = tmp_path_factory.mktemp("nbest") / "lists.jsonl"
    write_nbest(lists, file)
    again = read_nbest(file)
    assert list(json_lines(again)) == list(json_lines(lists))
    assert [again.words(c) for c in range(again.n_candidates)] == [
        candidate["tokens"] for record in records for candidate in record["candidates"]
    ]
    assert again.texts == lists.texts
    np.testing.assert_array_equal(again.scores, lists.scores)


@settings(max_examples=100)
@given(text=st.text(max_size=80))
def test_any_text_is_read_or_refused_with_a_place(
    text: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("any") / "lists.txt"
    file.write_text(text, encoding="utf-8")
    try:
        lists, refusal = read_nbest(file), str(file)
    except InputError as error:
        lists, refusal = NBest.from_lists([]), str(error)
    assert len(lists) > 0 or str(file) in refusal


def test_errors_and_oracle_equal_the_twin() -> None:
    records = random_lists(0, n_lists=30)
    lists = NBest.from_lists(records)
    chars = [
        edit_distance("".join(c["tokens"]), "".join(r["reference"])) for r in records for c in r["candidates"]
    ]
    words = [edit_distance(c["tokens"], r["reference"]) for r in records for c in r["candidates"]]
    assert lists.errors("cer").tolist() == chars
    assert lists.errors("wer").tolist() == words
    assert (lists.oracle() - lists.list_ptr[:-1]).tolist() == [oracle(record) for record in records]


def test_blocks_with_readings(tmp_path: Path) -> None:
    file = tmp_path / "lists.txt.gz"
    text = "#\t本/ほん を\n-1.5\t本/ほん を\n-2\tほん を\n\n#\ta//slash b\n-1\ta//slash\n"
    file.write_bytes(gzip.compress(text.encode()))
    lists = read_nbest(file)
    assert lists.texts == ["本を", "ほんを", "a/"]
    assert lists.words(0) == ["本/ほん", "を"]
    assert lists.errors().tolist() == [0.0, 2.0, 1.0]


def test_moses(tmp_path: Path) -> None:
    file, references = tmp_path / "x.nbest", tmp_path / "refs"
    file.write_text(
        "0 ||| a b ||| tm= -1 -2 lm= -3 ||| -6.5\n0 ||| a c ||| tm= -1 -1 lm= -4 ||| -6 ||| 0-0\n7 ||| d |||  ||| 1\n"
    )
    references.write_text("a c\nd\n")
    lists = read_nbest(file, references)
    assert lists.ids == ["0", "7"]
    assert lists.names == ["tm_1", "tm_2", "lm"]
    assert lists.scores.tolist() == [-6.5, -6.0, 1.0]
    assert lists.errors("wer").tolist() == [1.0, 0.0, 0.0]


def test_srilm_files_and_folders(tmp_path: Path) -> None:
    folder = tmp_path / "nbest"
    folder.mkdir()
    (folder / "utt1.nbest").write_text("-10 -2 2 hello world\n-11 -1 1 hello\n")
    (folder / "utt2.nbest").write_text("NBestList1.0\n(-5) good bye\n(-7.5) good buy\n")
    lists = read_nbest(folder)
    assert lists.ids == ["utt1", "utt2"]
    assert lists.scores.tolist() == [-12.0, -12.0, -5.0, -7.5]
    assert lists.names == ["lm", "words"]
    assert lists.texts == ["hello world", "hello", "good bye", "good buy"]
    assert len(read_nbest(folder / "utt1.nbest")) == 1


GOOD = {"tokens": ["a"], "score": -1.0}
BAD_RECORDS: list[tuple[Any, str]] = [
    ({"candidates": []}, "missing or empty"),
    ({"reference": "a"}, "missing or empty"),
    ([1], "expected a JSON object"),
    ({"candidates": ["a"]}, "candidate 1: expected an object"),
    ({"candidates": [GOOD, {"score": 1}]}, "candidate 2: needs 'tokens' or 'text'"),
    ({"candidates": [{"tokens": ["a"]}]}, "'score' is missing"),
    ({"candidates": [{"tokens": ["a"], "score": "high"}]}, "must be a number, not str"),
    ({"candidates": [{"tokens": ["a"], "score": math.nan}]}, "'score' is nan"),
    ({"candidates": [{"tokens": ["a"], "score": -math.inf}]}, "'score' is -inf"),
    ({"candidates": [{"tokens": "a b", "score": 1}]}, "'tokens' must be a list of strings"),
    ({"candidates": [{"text": 5, "score": 1}]}, "'text' must be a string"),
    ({"candidates": [{**GOOD, "features": {"x": math.nan}}]}, "feature 'x' is nan"),
    ({"candidates": [{**GOOD, "features": [1]}]}, "'features' must be an object"),
    ({"candidates": [{**GOOD, "errors": -1}]}, ">= 0"),
    ({"candidates": [{**GOOD, "tags": ["N", "V"]}]}, "one for each token"),
    ({"reference": 7, "candidates": [GOOD]}, "'reference' must be"),
]


@pytest.mark.parametrize(("record", "message"), BAD_RECORDS, ids=[message for _, message in BAD_RECORDS])
def test_bad_records_are_named_by_line(record: Any, message: str, tmp_path: Path) -> None:
    file = tmp_path / "lists.jsonl"
    file.write_text(json.dumps({"candidates": [GOOD]}) + "\n\n" + json.dumps(record) + "\n")
    with pytest.raises(InputError, match=message) as caught:
        read_nbest(file)
    assert str(caught.value).startswith(f"{file}:3: ")


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('{"candidates": [{"tokens": ["a"], "score": 1}]}\n{"candidates": [\n', 2, "broken JSON"),
        ("#\ta\nx\ta\n", 2, "score must be a number, not 'x'"),
        ("#\ta\n-1 a\n", 2, "score<TAB>tokens"),
        ("#\ta\nnan\ta\n", 2, "not a finite number"),
        ("#\ta\n\n#\tb\n-1\tb\n", 3, "has no candidates"),
        ("0 ||| a ||| lm= 1\n", 1, "found 3 fields"),
        ("0 ||| a ||| lm= x ||| 1\n", 1, "feature 'lm' must be a number"),
        ("hello\n", 1, "not a known n-best format"),
    ],
)
def test_bad_files_are_named_by_line(text: str, line: int, message: str, tmp_path: Path) -> None:
    file = tmp_path / "lists"
    file.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        read_nbest(file)
    assert str(caught.value).startswith(f"{file}:{line}: ")


def test_empty_missing_and_mismatched_files(tmp_path: Path) -> None:
    file = tmp_path / "empty"
    file.write_text("\n")
    with pytest.raises(InputError, match="no n-best list"):
        read_nbest(file)
    with pytest.raises(InputError, match="cannot read"):
        read_nbest(tmp_path / "absent")
    file.write_text(json.dumps({"candidates": [GOOD]}) + "\n")
    references = tmp_path / "refs"
    references.write_text("a\nb\n")
    with pytest.raises(InputError, match="2 references for 1 lists"):
        read_nbest(file, references)


def test_lists_without_reference_need_errors() -> None:
    bare = NBest.from_lists([{"id": "q", "candidates": [GOOD]}])
    with pytest.raises(InputError, match="list 'q' has neither"):
        bare.errors()
    given_errors = NBest.from_lists(
        [{"candidates": [{**GOOD, "errors": 2}, {"text": "b c", "score": 0, "errors": 1}]}]
    )
    assert given_errors.oracle().tolist() == [1]
    assert given_errors.lengths("cer").tolist() == [2.0]
    with pytest.raises(InputError, match="unknown measure"):
        given_errors.errors("bleu")
