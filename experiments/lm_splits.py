"""Cut the data set ``lm-splits`` from AP news and the Penn Treebank.

    python experiments/lm_splits.py [--ap ap.txt.gz] [--ptb ptb.train.txt.gz] [-o FOLDER]

Sources are AP newswire (``ap.txt`` of ``example/ap.tgz`` in https://github.com/blei-lab/lda-c, plain or gzip) and the
training text of the Penn Treebank; without ``--ap`` and ``--ptb`` the data sets ``ap-news`` and ``ptb`` are looked for,
and the second is downloaded where it is missing. Every text is checked by its checksum; the folder, by default that of
downloaded data sets, is then found by ``python -m experiments``.

Each source gives four splits of 100,000 words to train on and 20,000 to test on, as in Nelakanti et al. 2013.

AP news is prepared as section 6 of the paper says, after Bengio et al. 2003: lower case, punctuation as words, numbers
as ``#n``, proper nouns as ``_pn_``, words that occur once in all documents as ``_unk_``. A proper noun is a word of two
characters or more that is written with a capital letter inside a sentence and nowhere all in lower case. Splits are
runs of neighbouring sentences that begin at equal distances.
"""

from __future__ import annotations

import argparse
import gzip
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from epigram.datasets import dataset, fetch
from epigram.datasets.download import cache_folder
from epigram.errors import EpigramError
from epigram.files import make_folder, read_lines, write_atomically

SPLITS, TRAIN, TEST = 4, 100_000, 20_000
SHORTEST_TEXT, SHORTEST_SENTENCE = 41, 2
"""Characters of a document, tokens of a sentence; what is shorter are tags and marks."""
NUMBER, NAME, RARE = "#n", "_pn_", "_unk_"
SENTENCE_END = re.compile(r'(?<=[.?!])\s+(?=[A-Z"<])')
TOKEN = re.compile(
    r"""\d+(?:[.,/:-]\d+)*          # a number, a date, a score
    |(?:[A-Za-z]\.){2,}             # U.S.
    |[A-Za-z]+(?:['&-][A-Za-z]+)*   # a word, with apostrophes and hyphens inside
    |'s
    |[^\sA-Za-z0-9]                 # any other sign by itself
    """,
    re.VERBOSE,
)

Sentences = list[list[str]]


def ap_sentences(lines: Iterable[str]) -> Sentences:
    """Sentences of AP news: cut, split into tokens, numbers, names and rare words replaced."""
    cased = [
        tokens
        for text in _texts(lines)
        for tokens in map(TOKEN.findall, SENTENCE_END.split(text))
        if len(tokens) >= SHORTEST_SENTENCE
    ]
    names = _names(cased)
    sentences = [[_normalised(token, names) for token in tokens] for tokens in cased]
    counts = Counter(token for tokens in sentences for token in tokens)
    return [[token if counts[token] > 1 else RARE for token in tokens] for tokens in sentences]


def ptb_sentences(lines: Iterable[str]) -> Sentences:
    """Sentences of the Penn Treebank, in the symbols of AP news."""
    symbols = {"N": NUMBER, "<unk>": RARE}
    return [[symbols.get(token, token) for token in line.split()] for line in lines if line.strip()]


def cut(sentences: Sentences) -> Iterator[tuple[Sentences, Sentences]]:
    """Training and test sentences of each split."""
    start = np.cumsum([0, *map(len, sentences)])
    if start[-1] < SPLITS * (TRAIN + TEST):
        raise EpigramError(f"the source has {start[-1]:,} words; the splits need {SPLITS * (TRAIN + TEST):,}")
    for k in range(SPLITS):
        first = np.searchsorted(start, k * (start[-1] // SPLITS))
        middle = np.searchsorted(start, start[first] + TRAIN)
        last = np.searchsorted(start, start[middle] + TEST)
        yield sentences[first:middle], sentences[middle:last]


def write(name: str, sentences: Sentences, folder: Path) -> None:
    """Write the splits of one source as ``NAME.s0.train.txt.gz`` and so on, each checked by its checksum."""
    for k, parts in enumerate(cut(sentences)):
        for part, chosen in zip(("train", "test"), parts, strict=True):
            entry = dataset("lm-splits").file(f"{name}.s{k}.{part}.txt.gz")
            packed = gzip.compress("".join(f"{' '.join(tokens)}\n" for tokens in chosen).encode(), mtime=0)
            if not entry.is_right(packed):
                raise EpigramError(f"{entry.name} came out with a wrong checksum; the source is another text")
            write_atomically(folder / entry.name, packed)


def _texts(lines: Iterable[str]) -> Iterator[str]:
    """Documents, each on one line of the source, without tags and entities."""
    for line in lines:
        text = line.strip()
        if text.startswith("<"):
            text = re.sub(r"<DOCNO>.*?</DOCNO>|</?(?:DOC|TEXT|DOCNO)>", " ", text)
        text = re.sub(r"&[a-z]+;", " ", text).replace("``", '"').replace("''", '"')
        text = " ".join(text.split())
        if len(text) >= SHORTEST_TEXT:
            yield text


def _names(sentences: Sentences) -> set[str]:
    """Proper nouns in lower case."""
    small = {token for tokens in sentences for token in tokens if token.islower()}
    capital = {token.lower() for tokens in sentences for token in tokens[1:] if token[0].isupper()}
    return {token for token in capital - small if len(token) > 1}


def _normalised(token: str, names: set[str]) -> str:
    if token[0].isdigit():
        return NUMBER
    return NAME if token[0].isupper() and token.lower() in names else token.lower()


def main() -> None:
    """Cut both sources."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--ap", type=Path, help="AP news: ap.txt or ap.txt.gz [default: the data set ap-news]"
    )
    parser.add_argument("--ptb", type=Path, help="ptb.train.txt or .gz [default: the data set ptb]")
    parser.add_argument("-o", "--output", type=Path, default=cache_folder() / "lm-splits", metavar="FOLDER")
    asked = parser.parse_args()
    try:
        ap = asked.ap or fetch("ap-news", "ap.txt.gz")
        ptb = asked.ptb or fetch("ptb", "ptb.train.txt.gz")
        make_folder(asked.output, "; choose another with -o")
        write("apnews", ap_sentences(read_lines(ap)), asked.output)
        write("ptbsplit", ptb_sentences(read_lines(ptb)), asked.output)
    except EpigramError as error:
        parser.exit(2, f"lm_splits: {error}\n")
    print(asked.output)


if __name__ == "__main__":
    main()
