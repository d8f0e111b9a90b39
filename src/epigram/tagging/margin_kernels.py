"""Passes of the learners of :mod:`epigram.solvers.margin` and of SGD with an l2 penalty, over chains."""

from __future__ import annotations

from typing import Any

import numpy as np

from epigram._core.native import family
from epigram.protocols import Floats, Ints
from epigram.tagging.kernels import Chains, Layout, Scratch, chains_struct, layout_struct, scratch_struct

margin = family("chain_margin")
decayed = family("chain_decayed")


class MarginMemory:
    """What passes over the same sentences share: the labels found, and one difference of features."""

    def __init__(self, chains: Chains, labels: Ints, weights: Floats, n_weights: int) -> None:
        self.labels, self.weights, self.n_weights = labels, weights, n_weights
        first = chains.sentence_ptr
        sizes = np.diff(chains.attribute_ptr[first]) + np.diff(chains.edge_ptr[first]) + np.diff(first)
        self.touched = np.empty(2 * int(sizes.max(initial=0)) + 1, dtype=np.int64)
        self.best = np.empty(len(labels), dtype=np.int32)
        self.delta, self.seen = np.zeros(n_weights), np.zeros(n_weights, dtype=np.uint8)

    def plan(self, order: Ints) -> Any:
        """One pass, as C takes it."""
        return margin.MarginPass(
            len(order),
            len(self.labels),
            len(self.weights),
            self.n_weights,
            len(self.touched),
            order,
            self.labels,
            self.weights,
            self.best,
            self.delta,
            self.seen,
            self.touched,
        )


def pass_margin(
    method: str,
    chains: Chains,
    layout: Layout,
    plan: Any,
    settings: tuple[Any, ...],
    w: Floats,
    other: Floats,
    x: Scratch,
) -> float:
    """One pass of ``perceptron``, ``passive`` or ``arow``; ``other`` is the sums of moves, or the variances."""
    chosen = getattr(margin, method)
    arrays = chains_struct(chains), layout_struct(layout), plan
    return float(chosen(*arrays, *settings, w.size, w, other, scratch_struct(layout, x)))


def pass_decayed(
    chains: Chains,
    layout: Layout,
    order: Ints,
    labels: Ints,
    weights: Floats,
    strength: float,
    first: float,
    w: Floats,
    x: Scratch,
) -> float:
    """One pass of SGD with an l2 penalty."""
    edge_w, edge_g = (np.empty(w.size - layout.state_end) for _ in range(2))
    return float(
        decayed.steps(
            chains_struct(chains),
            layout_struct(layout),
            order.size,
            order,
            labels.size,
            labels,
            weights.size,
            weights,
            strength,
            first,
            w.size,
            w,
            scratch_struct(layout, x),
            edge_w.size,
            edge_w,
            edge_g,
        )
    )
