"""Error rates, NDCG, MRR and BLEU of rerankers, and tests of significance.

Error rates are sums over all lists: character or word errors by reference characters or words (in percent), and the
share of lists without error. Paired bootstrap: Koehn 2004. Matched pairs: Gillick and Cox 1989, each list a segment,
the normal test of the mean difference of errors.

NDCG (Järvelin and Kekäläinen 2002): the gain of a candidate is the number of errors that the worst candidate of its
list has more, which for LETOR lists is the relevance above the lowest of the list. Candidates of equal score share
their ranks, and a list without gains counts as 0, as in scikit-learn. BLEU (Papineni et al. 2002) is that of the
corpus, with n-grams of up to four words and sacrebleu's default smoothing (exponential) of orders without a match.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from epigram._core.arrays import offsets
from epigram.protocols import Floats, Ints, Offsets
from epigram.rerank.nbest import NBest

LONGEST = 4


@dataclass(frozen=True, slots=True)
class Comparison:
    """Errors of two systems on the same lists, and two-sided p-values of their difference."""

    errors: tuple[float, float]
    p_matched_pairs: float
    p_bootstrap: float


def errors_of(lists: NBest, choice: Ints | Offsets, measure: str = "cer") -> Floats:
    """Errors of the chosen candidate (index within its list) of each list."""
    errors: Floats = lists.errors(measure)[lists.list_ptr[:-1] + choice]
    return errors


def error_rate(lists: NBest, choice: Ints | Offsets, measure: str = "cer") -> float:
    """Errors in percent of the references' characters (``cer``) or words (``wer``).

    Examples
    --------
    >>> lists = NBest.from_lists([{"reference": "a b", "candidates": [
    ...     {"text": "a c", "score": -1.0}, {"text": "a b", "score": -2.0}]}])
    >>> error_rate(lists, np.array([0])), error_rate(lists, np.array([1]), "wer")
    (50.0, 0.0)
    """
    length = float(lists.lengths(measure).sum())
    errors = float(errors_of(lists, choice, measure).sum())
    return 100.0 * errors / length if length else (0.0 if errors == 0 else math.inf)


def sentence_accuracy(lists: NBest, choice: Ints | Offsets, measure: str = "cer") -> float:
    """Lists without error, in percent."""
    return 100.0 * float((errors_of(lists, choice, measure) == 0).mean()) if len(lists) else math.nan


def base_choice(lists: NBest) -> Offsets:
    """Choice of the base score alone."""
    return lists.choose(lists.scores)


def compare(first: Floats, second: Floats, samples: int = 10_000, seed: int = 0) -> Comparison:
    """Test whether the errors per list of two systems differ by more than chance.

    Examples
    --------
    >>> many, few = np.tile([1.0, 2.0], 50), np.tile([0.0, 1.0], 50)
    >>> result = compare(many, few)
    >>> result.errors, result.p_matched_pairs < 0.01, result.p_bootstrap < 0.01
    ((150.0, 50.0), True, True)
    """
    if len(first) != len(second):
        raise ValueError(f"the systems ran on {len(first)} and {len(second)} lists; compare the same lists.")
    difference = first - second
    errors = (float(first.sum()), float(second.sum()))
    return Comparison(errors, matched_pairs(difference), paired_bootstrap(difference, samples, seed))


def matched_pairs(difference: Floats) -> float:
    """Two-sided p-value of mean difference 0 by the normal test (Gillick and Cox 1989)."""
    n = len(difference)
    if n < 2 or not difference.any():
        return 1.0
    spread = float(difference.std(ddof=1))
    if spread == 0.0:
        return 0.0
    return math.erfc(abs(float(difference.mean())) / (spread / math.sqrt(n)) / math.sqrt(2.0))


def paired_bootstrap(difference: Floats, samples: int = 10_000, seed: int = 0) -> float:
    """Twice the share of resamples in which the difference changes its sign (Koehn 2004)."""
    if not difference.any():
        return 1.0
    generator = np.random.default_rng(seed)
    values, counts = np.unique(difference, return_counts=True)
    sums = generator.multinomial(len(difference), counts / len(difference), size=samples) @ values
    lost = float((sums <= 0).sum() if difference.sum() > 0 else (sums >= 0).sum())
    return min(1.0, 2.0 * (lost + 1.0) / (samples + 1.0))


def ndcg(lists: NBest, scores: Floats, k: int | None = None, measure: str = "cer") -> float:
    """Mean NDCG of the first ``k`` candidates (None: all) of each list.

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
    """Discounted cumulative gain; candidates of equal score share the mean of their ranks."""
    _, group, counts = np.unique(-scores, return_inverse=True, return_counts=True)
    mean_gain = np.bincount(group, gains) / counts
    ends = np.concatenate([[0.0], np.cumsum(discounts)])[offsets(counts)]
    return float(mean_gain @ np.diff(ends))


def mean_reciprocal_rank(lists: NBest, scores: Floats, measure: str = "cer") -> float:
    """Mean of 1 / rank of the first candidate with the fewest errors; ties keep their order.

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
    """Brevity penalty times the geometric mean of precisions, with exponential smoothing."""
    if not any(matched) or not all(possible):
        return 0.0
    share, logs = 1.0, []
    for right, of in zip(matched, possible, strict=True):
        share = share if right else share / 2
        logs.append(math.log(right / of if right else share / of))
    brevity = min(0.0, 1.0 - n_reference / n_words)
    return 100.0 * math.exp(brevity + sum(logs) / LONGEST)
