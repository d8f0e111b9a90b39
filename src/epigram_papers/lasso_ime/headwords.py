"""Headwords and how far their bigrams are word bigrams too. Gao et al. 2006, section 5.3.

The paper takes content words (Gao et al. 2002); we take words that begin with kanji or katakana, which leaves out
particles, endings and signs.
"""

from __future__ import annotations

import numpy as np

from epigram.rerank import NBest

MIN_COUNT = 2


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


def overlap(lists: NBest) -> dict[str, float]:
    """Percent of the headword bigrams seen more than once that are always, never or sometimes word bigrams too.

    Examples
    --------
    >>> lists = NBest.from_lists([{"candidates": [{"text": "山 川 を 海", "score": 0.0}]}] * 2)
    >>> overlap(lists)
    {'bigrams': 2, 'always': 50.0, 'never': 50.0, 'sometimes': 0.0}
    """
    is_head = np.array([is_headword(word) for word in lists.vocabulary], bool)
    at = np.flatnonzero(is_head[lists.tokens])
    owner = np.searchsorted(lists.token_ptr, at, side="right")
    same = owner[1:] == owner[:-1]
    left, right = at[:-1][same], at[1:][same]
    keys = lists.tokens[left].astype(np.int64) * len(lists.vocabulary) + lists.tokens[right]
    _, number, counts = np.unique(keys, return_inverse=True, return_counts=True)
    adjacent = np.bincount(number, right - left == 1, minlength=len(counts))[counts >= MIN_COUNT]
    counts = counts[counts >= MIN_COUNT]
    n = max(len(counts), 1)
    always, never = int((adjacent == counts).sum()), int((adjacent == 0).sum())
    return {
        "bigrams": len(counts),
        "always": 100.0 * always / n,
        "never": 100.0 * never / n,
        "sometimes": 100.0 * (len(counts) - always - never) / n,
    }
