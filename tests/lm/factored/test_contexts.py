"""What a class-factored model looks at: its notation, and the symbols of positions of a text."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epigram.errors import InputError
from epigram.lm.factored.contexts import Contexts
from epigram.lm.loglinear.tree import Positions

symbols = st.tuples(st.sampled_from("cw"), st.integers(1, 40))
trees = st.lists(st.lists(symbols, min_size=1, max_size=4).map(tuple), min_size=1, max_size=3).map(tuple)


@settings(max_examples=50)
@given(trees, st.sampled_from([";", "; ", " ;  "]))
def test_parsing_undoes_writing(wanted, semicolon):
    contexts = Contexts(wanted)
    assert Contexts.parse(str(contexts)) == contexts
    assert Contexts.parse(str(contexts).replace("; ", semicolon).replace(" ", "  ")) == contexts
    assert contexts.n_words == max(lag for tree in wanted for _, lag in tree)


@settings(max_examples=100)
@given(st.text("cw129 ;x0-", max_size=12))
def test_any_text_parses_or_is_refused(text):
    names = [name for part in text.split(";") for name in part.split() or [""]]
    if all(re.fullmatch("[cw][1-9][0-9]{0,8}", name) for name in names):
        assert str(Contexts.parse(text)) == "; ".join(" ".join(part.split()) for part in text.split(";"))
    else:
        with pytest.raises(InputError, match=re.escape(repr(text))):
            Contexts.parse(text)


def test_alternating_contexts():
    assert str(Contexts.alternating(3)) == "c1 w1 c2 w2 c3 w3"
    assert str(Contexts.alternating(1, "c2 w2", "w3")) == "c1 w1; c2 w2; w3"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("c1 x1", "'x1'.*no symbol"),
        ("c0", "'c0'.*no symbol"),
        ("c1w1", "no symbol"),
        ("w", "no symbol"),
        ("c-1", "no symbol"),
        ("C1", "no symbol"),
        ("w1000000000", "too far back for any text"),
        ("", "empty tree"),
        ("c1;", "empty tree"),
        ("c1; ; w1", "empty tree"),
    ],
)
def test_what_is_no_context_is_named(text, message):
    with pytest.raises(InputError, match=message):
        Contexts.parse(text)


def seen(contexts, history, class_of, n_classes):
    """The symbols of every tree of every position, newest first."""
    words = Positions.of_stream(np.array(history, np.int32), len(class_of))
    symbol, end, length = contexts.of(words, np.array(class_of, np.int32), n_classes)
    assert end.shape == length.shape == (words.end.size, len(contexts.trees))
    assert symbol.dtype == end.dtype == length.dtype == np.int32
    return [
        [symbol[e - k : e][::-1].tolist() for e, k in zip(ends, lengths, strict=True)]
        for ends, lengths in zip(end.tolist(), length.tolist(), strict=True)
    ]


CLASS_OF = [0, 1, 1, 2]  # three classes: <s> | 1 2 | 3; words are the symbols 3 and up


def test_symbols_from_the_start_of_a_sentence_on():
    contexts = Contexts.parse("c1 w1 c2 w2; c2; w3 c1")
    # 0 1 3 0 2: positions 1, 3, the end, 2
    assert seen(contexts, [0, 1, 3, 0, 2], CLASS_OF, 3) == [
        [[0, 3], [], []],
        [[1, 4, 0, 3], [0], []],
        [[2, 6, 1, 4], [1], [3, 2]],
        [[0, 3], [], []],
    ]


def test_unseen_words_cut_and_are_no_targets():
    contexts = Contexts.parse("c1 w1 c2; c2 w2")
    assert seen(contexts, [0, -1, 3, 1, 0], CLASS_OF, 3) == [
        [[], []],
        [[2, 6], []],
        [[1, 4, 2], [2, 6]],
    ]


@pytest.mark.parametrize("word", [4, 2**31 - 1])
def test_ids_without_a_class_are_refused(word):
    with pytest.raises(InputError, match=r"before position 1 has an id outside 0 \.\. 3"):
        seen(Contexts.parse("c1 w1"), [0, word, 1], CLASS_OF, 3)


def test_no_positions():
    assert seen(Contexts.parse("c1; w1"), [0], CLASS_OF, 3) == []
    assert seen(Contexts.parse("c1; w1"), [0, -1], CLASS_OF, 3) == []


@settings(max_examples=50)
@given(trees, st.lists(st.integers(-1, 3), min_size=1, max_size=12))
def test_symbols_equal_a_walk_back_word_by_word(wanted, stream):
    def looked_up(tree, i):
        found = []
        for kind, lag in tree:
            back = history[:i][-lag:] if i >= lag else []
            if not back or -1 in back or 0 in back[1:]:  # a word before the start, or behind a cut
                break
            found.append(CLASS_OF[back[0]] if kind == "c" else 3 + back[0])
        return found

    history = [0, *stream]
    expected = [[looked_up(tree, i) for tree in wanted] for i, word in enumerate(history) if i and word != -1]
    assert seen(Contexts(wanted), history, CLASS_OF, 3) == expected
