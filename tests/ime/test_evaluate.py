"""On real text: adaptation lowers the error rate of a domain, in one back-off model; raw text through SudachiPy."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from epigram import KanaKanjiConverter
from epigram.files import stream_lines
from epigram.ime.evaluate import evaluate
from epigram.ime.kana import analyse, read_sentences
from epigram.ime.lexicon.wordlist import read_word_list


@pytest.fixture(scope="module")
def first(data, tmp_path_factory):
    """The first sentences of a file under ime/, without reading the rest."""
    folder = tmp_path_factory.mktemp("first")

    def sentences(name: str, n: int) -> list[list[str]]:
        lines = itertools.islice(stream_lines(data / "ime" / name), n)
        part = Path(folder, name.replace("/", "-").removesuffix(".gz"))
        part.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        return read_sentences(part)

    return sentences


@pytest.fixture(scope="module")
def converter(data, first) -> KanaKanjiConverter:
    sentences = first("kftt/train.txt.gz", 8_000)
    words = itertools.islice(read_word_list(data / "ime" / "lexicon.tsv.gz"), 60_000)
    return KanaKanjiConverter.build([" ".join(tokens) for tokens in sentences], words)


def test_adaptation_lowers_the_error_rate(converter, first):
    text = first("tanaka/train.txt.gz", 3000)
    dev = first("tanaka/heldout.txt.gz", 650)
    before = evaluate(converter, dev[500:650], k=20)
    assert before.oracle_cer < before.cer / 2
    rates = [
        evaluate(converter.adapt(text, dev[:500], how), dev[500:650], k=1).cer for how in ("map", "map-kn")
    ]
    assert before.cer > rates[0] > rates[1]


def test_best_is_the_first_of_the_list_on_real_sentences(converter, first):
    from epigram.ime.evaluate import split_sentence

    for tokens in first("wac/heldout.txt.gz", 60):
        kana, _ = split_sentence(tokens)
        ways = converter.nbest(kana, 20)
        assert converter.best(kana).score == pytest.approx(ways[0].score, abs=1e-3)
        assert all(
            way.score == pytest.approx(converter.decoder.score(kana, way.words), abs=1e-3) for way in ways
        )
        assert len({way.text for way in ways}) == len(ways)


def test_raw_text_gets_words_and_readings():
    pytest.importorskip("sudachipy", reason="the extra 'japanese' is not installed")
    assert analyse(["東京タワーへ行った。", ""]) == [
        ["東京/とうきょう", "タワー/たわー", "へ", "行っ/いっ", "た", "。"]
    ]
