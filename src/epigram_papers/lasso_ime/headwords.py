"""Headwords and how far their bigrams are word bigrams too. Gao et al. 2006, section 5.3.

The paper takes content words (Gao et al. 2002); we take words that begin with kanji or katakana, which leaves out
particles, endings and signs. It counts "in the adaptation test data": we take the features of the model (headword
bigrams seen more than once in the training lists) and look at their instances in the test text, and show beside it
what other counts would give.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from epigram.rerank import NBest

MIN_COUNT = 2
JUDGED = "features in the test text"
Counts = dict[tuple[str, str], tuple[int, int]]
"""Of each headword bigram: its instances, and how many of them are word bigrams."""


def is_headword(word: str) -> bool:
    """Does it begin with kanji or katakana?

    Examples
    --------
    >>> [is_headword(word) for word in ("橋/はし", "コーヒー/こーひー", "を", "。")]
    [True, True, False, False]
    """
    return bool(word) and ("一" <= word[0] <= "鿿" or "ァ" <= word[0] <= "ヺ" or word[0] == "々")


def headwords_of(*lists: NBest) -> frozenset[str]:
    """All headwords of some lists."""
    return frozenset(word for part in lists for word in part.vocabulary if is_headword(word))


def overlap(train: NBest, test: Sequence[Sequence[str]]) -> dict[str, dict[str, float]]:
    """Percent of the headword bigrams that are always, never or sometimes word bigrams too, counted in three ways.

    Examples
    --------
    >>> train = NBest.from_lists([{"candidates": [{"text": "山 川 を 海", "score": 0.0}]}] * 2)
    >>> shares = overlap(train, [["山", "川", "海"], ["川", "を", "海"], ["海", "山"]])
    >>> shares["features in the test text"]
    {'bigrams': 2, 'always': 50.0, 'never': 0.0, 'sometimes': 50.0}
    """
    in_lists, in_text = _in_lists(train), _in_text(test)
    features = {pair for pair, (count, _) in in_lists.items() if count >= MIN_COUNT}
    return {
        JUDGED: _shares([counts for pair, counts in in_text.items() if pair in features]),
        "seen more than once in the test text": _shares(_frequent(in_text)),
        "seen more than once in the training lists": _shares(_frequent(in_lists)),
    }


def _in_text(sentences: Sequence[Sequence[str]]) -> Counts:
    out: Counts = {}
    for words in sentences:
        heads = [k for k, word in enumerate(words) if is_headword(word)]
        for left, right in pairwise(heads):
            count, adjacent = out.get((words[left], words[right]), (0, 0))
            out[words[left], words[right]] = count + 1, adjacent + (right - left == 1)
    return out


def _in_lists(lists: NBest) -> Counts:
    is_head = np.array([is_headword(word) for word in lists.vocabulary], bool)
    at = np.flatnonzero(is_head[lists.tokens])
    owner = np.searchsorted(lists.token_ptr, at, side="right")
    same = owner[1:] == owner[:-1]
    left, right = at[:-1][same], at[1:][same]
    size = len(lists.vocabulary)
    keys, number, counts = np.unique(
        lists.tokens[left].astype(np.int64) * size + lists.tokens[right],
        return_inverse=True,
        return_counts=True,
    )
    adjacent = np.bincount(number, right - left == 1, minlength=len(counts)).astype(int)
    columns = (keys.tolist(), counts.tolist(), adjacent.tolist())
    return {
        (lists.vocabulary[key // size], lists.vocabulary[key % size]): (count, together)
        for key, count, together in zip(*columns, strict=True)
    }


def _frequent(found: Counts) -> list[tuple[int, int]]:
    return [counts for counts in found.values() if counts[0] >= MIN_COUNT]


def _shares(counts: list[tuple[int, int]]) -> dict[str, float]:
    n = max(len(counts), 1)
    always = sum(adjacent == count for count, adjacent in counts)
    never = sum(adjacent == 0 for _, adjacent in counts)
    return {
        "bigrams": len(counts),
        "always": 100.0 * always / n,
        "never": 100.0 * never / n,
        "sometimes": 100.0 * (len(counts) - always - never) / n,
    }
