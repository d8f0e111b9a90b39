"""Quantised files: the same model within the codebooks' steps, searched exactly, and refused where damaged."""

from __future__ import annotations

import numpy as np
import pytest

from epigram.errors import ModelFileError
from epigram.ime import KanaKanjiConverter, WordList
from epigram.ime.quantised import CodedCharacters
from epigram.ime.rescoring import Rescorer
from epigram.ime.storage import from_model_file, to_model_file
from epigram.storage import ModelFile
from epigram.storage.file import loads
from epigram.storage.quantise import CODES, USED, coded, decoded

KANJI = "木気機器期記基規紀既"


def converter(seed: int = 0, n_sentences: int = 150) -> KanaKanjiConverter:
    """A model of random sentences with parts of speech and far more than 256 probabilities."""
    rng = np.random.default_rng(seed)
    tokens = [f"{a}{b}/{x}{y}" for a in KANJI for b in KANJI[:4] for x in "あいう" for y in "かき"]
    draws = [rng.zipf(1.3, rng.integers(3, 12)) % len(tokens) for _ in range(n_sentences)]
    words = WordList(tokens, np.full(len(tokens), 3000.0), ["名詞", "動詞"] * (len(tokens) // 2))
    return KanaKanjiConverter.build([" ".join(tokens[k] for k in line) for line in draws], words)


def quantised(model: KanaKanjiConverter) -> KanaKanjiConverter:
    """What is read from a quantised file."""
    return from_model_file(ModelFile.from_bytes(to_model_file(model, quantise=True).to_bytes()))


def test_a_quantised_file_has_the_same_n_grams_and_links_and_probabilities_within_a_step():
    model = converter()
    full, small = model.decoder.scorer, quantised(model).decoder.scorer
    assert full.tables.pair_logp[full.n_words :].size > 2 * CODES
    for name in ("pair_ptr", "pair_word", "pair_next", "node_parent"):
        np.testing.assert_array_equal(getattr(small.tables, name), getattr(full.tables, name))
    np.testing.assert_array_equal(small.node_pair, full.node_pair)
    assert small.start == full.start
    np.testing.assert_allclose(
        small.tables.pair_logp[: full.n_words], full.tables.pair_logp[: full.n_words], rtol=1e-3
    )
    np.testing.assert_allclose(small.tables.pair_logp, full.tables.pair_logp, atol=0.3)
    np.testing.assert_allclose(small.tables.node_bow, full.tables.node_bow, atol=0.3)
    assert np.unique(small.tables.pair_logp[full.n_words :]).size <= 2 * USED


def test_the_search_of_a_quantised_model_is_exact():
    """The pruning by gains that were rounded up finds what the search without pruning finds."""
    small = quantised(converter(1))
    rng = np.random.default_rng(0)
    for _ in range(40):
        reading = "".join(rng.choice(["あか", "いき", "うか", "あき"], 4))
        way = small.decoder.best(reading)
        assert way.score == pytest.approx(small.decoder.k_best(reading, 5)[0].score, abs=1e-5)
        assert small.decoder.score(reading, way.words) == pytest.approx(way.score, abs=1e-5)


def test_gains_are_bounds_of_the_quantised_model():
    """From contexts of two words to those of one: what a node wins at its best word, and after it."""
    small = quantised(converter(2)).decoder.scorer
    tables, most = small.tables, {}
    for node in reversed(range(small.n_classes, small.node_pair.size)):
        wins = [-np.inf]
        for pair in range(int(tables.pair_ptr[node]), int(tables.pair_ptr[node + 1])):
            below, there = small.step(int(tables.node_parent[node]), int(tables.pair_word[pair]))
            here = int(tables.pair_next[pair])
            after = 0.0 if here == there else max(float(tables.node_bow[here]), most[here])
            wins.append(float(tables.pair_logp[pair]) - below + after)
        most[node] = max(wins)
        assert most[node] <= small.gain[node]


def test_codes_are_those_of_the_nearest_value_or_the_next_above():
    rng = np.random.default_rng(3)
    values = np.concatenate((rng.normal(-5, 2, 900), rng.normal(-1, 0.3, 700))).astype(np.float32)
    values[7] = -1e30
    for up in (False, True):
        codes, books = coded(values, [900, 1600], up)
        found = decoded(codes, books, [900, 1600])
        for level, part in ((0, slice(0, 900)), (1, slice(900, 1600))):
            book = books[level, : int(codes[part].max()) + 1]
            for value, chosen in zip(values[part][:200], found[part][:200], strict=True):
                fits = book[book >= value] if up else book
                assert chosen == fits[np.abs(fits - value).argmin()]
    assert found[7] == np.float32(-1e30)


def test_a_quantised_model_is_quantised_again_without_loss(tmp_path):
    once = quantised(converter(4))
    once.save(tmp_path / "small.epigram", quantise=True)
    once.save(tmp_path / "full.epigram")
    for name in ("small", "full"):
        again = KanaKanjiConverter.load(tmp_path / f"{name}.epigram").decoder.scorer
        np.testing.assert_array_equal(again.tables.pair_logp, once.decoder.scorer.tables.pair_logp)
        np.testing.assert_array_equal(again.tables.node_bow, once.decoder.scorer.tables.node_bow)
    small, full = ((tmp_path / f"{name}.epigram").stat().st_size for name in ("small", "full"))
    scorer = once.decoder.scorer
    assert full - small > 3 * (scorer.tables.pair_word.size - scorer.n_words)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("lm.contexts", lambda steps: np.zeros(5, np.uint8)),
        ("lm.steps", lambda steps: steps.astype(int) + 1_000),
        ("lm.steps", lambda steps: steps[1:]),
        ("lm.steps", lambda steps: steps.astype(int) + 2**31),
        ("lm.logp.codes", lambda codes: codes[:-1]),
        ("lm.root", lambda root: root * np.nan),
        ("lm.gain.books", lambda books: books[:1]),
    ],
)
def test_a_damaged_quantised_file_is_refused(name, change):
    file = to_model_file(converter(5, 20), quantise=True)
    file.tensors[name] = change(file.tensors[name].copy())
    file.unbounded = set(file.tensors)
    with pytest.raises(ModelFileError):
        loads(file.to_bytes())


def test_a_quantised_file_of_an_earlier_version_is_read():
    """It had the last words of n-grams as they are."""
    model = converter(7)
    file = to_model_file(model, quantise=True)
    tables = model.decoder.scorer.tables
    file.tensors["lm.targets"] = tables.pair_word[model.decoder.scorer.n_words :]
    del file.tensors["lm.steps"]
    again = loads(file.to_bytes()).decoder.scorer.tables
    np.testing.assert_array_equal(again.pair_word, tables.pair_word)


@pytest.mark.parametrize(
    "numbers",
    [{"logp": []}, {"shares": {}}, {"logp": 3.0}, {"classes": {"digits": 1.5}}, {"classes": {"digits": 99}}],
)
def test_forms_of_numbers_that_are_none_are_refused(numbers):
    file = to_model_file(converter(6, 5))
    file.header["numbers"] = {**file.header["numbers"], **numbers}
    with pytest.raises(ModelFileError):
        loads(file.to_bytes())


def test_characters_in_codes_score_as_the_expanded_model():
    """The search in codes against the back-off model of the same numbers, one text after another."""
    rng = np.random.default_rng(4)
    text = ["".join(rng.choice(list("木気機器期"), rng.integers(2, 9))) for _ in range(400)]
    model = KanaKanjiConverter.build([f"{line}/あ" for line in text], rescore=True)
    coded = from_model_file(ModelFile.from_bytes(to_model_file(model, quantise=True).to_bytes())).rescorer
    assert coded is not None
    assert isinstance(coded.characters, CodedCharacters)
    again = Rescorer(coded.model, coded.pairs)
    texts = [*text[:50], "", "木", "犬木犬", "木" * 70]
    np.testing.assert_allclose(coded.scores(texts), again.scores(texts), rtol=1e-6)
    assert coded.n_ngrams == again.n_ngrams
    before = "木気。器木"
    np.testing.assert_allclose(
        coded.after(before).scores(texts), again.after(before).scores(texts), rtol=1e-6
    )
    full, small = (to_model_file(one, quantise=True).to_bytes() for one in (model, quantised(model)))
    assert len(full) == pytest.approx(len(small), rel=0.01)
