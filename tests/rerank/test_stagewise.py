"""Every step of every stepwise learner against a twin that recomputes all losses from scratch."""

from __future__ import annotations

import math

import numpy as np
import pytest

from epigram.rerank import (
    FSLR,
    BLasso,
    Boosting,
    ExponentialLoss,
    FBoosting,
    FeatureSpace,
    NBest,
    Pairs,
    WeightPath,
)
from reference import rerank_lists as twin_lists
from reference import rerank_stagewise as twin

LEARNERS = [
    BLasso(steps=50, eps=0.5),
    BLasso(steps=60, eps=0.1),
    BLasso(steps=40, eps=0.5, theta=0.05),
    FBoosting(steps=40, eps=0.5),
    FSLR(steps=40, eps=0.3),
    Boosting(steps=40, smoothing=1e-2),
    Boosting(steps=40, smoothing=1e-3, shrinkage=0.5),
]


def problem(
    seed: int, named: bool = False, risk: float = 0.0
) -> tuple[twin.Pairs, FeatureSpace, ExponentialLoss]:
    records = twin_lists.random_lists(seed, n_lists=6 if risk else 12, named=named)
    lists = NBest.from_lists(records)
    space = FeatureSpace.collect(lists, ngrams=2, min_count=1)
    indexed = Pairs.of(lists, space, risk=risk)
    pairs = twin_lists.pairs(records)
    if risk:  # a pair of integer weight is that many equal pairs
        assert risk == 1
        pairs = [pair for pair, n in zip(pairs, indexed.weights, strict=True) for _ in range(int(n))]
    return pairs, space, ExponentialLoss(indexed)


def steps_of(learner: BLasso | FBoosting | FSLR | Boosting, loss: ExponentialLoss) -> WeightPath:
    return WeightPath.joined([WeightPath.empty(), *learner.walk(loss, WeightPath.empty())])


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
@pytest.mark.parametrize(("seed", "named", "risk"), [(0, False, 0.0), (1, True, 1.0)])
def test_every_step_equals_the_twin(learner: BLasso, seed: int, named: bool, risk: float) -> None:
    pairs, space, loss = problem(seed, named, risk)
    rule, base = learner.rule, loss.base_weight
    names = sorted({name for _, values in pairs for name in values})
    path = steps_of(learner, loss)
    assert len(path) > 20
    w: dict[str, float] = {}
    now, alpha = twin.exp_loss(pairs, base, w), math.inf
    tiny = 1e-9 * now
    for t in range(len(path)):
        name, delta = space.name(int(path.features[t])), float(path.deltas[t])
        back, falls = (-math.inf, {}) if rule.theta == math.inf else twin.backward(
            pairs, base, w, alpha, rule.step
        )  # fmt: skip
        after = twin.exp_loss(pairs, base, twin.moved(w, name, delta))
        if back > rule.theta + tiny:
            assert falls[name] == pytest.approx(back, abs=tiny)
            assert delta == pytest.approx(-math.copysign(min(rule.step, abs(w[name])), w[name]))
        else:
            promised = {n: twin.lowest(pairs, base, w, n, rule.search_step) for n in names}
            assert promised[name] == pytest.approx(min(promised.values()), abs=tiny)
            best = twin.optimal_step(pairs, base, w, name, rule.smoothing * now)
            wanted = max(-rule.step, min(rule.step, rule.shrinkage * best))
            assert delta == pytest.approx(wanted, rel=1e-6, abs=1e-9)
            assert after <= now + tiny
            alpha = min(alpha, (now - after) / abs(delta))
        w, now = twin.moved(w, name, delta), after
        assert path.losses[t] == pytest.approx(now, rel=1e-9)
        assert path.alphas[t] == pytest.approx(alpha, rel=1e-5, abs=tiny)
    final = path.weights(space.n_weights)
    assert all(final[k] == pytest.approx(w.get(space.name(k), 0.0), abs=1e-12) for k in range(len(final)))


def test_forward_steps_never_raise_the_loss_and_backward_steps_lower_the_lasso_loss() -> None:
    _, space, loss = problem(3)
    learner = BLasso(steps=2000, eps=0.1)
    path = steps_of(learner, loss)
    w = np.zeros(space.n_weights)
    gradient = np.empty(space.n_weights)
    before, alpha, n_backward = loss.value_and_gradient(w, gradient), math.inf, 0
    for t in range(len(path)):
        k = path.features[t]
        smaller = abs(w[k] + path.deltas[t]) < abs(w[k])
        change = abs(w[k] + path.deltas[t]) - abs(w[k])
        w[k] += path.deltas[t]
        after = loss.value_and_gradient(w, gradient)
        if path.alphas[t] == alpha and smaller and after > before:
            n_backward += 1
            assert after + alpha * change < before
        else:
            assert after <= before * (1 + 1e-12)
        before, alpha = after, path.alphas[t]
    assert n_backward > 5


def test_f_boosting_takes_no_backward_step_and_blasso_is_smaller_at_equal_loss() -> None:
    _, space, loss = problem(4)
    with_back, without = (steps_of(kind(steps=400, eps=0.1), loss) for kind in (BLasso, FBoosting))
    assert (np.diff(without.losses) <= 1e-12).all()
    target = max(with_back.losses[-1], without.losses[-1])
    sizes = []
    for path in (with_back, without):
        step = int(np.argmax(path.losses <= target)) + 1
        sizes.append(float(np.abs(path.weights(space.n_weights, step)).sum()))
    assert sizes[0] <= sizes[1] + 1e-9


def test_base_weight_is_the_twin_s() -> None:
    pairs, _, loss = problem(5)
    assert loss.base_weight == pytest.approx(twin.fitted_base(pairs), rel=1e-9)


def test_refreshing_the_sums_does_not_change_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, loss = problem(6)
    usual = steps_of(BLasso(steps=300, eps=0.2), loss)
    monkeypatch.setattr("epigram.rerank.losses.REFRESH", 7)
    often = steps_of(BLasso(steps=300, eps=0.2), loss)
    np.testing.assert_allclose(often.losses, usual.losses, rtol=1e-9)


def test_a_converged_path_stops_by_itself() -> None:
    lists = [
        {"reference": "a", "candidates": [{"text": "a", "score": 0}, {"text": "b", "score": 0}]},
        {"reference": "b", "candidates": [{"text": "a", "score": 0}, {"text": "b", "score": 0}]},
    ]
    nbest = NBest.from_lists(lists)
    space = FeatureSpace.collect(nbest, 1, 1)
    assert len(steps_of(BLasso(steps=100), ExponentialLoss(Pairs.of(nbest, space)))) == 0


def test_bad_settings_are_refused() -> None:
    for kind, options in [(BLasso, {"eps": 0.0}), (BLasso, {"theta": -1.0}), (Boosting, {"smoothing": 0.0})]:
        with pytest.raises(ValueError, match=next(iter(options))):
            kind(**options)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="steps 0 to 0"):
        WeightPath.empty().weights(3, 1)


def test_boosting_ends_where_no_loss_is_left_to_smooth_with() -> None:
    """On lists that a feature tells apart the loss falls to 0; no step may be infinite, whatever the smoothing."""
    lists = NBest.from_lists(
        [{"reference": "a", "candidates": [{"text": "a", "score": 0.0}, {"text": "b", "score": 0.0}]}] * 3
    )
    loss = ExponentialLoss(Pairs.of(lists, FeatureSpace.collect(lists, 1, 1)))
    for smoothing in (1e-2, 1e-7, 1e-15):
        path = steps_of(Boosting(steps=3000, smoothing=smoothing, shrinkage=1.0), loss)
        assert len(path) > 0
        assert np.isfinite(path.deltas).all()
        assert np.isfinite(path.losses).all()
