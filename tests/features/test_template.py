"""CRF++ templates: what is read, what is refused and where."""

from __future__ import annotations

import pickle
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from epigram.datasets.sample import tagged
from epigram.errors import InputError
from epigram.features.columns import Columns
from epigram.features.template import BUILT_IN, Template
from epigram.solvers import SGD
from epigram.tagging import CRFTagger, SegmentTagger

SENTENCE = [[("He", "PRP"), ("reckons", "VBZ"), ("the", "DT"), ("current", "JJ"), ("deficit", "NN")]]


def expand(text: str, token: int) -> list[str]:
    template = Template.parse(text)
    return list(template.expand(Columns.from_rows(SENTENCE), token, template.nodes))


def test_the_example_of_crfpp() -> None:
    assert expand(
        "U00:%x[0,0]\nU01:%x[0,1]\nU02:%x[-1,0]\nU03:%x[-2,1]\nU04:%x[0,0]/%x[0,1]\nU05:ABC%x[0,1]123\n", 2
    ) == [
        "U00:the",
        "U01:DT",
        "U02:reckons",
        "U03:PRP",
        "U04:the/DT",
        "U05:ABCDT123",
    ]


def test_cells_outside_the_sentence_are_marked_as_crfpp_marks_them() -> None:
    assert expand("U0:%x[-2,0]/%x[-1,0]", 0) == ["U0:_B-2/_B-1"]
    assert expand("U0:%x[1,0]/%x[2,0]/%x[3,0]", 3) == ["U0:deficit/_B+1/_B+2"]


def test_outside_drop_leaves_out_the_attribute_but_not_boundaries() -> None:
    text = "# outside: drop\nU0:%x[-1,0]/%x[0,0]\nU1:%x[-1,0|boundary]\nU2:%x[1,0|boundary]\n"
    assert expand(text, 0) == ["U1:_B-1"]
    assert expand(text, 2) == ["U0:reckons/the"]
    assert expand(text, 4) == ["U0:current/deficit", "U2:_B+1"]


def test_functions_are_not_applied_outside() -> None:
    assert expand("U0:%x[-1,0|shape]", 0) == ["U0:_B-1"]


def test_kinds_of_lines() -> None:
    template = Template.parse("# a comment\n\nU00:%x[0,0]\nU01:bias\nB\nB01:%x[-1,0]/%x[0,0]\n")
    assert [line.number for line in template.nodes] == [3, 4]
    assert [line.number for line in template.edges] == [6]
    assert template.transitions
    assert not Template.parse("U00:%x[0,0]\nB01:%x[0,0]\n").transitions


@pytest.mark.parametrize(
    ("pattern", "word", "value"),
    [
        ("^[A-Z]", "Abc", "1"),
        ("[]x]", "]", "1"),
        ("[^]x]", "]", "0"),
        (r"\]", "a]", "1"),
        ("a|b", "b", "1"),
        (r"[\]|]$", "a|", "1"),
    ],
)
def test_patterns_may_hold_brackets_and_bars(pattern: str, word: str, value: str) -> None:
    template = Template.parse(f"U0:%x[0,0|match:{pattern}]/%x[0,0]")
    assert list(template.expand(Columns.from_rows([[(word,)]]), 0, template.nodes)) == [f"U0:{value}/{word}"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("U0:%x[0,0]\nX0:%x[0,0]", "mine.txt:2: a template line starts with U, B, S or #, not 'X'"),
        ("U0:%x[0]", r"mine.txt:1: expected %x\[ROW,COLUMN\]"),
        ("U0:%x[0,-1]", r"mine.txt:1: expected %x\[ROW,COLUMN\]"),
        ("\nU0:%x[0,0|upper]", "mine.txt:2: unknown function 'upper'"),
        ("U0:%x[0,0|lower", "mine.txt:1: no closing bracket"),
        ("U0:%x[0,0|match:[a]", "mine.txt:1: no closing bracket after the regular expression"),
        ("U0:%x[0,0|match:(]", "mine.txt:1: bad regular expression"),
        ("# outside: keep\nU0:%x[0,0]", "mine.txt:1: outside is drop or mark, not 'keep'"),
        ("B\n", "mine.txt: a template needs at least one U line"),
    ],
)
def test_errors_name_the_line(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Template.parse(text, "mine.txt")


def test_a_missing_column_is_named_with_the_line_and_the_file() -> None:
    template = Template.parse("U0:%x[0,0]\nU1:%x[0,2]", "mine.txt")
    with pytest.raises(InputError, match=r"mine.txt:2: column 2 .* but train.txt has 2 columns"):
        template.check(2, "train.txt")
    template.check(3, "train.txt")


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_templates_load_and_survive_pickle(name: str) -> None:
    template = Template.load(name)
    assert template.transitions
    assert template.drops_outside
    assert pickle.loads(pickle.dumps(template)) == template
    assert Template.parse(template.text, name) == template


def test_a_template_file_or_a_clear_error(tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text("U0:%x[0,0]\n")
    assert len(Template.load(file).nodes) == 1
    with pytest.raises(InputError, match="no such template; built-in ones are chunking, ner, pos"):
        Template.load(tmp_path / "other.txt")


CELLS = ("U0:%x[0,0]\n", "# outside: drop\nU0:%x[-2,0]/%x[1,1]\n")
OF_CHAINS = product(
    CELLS,
    ("", "B\n", "B1:%x[0,1]\n", "B\nB1:%x[-1,0]\n"),
    ({}, {"constrain": "iob2"}, {"pairs": "all"}),
)
OF_SECOND_ORDER = product(CELLS, ("B\n", "B1:%x[0,1]\n"), ({"order": 2},))
OF_SEGMENTS = product(CELLS, ("S0:%x[all,0]\n", "B\nS0:%x[all,0]\nS1:%x[length]\n", "B\n"), ({"longest": 9},))


@pytest.mark.parametrize(("nodes", "others", "settings"), [*OF_CHAINS, *OF_SECOND_ORDER, *OF_SEGMENTS])
def test_every_kind_of_template_trains_and_answers(nodes: str, others: str, settings: dict[str, Any]) -> None:
    """``make sanitize`` runs this on a core that stops at the first access outside an array."""
    sentences = tagged("train", 6)
    X, y = [[token[:2] for token in s] for s in sentences], [[token[2] for token in s] for s in sentences]
    kind = SegmentTagger if "longest" in settings else CRFTagger
    tagger = kind(nodes + others, l1=0.1, solver=SGD(passes=2), **settings).fit(X, y)
    assert [best for [(best, _), *_] in tagger.predict_nbest(X, 3)] == tagger.predict(X)
    for word in tagger.predict_marginals(X)[0]:
        assert sum(word.values()) == pytest.approx(1.0)
