"""Text on the left, pieces that a person cut otherwise, and corrections that are one's own."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from epigram import InputError, KanaKanjiConverter
from epigram.datasets.sample import BACKGROUND, WORDS
from epigram.ime.decoder import Word


@pytest.fixture(scope="module")
def converter() -> KanaKanjiConverter:
    return KanaKanjiConverter.build(BACKGROUND, WORDS)


def ways_to_write(converter: KanaKanjiConverter, reading: str) -> list[tuple[Word, ...]]:
    """All sequences of words of the lexicon that read so."""
    out: list[tuple[Word, ...]] = []

    def extend(start: int, so_far: tuple[Word, ...]) -> None:
        if start == len(reading):
            out.append(so_far)
        for end in range(start + 1, len(reading) + 1):
            for id in converter.decoder.lexicon.words_of(reading[start:end]):
                extend(end, (*so_far, Word(start, end, converter.decoder.lexicon.surface(id), id)))

    extend(0, ())
    return out


@pytest.mark.parametrize(
    "left", [[], ["箸/はし", "で"], ["この", "橋/はし"], ["nowhere"], ["を", "nowhere", "を"]]
)
@pytest.mark.parametrize("reading", ["はしを", "きしゃがえきに", "あつい"])
def test_the_best_text_after_words_is_the_best_of_all(
    converter: KanaKanjiConverter, left: list[str], reading: str
) -> None:
    there = converter.after(left)
    scores = sorted(
        (there.decoder.score(reading, words) for words in ways_to_write(converter, reading)), reverse=True
    )
    assert there.best(reading).score == pytest.approx(scores[0], abs=1e-4)
    assert there.nbest(reading, 3)[0].score == pytest.approx(scores[0], abs=1e-4)


def test_words_on_the_left_have_the_probability_of_the_whole(converter: KanaKanjiConverter) -> None:
    whole = converter.best("はしをわたる")
    left, rest = whole.tokens[:1], "をわたる"
    conditional = converter.after(left).best(rest).score
    node = converter.decoder.scorer.start
    logp, _ = converter.decoder.scorer.step(node, whole.words[0].id)
    assert logp + conditional == pytest.approx(whole.score, abs=1e-4)


@pytest.mark.parametrize("fixed", [[1], [2, 3], [3], [1, 1, 1], [6]])
def test_pieces_have_the_lengths_asked_for(converter: KanaKanjiConverter, fixed: list[int]) -> None:
    reading = "はしをわたる"
    pieces = converter.segments(reading, fixed=fixed)
    assert [len(piece.reading) for piece in pieces][: len(fixed)] == fixed
    assert "".join(piece.reading for piece in pieces) == reading
    assert all(piece.alternatives[0] == piece.surface for piece in pieces)
    assert all(len(set(piece.alternatives)) == len(piece.alternatives) for piece in pieces)


def test_cuts_give_the_best_of_the_texts_that_keep_to_them(converter: KanaKanjiConverter) -> None:
    reading = "きしゃがえきに"
    for cuts in itertools.combinations(range(1, len(reading)), 2):
        best = converter.decoder.best(reading, cuts)
        assert not any(word.start < cut < word.end for word in best.words for cut in cuts)
        fitting = [
            way.score
            for way in converter.decoder.k_best(reading, 400)
            if not any(word.start < cut < word.end for word in way.words for cut in cuts)
        ]
        assert best.score >= max(fitting, default=-1e9) - 1e-4


def test_lengths_that_do_not_fit_are_refused(converter: KanaKanjiConverter) -> None:
    for wrong in ([0], [-1], [4], [2, 2]):
        with pytest.raises(InputError, match="do not fit"):
            converter.segments("はしを", fixed=wrong)


def test_a_copy_learns_for_itself(converter: KanaKanjiConverter) -> None:
    before = converter.convert("はし")
    mine = converter.copy()
    mine.learn("はし", "端")
    assert (mine.convert("はし"), converter.convert("はし")) == ("端", before)
    theirs = mine.copy()
    mine.undo()
    assert (mine.convert("はし"), theirs.convert("はし")) == (before, "端")


def test_what_is_learnt_in_a_context_is_known_to_the_converter(converter: KanaKanjiConverter) -> None:
    mine = converter.copy()
    there = mine.after(["箸/はし", "で"])
    there.learn("きしゃ", "記者")
    assert there.convert("きしゃ") == "記者"
    assert len(mine.journal.lessons) == 1
    mine.undo()
    assert there.convert("きしゃ") != "記者"


def test_closed_sentences_are_segmented_once_and_the_last_three_count(
    converter: KanaKanjiConverter, monkeypatch: pytest.MonkeyPatch
) -> None:
    from epigram.ime import left_context

    decoder, cut = converter.copy().decoder, left_context._cut
    decoder.scorer.segmented.clear()
    seen: list[str] = []

    def counted(lexicon: Any, scorer: Any, text: str, start: int) -> Any:
        seen.append(text)
        return cut(lexicon, scorer, text, start)

    monkeypatch.setattr(left_context, "_cut", counted)
    sentences = ["橋を渡る。", "箸で食べる。", "汽車が駅に着く。", "雨が降る。"]
    for k in range(1, 5):
        found = left_context.read_before(decoder.lexicon, decoder.scorer, "".join(sentences[:k]))
        assert found.node == decoder.scorer.start
    assert seen == sentences
    words = {decoder.lexicon.surface(word) for word in found.recent}
    alone = [left_context.read_before(decoder.lexicon, decoder.scorer, one).recent for one in sentences]
    assert found.recent == frozenset.union(*alone[1:])
    assert "橋" not in words or "橋" in "".join(sentences[1:])
