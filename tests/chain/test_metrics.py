"""Chunk scores: cases by hand, then any labels at all against conlleval's state machine."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epigram.chain.chunks import are_chunk_labels, chunks
from epigram.chain.metrics import Score, evaluate, evaluate_ids
from epigram.errors import InputError
from reference.chunks import conlleval


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("B-NP I-NP O B-NP", [("NP", 0, 2), ("NP", 3, 4)]),
        ("I-NP I-NP B-NP O", [("NP", 0, 2), ("NP", 2, 3)]),
        ("O I-NP I-NP", [("NP", 1, 3)]),
        ("B-NP I-VP", [("NP", 0, 1), ("VP", 1, 2)]),
        ("B-NP B-NP", [("NP", 0, 1), ("NP", 1, 2)]),
        ("I-NP E-NP E-NP O", [("NP", 0, 2), ("NP", 2, 3)]),
        ("I-NP E-NP I-NP I-NP", [("NP", 0, 2), ("NP", 2, 4)]),
        ("B-NP I-NP E-NP S-NP B-NP E-NP", [("NP", 0, 3), ("NP", 3, 4), ("NP", 4, 6)]),
        ("B-NP L-NP U-NP", [("NP", 0, 2), ("NP", 2, 3)]),
        ("B-cell-line I-cell-line I-cell", [("cell-line", 0, 2), ("cell", 2, 3)]),
        ("B I O I", [("", 0, 2), ("", 3, 4)]),
        ("O O", []),
        ("", []),
    ],
)
def test_chunks_by_hand(labels: str, expected: list[tuple[str, int, int]]) -> None:
    assert chunks(labels.split()) == expected


def sentences(letters: str) -> st.SearchStrategy[list[tuple[str, str]]]:
    label = st.sampled_from(["O", *(f"{letter}-{name}" for letter in letters for name in "XY")])
    return st.lists(st.tuples(label, label), max_size=12)


@pytest.mark.parametrize("letters", ["BI", "IE", "BIES"])
@given(data=st.data())
@settings(max_examples=80, deadline=None)
def test_equals_conlleval(letters: str, data: st.DataObject) -> None:
    pairs = data.draw(st.lists(sentences(letters), min_size=1, max_size=4))
    gold = [[g for g, _ in sentence] for sentence in pairs]
    predicted = [[p for _, p in sentence] for sentence in pairs]
    report = evaluate(gold, predicted)
    correct, found, there = conlleval(gold, predicted)
    assert report.per_type == {
        name: Score(correct[name], found[name], there[name])
        for name in ("X", "Y")
        if found[name] or there[name]
    }
    assert report.overall == Score(correct.total(), found.total(), there.total())
    same = [g == p for sentence in pairs for g, p in sentence]
    assert report.accuracy == (np.mean(same) if same else 0.0)


def test_figures_and_confusion() -> None:
    report = evaluate([["B-NP", "I-NP", "O"], ["B-VP", "O"]], [["B-NP", "I-NP", "B-VP"], ["O", "O"]])
    assert report.overall == Score(correct=1, predicted=2, gold=2)
    assert (report.overall.precision, report.overall.recall, report.overall.f1) == (0.5, 0.5, 0.5)
    assert report.per_type["VP"].f1 == 0.0
    assert report.tokens == 5
    assert report.accuracy == 0.6
    assert report.mistakes() == [("B-VP", "O", 1), ("O", "B-VP", 1)]
    assert report.confusion[report.labels.index("O"), report.labels.index("O")] == 1
    assert report.as_dict()["per_type"]["NP"]["f1"] == 1.0


def test_a_chunk_does_not_cross_sentences() -> None:
    ids = np.array([0, 0, 0, 0])
    report = evaluate_ids(ids, ids, ["I-NP", "O"], np.array([0, 2, 2, 4]))
    assert report.overall == Score(2, 2, 2)


def test_parts_of_speech_are_scored_token_by_token() -> None:
    report = evaluate([["NN", "DT", "NN"]], [["NN", "NN", "NN"]])
    assert not report.chunked
    assert report.per_type == {"DT": Score(0, 0, 1), "NN": Score(2, 3, 2)}
    assert report.overall.f1 == pytest.approx(report.accuracy)


def test_which_labels_are_chunk_labels() -> None:
    assert are_chunk_labels(["O", "B-NP"])
    assert are_chunk_labels(["O"])
    assert not are_chunk_labels(["B-NP", "NN"])


def test_gold_scores_itself_on_real_data(data) -> None:  # type: ignore[no-untyped-def]
    from epigram.features.formats import read_columns

    corpus = read_columns(data / "conll2000" / "test.txt")
    labels = corpus.columns[-1]
    report = evaluate_ids(labels.ids, labels.ids, labels.strings, corpus.sentence_ptr)
    assert report.overall == Score(23852, 23852, 23852)  # the count in the data sets' description
    assert report.per_type["NP"].gold == 12422  # as published with the shared task
    assert report.tokens == 47377


def test_lengths_that_differ_are_refused() -> None:
    with pytest.raises(InputError, match="1 gold sentences, but 2"):
        evaluate([["O"]], [["O"], ["O"]])
    with pytest.raises(InputError, match="sentence 0 has 1 gold labels, but 2"):
        evaluate([["O"]], [["O", "O"]])
    with pytest.raises(InputError, match="1 gold labels, but 2"):
        evaluate_ids(np.array([0]), np.array([0, 0]), ["O"], np.array([0, 1]))
