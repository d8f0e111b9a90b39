"""Unlabelled English text, a tokenised sentence a line, for the word classes of the taggers' benchmarks.

Newswire (AP, Reuters, AG), Wikipedia and Brown; no sentence of a labelled test set. Digits become ``#``.

    python benchmarks/unlabelled_text.py news.txt --lines 170000
    epigram lm classes news.txt -o news.classes -k 60,400 --min-count 5 --max-passes 6
    python benchmarks/tagging_quality.py --richer --classes news.classes

``--case FILE`` writes another list of the same form: how often each word has a capital letter within sentences.
``tagging_pools.py`` runs these commands itself, and those for abstracts below.

    python benchmarks/unlabelled_text.py all.txt --case case.classes
    epigram lm classes all.txt -o all.classes -k 60,300,1000 --min-count 5 --max-passes 6

``--biomedical`` writes GENIA's and JNLPBA's training sentences instead, without those of GENIA's other parts.

    python benchmarks/unlabelled_text.py bio.txt --biomedical
    epigram lm classes bio.txt -o bio.classes -k 50,250 --min-count 2 --max-passes 6
"""

from __future__ import annotations

import argparse
import csv
import html
import itertools
import random
import re
import sys
from bisect import bisect
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from epigram.datasets import fetch
from epigram.files import stream_lines

ABBREVIATIONS = "Mr|Mrs|Ms|Dr|Inc|Corp|Co|Ltd|Jr|Sr|St|Gov|Sen|Rep|Gen|Jan|Feb|Aug|Sept|Oct|Nov|Dec"
TOKEN = re.compile(
    r"\$|[+-]?\d+(?:[.,:/-]\d+)*(?:[a-z]{1,2}\b)?|(?:[^\W\d_]\.){2,}"
    rf"|(?:{ABBREVIATIONS})\.(?!\w)|\w+(?:[-&.]\w+)*|\.{{2,}}|--+|``|''|[^\w\s]"
)
CLITIC = re.compile(r"(?i)\b(\w+?)(n't|'(?:s|re|ve|ll|d|m))\b")
IS_CLITIC = re.compile(r"(?i)n't|'(?:s|re|ve|ll|d|m)")
END = re.compile(r'(?<=[.!?])["\')]*\s+(?=["\'`(]*[A-Z])')
LENGTHS = range(3, 151)
MARKS = "``\"':;.(--["  # and every piece of it
SHARES = (0.05, 0.3, 0.7, 0.95)


def paragraphs() -> Iterator[str]:
    """All texts."""
    for line in stream_lines(fetch("ap-news", "ap.txt.gz")):
        if line.strip() and not line.startswith("<"):
            yield line.replace(" _ ", " -- ")
    for name, file in (
        ("reuters21578", "reuters21578.body.txt.gz"),
        ("reuters-c50", "c50train.txt.gz"),
        ("reuters-c50", "c50test.txt.gz"),
    ):
        yield from (line for line in stream_lines(fetch(name, file)) if not line.startswith("###"))
    with Path(fetch("ag-news", "test.csv")).open(encoding="utf-8") as items:
        yield from (html.unescape(row[2].replace("\\", " ")) for row in csv.reader(items))
    for line in stream_lines(fetch("wikitext-2", "wiki.train.shuffled-articles.tokens.gz")):
        if not line.startswith(" ="):
            joined = line.replace(" @-@ ", "-").replace(" @,@ ", ",").replace(" @.@ ", ".")
            yield joined.replace("<unk>", "UNK")
    for line in stream_lines(fetch("brown", "brown.tagged.txt.gz")):
        if not line.startswith("###"):
            yield " ".join(token.rsplit("/", 1)[0] for token in line.split())


def sentences(paragraph: str) -> Iterator[str]:
    """Its sentences of a sane length, tokens separated by spaces."""
    for sentence in END.split(paragraph):
        tokens: list[str] = []
        for piece in CLITIC.sub(r"\1 \2", sentence).split():
            tokens += [piece] if IS_CLITIC.fullmatch(piece) else TOKEN.findall(piece)
        if len(tokens) in LENGTHS:
            yield re.sub(r"[0-9]", "#", " ".join(tokens))


def biomedical() -> list[str]:
    """Sentences of GENIA and JNLPBA, each once; the last 60 letters tell whether two are the same."""
    from _crfsuite import Part, genia_pos, jnlpba

    def words(part: Part) -> list[list[str]]:
        return [[row[0] for row in sentence] for sentence in part.columns.rows()]

    def tail(sentence: list[str]) -> str:
        return "".join(sentence)[-60:].lower()

    seen = {tail(sentence) for part in ("devel", "test") for sentence in words(genia_pos(part))}
    lines = []
    for sentence in words(genia_pos("train")) + words(jnlpba("train")):
        if tail(sentence) not in seen:
            seen.add(tail(sentence))
            lines.append(re.sub(r"[0-9]", "#", " ".join(sentence)))
    return lines


def capitals(lines: list[str]) -> Iterator[str]:
    """Lines of a word list: by share of occurrences with a capital and by their number, the word, the number.

    Titles and words after a mark, which may begin a sentence, do not count.
    """
    upper, everywhere = Counter[str](), Counter[str]()
    for line in lines:
        tokens = line.split()
        if 2 * sum(token[0].isupper() for token in tokens) > len(tokens):
            continue
        for before, token in itertools.pairwise(tokens):
            if before not in MARKS:
                everywhere[token.lower()] += 1
                upper[token.lower()] += token[0].isupper()
    for word, n in sorted(everywhere.items()):
        if word[0].isalpha():
            share = upper[word] / n
            level = "0" if not upper[word] else "g" if share == 1 else "bcdef"[bisect(SHARES, share)]
            yield f"{level}{'sml'[bisect((3, 20), n)]}\t{word}\t{n}\n"


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("output", type=Path)
    options.add_argument("--lines", type=int, help="a random choice of so many sentences")
    options.add_argument("--case", type=Path, help="where the list of words with capitals goes")
    options.add_argument("--biomedical", action="store_true", help="abstracts instead")
    chosen = options.parse_args()
    if chosen.biomedical:
        lines = biomedical()
    else:
        lines = [sentence for paragraph in paragraphs() for sentence in sentences(paragraph)]
    if chosen.lines is not None:
        lines = random.Random(0).sample(lines, chosen.lines)
    if chosen.case is not None:
        chosen.case.write_text("".join(capitals(lines)), encoding="utf-8")
    chosen.output.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
