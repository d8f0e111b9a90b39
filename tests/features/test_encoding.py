"""Template encoding against a slow twin, against CRFsuite's counts on real data, and the attribute table."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epigram.errors import InputError
from epigram.features import encoding
from epigram.features.attributes import AttributeTable, Strings, fingerprints, renumbering
from epigram.features.columns import Columns
from epigram.features.encoding import encode
from epigram.features.formats import read_columns
from epigram.features.sequences import Sequences
from epigram.features.template import Template
from reference import encoding as slow

FUNCTIONS = ["", "|lower", "|prefix:2", "|suffix:1", "|substrings:3", "|boundary"]
CELL = st.builds(
    lambda row, column, function: f"%x[{row},{column}{function}]",
    st.integers(-3, 3),
    st.integers(0, 1),
    st.sampled_from(FUNCTIONS),
)
LINE = st.builds(lambda k, cells: f"{k}:" + "/".join(cells), st.integers(0, 9), st.lists(CELL, max_size=3))
WORD = st.text("aAbé日", max_size=3).map(lambda text: text + "x")
ROWS = st.lists(st.lists(st.tuples(WORD, WORD), max_size=4), min_size=1, max_size=4)


def spelled(s: Sequences, table: AttributeTable) -> tuple[list[list[str]], list[list[str]]]:
    """The names of all attributes, token by token: of tokens, and of transitions."""
    names = np.array([*table.names(range(len(table))), ""], dtype=object)
    return (
        [list(names[s.attributes[a:b]]) for a, b in zip(s.attribute_ptr, s.attribute_ptr[1:], strict=False)],
        [list(names[s.edge_attributes[a:b]]) for a, b in zip(s.edge_ptr, s.edge_ptr[1:], strict=False)],
    )


@given(ROWS, st.lists(LINE, min_size=1, max_size=4), st.lists(LINE, max_size=2), st.booleans())
@settings(max_examples=150, deadline=None)
def test_equals_the_slow_twin(
    rows: list[list[tuple[str, str]]], nodes: list[str], edges: list[str], drop: bool
) -> None:
    nodes, edges = [f"U{line}" for line in nodes], [f"B{line}" for line in edges if "%" in line]
    template = Template.parse("\n".join(["# outside: drop"] * drop + nodes + edges))
    columns = Columns.from_rows(rows)
    if not columns.n_tokens:
        columns = Columns.from_rows([*rows, [("x", "y")]])
    rows = list(columns.rows())  # type: ignore[arg-type]
    table = AttributeTable()
    s = encode(columns, template, table, grow=True)
    expected = slow.encode(nodes, rows, drop), slow.encode(edges, rows, drop, edges=True)  # type: ignore[arg-type]
    assert spelled(s, table) == expected
    distinct = list(dict.fromkeys(name for part in expected for token in part for name in token))
    assert table.names(range(len(table))) == distinct
    assert table.fingerprints.tolist() == [slow.fingerprint(name) for name in distinct]
    again = encode(columns, template, table, grow=False)
    np.testing.assert_array_equal(again.attributes, s.attributes)
    np.testing.assert_array_equal(again.edge_ptr, s.edge_ptr)


def test_blocks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = Columns.from_rows([[(f"w{i * j % 7}",) for i in range(j)] for j in range(9)])
    template = Template.parse("U0:%x[0,0]/%x[1,0|substrings:3]\nU1:%x[-1,0]")
    tables = AttributeTable(), AttributeTable()
    whole = encode(columns, template, tables[0], grow=True)
    monkeypatch.setattr(encoding, "KEYS_PER_BLOCK", 5)
    pieces = encode(columns, template, tables[1], grow=True)
    np.testing.assert_array_equal(whole.attributes, pieces.attributes)
    assert tables[0].names(range(len(tables[0]))) == tables[1].names(range(len(tables[1])))


def test_unknown_attributes_are_dropped_and_the_table_stays() -> None:
    template = Template.parse("U0:%x[0,0]\nU1:%x[-1,0]\nB0:%x[0,0]")
    table = AttributeTable()
    encode(Columns.from_rows([["a", "b"]]), template, table, grow=True)
    n = len(table)
    s = encode(Columns.from_rows([["b", "new", "b"]]), template, table, grow=False)
    assert len(table) == n
    assert spelled(s, table) == ([["U0:b", "U1:_B-1"], [], ["U0:b"]], [[], [], ["B0:b"]])


def test_a_second_corpus_goes_on_where_the_first_stopped() -> None:
    template = Template.parse("U0:%x[0,0]")
    table = AttributeTable()
    encode(Columns.from_rows([["a", "b", "a"]]), template, table, grow=True)
    encode(Columns.from_rows([["c", "b"]]), template, table, grow=True)
    assert table.names(range(3)) == ["U0:a", "U0:b", "U0:c"]
    assert table.counts.tolist() == [2, 2, 1]


def test_table_grows_renumbers_settles_and_survives_pickle() -> None:
    table = AttributeTable()
    words = [f"w{k}" for k in range(3000) for _ in range(1 + k % 3)]
    s = encode(Columns.from_rows([words]), Template.parse("U0:%x[0,0]"), table, grow=True)
    assert len(table) == 3000
    new_ids = renumbering(table.counts, min_count=2)
    renumbered = s.renumber(new_ids)
    names_before = [f"U0:{word}" for word in words]
    table.renumber(new_ids)
    assert len(table) == 2000
    assert table.counts.tolist() == [3] * 1000 + [2] * 1000
    assert table.names(renumbered.attributes) == [
        name for name, i in zip(names_before, s.attributes, strict=True) if new_ids[i] >= 0
    ]
    table.settle()
    copy = pickle.loads(pickle.dumps(table))
    assert copy.names([0, 1999]) == table.names([0, 1999]) == ["U0:w2", "U0:w2998"]
    np.testing.assert_array_equal(copy.look_up(table.fingerprints), np.arange(2000))
    assert copy.counts.tolist() == table.counts.tolist()


def test_a_stored_table_without_names() -> None:
    table = AttributeTable(fingerprints(["a", "b"]))
    assert table.look_up(fingerprints(["b", "c", "a"])).tolist() == [1, -1, 0]
    assert table.names([0]) == [f"?{slow.fingerprint('a'):016x}"]
    assert AttributeTable(fingerprints(["a", "b"]), ["a", "b"]).names([1]) == ["b"]


def test_an_empty_table_knows_nothing() -> None:
    assert AttributeTable().look_up(fingerprints(["a"])).tolist() == [-1]
    assert AttributeTable().intern(fingerprints([]), Strings([])).tolist() == []


def test_missing_column_and_bad_unicode() -> None:
    columns = Columns.from_rows([[("a",)]])
    with pytest.raises(InputError, match=r"template:1: column 1 .* has 1 column of"):
        encode(columns, Template.parse("U0:%x[0,1]"), AttributeTable(), grow=True)
    with pytest.raises(InputError, match="is not Unicode text"):
        encode(Columns.from_rows([["\ud800"]]), Template.parse("U0:%x[0,0]"), AttributeTable(), grow=True)


def test_a_corpus_without_tokens() -> None:
    s = encode(Columns.from_rows([[], []]), Template.parse("U0:bias"), AttributeTable(), grow=True)
    assert (s.n_sentences, s.n_tokens, len(s.attributes)) == (2, 0, 0)


def test_chunking_template_has_the_features_of_crfsuite(data: Path) -> None:
    """335,674 attributes and 452,755 features: what CRFsuite reports for its chunking example."""
    observations, labels = read_columns(data / "conll2000" / "train.txt").split(-1)
    table = AttributeTable()
    s = encode(observations, Template.load("chunking"), table, grow=True)
    assert len(table) == 335_674
    label_of = labels.ids.astype(np.int64)
    per_occurrence = np.repeat(label_of, np.diff(s.attribute_ptr))
    pairs = np.unique(s.attributes.astype(np.int64) * 64 + per_occurrence)
    inner = np.setdiff1d(np.arange(s.n_tokens), s.sentence_ptr)
    bigrams = np.unique(label_of[inner - 1] * 64 + label_of[inner])
    assert len(pairs) + len(bigrams) == 452_755
    chosen = np.random.default_rng(0).choice(len(table), 300)
    assert fingerprints(table.names(chosen)).tolist() == table.fingerprints[chosen].tolist()


@pytest.mark.parametrize(
    ("name", "file"), [("ner", "jnlpba/Genia4EReval1.iob2"), ("pos", "genia-pos/devel.tsv")]
)
def test_built_in_templates_on_real_data_equal_their_own_expansion(data: Path, name: str, file: str) -> None:
    columns = read_columns(data / file).split(-1)[0].take(range(40))
    template, table = Template.load(name), AttributeTable()
    s = encode(columns, template, table, grow=True)
    expected = [list(template.expand(columns, t, template.nodes)) for t in range(columns.n_tokens)]
    assert spelled(s, table)[0] == expected
