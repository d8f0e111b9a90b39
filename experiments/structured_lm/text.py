"""The texts of the experiments: four splits of AP news, parts of them to choose strengths on, and novels.

The paper chooses strengths on 30,000 words against 10,000 (section 6). Here these are the first 40,000 words of the
*training* part of each split; test parts are read by the final fits only.
"""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import numpy as np

from epigram.errors import InputError
from epigram.lm.corpus import Corpus
from epigram.lm.vocabulary import Vocabulary

TOKEN = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")


def split_text(data: str, split: int, words: int | None = None) -> tuple[Corpus, Corpus]:
    """Training and test part of one split; ``words`` takes the start of the training part alone.

    The test part is in the words of the training part, as it is read.
    """
    train = Corpus.read(_file(data, "lm-splits", f"apnews.s{split}.train.txt.gz"))
    if words is not None:
        train = _in_own_words(train.take(0, _sentences(train, words)))
    test = Corpus.read(_file(data, "lm-splits", f"apnews.s{split}.test.txt.gz"), train.vocabulary)
    return train, test


def choosing_text(data: str, split: int, words: int, held_out: int) -> tuple[Corpus, Corpus]:
    """``words`` to fit and the next ``held_out`` to choose by, both from the training part of a split."""
    train = Corpus.read(_file(data, "lm-splits", f"apnews.s{split}.train.txt.gz"))
    cut, end = _sentences(train, words), _sentences(train, words + held_out)
    first = _in_own_words(train.take(0, cut))
    return first, train.take(cut, end).with_vocabulary(first.vocabulary)


def novels(data: str, words: int | None = None) -> Corpus:
    """``english-novels`` in lower case with punctuation split off, a line a sentence; at most ``words``."""
    sentences, n = [], 0
    with gzip.open(_file(data, "english-novels", "novels.txt.gz"), "rt", encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("### "):
                continue
            tokens = TOKEN.findall(line.lower())
            sentences.append(tokens)
            n += len(tokens)
            if words is not None and n >= words:
                break
    return Corpus.of(sentences)


def start_of(corpus: Corpus, words: int) -> Corpus:
    """The sentences of a text up to a number of words."""
    return corpus.take(0, _sentences(corpus, words))


def _sentences(corpus: Corpus, words: int) -> int:
    """How many sentences hold so many words."""
    return min(int(np.searchsorted(corpus.sentence_ptr, words)), corpus.n_sentences)


def _in_own_words(corpus: Corpus) -> Corpus:
    """The text in a vocabulary of its own."""
    seen = np.bincount(corpus.ids[corpus.ids >= 0], minlength=len(corpus.vocabulary)) > 0
    known = (word for word, is_seen in zip(corpus.vocabulary, seen, strict=True) if is_seen)
    return corpus.with_vocabulary(Vocabulary(known))


def _file(data: str, folder: str, name: str) -> Path:
    path = Path(data) / folder / name
    if not path.is_file():
        raise InputError("no such file; name the folder of data sets with --data", path=path)
    return path
