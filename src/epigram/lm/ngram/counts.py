"""Files of n-gram counts, as SRILM's ``ngram-count`` writes and reads them: words, a tab, how often, one n-gram a line.

    <s> a rose<TAB>12

All orders from 1 on are in one file, sentences with their ``<s>`` and ``</s>``. A file may name an n-gram twice, the
counts add up: files put end to end are the counts of both texts. Kneser-Ney needs every n-gram of the text, as it
estimates discounts and counts the words before each n-gram; so a file that was cut is refused (drop n-grams by
``prune`` instead), and so are counts that are not whole numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from os import PathLike
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from epigram.errors import InputError
from epigram.lm.corpus import END, START, UNKNOWN, UNSEEN, Vocabulary, factorise_bytes
from epigram.lm.ngram.kneser_ney import Level
from epigram.protocols import Ints, Offsets, at_least
from epigram.text import decode, read_bytes

_COUNT = re.compile(r"[0-9]{1,10}")
MOST = 2**31 - 1


class _Lines(NamedTuple):
    """The lines of a file: numbers of their words in ``words``, where each line begins, and the counts."""

    words: list[str]
    ids: Ints
    ptr: Offsets
    counts: Offsets
    path: str | PathLike[str]

    def grams(self, n: int) -> tuple[Ints, Offsets]:
        """The n-grams of one order, and their counts."""
        rows = np.flatnonzero(np.diff(self.ptr) == n + 1)
        return self.ids[self.ptr[rows][:, None] + np.arange(n)], self.counts[rows]

    def spelled(self, gram: Ints) -> str:
        return " ".join(self.words[k] for k in gram.tolist())


def count_lines(vocabulary: Vocabulary, levels: list[Level]) -> Iterator[str]:
    """The lines of a count file, short n-grams first.

    Examples
    --------
    >>> from epigram.lm.corpus import Corpus
    >>> from epigram.lm.ngram.kneser_ney import count_ngrams
    >>> corpus = Corpus.of(["a rose", "a"])
    >>> [line.expandtabs(1) for line in count_lines(corpus.vocabulary, count_ngrams(corpus, 2))]
    ['<s> 2', '</s> 2', 'a 2', 'rose 1', '<s> a 2', 'a </s> 1', 'a rose 1', 'rose </s> 1']
    """
    words = vocabulary.words
    yield f"{START}\t{levels[0].count[0]}"
    yield from (f"{word}\t{n}" for word, n in zip(words, levels[0].count.tolist(), strict=True) if n)
    contexts = [START, *words[1:]]
    for level in levels[1:]:
        rows = zip(level.prefix.tolist(), level.word.tolist(), strict=True)
        contexts = [f"{contexts[prefix]} {words[word]}" for prefix, word in rows]
        yield from (f"{gram}\t{n}" for gram, n in zip(contexts, level.count.tolist(), strict=True))


def read_counts(
    path: str | PathLike[str],
    order: int = 5,
    vocabulary: Vocabulary | None = None,
    min_count: int = 1,
    max_words: int | None = None,
) -> tuple[Vocabulary, list[Level]]:
    """Vocabulary and n-grams of a count file, for :meth:`~epigram.lm.ngram.kneser_ney.KneserNeyLM.fit_counts`.

    Orders above ``order`` are left out; words that a limit leaves out are ``<unk>``, as in a text.
    """
    at_least(1, order, "order")
    lines = _read(path)
    vocabulary, table = _numbered_words(lines, vocabulary, min_count, max_words)
    n_words = len(vocabulary)
    words, counts = lines.grams(1)
    inside = np.array([lines.words[k] != START for k in words[:, 0].tolist()], dtype=bool)
    zeros = np.zeros(n_words, dtype=np.int32)
    total = _summed(table[words[inside, 0]], counts[inside], n_words, path)
    levels = [Level(zeros, np.arange(n_words, dtype=np.int32), zeros, total)]
    keys: list[Offsets] = []
    for n in range(2, min(order, int(np.diff(lines.ptr).max()) - 1) + 1):
        grams, counts = lines.grams(n)
        prefix = _numbers(grams[:, :-1], table, keys, n_words, lines, grams)
        suffix = _numbers(grams[:, 1:], table, keys, n_words, lines, grams)
        key, first, which = np.unique(
            prefix * n_words + table[grams[:, -1]], return_index=True, return_inverse=True
        )
        total = _summed(which, counts, key.size, path)
        own, word, end = (one.astype(np.int32) for one in (key // n_words, key % n_words, suffix[first]))
        levels.append(Level(own, word, end, total))
        keys.append(key)
    _refuse_cut(levels, vocabulary, path)
    return vocabulary, levels


def _read(path: str | PathLike[str]) -> _Lines:
    """The lines of a file, each with a count, and sentences' boundaries only where they can stand."""
    raw = read_bytes(path)
    decode(raw, path)
    words, ids, ptr = factorise_bytes(raw.removeprefix(b"\xef\xbb\xbf"))
    if ptr.size < 2:
        raise InputError("no counts; expected words, a tab and a number a line", path=path)
    last = ids[ptr[1:] - 1]
    value = np.zeros(len(words), dtype=np.int64)
    for k in np.unique(last).tolist():
        value[k] = int(words[k]) if _COUNT.fullmatch(words[k]) else 0
    counts = value[last]
    wrong = (np.diff(ptr) < 2) | (counts < 1) | (counts > MOST)
    if wrong.any():
        _refuse_line(raw, int(wrong.argmax()), "expected words, a tab and a whole number from 1 on", path)
    for mark, places in ((START, ptr[:-1]), (END, ptr[1:] - 2)):
        astray = ids == (words.index(mark) if mark in words else UNSEEN)
        astray[places] = False
        if astray.any():
            line = int(np.searchsorted(ptr, astray.argmax(), side="right")) - 1
            _refuse_line(raw, line, f"{mark} stands only at the edge of a sentence", path)
    return _Lines(words, ids, ptr, counts, path)


def _refuse_line(raw: bytes, line: int, why: str, path: str | PathLike[str]) -> None:
    """Name a line by its number in the file, blank ones counted."""
    full = [k for k, content in enumerate(raw.split(b"\n"), 1) if content.strip(b" \t\v\f\r\0")]
    raise InputError(why, path=path, line=full[line])


def _numbered_words(
    lines: _Lines, vocabulary: Vocabulary | None, min_count: int, max_words: int | None
) -> tuple[Vocabulary, Ints]:
    """The vocabulary, and the id of every word of the file in it."""
    words, counts = lines.grams(1)
    seen, first = np.unique(words[:, 0], return_index=True)
    seen = seen[np.argsort(first)]
    seen = np.array([k for k in seen.tolist() if lines.words[k] not in (START, END)], dtype=np.int64)
    if vocabulary is None:
        total = np.zeros(len(lines.words), dtype=np.int64)
        np.add.at(total, words[:, 0], counts)
        names = [lines.words[k] for k in seen.tolist()]
        vocabulary = Vocabulary.from_counts(names, total[seen], min_count, max_words)
    table = np.full(len(lines.words), UNSEEN, dtype=np.int32)
    table[seen] = vocabulary.ids(lines.words[k] for k in seen.tolist())
    left_out = seen[table[seen] == UNSEEN]
    if left_out.size and UNKNOWN not in vocabulary:
        vocabulary = Vocabulary([*vocabulary.words, UNKNOWN])
    table[left_out] = vocabulary.id(UNKNOWN)
    for mark in (START, END):
        if mark in lines.words:
            table[lines.words.index(mark)] = 0
    return vocabulary, table


def _numbers(
    grams: Ints, table: Ints, keys: list[Offsets], n_words: int, lines: _Lines, whole: Ints
) -> Offsets:
    """The numbers of n-grams in the level of their order; ``keys`` are those of the orders from 2 on."""
    ids = table[grams].astype(np.int64)
    missing = (ids < 0).any(axis=1)
    number = ids[:, 0]
    for n in range(1, grams.shape[1]):
        key = number * n_words + ids[:, n]
        number = np.searchsorted(keys[n - 1], key)
        missing |= keys[n - 1][np.minimum(number, keys[n - 1].size - 1)] != key if keys[n - 1].size else True
    if missing.any():
        k = int(missing.argmax())
        raise InputError(
            f"{lines.spelled(whole[k])!r} has a count, and {lines.spelled(grams[k])!r} inside it has none; "
            "a count file holds the n-grams of all orders",
            path=lines.path,
        )
    return number


def _summed(which: npt.NDArray[np.signedinteger], counts: Offsets, n: int, path: str | PathLike[str]) -> Ints:
    """Counts of the same n-gram together."""
    total = np.zeros(n, dtype=np.int64)
    np.add.at(total, which, counts)
    if total.max(initial=0) > MOST:
        raise InputError(f"an n-gram that occurs {total.max():,} times; at most {MOST:,} can be", path=path)
    return total.astype(np.int32)


def _refuse_cut(levels: list[Level], vocabulary: Vocabulary, path: str | PathLike[str]) -> None:
    """Refuse a file of which n-grams are missing: in a text, every n-gram has a word or ``<s>`` before it."""
    if levels[0].count[0] == 0:
        raise InputError(f"no count of {END}; sentences are counted with their ends", path=path)
    after_start = np.zeros(len(vocabulary), dtype=bool)
    for n, (level, longer) in enumerate(pairwise(levels), start=1):
        alone = (level.count > 0) & ~after_start
        alone[longer.suffix] = False
        if alone.any():
            raise InputError(
                f"{np.count_nonzero(alone):,} {n}-grams have no {n + 1}-gram that ends in them: rare n-grams were left "
                "out; Kneser-Ney needs all of them, and drops rare ones itself by prune",
                path=path,
            )
        after_start = longer.prefix == 0 if n == 1 else after_start[longer.prefix]
