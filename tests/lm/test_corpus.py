"""Text to ids: what the factorising kernel does equals str.split and a dictionary."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epigram.errors import InputError
from epigram.lm.corpus import Corpus, NumberedText, factorise_bytes
from epigram.lm.vocabulary import Vocabulary

LINES = st.lists(st.text(st.sampled_from("ab日 \t\r é"), max_size=12), max_size=12)


@settings(max_examples=60, deadline=None)
@given(LINES)
def test_factorise_equals_split_and_dictionary(lines):
    words, ids, ptr = factorise_bytes("\n".join(lines).encode())
    table: dict[bytes, int] = {}
    sentences = [line.encode().split() for line in lines if line.encode().split()]
    numbers = [table.setdefault(token, len(table)) for sentence in sentences for token in sentence]
    assert words == [token.decode() for token in table]
    assert ids.tolist() == numbers
    assert ptr.tolist() == np.cumsum([0, *map(len, sentences)]).tolist()


@settings(max_examples=30, deadline=None)
@given(LINES)
def test_file_and_python_sentences_agree(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("text") / "x.txt"
    path.write_bytes("\n".join([*lines, "a"]).encode())
    read, made = Corpus.read(path), Corpus.of([*lines, "a"])
    assert read.vocabulary == made.vocabulary
    assert read.ids.tolist() == made.ids.tolist()
    assert read.sentence_ptr.tolist() == made.sentence_ptr.tolist()


def test_many_distinct_words_grow_the_table():
    tokens = [f"w{k}" for k in range(20_000)]
    corpus = Corpus.of([" ".join(tokens)])
    assert len(corpus.vocabulary) == 20_001
    words, ids, _ = factorise_bytes(" ".join(tokens).encode())
    assert words == tokens
    assert ids.tolist() == list(range(20_000))


def test_vocabulary_orders_by_count_then_first_occurrence():
    corpus = Corpus.of(["c b a", "a b", "a"])
    assert corpus.vocabulary.words == ["</s>", "a", "b", "c"]


def test_limits_turn_words_of_the_training_text_into_unk():
    corpus = Corpus.of(["a a b b c"], min_count=2)
    assert corpus.vocabulary.words == ["</s>", "a", "b", "<unk>"]
    assert corpus.ids.tolist() == [1, 1, 2, 2, 3]
    assert Corpus.of(["a a b b c"], max_words=1).vocabulary.words == ["</s>", "a", "<unk>"]
    given_list = Corpus.of(["a c"], Vocabulary(["a"]), training=True)
    assert given_list.vocabulary.words == ["</s>", "a", "<unk>"]
    assert given_list.ids.tolist() == [1, 2]


def test_unk_in_the_text_is_an_ordinary_word_and_unseen_is_not_it():
    corpus = Corpus.of(["a <unk>"])
    test = Corpus.of(["<unk> b"], corpus.vocabulary)
    assert test.ids.tolist() == [2, -1]
    assert test.n_unseen == 1


def test_gzip_byte_order_mark_and_missing_last_newline(tmp_path: Path):
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress("\ufeffa b\r\n\r\n b".encode()))
    corpus = Corpus.read(path)
    assert list(corpus.sentences()) == [["a", "b"], ["b"]]


def test_wrapped_sentences_are_unwrapped_and_inner_boundaries_refused(tmp_path: Path):
    assert list(Corpus.of(["<s> a b </s>", "<s> </s>", "c"]).sentences()) == [["a", "b"], ["c"]]
    path = tmp_path / "x.txt"
    path.write_text("a b\na </s> b\n")
    with pytest.raises(InputError, match="'</s>' inside sentence 2"):
        Corpus.read(path)


def test_empty_text_is_refused_for_training_only(tmp_path: Path):
    path = tmp_path / "x.txt"
    path.write_text("\n \n")
    with pytest.raises(InputError, match="no words"):
        Corpus.read(path)
    assert Corpus.read(path, Vocabulary(["a"])).n_sentences == 0


def test_invalid_utf8_names_the_line(tmp_path: Path):
    path = tmp_path / "x.txt"
    path.write_bytes(b"a\nb \xff\n")
    with pytest.raises(InputError, match=r"x\.txt:2: invalid UTF-8"):
        Corpus.read(path)


def test_wrong_python_input_is_named():
    with pytest.raises(InputError, match="not one string"):
        Corpus.of("a b c")
    with pytest.raises(InputError, match="found 3"):
        Corpus.of([["a", 3]])


def test_split_take_and_change_of_vocabulary():
    corpus = Corpus.of(["a b", "c", "a c", "b"])
    head, tail = corpus.split(0.25)
    assert list(head.sentences()) == [["a", "b"], ["c"], ["a", "c"]]
    assert list(tail.sentences()) == [["b"]]
    other = corpus.with_vocabulary(Vocabulary(["b", "a"]))
    assert other.ids.tolist() == [2, 1, -1, 2, -1, 1]
    with pytest.raises(InputError, match="cannot hold out"):
        Corpus.of(["a"]).split(0.5)


def test_ptb_has_its_published_size(data):
    corpus = Corpus.read(data / "ptb" / "ptb.train.txt.gz")
    assert (corpus.n_sentences, corpus.n_tokens, len(corpus.vocabulary)) == (42_068, 887_521, 10_000)
    test = Corpus.read(data / "ptb" / "ptb.test.txt", corpus.vocabulary)
    assert (test.n_tokens, test.n_unseen) == (78_669, 0)


def test_a_sample_is_whole_sentences_spread_over_the_text():
    corpus = Corpus.of([f"s{k} x y" for k in range(4000)])
    sample = corpus.sample(3000)
    chosen = [int(words[0][1:]) for words in sample.sentences()]
    assert sample.n_tokens == pytest.approx(3000, rel=0.03)
    assert all(words == [f"s{k}", "x", "y"] for k, words in zip(chosen, sample.sentences(), strict=True))
    assert chosen == sorted(chosen)
    in_quarters = [sum(q * 1000 <= k < (q + 1) * 1000 for k in chosen) for q in range(4)]
    assert in_quarters == pytest.approx([250] * 4, abs=21)  # a run has 21 sentences
    assert Corpus.of(["a b", "c"]).sample(10**9).n_tokens == 3
    assert Corpus.of(["a b", "c d"]).sample(1).n_tokens == 2
    known, other = corpus.take(0, 2).in_known_words(corpus.take(1, 3))
    assert known.vocabulary.words == ["</s>", "x", "y", "s0", "s1"]
    assert other.ids.tolist() == [
        *known.vocabulary.ids(["s1", "x", "y"]),
        -1,
        *known.vocabulary.ids(["x", "y"]),
    ]


def test_strings_of_one_line_are_numbered_like_lists_of_tokens():
    rng = np.random.default_rng(5)
    for _ in range(300):
        parts = rng.choice(["a", "b ", "\t", " ", "\0", "é", "\r", "\x85", "\u2028", "日"], (4, 6))
        lines = ["".join(part[: rng.integers(7)]) for part in parts]
        fast, slow = (NumberedText.of(text, None) for text in (lines, tuple(lines)))
        assert fast.words == slow.words
        np.testing.assert_array_equal(fast.ids, slow.ids)
        np.testing.assert_array_equal(fast.ptr, slow.ptr)
        assert (list(fast.has_words) or [True] * 4) == list(slow.has_words)
