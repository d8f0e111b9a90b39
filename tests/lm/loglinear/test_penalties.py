"""Depth weights on features or groups: the strength is what it says, chosen by a setting, kept in the model file."""

from __future__ import annotations

import numpy as np
import pytest

from epigram.errors import InputError
from epigram.lm.corpus import Corpus
from epigram.lm.loglinear.model import LogLinearLM
from epigram.lm.loglinear.penalties import Strength, build_penalty
from epigram.lm.loglinear.tree import ContextTree, Positions
from reference import tree_prox as reference

TEXT = ["a rose is a rose", "a rose is red", "is a tulip red", "a tulip is a tulip", "red is a rose"] * 3


@pytest.mark.parametrize("norm", ["tree-l2", "tree-linf"])
def test_features_are_weighted_inside_the_norms_and_groups_outside(norm):
    tree = ContextTree.grow(Positions.of(Corpus.of(TEXT)), order=4)
    depth = tree.per_pair(tree.depth)
    w = np.random.default_rng(0).uniform(size=tree.n_pairs)
    kind = norm.removeprefix("tree-")
    features = build_penalty(norm, tree, Strength(0.5, 0.8))
    groups = build_penalty(norm, tree, Strength(0.5, 0.8, depth_weights="groups"))
    inside = reference.norm(tree.pair_parent, 0.8**depth * w, np.ones(w.size), kind)
    outside = reference.norm(tree.pair_parent, w, 0.8**depth, kind)
    assert features.value(w) == pytest.approx(0.5 * inside)
    assert groups.value(w) == pytest.approx(0.5 * outside)
    assert inside != pytest.approx(outside)


def test_a_collapsed_chain_costs_what_its_contexts_do():
    """z = v w is one value along a chain, and the weight of the node is the mean of z / v over it."""
    tree = ContextTree.grow(Positions.of(Corpus.of(TEXT)), 4, collapse=True)
    assert tree.multiplicity.max() > 1
    strength = Strength(0.5, 0.8)
    w = np.random.default_rng(1).uniform(size=tree.n_pairs)
    first = tree.per_pair(tree.depth - tree.multiplicity + 1)
    last = tree.per_pair(tree.depth)
    z = w / np.array([np.mean([0.8**-k for k in range(a, b + 1)]) for a, b in zip(first, last, strict=True)])
    assert build_penalty("tree-linf", tree, strength).value(w) == pytest.approx(
        0.5 * float(tree.per_pair(tree.multiplicity) @ _subtree_max(tree.pair_parent, z))
    )


def _subtree_max(parents, z):
    members, _, _ = reference.subtrees(parents)
    return np.array([z[group].max() for group in members])


@pytest.mark.parametrize("depth_weights", ["features", "groups"])
def test_the_setting_reaches_the_price_and_the_file(depth_weights, tmp_path):
    settings = {"order": 3, "penalty": "tree-l2", "strength": 0.3, "depth_weight": 0.8}
    model = LogLinearLM(**settings, depth_weights=depth_weights).fit(TEXT)
    assert model.strength_.depth_weights == depth_weights
    model.save(tmp_path / "model.epigram")
    loaded = LogLinearLM.load(tmp_path / "model.epigram")
    assert loaded.strength_ == model.strength_
    assert loaded.depth_weights == depth_weights


def test_the_setting_changes_the_model_and_others_are_refused():
    settings = {"order": 3, "penalty": "tree-l2", "strength": 0.3, "depth_weight": 0.7}
    features, groups = (LogLinearLM(**settings, depth_weights=on).fit(TEXT) for on in ("features", "groups"))
    assert np.abs(features.weights_ - groups.weights_).max() > 0.01
    with pytest.raises(InputError, match="features or groups, not on 'pairs'"):
        LogLinearLM(**settings, depth_weights="pairs").fit(TEXT)
