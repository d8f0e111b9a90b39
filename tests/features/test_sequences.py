"""Encoded corpora: choosing sentences and renumbering attributes, against lists of lists."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from epigram.features.attributes import AttributeTable
from epigram.features.columns import Columns
from epigram.features.encoding import encode
from epigram.features.sequences import Sequences
from epigram.features.template import Template

TOKEN = st.tuples(
    st.lists(st.tuples(st.integers(0, 4), st.sampled_from([1.0, 0.5])), max_size=3),
    st.lists(st.integers(0, 4), max_size=2),
)
CORPUS = st.lists(st.lists(TOKEN, max_size=3), min_size=1, max_size=4)
Corpus = list[list[tuple[list[tuple[int, float]], list[int]]]]


def pack(corpus: Corpus) -> Sequences:
    tokens = [token for sentence in corpus for token in sentence]
    return Sequences.of(
        sentence_ptr=np.cumsum([0, *map(len, corpus)]),
        attribute_ptr=np.cumsum([0, *(len(nodes) for nodes, _ in tokens)]),
        attributes=[i for nodes, _ in tokens for i, _ in nodes],
        values=[value for nodes, _ in tokens for _, value in nodes],
        edge_ptr=np.cumsum([0, *(len(edges) for _, edges in tokens)]),
        edge_attributes=[i for _, edges in tokens for i in edges],
    )


def unpack(s: Sequences) -> Corpus:
    nodes = list(zip(s.attributes.tolist(), s.values.tolist(), strict=True))
    return [
        [
            (
                nodes[s.attribute_ptr[t] : s.attribute_ptr[t + 1]],
                s.edge_attributes[s.edge_ptr[t] : s.edge_ptr[t + 1]].tolist(),
            )
            for t in range(s.sentence_ptr[k], s.sentence_ptr[k + 1])
        ]
        for k in range(s.n_sentences)
    ]


@given(CORPUS, st.data())
@settings(max_examples=60, deadline=None)
def test_take(corpus: Corpus, data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.integers(0, len(corpus) - 1), max_size=5))
    assert unpack(pack(corpus).take(chosen)) == [corpus[k] for k in chosen]


@given(CORPUS, st.permutations(range(-2, 3)))
@settings(max_examples=60, deadline=None)
def test_renumber(corpus: Corpus, new_ids: list[int]) -> None:
    expected = [
        [
            (
                [(new_ids[i], value) for i, value in nodes if new_ids[i] >= 0],
                [new_ids[i] for i in edges if new_ids[i] >= 0],
            )
            for nodes, edges in sentence
        ]
        for sentence in corpus
    ]
    assert unpack(pack(corpus).renumber(np.array(new_ids, dtype=np.int32))) == expected


def test_unit_values_stay_short() -> None:
    s = Sequences.of(sentence_ptr=[0, 1, 2], attribute_ptr=[0, 2, 3], attributes=[0, 1, 2])
    assert len(s.take([0, 1]).values) == 1
    assert len(s.renumber(np.array([0, 1, -1], dtype=np.int32)).values) == 1


def test_lookups_run_side_by_side() -> None:
    words = [[f"w{(i * k) % 97}" for i in range(50)] for k in range(200)]
    template, table = Template.load("ner"), AttributeTable()
    columns = Columns.from_rows(words)
    alone = encode(columns, template, table, grow=True)
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda _: encode(columns, template, table, grow=False), range(4)))
    for s in together:
        np.testing.assert_array_equal(s.attributes, alone.attributes)
        np.testing.assert_array_equal(s.attribute_ptr, alone.attribute_ptr)
