"""The converter as a person uses it: candidates, segments, corrections, files, the line editor's states."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from epigram import Boosting, KanaKanjiConverter
from epigram.datasets.sample import BACKGROUND, DOMAIN, READINGS, WORDS
from epigram.errors import InputError, ModelFileError
from epigram.ime.corrections import Journal
from epigram.ime.evaluate import evaluate, normalise
from epigram.lm.ngram.kneser_ney import KneserNeyLM
from epigram.storage import ModelFile, describe, load

SENTENCES = [
    *[
        "橋/はし を 渡る/わたる",
        "箸/はし を 使う/つかう",
        "箸/はし で 食べる/たべる",
        "端/はし を 歩く/あるく",
    ]
    * 3,
    *["今日/きょう は 良い/よい 天気/てんき です", "京都/きょうと は 古い/ふるい 都/みやこ です"] * 2,
]


@pytest.fixture
def converter() -> KanaKanjiConverter:
    return KanaKanjiConverter.build(SENTENCES, ["強/きょう", "都は/みやこは"])


def test_convert_and_nbest_agree(converter):
    assert converter.convert("きょうはよいてんきです") == "今日は良い天気です"
    ways = converter.nbest("はしをあるく", 5)
    assert ways[0].text == converter.convert("はしをあるく") == "端を歩く"
    assert len({way.text for way in ways}) == 5
    assert [way.score for way in ways] == sorted((way.score for way in ways), reverse=True)
    assert ways[0].tokens == ["端/はし", "を", "歩く/あるく"]


def test_empty_line_and_romaji(converter):
    assert converter.convert("") == ""
    assert converter.nbest("")[0].text == ""
    assert converter.convert("kyouhayoitenkidesu", romaji=True) == "今日は良い天気です"
    assert converter.convert("kyou") == "kyou"


def test_segments_have_alternatives_in_their_place(converter):
    first, second, third = converter.segments("はしをわたる")
    assert (first.reading, first.surface, first.alternatives[0]) == ("はし", "橋", "橋")
    assert set(first.alternatives) == {"橋", "箸", "端", "はし", "ハシ"}
    assert second.alternatives == ["を", "ヲ"]
    assert third.surface == "渡る"


def test_a_correction_changes_the_next_conversion_and_can_be_undone(converter):
    before = converter.decoder.bonus.copy()
    wrong = converter.convert("はしで")
    assert wrong == "箸で"
    converter.learn("はしで", "端で")
    assert converter.convert("はしで") == "端で"
    assert converter.decoder.user_words
    converter.undo()
    assert converter.convert("はしで") == wrong
    np.testing.assert_array_equal(converter.decoder.bonus, before)
    with pytest.raises(InputError, match="nothing learnt yet"):
        converter.undo()


def test_what_the_lexicon_lacks_becomes_a_word_of_the_user(converter):
    converter.learn("らこにっくはよい", "羅胡肉は良い")
    assert converter.convert("らこにっくはよい") == "羅胡肉は良い"
    assert converter.convert("きょうのらこにっくは").find("羅胡肉") > 0
    converter.undo()
    assert "羅胡肉" not in converter.convert("らこにっくはよい")


def test_learning_what_is_already_so_changes_nothing(converter):
    converter.learn("はしをわたる", "橋を渡る")
    assert converter.journal.lessons == []
    with pytest.raises(InputError, match="needs a reading and a text"):
        converter.learn("", "橋")
    with pytest.raises(InputError, match="correct a segment of at most 200"):
        converter.learn("はし" * 101, "橋")


def test_one_word_written_in_two_ways_is_learnt_as_a_phrase(converter):
    kana = "はしで" * 60
    chosen = converter.convert(kana)[:-2] + "端で"
    converter.learn(kana, chosen)
    assert converter.convert(kana) == chosen
    assert converter.convert("はしで") == "箸で"
    phrases = converter.journal.lessons[-1].phrases
    assert [(phrase.surface, phrase.at_end) for phrase in phrases] == [("箸で端で", True)]


def test_many_corrections_all_hold(converter):
    choices = {"はし": "端", "きょう": "強", "はしをつかう": "橋を使う"}
    for kana, chosen in choices.items():
        converter.learn(kana, chosen)
    assert converter.convert("はしをつかう") == "橋を使う"
    assert converter.convert("きょう") == "強"
    for _ in choices:
        converter.undo()
    assert converter.convert("はし") in ("箸", "橋")


def test_save_and_load_keep_everything(converter, tmp_path):
    converter.learn("はしで", "端で")
    file = tmp_path / "ime.epigram"
    converter.save(file)
    again = KanaKanjiConverter.load(file)
    for kana in ("はしで", "きょうはよいてんきです", "みやこ", "ぺん"):
        assert again.convert(kana) == converter.convert(kana)
        assert [w.text for w in again.nbest(kana, 7)] == [w.text for w in converter.nbest(kana, 7)]
    again.undo()
    assert again.convert("はしで") == "箸で"
    assert isinstance(load(file), KanaKanjiConverter)
    _, sections = describe(file)
    assert [section.title for section in sections] == ["sizes", "unknown words", "last corrections"]


def test_journal_in_a_file_of_its_own(converter, tmp_path):
    file = tmp_path / "corrections.jsonl"
    converter.learn("はしで", "端で")
    converter.journal.save(file)
    other = KanaKanjiConverter.build(SENTENCES)
    other.journal = Journal.load(other.decoder, file)
    assert other.convert("はしで") == "端で"
    assert Journal.load(other.decoder, tmp_path / "none.jsonl").lessons == []
    file.write_text(file.read_text() + "{broken\n")
    with pytest.raises(InputError, match=r"corrections.jsonl:2: not a line of a journal"):
        Journal.load(other.decoder, file)


def test_other_and_damaged_model_files_are_refused(converter, tmp_path):
    file = tmp_path / "m.epigram"
    ModelFile("tagger", {}, {}).save(file)
    with pytest.raises(ModelFileError, match="holds a tagger, not a kana-kanji converter"):
        KanaKanjiConverter.load(file)
    converter.save(file)
    whole = ModelFile.load(file)
    for name, change in {
        "lm.pair_next": lambda array: array + array.size,
        "lm.pair_word": lambda array: array - 1,
        "lm.pair_ptr": lambda array: array[:-1],
        "surface.lengths": lambda array: array[:-1],
    }.items():
        ModelFile(whole.family, whole.header, {**whole.tensors, name: change(whole.tensors[name])}).save(file)
        with pytest.raises(ModelFileError, match="corrupt file: "):
            KanaKanjiConverter.load(file)


@pytest.mark.parametrize("method", ["map", "map-kn", "boosting", "blasso", "map-kn+blasso"])
def test_adaptation_by_every_method(converter, method, tmp_path):
    text = [["端/はし", "で", "食べる/たべる"], ["強/きょう", "です"]] * 12
    adapted = converter.adapt(text, text[:4], method)
    assert adapted.convert("はしでたべる") == "端で食べる"
    assert converter.convert("はしでたべる") == "箸で食べる"
    assert adapted.fit_["adapted_to"] == 24
    adapted.save(tmp_path / "a.epigram")
    assert KanaKanjiConverter.load(tmp_path / "a.epigram").convert("はしでたべる") == "端で食べる"
    if "blasso" in method:
        assert adapted.nbest("はしでたべる", 3)[0].text == "端で食べる"
        with pytest.raises(InputError, match="was reranked already"):
            adapted.adapt(text)


def test_bad_adaptation_is_refused(converter):
    with pytest.raises(InputError, match="unknown method 'magic'"):
        converter.adapt([["木/き"]], method="magic")
    with pytest.raises(InputError, match="no sentences to adapt to"):
        converter.adapt([])
    with pytest.raises(InputError, match="too few"):
        converter.adapt([["木/き"]])


def test_scores_count_characters(converter):
    scores = evaluate(converter, [["橋/はし", "を", "渡る/わたる"], ["端/はし"]])
    assert (scores.sentences, scores.characters) == (2, 5)
    assert scores.cer == scores.cer_normalised == pytest.approx(20.0)
    assert (scores.sentence_accuracy, scores.oracle_cer) == (50.0, 0.0)
    with pytest.raises(InputError, match="no sentences"):
        evaluate(converter, [])


def test_scores_count_variants_as_right(monkeypatch):
    converter = KanaKanjiConverter.build(["行う/おこなう"] * 3 + ["橋/はし"] * 3 + ["。"])
    monkeypatch.setitem(sys.modules, "sudachipy", None)
    assert evaluate(converter, [["行なう/おこなう"]]).accuracy_with_variants is None
    monkeypatch.undo()
    pytest.importorskip("sudachipy", reason="the extra 'japanese' is not installed")
    scores = evaluate(converter, [["行なう/おこなう"], ["箸/はし"], ["橋/はし"]])
    assert scores.sentence_accuracy == pytest.approx(100 / 3)
    assert scores.accuracy_with_variants == pytest.approx(200 / 3)


def test_normalised_texts_are_half_width():
    assert normalise("“ＡＢ”，　c") == "「AB「、c"


def test_explanation_adds_up(converter):
    best = converter.best("はしをぺんで")
    rows = converter.decoder.explain(best)
    assert rows[-1].token == "</s>"
    assert sum(row.logp + row.bonus for row in rows) == pytest.approx(best.score, abs=1e-4)
    assert 0 in [row.order for row in rows]


def test_lessons_are_json(converter, tmp_path):
    converter.learn("はしで", "端で")
    converter.journal.save(tmp_path / "j")
    record = json.loads((tmp_path / "j").read_text())
    assert record["reading"] == "はしで"
    assert record["bonuses"] == {"端/はし": 0.0}
    assert [phrase[0] for phrase in record["phrases"]] == [[["端", "はし"], ["で", "で"]]]


def test_sample_text_converts_as_people_write():
    sample = KanaKanjiConverter.build(BACKGROUND, WORDS)
    assert {kana: sample.convert(kana) for kana in READINGS} == READINGS


def test_demo_act_plays(capsys):
    from epigram.cli.demo.converter import show

    show(0)
    shown = capsys.readouterr().out
    assert "箸を使う" in shown
    assert "木の端" in shown


def test_a_reading_that_repeats_the_surface_is_the_word_without_it() -> None:
    text = ["今日/きょう は/は 雨/あめ です/です", "明日/あした は 晴れ/はれ です", "雨/あめ です/です"]
    converter = KanaKanjiConverter.build(text)
    assert converter.convert("きょうはあめです") == "今日は雨です"
    assert [word for word in converter.decoder.lexicon.tokens() if "です" in word] == ["です"]
    plain = KanaKanjiConverter.build(
        [line.replace("は/は", "は").replace("です/です", "です") for line in text]
    )
    assert plain.nbest("あめはきょうです") == converter.nbest("あめはきょうです")
    adapted = converter.adapt([["飴/あめ", "だ/だ"]] * 4, [["飴/あめ", "だ/だ"]])
    assert adapted.convert("あめだ") == "飴だ"
    assert "だ" in list(adapted.decoder.lexicon.tokens())


def test_adapting_takes_settings_of_the_learner() -> None:
    converter = KanaKanjiConverter.build(BACKGROUND, WORDS)
    text = [line.split() for line in DOMAIN]
    given = converter.adapt(text, text, "boosting", smoothing=0.01, shrinkage=0.5, steps=7)
    assert given.fit_["reranker_smoothing"] == 0.01
    assert given.reranker is not None
    assert given.reranker.learner_ == Boosting(7, 0.01, 0.5)
    chosen = converter.adapt(text, text, "blasso")
    assert chosen.reranker is not None
    assert chosen.fit_["settings_tried"] == len(chosen.reranker.trials_) >= 3
    with pytest.raises(InputError, match="eps is a setting of learners"):
        converter.adapt(text, text, "map", eps=0.5)
    with pytest.raises(InputError, match="eps has no meaning for boosting"):
        converter.adapt(text, text, "boosting", eps=0.5)


@pytest.mark.parametrize(("method", "fits"), [("map", 0), ("map-kn", 1), ("map-kn+blasso", 3)])
def test_every_model_of_the_domain_is_trained_once(monkeypatch, method, fits) -> None:
    """P_a of the whole text and, for the reranker's lists, of each half."""
    converter = KanaKanjiConverter.build(SENTENCES)
    seen = []
    fit = KneserNeyLM.fit
    monkeypatch.setattr(KneserNeyLM, "fit", lambda self, text: seen.append(text) or fit(self, text))
    converter.adapt([["端/はし", "で", "食べる/たべる"], ["強/きょう", "です"]] * 8, method=method)
    assert len(seen) == fits


def test_the_language_model_is_made_once() -> None:
    converter = KanaKanjiConverter.build(SENTENCES)
    assert converter.model is converter.model


def test_a_callback_that_returns_true_ends_the_learner() -> None:
    text = [["端/はし", "で", "食べる/たべる"], ["強/きょう", "です"]] * 12
    converter = KanaKanjiConverter.build(SENTENCES)
    told = []
    stopped = converter.adapt(text, None, "blasso", lambda what, share: told.append(what) or "step" in what)
    whole = converter.adapt(text, None, "blasso")
    assert stopped.fit_["settings_tried"] < whole.fit_["settings_tried"]
    assert sum("step" in what for what in told) == 1
