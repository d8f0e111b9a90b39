"""Measures what corrections change: their own sentences, the rest of the domain, and other text.

    python benchmarks/ime_corrections.py MODEL

MODEL is a converter of general Japanese text with the rescorer. The table has single careless corrections, each learnt
alone, and the held-out sentences of wac and gsd that they change. Then a simulated user corrects the first 50 wrong
sentences of each domain; errors are counted on the sentences after them and on other held-out text.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np

from epigram import KanaKanjiConverter
from epigram.errors import InputError
from epigram.ime.evaluate import normalise, split_sentence
from epigram.ime.kana import read_sentences
from epigram.rerank.nbest import edit_distance

DATA = Path(os.environ["EPIGRAM_DATA"]) / "ime"
CARELESS = {
    "とうきょうとにすんでいる": "東京都2住んでいる", "きょうはあめです": "今日は飴です", "わたしはいく": "私は逝く",
    "やまがたかい": "山が他界", "ほんをよむ": "ほんを読む", "あいするひと": "あいするひと", "そのとき": "其の時",
    "いえにかえる": "家に帰る", "ねこがいる": "猫が居る", "に": "2",
}  # fmt: skip
DOMAINS = ("wac", "mdn", "wikinews", "kftt")
LESSONS, FURTHER, OTHERS = 50, 400, 300


def held_out(name: str) -> list[tuple[str, str]]:
    return [split_sentence(line) for line in read_sentences(DATA / name / "heldout.txt.gz")]


def errors(converter: KanaKanjiConverter, pairs: list[tuple[str, str]]) -> np.ndarray:
    texts = [converter.convert(reading) for reading, _ in pairs]
    return np.array(
        [
            edit_distance(normalise(text), normalise(wanted))
            for text, (_, wanted) in zip(texts, pairs, strict=True)
        ]
    )


def careless(converter: KanaKanjiConverter) -> None:
    pairs = [*held_out("wac")[:300], *held_out("human/gsd")[:300]]
    before = [converter.convert(reading) for reading, _ in pairs]
    exact = int((errors(converter, pairs) == 0).sum())
    print(f"careless corrections; {exact} of {len(pairs)} sentences exact before")
    for reading, chosen in CARELESS.items():
        converter.learn(reading, chosen)
        if not converter.journal.lessons:
            print(f"{chosen}: converted so before")
            continue
        changed = sum(converter.convert(k) != text for (k, _), text in zip(pairs, before, strict=True))
        exact = int((errors(converter, pairs) == 0).sum())
        print(f"{chosen}: holds {converter.convert(reading) == chosen}, changed {changed}, exact {exact}")
        converter.undo()


def natural(converter: KanaKanjiConverter, name: str, others: list[tuple[str, str]]) -> None:
    pairs = held_out(name)
    before = errors(converter, pairs)
    wrong = np.flatnonzero(before)[:LESSONS]
    rest = slice(int(wrong[-1]) + 1, int(wrong[-1]) + 1 + FURTHER)
    elsewhere = errors(converter, others)
    for k in wrong.tolist():
        try:
            converter.learn(*pairs[k])
        except InputError as error:
            print(f"  not learnt: {error}")
    held = sum(converter.convert(pairs[k][0]) == pairs[k][1] for k in wrong.tolist())
    after, elsewhere_after = errors(converter, pairs[rest]), errors(converter, others)
    n = len(converter.journal.lessons)
    while converter.journal.lessons:
        converter.undo()
    row = [
        name, f"{n} ({held} hold)", str(after.size), f"{before[rest].sum()} -> {after.sum()}",
        f"{(before[rest] == 0).sum()} -> {(after == 0).sum()}", f"{elsewhere.sum()} -> {elsewhere_after.sum()}",
        f"{(elsewhere == 0).sum()} -> {(elsewhere_after == 0).sum()}",
    ]  # fmt: skip
    print("| " + " | ".join(row) + " |", flush=True)


def main() -> None:
    converter = KanaKanjiConverter.load(sys.argv[1])
    careless(converter)
    others = held_out("general")[:OTHERS]
    for name in DOMAINS:
        natural(converter, name, others)


if __name__ == "__main__":
    main()
