"""Penalties of log-linear models by name, over the pairs of a context tree.

Nelakanti et al. 2013, sections 3, 4 and 6: a pair at depth d (d context symbols) costs A^d times what a pair at the
root does, A = ``depth_weight`` (the paper multiplies features by alpha = 1 / A instead). Inside a tree norm this can
be meant in two ways (``depth_weights``): ``features`` multiplies each weight by A^d in all norms that it is part of,
as the paper does; ``groups`` multiplies the norm of a subtree whose root has depth d. The elastic net's depth weight
acts on its squared part; its l1 part, which discounts counts, is the same at all depths (found best on held-out
text).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from epigram.errors import InputError
from epigram.lm.loglinear.tree import ContextTree
from epigram.penalties.separable import L1, L2, ElasticNet, depth_weights
from epigram.penalties.tree import TreeL2, TreeLinf
from epigram.protocols import Floats, ProximalPenalty

DEPTH_WEIGHTS = ("features", "groups")


@dataclass(frozen=True, slots=True)
class Strength:
    """Strength of a penalty, its growth with depth, and the squared part of an elastic net.

    ``depth_weights`` tells what grows with the depth inside tree norms: ``features`` or ``groups``.

    ``side`` is how much more a weight of a side tree costs, where there are any (:mod:`epigram.lm.factored.loss`).
    """

    strength: float
    depth_weight: float
    ridge: float = 0.0
    side: float = 1.0
    depth_weights: str = "features"

    def __post_init__(self) -> None:
        if self.depth_weights not in DEPTH_WEIGHTS:
            raise InputError(
                f"depth weights act on {' or '.join(DEPTH_WEIGHTS)}, not on {self.depth_weights!r}."
            )
        for name in ("strength", "depth_weight", "ridge", "side"):
            value = getattr(self, name)
            if name == "ridge" and value == 0.0:
                continue
            if not (np.isfinite(value) and value > 0):
                raise InputError(
                    f"{name.replace('_', ' ')} must be a finite number above 0, not {value:g}; "
                    "0 has no best weights (they grow without end), infinity leaves none."
                )


PenaltyName = Literal["elastic", "l1", "l2", "tree-l2", "tree-linf"]
PENALTIES: tuple[str, ...] = get_args(PenaltyName)
FIRST_STRENGTHS: dict[str, Strength] = {
    "elastic": Strength(0.4, 1.7, 0.06),
    "l1": Strength(0.5, 1.1),
    "l2": Strength(0.1, 1.5),
    "tree-l2": Strength(0.7, 0.9),
    "tree-linf": Strength(0.6, 1.15),
}
"""Where the search for a strength starts: near the best on held-out newswire."""


def _depth_weights(tree: ContextTree, strength: Strength, factors: Floats) -> Floats:
    if not tree.collapsed:
        of_depths = depth_weights(np.arange(tree.depth.max(initial=0) + 1), strength.depth_weight)
        return np.asarray(factors * of_depths[tree.pair_depth])
    return factors * depth_weights(tree.pair_depth, strength.depth_weight, tree.per_pair(tree.multiplicity))


def _tree_weights(tree: ContextTree, strength: Strength, factors: Floats) -> tuple[Floats, Floats | None]:
    """Weights of groups and of features (None: all 1); side trees multiply those of groups."""
    if strength.depth_weights == "groups" or strength.depth_weight == 1.0:
        return _depth_weights(tree, strength, factors), None
    depth = tree.pair_depth
    if not tree.collapsed:
        return factors, depth_weights(depth, strength.depth_weight)
    m = tree.per_pair(tree.multiplicity).astype(np.float64)
    return factors * m, m / depth_weights(depth, 1.0 / strength.depth_weight, m)


Given = PenaltyName | L1 | L2 | ElasticNet
"""A penalty as an estimator takes it: a name, or an object with its numbers."""


def named(penalty: Given, depth_weight: float = 1.0) -> tuple[str, Strength | None]:
    """The name of a penalty, and its strength where it is an object (else None).

    Examples
    --------
    >>> named(L1(0.5), 1.2)
    ('l1', Strength(strength=0.5, depth_weight=1.2, ridge=0.0, side=1.0, depth_weights='features'))
    >>> named("tree-l2")
    ('tree-l2', None)
    """
    if isinstance(penalty, str):
        if penalty not in PENALTIES:
            raise InputError(f"unknown penalty {penalty!r}; choose one of {', '.join(PENALTIES)}.")
        return penalty, None
    if not isinstance(penalty, L1 | L2 | ElasticNet) or penalty.weights is not None:
        raise InputError(
            f"a language model's penalty is one of {', '.join(PENALTIES)}, or an L1, L2 or ElasticNet without weights "
            f"for single coordinates, not {penalty!r}."
        )
    if isinstance(penalty, ElasticNet):
        return "elastic", Strength(penalty.l1, depth_weight, penalty.l2)
    if isinstance(penalty, L1):
        return "l1", Strength(penalty.l1, depth_weight)
    return "l2", Strength(penalty.l2, depth_weight)


def build_penalty(
    name: str,
    tree: ContextTree,
    strength: Strength,
    nonnegative: bool = True,
    is_side: npt.NDArray[np.bool_] | None = None,
    factors: Floats | None = None,
) -> ProximalPenalty:
    """The penalty of that name over the pairs of a tree; ``is_side`` marks side trees.

    ``factors`` multiply the penalty of each pair.

    Examples
    --------
    >>> from epigram.lm.loglinear.tree import Positions
    >>> from epigram.lm.corpus import Corpus
    >>> tree = ContextTree.grow(Positions.of(Corpus.of(["a b"])), order=2)
    >>> build_penalty("l1", tree, Strength(2.0, 0.5)).value(np.ones(tree.n_pairs))  # 3 at depth 0, 3 at 1
    9.0
    """
    if name not in PENALTIES:
        raise InputError(f"unknown penalty {name!r}; choose one of {', '.join(PENALTIES)}.")
    side = np.zeros(tree.n_contexts, bool) if is_side is None else is_side
    of_pairs = np.repeat(np.where(side, strength.side, 1.0), np.diff(tree.pair_ptr))
    if factors is not None:
        of_pairs = of_pairs * factors
    if name.startswith("tree"):
        if name == "tree-l2" and tree.collapsed:
            raise InputError("tree-l2 needs the whole trie; use tree-linf on the collapsed tree.")
        norm = TreeL2 if name == "tree-l2" else TreeLinf
        group, feature = _tree_weights(tree, strength, of_pairs)
        return norm(strength.strength, tree.pair_parent, group, nonnegative, feature)
    weights = _depth_weights(tree, strength, of_pairs)
    if name == "elastic":
        counts: Floats = of_pairs * tree.per_pair(tree.multiplicity) if tree.collapsed else of_pairs
        return ElasticNet(strength.strength, strength.ridge, counts, nonnegative, weights)
    return (L1 if name == "l1" else L2)(strength.strength, weights, nonnegative)
