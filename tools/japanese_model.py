"""Trains ``models/japanese`` from prepared text with readings, and writes its card and NOTICE.

The text is that of the folder ``ime`` of the data sets (tools/japanese_text.py makes such text from the sources). Of
its novels and its articles about Kyoto, parts are left out, or they would be half of it. The limits were chosen by
``epigram.ime.size`` on development sentences; the model is built with these limits alone, so it takes a minute. The
same data give the same bytes.
"""

from __future__ import annotations

import gzip
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from japanese_sources import SOURCES, attribution, notice

from epigram import KanaKanjiConverter
from epigram.files import write_atomically
from epigram.ime.build import SizeLimits, build
from epigram.ime.evaluate import normalise, split_sentence
from epigram.ime.kana import read_sentences
from epigram.ime.lexicon.wordlist import WordList, read_word_list
from epigram.ime.storage import to_model_file
from epigram.storage.compress import SMALLEST

FOLDER = Path(__file__).parent.parent / "models" / "japanese"
LARGEST = 15_000_000
"""Bytes of the model file."""
LIMITS = SizeLimits(prune=3, prune_bigrams=1, max_words=440_000, rescorer=2.5)
SETS = ("kftt", "wikinews", "tanaka", "mdn", "aozora", "wac", "human/rohan", "human/ita")
"""Sets of text besides the sources of ``general``."""
GENERAL = frozenset(source.name for source in SOURCES)
KYOTO, NEIGHBOURS = 2, 1001
"""Of kftt every second line is taken, without the first ones, which are for tests of left context."""
CARD = {
    "name": "japanese",
    "language": "Japanese",
    "licence": "CC BY-SA 4.0",
    "source": attribution(),
    "notice": "NOTICE of the distribution epigram-japanese names every source with its origin and licence",
}
WEAKNESSES = (
    "Homophones that only the meaning of the sentence tells apart: a third of what is wrong.",
    "Text whose readings SudachiPy gave has its mistakes: about 1 % of kana.",
    "Names that are neither in SudachiDict nor frequent.",
    "Hotels and travel are over-represented in everyday text, Kyoto and its temples in articles.",
)


def text(ime: Path, without: frozenset[str] = frozenset()) -> Iterator[str]:
    """Sentences of the training text, no line twice; ``without`` leaves sets out."""
    seen: set[str] = set()
    with gzip.open(ime / "general" / "train.source.txt.gz", "rt", encoding="utf-8") as file:
        sources = file.read().split()
    for name in ("general", *SETS):
        with gzip.open(ime / name / "train.txt.gz", "rt", encoding="utf-8") as file:
            for number, line in enumerate(file):
                if name == "general" and (sources[number] not in GENERAL or sources[number] == "aozora"):
                    continue
                if name == "kftt" and (number < NEIGHBOURS or number % KYOTO):
                    continue
                if name not in without and line not in seen:
                    seen.add(line)
                    yield line


def lexicon(ime: Path) -> WordList:
    """Words of SudachiDict with costs and parts of speech, without those that only the text has."""
    words = read_word_list(ime / "general" / "lexicon-general.tsv.gz")
    keep = [k for k, part in enumerate(words.parts) if part != "corpus"]
    return WordList([words.tokens[k] for k in keep], words.costs[keep], [words.parts[k] for k in keep])


def train(ime: Path, without: frozenset[str] = frozenset()) -> tuple[KanaKanjiConverter, bytes]:
    """Build the converter and its file."""
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder) / "text.txt"
        with lines.open("w", encoding="utf-8") as file:
            file.writelines(text(ime, without))
        made = build([lines], lexicon(ime), limits=LIMITS, rescore=True)
        converter = KanaKanjiConverter.of_background(made, LIMITS)
    converter.card_ = CARD
    return converter, to_model_file(converter, quantise=True).to_bytes(level=SMALLEST)


def exact(converter: KanaKanjiConverter, file: Path, limit: int) -> tuple[int, float]:
    """Number of sentences of a file, and the percentage converted exactly, with normalised width and signs."""
    pairs = [split_sentence(tokens) for tokens in read_sentences(file)[:limit]]
    texts = converter.convert_many([reading for reading, _ in pairs])
    right = sum(normalise(text) == normalise(want) for text, (_, want) in zip(texts, pairs, strict=True))
    return len(pairs), 100 * right / len(pairs)


def card(ime: Path, cpu_seconds: float) -> str:
    """Return the README of the model from its file and its scores on held-out text."""
    start = time.process_time()
    converter = KanaKanjiConverter.load(model_file())
    converter.convert("あ")
    loading = time.process_time() - start
    rows = [
        (name, *exact(converter, ime / name / "heldout.txt.gz", 1400))
        for name in ("general", "wac", "human/gsd", "human/rohan", "human/ita")
    ]
    fit = converter.fit_
    return "\n".join([
        "# Japanese input method",
        "",
        "A model for epigram: kana to text. `pip install ./models/japanese` in a checkout, then `epigram ime type`,",
        '`epigram ime convert` or `epigram.load("japanese")`. Generated by `tools/make_models.py`.',
        "",
        "- name: japanese",
        "- language: Japanese",
        "- licence: CC BY-SA 4.0; NOTICE names every source with its licence, origin and commit",
        "- for Tatoeba, the Tanaka corpus and Wikinews the licence is relied on as publicly stated by the projects",
        f"- trained on {fit['sentences']:,} sentences, {fit['tokens']:,} words; {fit['words']:,} words in the lexicon, "
        f"{fit['ngrams']:,} n-grams",
        f"- limits: {', '.join(f'{key} {value:,}' for key, value in asdict(LIMITS).items())}",
        f"- file: {model_file().stat().st_size:,} bytes; loading took {loading:.2f} CPU seconds, "
        f"training {cpu_seconds:.0f}",
        "",
        "Sentences of held-out text that are converted exactly (width of signs and digits aside); wac, rohan and ita",
        "have training parts in the model, gsd has none:",
        "",
        "| text | sentences | exact % |",
        "| --- | --- | --- |",
        *(f"| {name} | {number:,} | {share:.1f} |" for name, number, share in rows),
        f"| mean | | {sum(row[2] for row in rows) / len(rows):.1f} |",
        "",
        "Known weaknesses:",
        "",
        *(f"- {line}" for line in WEAKNESSES),
        "",
    ])  # fmt: skip


def model_file() -> Path:
    """Return the path of the model file."""
    return FOLDER / "epigram_japanese" / "japanese.epigram"


def make(target: Path | None = None, without: frozenset[str] = frozenset()) -> None:
    """Train the model, check its size, and write model, NOTICE and card; another ``target`` gets the model alone."""
    ime = Path(os.environ.get("EPIGRAM_DATA", "")) / "ime"
    if not (ime / "general").is_dir():
        sys.exit(
            f"make_models: no Japanese text at {ime}; set EPIGRAM_DATA to the folder that holds ime/general"
        )
    start = time.process_time()
    content = train(ime, without)[1]
    if len(content) > LARGEST:
        sys.exit(f"make_models: the model has {len(content):,} bytes, more than {LARGEST:,}; tighten LIMITS")
    write_atomically(target or model_file(), content)
    if target is None:
        (FOLDER / "NOTICE").write_text(notice(), "utf-8")
        (FOLDER / "README.md").write_text(card(ime, time.process_time() - start), "utf-8")


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else None, frozenset(sys.argv[2:]))
