"""Features, pairs and losses against obvious loops, finite differences and the exact lasso."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epigram import L1, OWLQN
from epigram.rerank import (
    BLasso,
    ExponentialLoss,
    FeatureSpace,
    Lasso,
    NBest,
    Pairs,
    Perceptron,
    SoftmaxLoss,
    WeightPath,
)
from epigram.rerank.learners import PerceptronLoss
from reference import rerank_lists as twin
from reference.rerank_stagewise import exp_loss

HEADS = frozenset("ace")


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10_000),
    ngrams=st.integers(1, 4),
    named=st.booleans(),
    heads=st.booleans(),
    chars=st.integers(0, 3),
)
def test_features_and_pairs_equal_the_twin(
    seed: int, ngrams: int, named: bool, heads: bool, chars: int
) -> None:
    records = twin.random_lists(seed, n_lists=5, named=named)
    lists = NBest.from_lists(records)
    headwords = HEADS if heads else frozenset()
    space = FeatureSpace.collect(lists, ngrams, 1, headwords if heads else None, chars=chars)
    ptr, features, values = space.extract(lists)
    flat = [candidate for record in records for candidate in record["candidates"]]
    for c, candidate in enumerate(flat):
        ours: dict[str, float] = {}
        for k, v in zip(features[ptr[c] : ptr[c + 1]], values[ptr[c] : ptr[c + 1]], strict=True):
            ours[space.name(int(k))] = ours.get(space.name(int(k)), 0.0) + v
        assert ours == pytest.approx(dict(twin.features(candidate, ngrams, headwords, chars)))
    pairs = Pairs.of(lists, space)
    for p, (base, expected) in enumerate(twin.pairs(records, ngrams, headwords, chars)):
        slots = pairs.pair_slot[pairs.pair_ptr[p] : pairs.pair_ptr[p + 1]]
        found = {space.name(int(pairs.slot_feature[s])): pairs.slot_value[s] for s in slots}
        assert found == pytest.approx(expected)
        assert pairs.base[p] == pytest.approx(base)
        assert all(p in pairs.slot_pair[pairs.slot_ptr[s] : pairs.slot_ptr[s + 1]] for s in slots)
    assert (np.diff(pairs.slot_feature) >= 0).all()
    w = np.random.default_rng(seed).normal(size=space.n_weights)
    scores = space.score(lists, w, 0.7)
    by_hand = [
        0.7 * candidate["score"]
        + sum(
            v * w[k]
            for k in range(len(w))
            if (v := twin.features(candidate, ngrams, headwords, chars)[space.name(k)])
        )
        for candidate in flat
    ]
    np.testing.assert_allclose(scores, by_hand, atol=1e-9)


def test_min_count_counts_occurrences_over_all_candidates() -> None:
    lists = NBest.from_lists(
        [
            {
                "candidates": [
                    {"text": "a a", "score": 0},
                    {"text": "b", "score": 0},
                    {"text": "a c", "score": 0},
                ]
            }
        ]
    )
    space = FeatureSpace.collect(lists, 2, 2)
    assert [space.name(k) for k in range(space.n_weights)] == ["a", "<s> a"]


def test_the_tokens_of_sentence_ends_are_not_the_sentence_ends() -> None:
    lists = NBest.from_lists([{"candidates": [{"tokens": ["<s>", "x y"], "score": 0}]}])
    space = FeatureSpace.collect(lists, 2, 1)
    assert space.n_weights == 5
    assert sum(space.name(k) == "<s>" for k in range(5)) == 1


@pytest.mark.parametrize("kind", [ExponentialLoss, SoftmaxLoss])
def test_gradients_by_finite_differences(kind: type[ExponentialLoss]) -> None:
    lists = NBest.from_lists(twin.random_lists(1, named=True))
    space = FeatureSpace.collect(lists, 2, 1)
    loss = kind(Pairs.of(lists, space))
    generator = np.random.default_rng(0)
    w, g, other = (
        generator.normal(size=space.n_weights) * 0.2,
        np.empty(space.n_weights),
        np.empty(space.n_weights),
    )
    loss.value_and_gradient(w, g)
    for k in generator.choice(space.n_weights, 12, replace=False):
        up, down = w.copy(), w.copy()
        up[k] += 1e-5
        down[k] -= 1e-5
        slope = (loss.value_and_gradient(up, other) - loss.value_and_gradient(down, other)) / 2e-5
        assert g[k] == pytest.approx(slope, rel=1e-5, abs=1e-6)


def test_losses_by_hand() -> None:
    records = twin.random_lists(2)
    lists = NBest.from_lists(records)
    space = FeatureSpace.collect(lists, 2, 1)
    w = np.random.default_rng(3).normal(size=space.n_weights) * 0.3
    exponential = ExponentialLoss(Pairs.of(lists, space), 0.4)
    named = {space.name(k): w[k] for k in range(len(w))}
    expected = exp_loss(twin.pairs(records), 0.4, named)
    assert exponential.value_and_gradient(w, np.empty_like(w)) == pytest.approx(expected)
    total, scores, start = 0.0, space.score(lists, w, 0.4), 0
    perceptron = 0.0
    for record in records:
        part = scores[start : start + len(record["candidates"])]
        best = part[twin.oracle(record)]
        total -= math.log(math.exp(best) / sum(math.exp(s) for s in part))
        perceptron += max(0.0, max(part) - best)
        start += len(part)
    softmax = SoftmaxLoss(Pairs.of(lists, space), 0.4)
    assert softmax.value_and_gradient(w, np.empty_like(w)) == pytest.approx(total)
    assert PerceptronLoss(Pairs.of(lists, space), 0.4).value(w) == pytest.approx(perceptron)


@pytest.mark.parametrize("risk", [0.0, 0.5, 1.0])
def test_risk_weighs_rivals_by_their_extra_errors(risk: float) -> None:
    records = twin.random_lists(11)
    lists = NBest.from_lists(records)
    space = FeatureSpace.collect(lists, 2, 1)
    extra = []
    for record in records:
        reference, best = "".join(record["reference"]), twin.oracle(record)
        errors = [twin.edit_distance("".join(c["tokens"]), reference) for c in record["candidates"]]
        extra += [e - errors[best] for k, e in enumerate(errors) if k != best]
    loss = ExponentialLoss(Pairs.of(lists, space, risk=risk), 0.3)
    expected = sum(
        d**risk * exp_loss([pair], 0.3, {}) for d, pair in zip(extra, twin.pairs(records), strict=True)
    )
    assert loss.value_and_gradient(np.zeros(space.n_weights), np.empty(space.n_weights)) == pytest.approx(
        expected
    )
    assert 0 in extra


def test_base_weights_are_minima() -> None:
    lists = NBest.from_lists(twin.random_lists(4))
    space = FeatureSpace.collect(lists, 2, 1)
    pairs, zero = Pairs.of(lists, space), np.zeros(space.n_weights)
    for kind in (ExponentialLoss, SoftmaxLoss):
        best = kind(pairs)
        here = best.value_and_gradient(zero, np.empty_like(zero))
        for nearby in (-0.01, 0.01):
            there = kind(pairs, best.base_weight + nearby).value_and_gradient(zero, np.empty_like(zero))
            assert there > here


def test_averaged_perceptron_equals_the_obvious_one() -> None:
    records = twin.random_lists(5)
    lists = NBest.from_lists(records)
    space = FeatureSpace.collect(lists, 2, 1)
    loss = PerceptronLoss(Pairs.of(lists, space))
    path = WeightPath.joined(list(Perceptron(steps=3, rate=0.5, seed=9).walk(loss, WeightPath.empty())))
    numbers = {space.name(k): k for k in range(space.n_weights)}
    rows = [[(twin.features(c, 2), c["score"]) for c in record["candidates"]] for record in records]
    w, total, seen = np.zeros(space.n_weights), np.zeros(space.n_weights), 0
    generator = np.random.default_rng(9)
    for _ in range(3):
        for i in generator.permutation(len(records)):
            total += w
            seen += 1
            score = [
                loss.base_weight / 0.5 * base + sum(w[numbers[n]] * v for n, v in counts.items())
                for counts, base in rows[i]
            ]
            best = twin.oracle(records[i])
            rivals = [k for k in range(len(score)) if k != best]
            if rivals and max(score[k] for k in rivals) >= score[best]:
                worst = max(rivals, key=lambda k: score[k])
                for n, v in rows[i][best][0].items():
                    w[numbers[n]] += v
                for n, v in rows[i][worst][0].items():
                    w[numbers[n]] -= v
    # The average counts the weights before each list and, as the kernel's clock does, the last ones once more.
    np.testing.assert_allclose(path.weights(space.n_weights), 0.5 * (total + w) / (seen + 1), atol=1e-9)


def _gap_to_exact_lasso(loss: ExponentialLoss, eps: float, alphas: list[float]) -> float:
    """Largest relative excess of BLasso's loss over the exact lasso's at the same L1 norm."""
    path = WeightPath.joined(list(BLasso(steps=int(50 / eps), eps=eps).walk(loss, WeightPath.empty())))
    gradient = np.empty(loss.n_weights)
    w, norms = np.zeros(loss.n_weights), [0.0]
    losses = [loss.value_and_gradient(w, gradient), *path.losses]
    for k, delta in zip(path.features, path.deltas, strict=True):
        w[k] += delta
        norms.append(float(np.abs(w).sum()))
    worst = 0.0
    for alpha in alphas:
        exact = OWLQN(tolerance=1e-8).solve(loss, L1(alpha)).w
        norm, value = float(np.abs(exact).sum()), loss.value_and_gradient(exact, gradient)
        t = int(np.argmax(np.array(norms) > norm))
        assert norms[t] > norm
        # Between models t - 1 and t lies one of this norm (or less); the loss is convex, so at most the chord.
        share = (norm - norms[t - 1]) / (norms[t] - norms[t - 1])
        worst = max(worst, ((1 - share) * losses[t - 1] + share * losses[t]) / value - 1.0)
    return worst


def test_blasso_approaches_the_exact_lasso_as_eps_shrinks() -> None:
    lists = NBest.from_lists(twin.random_lists(8, n_lists=40))
    space = FeatureSpace.collect(lists, 2, 1)
    loss = ExponentialLoss(Pairs.of(lists, space))
    gradient = np.empty(space.n_weights)
    loss.value_and_gradient(np.zeros(space.n_weights), gradient)
    alphas = [float(np.abs(gradient).max()) * share for share in (0.5, 0.2, 0.1, 0.05)]
    gaps = [_gap_to_exact_lasso(loss, eps, alphas) for eps in (0.25, 0.05, 0.01)]
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 0.005


def test_lasso_path_is_optimal_at_each_penalty() -> None:
    lists = NBest.from_lists(twin.random_lists(9, n_lists=30))
    space = FeatureSpace.collect(lists, 2, 1)
    loss = ExponentialLoss(Pairs.of(lists, space))
    path = WeightPath.joined(
        list(Lasso(steps=5, weakest=0.02, tolerance=1e-7).walk(loss, WeightPath.empty()))
    )
    gradient = np.empty(space.n_weights)
    for step in range(1, 6):
        w, alpha = path.weights(space.n_weights, step), path.alphas[step - 1]
        loss.value_and_gradient(w, gradient)
        assert np.abs(gradient[w == 0]).max() <= alpha * (1 + 1e-3)
        np.testing.assert_allclose(
            gradient[w != 0], -alpha * np.sign(w[w != 0]), rtol=1e-2, atol=1e-3 * alpha
        )
