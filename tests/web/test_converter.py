"""Japanese converters in JavaScript: conversions, phrases and typing as in Python."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from random import Random
from typing import Any

import pytest
from in_node import JAPANESE, answers, built

from epigram import InputError, KanaKanjiConverter
from epigram.ime.kana import split_token
from epigram.ime.typing.editor import Editor
from epigram.storage import ModelFile
from epigram.web.converter import as_read, by_bytes
from epigram.web.export import export_page

pytestmark = built
TEXT = (
    """東京/とうきょう で 橋/はし を 渡る/わたる 。
箸/はし で 食べる/たべる 子供/こども
石/いし の 橋/はし を 見/み た
ペン/ぺん で 子ども/こども が 書く/かく
12/じゅうに 月/がつ 15/じゅうご 日/にち に 行/い っ た
端/はし の 値/あたい を 削る/けずる 。
今日/きょう は いい 天気/てんき です ね 。
行う/おこなう と 行なう/おこなう""".splitlines()
    * 4
)
READINGS = [
    *(
        "はしをわたる",
        "いしのはしをみた。はしでたべる",
        "さんじゅうななほん",
        "しーぴーゆー",
        "かっこやじるし",
    ),
    *(
        "きょうはいいてんきですね",
        "",
        "ABC123",
        "ぬるぽらーめん",
        "漢字まじり",
        "せんきゅうひゃくはちじゅうよんねん",
    ),
    *("\ud800", "😀はし", "こどもがおこなう", "えーぴーあい"),
]
SETS = ("general", "wac", "tanaka", "kftt", "wikinews")


def stored(converter: KanaKanjiConverter, path: Path) -> KanaKanjiConverter:
    """Store a converter as a page has it; return it as Python reads it."""
    converter.save(path)
    made = as_read(ModelFile.load(path))
    made.save(path, compress=False)
    loaded = KanaKanjiConverter.load(path)
    by_bytes(made).save(path, compress=False)
    return loaded


@pytest.mark.parametrize("rescore", [False, True])
def test_a_converter_answers_as_in_python(tmp_path: Path, rescore: bool) -> None:
    path = tmp_path / "a.epigram"
    model = stored(KanaKanjiConverter.build(TEXT, rescore=rescore), path)
    contexts = ["", "石の", "橋を渡る。箸で食べる。", "とても長い" * 90, "ABC "]
    texts, *found = answers(
        path,
        ["convertAll", READINGS],
        *(["nbest", reading, 12, {"before": before}] for reading in READINGS for before in contexts),
        *(["segments", reading, 12, {"before": before}] for reading in READINGS for before in contexts[:3]),
        module=JAPANESE,
    )
    readings = [reading.replace("\ud800", "\ufffd") for reading in READINGS]
    assert texts == model.convert_many(readings)
    pairs = [(reading, before) for reading in readings for before in contexts]
    for (reading, before), ways in zip(pairs, found, strict=False):
        expected = model.nbest(reading, 12, before=before)
        assert [way["text"] for way in ways] == [way.text for way in expected], (reading, before)
        scores = zip((way["score"] for way in ways), (way.score for way in expected), strict=True)
        assert all(abs(one - other) < 1e-9 for one, other in scores)
    pairs = [(reading, before) for reading in readings for before in contexts[:3]]
    for (reading, before), pieces in zip(pairs, found[len(readings) * len(contexts) :], strict=True):
        own = model.segments(reading, 12, before=before, phrases=True) if reading else []
        assert pieces == [piece._asdict() for piece in own], (reading, before)


def test_typing_goes_as_in_the_editor(tmp_path: Path) -> None:
    """Random keys; the editor of Python learns nothing here, nor does the page."""
    path, rng = tmp_path / "a.epigram", Random(3)
    model = stored(KanaKanjiConverter.build(TEXT, rescore=True), path)
    named = [
        "space", "space", "enter", "backspace", "escape", "left", "right", "up", "down", "longer", "shorter",
        "page up", "page down", "undo", "f6", "f7", "f8", "f9", "f10",
    ]  # fmt: skip
    words = [
        "hashi",
        "wo",
        "wataru",
        "kyou",
        "kodomo",
        "1500",
        "ima",
        "juuni",
        "ka-",
        "n",
        "tt",
        ".",
        "A",
        "ri",
        "5",
        "'",
    ]
    for layout in ("romaji", "kana"):
        requests: list[dict[str, Any]] = [{"reset": True, "set": {"layout": layout}}]
        for k in range(500):
            word = rng.choice(words)
            keys = [rng.choice(named)] if rng.random() < 0.5 else list(word)
            requests += [{"key": key} for key in keys]
            if k % 40 == 0:
                requests.append({"set": {"width": rng.choice(["mixed", "half", "full"])}})
                requests.append({"set": {"punctuation": rng.choice(["、。", "，．"])}})
            if k % 25 == 0:
                requests.append({"before": rng.choice(["", "石の", "橋を渡る。"])})
        found = answers(path, *(["type", request] for request in requests), module=JAPANESE)
        editor = Editor(model, private=True)
        for request, answer in zip(requests, found, strict=True):
            for name, value in request.get("set", {}).items():
                editor.settings.set(name, value)
            if "before" in request:
                editor.moved(request["before"])
            commit = None
            if "key" in request:
                was_idle = editor.is_idle
                commit = editor.press(request["key"])
                if was_idle and editor.is_idle and commit is None and not editor.erase:
                    editor.moved()
            assert answer["commit"] == commit, request
            assert {name: answer[name] for name in editor.view()} == editor.view(), request


def test_errors_are_sentences_and_what_a_page_lacks_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.epigram"
    model = KanaKanjiConverter.build(TEXT)
    model.save(path)
    ModelFile.load(path).save(path, compress=False)
    assert "epigram export-web" in answers(path, module=JAPANESE)[0]
    assert "japanese/epigram.mjs" in answers(path)[0]
    stored(model, path)
    wrong = answers(
        path, ["convert", 7], ["nbest", "あ", 0], ["convert", "あ" * 2001], ["segments", "あ", 5, {"fixed": [2]}],
        ["type", {"reconvert": "橋"}], ["type", {"key": 1}], ["type", {"other": 1}], ["convertAll", "あ"],
        ["type", None], ["type", {"set": {"layout": "x"}}], module=JAPANESE,
    )  # fmt: skip
    assert all(isinstance(error, str) and "\n" not in error for error in wrong), wrong
    model.learn("はしをわたる", "端をわたる")
    model.save(path)
    with pytest.raises(InputError, match="corrections and words of a user"):
        export_page(path, tmp_path / "page")


@pytest.mark.skipif("EPIGRAM_DATA" not in os.environ, reason="needs the data of the benchmarks")
def test_conversions_of_five_development_sets_are_those_of_python(tmp_path: Path) -> None:
    folder, lines = Path(os.environ["EPIGRAM_DATA"]) / "ime", []
    for name in SETS:
        with gzip.open(folder / name / "heldout.txt.gz", "rt", encoding="utf-8") as source:
            lines += [line.split() for line in source][:200]
    path = tmp_path / "a.epigram"
    model = stored(KanaKanjiConverter.build([*lines[::2], *TEXT], rescore=True), path)
    readings = ["".join(split_token(token)[1] for token in line) for line in lines]
    assert answers(path, ["convertAll", readings], module=JAPANESE)[0] == model.convert_many(readings)
