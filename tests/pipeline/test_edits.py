"""Edit scripts give back what they were made of."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epigram.pipeline.edits import apply_lemma, apply_words, lemma_script, word_script

WORD = st.text(st.sampled_from("abcABÇçıİxyzé'-|=0"), min_size=1, max_size=12)


@given(WORD, WORD)
def test_a_lemma_script_makes_its_lemma(form: str, lemma: str) -> None:
    assert apply_lemma(form, lemma_script(form, lemma)) == lemma


@given(WORD, WORD, WORD)
def test_scripts_fit_any_form(form: str, lemma: str, other: str) -> None:
    assert apply_lemma(other, lemma_script(form, lemma))
    assert all(apply_words(other, word_script(form, (lemma, other))))


@given(st.lists(WORD, min_size=1, max_size=4))
def test_a_token_that_is_cut_is_cut_again(words: list[str]) -> None:
    token = "".join(words)
    assert apply_words(token, word_script(token, tuple(words))) == tuple(words)


@pytest.mark.parametrize(
    ("token", "words"),
    [
        ("du", ("de", "le")),
        ("Aux", ("À", "les")),
        ("DES", ("DE", "LES")),
        ("dámelo", ("da", "me", "lo")),
        ("zum", ("zu", "dem")),
        ("evdeki", ("evde", "ki")),
        ("وكتب", ("و", "كتب")),
    ],
)
def test_words_that_are_no_parts_of_their_token(token: str, words: tuple[str, ...]) -> None:
    assert apply_words(token, word_script(token, words)) == words


def test_a_script_is_of_use_for_other_forms() -> None:
    assert apply_lemma("Walked", lemma_script("Jumped", "jump")) == "walk"
    assert apply_lemma("gelernt", lemma_script("gemacht", "machen")) == "lernen"
    assert apply_words("evlerdeki", word_script("evdeki", ("evde", "ki"))) == ("evlerde", "ki")
