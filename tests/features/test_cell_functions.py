"""Functions on cells: the paper's examples, lengths in characters, messages for what is not a function."""

from __future__ import annotations

import pickle

import pytest

from epigram.features.cell_functions import CellFunction, apply_chain


@pytest.mark.parametrize(
    ("function", "cell", "values"),
    [
        ("shape", "IL-2", ("AA-#",)),
        ("shape", "Éa9日.", ("Aa#a.",)),
        ("lower", "ÀB", ("àb",)),
        ("normalise", "NF-kB65", ("nf-kb##",)),
        ("prefix:3", "word", ("wor",)),
        ("prefix:3", "日本語だ", ("日本語",)),
        ("prefix:5", "word", ()),
        ("suffix:2", "word", ("rd",)),
        ("suffix:5", "word", ()),
        ("substrings:3", "aab", ("a", "aa", "ab", "b")),
        ("substrings:10", "", ()),
        ("match:^[0-9]+$", "12", ("1",)),
        ("match:^[0-9]+$", "1a", ("0",)),
        ("boundary", "anything", ()),
    ],
)
def test_values(function: str, cell: str, values: tuple[str, ...]) -> None:
    assert CellFunction.parse(function)(cell) == values


def test_all_substrings_shorter_than_the_limit() -> None:
    word = "abcdefghijkl"
    found = CellFunction.parse("substrings:10")(word)
    assert sorted(map(len, found)) == sorted(n for n in range(1, 10) for _ in range(len(word) - n + 1))
    assert all(part in word for part in found)


def test_chain_applies_from_left_to_right_and_keeps_values_distinct() -> None:
    chain = tuple(map(CellFunction.parse, ("substrings:3", "prefix:1", "lower")))
    assert apply_chain(chain, "aAb") == ("a", "b")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("upper", "unknown function 'upper'; there are lower"),
        ("lower:3", "unknown function"),
        ("prefix", "prefix needs a whole number of at least 1"),
        ("prefix:0", "at least 1"),
        ("suffix:-2", "at least 1"),
        ("substrings:1", "at least 2"),
        ("match:", "unknown function"),
        ("match:(", "bad regular expression"),
    ],
)
def test_refuses(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CellFunction.parse(text)


def test_survives_pickle() -> None:
    function = pickle.loads(pickle.dumps(CellFunction.parse("suffix:2")))
    assert function == CellFunction.parse("suffix:2")
    assert function("word") == ("rd",)
