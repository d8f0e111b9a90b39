"""Which label may follow which: schemes by name against their definition, lists, and data that breaks them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as budget
from hypothesis import strategies as st

from epigram.chain.constraints import allowed_ends, allowed_transitions, check_permitted
from epigram.errors import InputError
from epigram.features.sequences import Sequences

TYPES = ["NP", "VP"]
MARKS = {"iob2": "BI", "iob1": "BI", "ioe2": "IE", "bioes": "BIES"}


def written(scheme: str, spans: list[str]) -> list[str]:
    """Chunks (a type and a length, or O) as labels: the definition of each scheme."""
    labels: list[str] = []
    before = ""
    for span in spans:
        kind, _, size = span.partition(":")
        n = int(size or 1)
        if kind == "O":
            labels += ["O"] * n
        elif scheme == "iob2":
            labels += [f"B-{kind}"] + [f"I-{kind}"] * (n - 1)
        elif scheme == "iob1":
            labels += [f"{'B' if before == kind else 'I'}-{kind}"] + [f"I-{kind}"] * (n - 1)
        elif scheme == "ioe2":
            labels += [f"I-{kind}"] * (n - 1) + [f"E-{kind}"]
        else:
            inner = [f"B-{kind}", *[f"I-{kind}"] * (n - 2), f"E-{kind}"]
            labels += [f"S-{kind}"] if n == 1 else inner
        before = kind
    return labels


def universe(scheme: str) -> list[str]:
    return ["O", *(f"{mark}-{kind}" for mark in MARKS[scheme] for kind in TYPES)]


def keeps(scheme: str, labels: list[str]) -> bool:
    names = universe(scheme)
    pairs, ends = allowed_transitions(scheme, names), allowed_ends(scheme, names)
    assert pairs is not None
    assert ends is not None
    ids = [names.index(label) for label in labels]
    inside = all(pairs[a, b] for a, b in itertools.pairwise(ids))
    return bool(inside and ends[0, ids[0]] and ends[1, ids[-1]])


@pytest.mark.parametrize("scheme", MARKS)
def test_exactly_the_labellings_of_chunks_are_permitted(scheme: str) -> None:
    """All label sequences of up to three tokens, against all ways to cut three tokens into chunks."""
    for n in (1, 2, 3):
        legal = set()
        for cut in itertools.product([False, True], repeat=n - 1):
            sizes = np.diff([0, *(k + 1 for k in range(n - 1) if cut[k]), n])
            for kinds in itertools.product(["O", *TYPES], repeat=len(sizes)):
                spans = [f"{kind}:{size}" for kind, size in zip(kinds, sizes, strict=True)]
                legal.add(tuple(written(scheme, spans)))
        for labels in itertools.product(universe(scheme), repeat=n):
            assert keeps(scheme, list(labels)) == (labels in legal), labels


@pytest.mark.parametrize("scheme", MARKS)
@given(
    spans=st.lists(st.builds("{}:{}".format, st.sampled_from(["O", *TYPES]), st.integers(1, 4)), min_size=1)
)
@budget(max_examples=30)
def test_chunks_written_in_a_scheme_keep_to_it(scheme: str, spans: list[str]) -> None:
    assert keeps(scheme, written(scheme, spans))


def test_labels_that_are_no_chunks_are_free() -> None:
    for scheme in MARKS:
        pairs = allowed_transitions(scheme, ["NN", "VB", ""])
        assert pairs is not None
        assert pairs.all()


def test_lists_of_pairs_are_taken_as_they_are() -> None:
    pairs = allowed_transitions(iter([("a", "b"), ("b", "b")]), ["a", "b"])
    assert pairs is not None
    assert pairs.tolist() == [[False, True], [False, True]]
    assert allowed_ends([("a", "b")], ["a", "b"]) is None
    assert allowed_transitions(None, ["a"]) is None
    with pytest.raises(
        ValueError, match="constrain names the label 'c', which the training data does not have"
    ):
        allowed_transitions([("a", "c")], ["a", "b"])
    with pytest.raises(ValueError, match="constrain must be one of iob1, iob2, ioe2, bioes or a list"):
        allowed_transitions("iobes", ["a"])


def test_data_that_breaks_the_constraint_is_named() -> None:
    names = np.array(["B-NP", "I-NP", "O"], dtype=object)
    allowed, ends = allowed_transitions("iob2", names.tolist()), allowed_ends("iob2", names.tolist())
    sequences = Sequences.of([0, 0, 2, 4], [0, 0, 0, 0, 0], [])
    check_permitted(sequences, np.array([0, 1, 2, 0], dtype=np.int32), names, allowed, ends)
    check_permitted(sequences, np.array([2, 1, 1, 1], dtype=np.int32), names, None, None)
    with pytest.raises(InputError, match="sentence 2: label 'I-NP' after 'O' is forbidden by constrain"):
        check_permitted(sequences, np.array([0, 1, 2, 1], dtype=np.int32), names, allowed, ends)
    with pytest.raises(InputError, match="sentence 1: label 'I-NP' comes first, which constrain forbids"):
        check_permitted(sequences, np.array([1, 1, 2, 0], dtype=np.int32), names, allowed, ends)
