"""Features walked through in C against the slow way in Python, and sentences labelled in one call."""

from __future__ import annotations

import itertools
import marshal
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from epigram import CRFTagger
from epigram.chain.single_sentence import SentenceTagger
from epigram.errors import InputError
from epigram.features.attributes import AttributeTable, fingerprints
from epigram.features.feature_dicts import FORMAT, FeatureReader, ReadBuffers, encode_features, flatten

WORDS = ["", "a", "word", "日本語", "x" * 7, "x" * 8, "y" * 300, "é:ü", "a=b"]


def feature_value(choices: random.Random, depth: int) -> Any:
    kind = choices.randrange(9 if depth < 4 else 5)
    if kind < 2:
        return "".join(choices.choice(WORDS))
    if kind < 5:
        return choices.choice([True, False, 0, 1, -7, 2**30, 1.0, 0.5, -0.0])
    if kind == 5:
        return {choices.choice(WORDS): feature_value(choices, depth + 1) for _ in range(choices.randrange(3))}
    names = [choices.choice(WORDS) for _ in range(choices.randrange(3))]
    return choices.choice([list, tuple, sorted])(names)


def sentence(choices: random.Random) -> list[Any]:
    tokens: list[Any] = []
    for _ in range(choices.randrange(5)):
        if tokens and choices.random() < 0.3:
            tokens.append(choices.choice(tokens))  # the same object again: marshal writes a reference
        elif tokens and choices.random() < 0.3:
            tokens.append({"before": tokens[-1], "own": choices.choice(WORDS)})
        elif choices.random() < 0.3:
            tokens.append([choices.choice(WORDS) for _ in range(choices.randrange(4))])
        else:
            tokens.append({choices.choice(WORDS): feature_value(choices, 0) for _ in range(4)})
    return choices.choice([list, tuple])(tokens)  # type: ignore[no-any-return]


@given(st.integers(0, 10**6))
def test_keys_values_and_names_are_those_of_the_slow_way(seed: int) -> None:
    choices = random.Random(seed)
    sentences = [sentence(choices) for _ in range(6)]
    flat = [[one for one in flatten(token) if one[1]] for one in sentences for token in one]
    content = b"".join(marshal.dumps(one, FORMAT) for one in sentences)
    room = ReadBuffers(1, 1)
    code, n_sentences, n_tokens, n, all_ones = room.read(content)
    assert (code, n_sentences, n_tokens) == (0, 6, len(flat))
    names = [name for token in flat for name, _ in token]
    np.testing.assert_array_equal(room.keys[:n], fingerprints(names))
    assert room.values[:n].tolist() == [value for token in flat for _, value in token]
    assert bool(all_ones) == all(value == 1.0 for token in flat for _, value in token)
    assert np.diff(room.attribute_ptr[: n_tokens + 1]).tolist() == [len(token) for token in flat]
    wanted = np.flatnonzero(np.arange(n) % 3 == 0)
    text, ptr = room.spell(content, wanted)
    spelt = [text[a:b].decode() for a, b in itertools.pairwise(ptr)]
    assert spelt == names[::3]


@given(st.binary(max_size=60), st.integers(0, 10**6))
def test_bytes_that_are_no_sentence_are_refused(content: bytes, seed: int) -> None:
    choices = random.Random(seed)
    whole = marshal.dumps(sentence(choices), FORMAT)
    damaged = whole[: choices.randrange(len(whole) + 1)] + content
    room = ReadBuffers(4, 64)
    code = room.read(damaged)[0]
    assert code in (0, -1)


def test_fast_and_slow_sentences_mix_in_their_order() -> None:
    plain = [{"w": "a", "n": 2.0}, ["b"]]
    numpy = [{"w": "c", "n": np.float64(0.5)}]
    generated = ([name] for name in ("b", "d"))
    table = AttributeTable()
    s = encode_features([plain, numpy, generated, plain], table, grow=True)
    assert table.names(range(len(table))) == ["w:a", "n", "b", "w:c", "d"]
    assert s.attributes.tolist() == [0, 1, 2, 3, 1, 2, 4, 0, 1, 2]
    assert s.values.tolist() == [1, 2, 1, 1, 0.5, 1, 1, 1, 2, 1]
    assert s.sentence_ptr.tolist() == [0, 2, 3, 5, 7]
    again = encode_features([[{"w": "z", "n": 3}], [["d"]]], table, grow=False)
    assert again.attributes.tolist() == [1, 4]
    assert again.values.tolist() == [3.0, 1.0]


def test_blocks_join(monkeypatch: pytest.MonkeyPatch) -> None:
    sentences = [[{"w": str(k % 7), "v": k % 3}] for k in range(50)]
    whole, parts = AttributeTable(), AttributeTable()
    a = encode_features(sentences, whole, grow=True)
    monkeypatch.setattr("epigram.features.feature_dicts.BLOCK", 40)
    b = encode_features(sentences, parts, grow=True)
    np.testing.assert_array_equal(a.attributes, b.attributes)
    np.testing.assert_array_equal(a.values, b.values)
    assert whole.names(range(len(whole))) == parts.names(range(len(parts)))


def test_what_is_appended_may_be_changed_later() -> None:
    table = AttributeTable()
    reader, token = FeatureReader(table, grow=True), {"w": "a"}
    reader.add([token])
    token["w"] = "b"
    reader.add([token])
    reader.sequences()
    assert table.names([0, 1]) == ["w:a", "w:b"]


def test_mistakes_are_named_with_their_place() -> None:
    good = [[["a"]]]
    for bad in ([{"w": None}], ["word"], [{"w": float("nan")}], [{3: "x"}], [[3]], [{"w": 1 + 2j}]):
        with pytest.raises(InputError, match="sentence 1, token 0"):
            encode_features([*good, bad], AttributeTable(), grow=True)
    with pytest.raises(InputError, match="not Unicode"):
        encode_features([[["a\ud800"]]], AttributeTable(), grow=True)


def test_one_call_labels_as_decoding_does() -> None:
    choices = random.Random(3)
    X = [
        [{"w": choices.choice("abcdefg"), "v": choices.choice([1.0, 1.0, 0.5])} for _ in range(9)]
        for _ in range(40)
    ]
    Y = [[choices.choice("NVX") if token["w"] in "ab" else "N" for token in x] for x in X]
    tagger = CRFTagger(l1=0.05).fit(X, Y)
    quick = SentenceTagger(tagger.model_)
    new = [*X, [], [{"w": "never"}], [["w:a", "v"]] * 3000, [{"w": np.str_("a")}]]
    assert [quick.label(x) for x in new] == tagger.predict(new)
