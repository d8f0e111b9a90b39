"""Measures of a whole ranking, and of the chosen text against its reference: NDCG, MRR, BLEU.

NDCG (Järvelin and Kekäläinen 2002) takes as gain of a candidate what it has fewer errors than the worst one of its
list, which for LETOR's lists is the relevance above the list's lowest; equals in score share their places, and a list
without gains counts as 0, as in scikit-learn. BLEU (Papineni et al. 2002) is that of the corpus, up to four words long,
with the exponential smoothing of orders without a match that is the default of sacrebleu; words are those of the lists.
"""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise

import numpy as np

from epigram._core.native import offsets
from epigram.protocols import Floats, Ints, Offsets
from epigram.rerank.nbest import NBest

LONGEST = 4


def ndcg(lists: NBest, scores: Floats, k: int | None = None, measure: str = "cer") -> float:
    """Mean normalised discounted cumulative gain of the first ``k`` candidates (None: all) of each list.

    Examples
    --------
    >>> lists = NBest.from_lists([{"candidates": [{"text": x, "score": s, "errors": e}
    ...     for x, s, e in (("a", 3, 2), ("b", 2, 0), ("c", 1, 1))]}])
    >>> round(ndcg(lists, lists.scores), 4)
    0.6697
    """
    errors, found = lists.errors(measure), []
    for first, last in pairwise(lists.list_ptr.tolist()):
        gains = errors[first:last].max() - errors[first:last]
        discounts = 1.0 / np.log2(np.arange(2, last - first + 2))
        discounts[last - first if k is None else k :] = 0.0
        best = float(np.sort(gains)[::-1] @ discounts)
        found.append(_dcg(gains, scores[first:last], discounts) / best if best else 0.0)
    return float(np.mean(found))


def _dcg(gains: Floats, scores: Floats, discounts: Floats) -> float:
    """Gains by discounts, where candidates of the same score share the mean of their places."""
    _, group, counts = np.unique(-scores, return_inverse=True, return_counts=True)
    mean_gain = np.bincount(group, gains) / counts
    ends = np.concatenate([[0.0], np.cumsum(discounts)])[offsets(counts)]
    return float(mean_gain @ np.diff(ends))


def mean_reciprocal_rank(lists: NBest, scores: Floats, measure: str = "cer") -> float:
    """Mean of 1 / rank of the first candidate with the fewest errors of its list; equals keep their order.

    Examples
    --------
    >>> lists = NBest.from_lists([{"candidates": [{"text": "a", "score": 2, "errors": 1},
    ...     {"text": "b", "score": 1, "errors": 0}]}])
    >>> mean_reciprocal_rank(lists, lists.scores)
    0.5
    """
    order = np.lexsort((-scores, lists.list_of))
    errors, found = lists.errors(measure)[order], []
    for first, last in pairwise(lists.list_ptr.tolist()):
        found.append(1.0 / (1 + int(np.argmin(errors[first:last]))))
    return float(np.mean(found))


def bleu(lists: NBest, choice: Ints | Offsets) -> float | None:
    """BLEU of the chosen candidates, from 0 to 100; None where a list has no reference.

    Examples
    --------
    >>> lists = NBest.from_lists([{"reference": "a b c d e", "candidates": [
    ...     {"text": "a b c d", "score": 0}]}])
    >>> round(bleu(lists, np.array([0])), 2)
    77.88
    """
    matched, possible = [0] * LONGEST, [0] * LONGEST
    n_words = n_reference = 0
    for chosen, reference in zip((lists.list_ptr[:-1] + choice).tolist(), lists.references, strict=True):
        if reference is None:
            return None
        words, wanted = lists.words(chosen), reference[1]
        n_words += len(words)
        n_reference += len(wanted)
        for n in range(1, LONGEST + 1):
            ours = _ngrams(words, n)
            matched[n - 1] += (ours & _ngrams(wanted, n)).total()
            possible[n - 1] += ours.total()
    return _bleu(matched, possible, n_words, n_reference)


def _ngrams(words: list[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[k : k + n]) for k in range(len(words) - n + 1))


def _bleu(matched: list[int], possible: list[int], n_words: int, n_reference: int) -> float:
    """Brevity penalty by the geometric mean of precisions; an order without a match halves a share that shrinks."""
    if not any(matched) or not all(possible):
        return 0.0
    share, logs = 1.0, []
    for right, of in zip(matched, possible, strict=True):
        share = share if right else share / 2
        logs.append(math.log(right / of if right else share / of))
    brevity = min(0.0, 1.0 - n_reference / n_words)
    return 100.0 * math.exp(brevity + sum(logs) / LONGEST)
