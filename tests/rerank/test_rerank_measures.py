"""Error rates and significance tests against scipy, exact enumeration and their definitions."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from epigram.rerank import NBest, compare, error_rate, sentence_accuracy
from epigram.rerank.metrics import matched_pairs, paired_bootstrap


def test_rates_sum_over_lists() -> None:
    lists = NBest.from_lists(
        [
            {"reference": "abcd", "candidates": [{"text": "abxx", "score": 0}, {"text": "abcd", "score": 1}]},
            {"reference": "x y", "candidates": [{"text": "x y z", "score": 0}]},
        ]
    )
    choice = np.array([0, 0])
    assert error_rate(lists, choice, "cer") == pytest.approx(100 * 3 / 6)
    assert error_rate(lists, choice, "wer") == pytest.approx(100 * 2 / 3)
    assert sentence_accuracy(lists, np.array([1, 0])) == 50.0


def test_matched_pairs_is_the_z_test() -> None:
    difference = np.random.default_rng(0).integers(-2, 4, 200).astype(float)
    z = difference.mean() / (difference.std(ddof=1) / math.sqrt(200))
    assert matched_pairs(difference) == pytest.approx(2 * stats.norm.sf(abs(z)))
    assert matched_pairs(difference) == pytest.approx(stats.ttest_1samp(difference, 0).pvalue, abs=0.01)


def test_bootstrap_equals_enumeration_on_tiny_samples() -> None:
    difference = np.array([2.0, 1.0, -1.0, 1.0, 0.0])
    sums = [sum(sample) for sample in itertools.product(difference, repeat=5)]
    exact = 2 * np.mean(np.array(sums) <= 0)
    assert paired_bootstrap(difference, samples=200_000) == pytest.approx(exact, abs=0.01)
    assert paired_bootstrap(-difference, samples=200_000) == pytest.approx(exact, abs=0.01)


def test_same_systems_do_not_differ_and_wrong_sizes_are_refused() -> None:
    errors = np.array([1.0, 0.0, 2.0])
    assert compare(errors, errors).p_matched_pairs == compare(errors, errors).p_bootstrap == 1.0
    with pytest.raises(ValueError, match="3 and 2 lists"):
        compare(errors, errors[:2])


def test_p_values_under_no_difference_are_about_uniform() -> None:
    generator = np.random.default_rng(1)
    values = [matched_pairs(generator.normal(size=60)) for _ in range(400)]
    assert 0.02 < np.mean(np.array(values) < 0.05) < 0.09
