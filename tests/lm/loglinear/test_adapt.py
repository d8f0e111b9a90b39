"""MAP adaptation: the quadratic penalty's value, gradient and minimum."""

from __future__ import annotations

import numpy as np
import pytest

from epigram.lm.corpus import Corpus
from epigram.lm.loglinear.adapt import NearWeights
from epigram.lm.loglinear.loss import SuffixLoss
from epigram.lm.loglinear.tree import ContextTree, Positions


@pytest.mark.parametrize("collapse", [False, True])
def test_gradient_is_the_difference_of_values(collapse: bool) -> None:
    tree = ContextTree.grow(Positions.of(Corpus.of(["a b a b b", "b a b", "a b c", "c a b a"])), 3, collapse)
    rng = np.random.default_rng(0)
    start, w = rng.normal(0, 0.5, (2, tree.n_pairs))
    near = NearWeights(SuffixLoss(tree), start, n_before=100)
    assert (near.precision > 0).all()
    gradient = np.empty_like(w)
    value = near.value_and_gradient(w, gradient)
    away = w - start
    assert value == pytest.approx(SuffixLoss(tree).value(w) + (near.precision * away**2).sum() / 2)
    assert value == pytest.approx(near.value(w))
    for k, step in enumerate(1e-5 * np.eye(tree.n_pairs)):
        difference = (near.value(w + step) - near.value(w - step)) / 2e-5
        assert gradient[k] == pytest.approx(difference, rel=1e-5, abs=1e-5)


def test_more_text_before_holds_weights_more_firmly() -> None:
    tree = ContextTree.grow(Positions.of(Corpus.of(["a b a", "b a b"])), 2)
    weak, firm = (NearWeights(SuffixLoss(tree), np.zeros(tree.n_pairs), n) for n in (10, 1000))
    np.testing.assert_allclose(firm.precision, 100 * weak.precision)
