"""Features as Python objects: every form python-crfsuite takes, with python-crfsuite as the oracle."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epigram.errors import InputError
from epigram.features.attributes import AttributeTable
from epigram.features.columns import Columns
from epigram.features.encoding import encode, encode_features
from epigram.features.feature_dicts import flatten
from epigram.features.template import Template

NAMES = st.text("abc:=", min_size=1, max_size=3)
VALUES = st.recursive(
    NAMES | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.5, -1.5]),
    lambda inner: (
        st.lists(NAMES, max_size=2) | st.sets(NAMES, max_size=2) | st.dictionaries(NAMES, inner, max_size=2)
    ),
    max_leaves=4,
)
TOKENS = st.dictionaries(NAMES, VALUES, max_size=4) | st.lists(NAMES, max_size=4)


@given(TOKENS)
@settings(max_examples=100, deadline=None)
def test_names_and_values_are_those_of_python_crfsuite(token: Any) -> None:
    pycrfsuite = pytest.importorskip("pycrfsuite")
    ours = list(flatten(token))
    theirs = pycrfsuite.ItemSequence([token]).items()[0]
    assert {name for name, _ in ours} == set(theirs)
    if len({name for name, _ in ours}) == len(ours):
        assert dict(ours) == theirs


@given(st.lists(st.lists(TOKENS, max_size=3), max_size=3))
@settings(max_examples=50, deadline=None)
def test_encoding_keeps_every_feature_that_is_not_zero(sentences: list[list[Any]]) -> None:
    table = AttributeTable()
    s = encode_features(sentences, table, grow=True)
    values = np.broadcast_to(s.values, len(s.attributes))
    encoded = list(zip(table.names(s.attributes), values.tolist(), strict=True))
    flat = [[one for one in flatten(token) if one[1]] for sentence in sentences for token in sentence]
    tokens = itertools.pairwise(s.attribute_ptr.tolist())
    assert [sorted(encoded[a:b]) for a, b in tokens] == [
        sorted(token) for token in flat
    ]  # sets have no order
    assert s.sentence_ptr.tolist() == np.cumsum([0, *map(len, sentences)]).tolist()
    counts = np.bincount(s.attributes, minlength=len(table))
    assert counts.tolist() == table.counts.tolist()


def test_generators_are_streamed() -> None:
    alive: list[int] = []

    def sentences() -> Iterator[Iterator[list[str]]]:
        for k in range(3):
            alive.append(k)
            yield (["bias", f"w{k}"] for _ in range(2))

    table = AttributeTable()
    s = encode_features(sentences(), table, grow=True)
    assert alive == [0, 1, 2]
    assert s.attributes.tolist() == [0, 1, 0, 1, 0, 2, 0, 2, 0, 3, 0, 3]
    assert s.unit_values
    assert len(s.values) == 1


def test_the_same_table_serves_templates_and_strings() -> None:
    table = AttributeTable()
    encode(Columns.from_rows([["a", "b"]]), Template.parse("U0:%x[0,0]"), table, grow=True)
    s = encode_features([[["U0:b", "U0:c"], {"U0": "a"}]], table, grow=False)
    assert s.attributes.tolist() == [1, 0]
    assert s.attribute_ptr.tolist() == [0, 1, 2]


def test_values_move_along_when_unknown_features_are_dropped() -> None:
    table = AttributeTable()
    encode_features([[{"a": 1.0, "b": 1.0}]], table, grow=True)
    s = encode_features([[{"x": 3.0, "b": 2.0, "y": 1.0, "a": 0.5}]], table, grow=False)
    assert s.attributes.tolist() == [1, 0]
    assert s.values.tolist() == [2.0, 0.5]


@pytest.mark.parametrize(
    ("token", "message"),
    [
        ("word", "sentence 1, token 1: a token is a dict or a list of features, not 'word'"),
        (3, "a token is a dict or a list of features, not 3"),
        ({"a": None}, "feature 'a' is a string, a number, a dict or a list, not None"),
        ({1: 2.0}, "the name of a feature is a string, not 1"),
        ([("a", 1.0)], "the name of a feature is a string"),
        ({"a": float("nan")}, "feature 'a' has the value nan; values are finite"),
    ],
)
def test_errors_say_which_token(token: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        encode_features([[["fine"]], [["fine"], token]], AttributeTable(), grow=True)
