"""Measure error rates of chosen candidates, and test whether two systems differ.

Rates are sums over all lists: character or word errors by reference characters or words (in percent), and the
share of lists without error. Paired bootstrap: Koehn 2004. Matched pairs: Gillick and Cox 1989, each list a
segment, the normal test of the mean difference of errors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from epigram.protocols import Floats, Ints, Offsets
from epigram.rerank.nbest import NBest


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two systems on the same lists: p-values (two-sided) that their errors differ by chance."""

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
    """What the base score alone chooses."""
    return lists.choose(lists.scores)


def compare(first: Floats, second: Floats, samples: int = 10_000, seed: int = 0) -> Comparison:
    """Do the errors per list of two systems differ by more than chance?

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
    """Two-sided p-value of mean difference 0 under the normal distribution (Gillick and Cox 1989)."""
    n = len(difference)
    if n < 2 or not difference.any():
        return 1.0
    spread = float(difference.std(ddof=1))
    if spread == 0.0:
        return 0.0
    return math.erfc(abs(float(difference.mean())) / (spread / math.sqrt(n)) / math.sqrt(2.0))


def paired_bootstrap(difference: Floats, samples: int = 10_000, seed: int = 0) -> float:
    """Two-sided: twice the share of resamples in which the difference loses its sign (Koehn 2004)."""
    if not difference.any():
        return 1.0
    generator = np.random.default_rng(seed)
    values, counts = np.unique(difference, return_counts=True)
    sums = generator.multinomial(len(difference), counts / len(difference), size=samples) @ values
    lost = float((sums <= 0).sum() if difference.sum() > 0 else (sums >= 0).sum())
    return min(1.0, 2.0 * (lost + 1.0) / (samples + 1.0))
