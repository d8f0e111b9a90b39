"""n-grams of raw text against the reference implementation, and rows of them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from epigram._core import bindings
from epigram.errors import InputError
from epigram.features.grams import GramSpec, encode_grams, learn_grams, list_grams, locate_grams
from tests.reference.grams import keys_of, values_of

TEXT = st.text(st.sampled_from("ab '’.\n\tÉßक\u094d漢字かไ𝒳_1-\x00\x85"), max_size=12)
SPECS = st.builds(
    GramSpec,
    words=st.integers(1, 3),
    chars=st.sampled_from([None, (1, 1), (2, 4), (1, 6)]),
    across=st.booleans(),
    lowercase=st.booleans(),
    normalise=st.just(""),
    log_counts=st.booleans(),
    apart=st.booleans(),
)


@given(TEXT, SPECS)
def test_ngrams_are_those_of_the_reference(text: str, spec: GramSpec) -> None:
    wanted = keys_of(text, spec.words, spec.chars, spec.across, spec.lowercase)
    keys, begins, ends, shares, content = locate_grams(text, spec)
    assert Counter(keys.tolist()) == wanted
    values = Counter[int]()
    for key, share in zip(keys.tolist(), shares.tolist(), strict=True):
        values[key] += share
    assert values == pytest.approx(values_of(text, spec))
    assert ((begins >= 0) & (begins <= ends) & (ends <= len(content))).all()


@given(st.lists(TEXT, min_size=1, max_size=5), SPECS)
def test_rows_are_values_over_the_norm_of_all_ngrams(texts: list[str], spec: GramSpec) -> None:
    table, rows = learn_grams(texts, spec, min_count=1)
    keys = table.fingerprints
    for k, text in enumerate(texts):
        at = slice(rows.ptr[k], rows.ptr[k + 1])
        found = dict(zip(keys[rows.ids[at]].tolist(), rows.values[at].tolist(), strict=True))
        assert found == pytest.approx(values_of(text, spec), rel=1e-6)


def test_only_ngrams_of_several_texts_are_learnt_and_the_norm_counts_the_others() -> None:
    spec = GramSpec(words=1)
    table, rows = learn_grams(["a b", "a c", "a a d d"], spec)
    assert len(table) == 1
    assert rows.values.tolist() == pytest.approx([2**-0.5] * 3)
    again = encode_grams(["x a", "x"], spec, table)
    assert (again.ptr.tolist(), again.ids.tolist()) == ([0, 1, 1], [0])


def test_lists_show_ngrams_as_text() -> None:
    assert list_grams("Tom's", GramSpec(0, (1, 3), across=False))[:4] == [
        "t",
        "to",
        "t",
        "to",
    ]
    assert list_grams("It's 9 pm", GramSpec(words=1)) == ["it's", "9", "pm"]


def test_normal_forms_make_equal_texts_equal() -> None:
    composed, parts = "caf\u00e9", "cafe\u0301"
    assert list_grams(composed, GramSpec()) == list_grams(parts, GramSpec())
    assert list_grams(composed, GramSpec(normalise="")) != list_grams(parts, GramSpec(normalise=""))


def test_invalid_bytes_are_replacement_characters() -> None:
    spec = GramSpec(words=1, normalise="")
    raw = np.frombuffer(b"a\xff \xe6\xbc b", dtype=np.uint8)
    keys, begins, ends = np.empty(40, np.uint64), np.empty(40, np.int64), np.empty(40, np.int64)
    scratch = spec.scratch(np.array([0, len(raw)]))
    n = bindings.grams_locate(scratch, raw, keys, begins, ends, np.empty(40))
    replaced = "a\ufffd \ufffd\ufffd b"
    assert Counter(keys[:n].tolist()) == keys_of(replaced, 1, None, True)


def test_impossible_ngrams_are_refused() -> None:
    for wrong in ({"words": 4}, {"words": 0}, {"chars": (0, 3)}, {"chars": (3, 2)}, {"normalise": "NFX"}):
        with pytest.raises(InputError):
            GramSpec(**wrong)  # type: ignore[arg-type]


def test_rows_are_taken_and_renumbered() -> None:
    _, rows = learn_grams(["a b", "b c", "c a b"], GramSpec(words=1), min_count=1)
    dense = np.zeros((3, 3))
    dense[np.repeat(range(3), np.diff(rows.ptr)), rows.ids] = rows.values
    some = rows.take(np.array([2, 0])).renumber(np.array([1, -1, 0], np.int32), 2)
    found = np.zeros((2, 2))
    found[np.repeat(range(2), np.diff(some.ptr)), some.ids] = some.values
    assert np.allclose(found, dense[[2, 0]][:, [2, 0]])
