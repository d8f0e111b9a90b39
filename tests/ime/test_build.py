"""SizeLimits of a converter: the words, bigrams and trigrams that are left are those that occur often."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from epigram.ime import KanaKanjiConverter, WordList
from epigram.ime.build import SizeLimits, build
from epigram.ime.mixture import Grams

KANJI = "木気機器期記基規紀既"


def sentences(seed: int, n_sentences: int = 80) -> list[list[str]]:
    """Random sentences of forty words, some frequent."""
    rng = np.random.default_rng(seed)
    tokens = [f"{a}{b}/{x}" for a in KANJI for b in KANJI[:4] for x in ("あか", "いき")]
    return [[tokens[k] for k in rng.zipf(1.3, rng.integers(3, 12)) % len(tokens)] for _ in range(n_sentences)]


@pytest.mark.parametrize("thresholds", [(0, 0), (1, 1), (1, 2), (2, 2)])
def test_ngrams_that_occur_seldom_are_left_out(thresholds):
    text = sentences(0)
    prune_bigrams, prune = thresholds
    made = build(text, limits=SizeLimits(prune, prune_bigrams))
    lexicon, size = made.decoder.lexicon, len(made.decoder.lexicon)
    padded = [["", *line, ""] for line in text]
    ids = {"": 0} | {lexicon.token(k): k for k in range(1, size)}
    bigrams = Counter(pair for line in padded for pair in pairwise([ids[t] for t in line]))
    trigrams = Counter(
        tuple(ids[t] for t in line[k : k + 3]) for line in padded for k in range(len(line) - 2)
    )
    grams = Grams.of(made.model)
    assert grams.bigrams.tolist() == sorted(
        a * size + b for (a, b), n in bigrams.items() if n > prune_bigrams
    )
    assert grams.trigrams.tolist() == sorted(
        (a * size + b) * size + c for (a, b, c), n in trigrams.items() if n > prune
    )
    for context in (text[0][:2], text[1][:1], []):
        assert made.model.distribution(" ".join(context)).sum() == pytest.approx(1)


def test_a_converter_with_pruned_bigrams_searches_exactly_and_survives_its_file(tmp_path):
    converter = KanaKanjiConverter.build(sentences(1), prune=2, prune_bigrams=1, rescore=True)
    converter.save(tmp_path / "m.epigram", quantise=True)
    again = KanaKanjiConverter.load(tmp_path / "m.epigram")
    for reading in ("あかいきあか", "いきいき", "あかあかあかいき"):
        best = converter.decoder.k_best(reading, 5)
        assert converter.decoder.best(reading).score == pytest.approx(best[0].score, abs=1e-5)
        assert [converter.decoder.score(reading, way.words) for way in best] == pytest.approx(
            [way.score for way in best], abs=1e-5
        )
        assert again.convert(reading)


def test_the_lexicon_keeps_frequent_words_then_those_that_resemble_seen_ones():
    """Nouns of the list are often in the text, names never."""
    nouns, names = ([f"{a}{b}/{kana}" for a in KANJI for b in KANJI] for kana in ("めい", "な"))
    text = [[noun] * 2 for noun in nouns[:60]] + [["助/じょ", "は"]] * 30
    words = WordList([*names, *nouns], np.full(200, 5000.0), ["固有名詞"] * 100 + ["名詞"] * 100)
    kept = build(text, words, limits=SizeLimits(max_words=90)).decoder.lexicon
    tokens = set(kept.tokens())
    assert len(tokens) == 90
    assert {"助/じょ", "は", *nouns[:60]} <= tokens
    assert len(tokens & set(names)) == 0
    small = build(text, words, limits=SizeLimits(max_words=2))
    assert set(small.decoder.lexicon.tokens()) == {"助/じょ", "は"}
    assert small.decoder.best("じょは").text == "助は"


def test_remarks_and_readings_beyond_the_basic_plane_are_no_words():
    text = ["飴(はたあめ）/あめ 飴/あめ 😀 を", "飴/あめ （ あめ ）"]
    found = set(build(text, ["雨【気象】/あめ", "笑/😀"]).decoder.lexicon.tokens())
    assert found == {"飴/あめ", "を", "（", "あめ", "）", "雨【気象】/あめ"}


def test_a_scale_leaves_fewer_ngrams_and_pairs_to_the_rescorer(monkeypatch):
    from epigram.ime import rescoring

    monkeypatch.setattr(rescoring, "CHARACTERS_PER_COUNT", (400, 400, 400, 400))
    monkeypatch.setattr(rescoring, "LONG", 10)
    sizes = []
    for scale in (1.0, 2.0, 4.0):
        rescorer = build(sentences(2), rescore=True, limits=SizeLimits(rescorer=scale)).rescorer
        assert rescorer is not None
        sizes.append((rescorer.model.n_ngrams, rescorer.pairs.others.size))
        assert rescorer.pairs.counts.min() > round(0.4 * scale + 0.4)
    assert sizes == sorted(set(sizes), reverse=True)
    assert len(sizes) == 3
