"""Steps of FTRL-Proximal on chains, and sums of gradients; see ``chain_online.h`` for the equations."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from epigram._core.native import family
from epigram.protocols import Floats, Ints
from epigram.tagging.kernels import Chains, Layout, Scratch, chains_struct, layout_struct, scratch_struct
from epigram.tagging.sgd_kernels import Step, pass_struct, step_struct

core = family("chain_online")


class Rule(NamedTuple):
    """The rate, alpha / (beta + sqrt(n)), and the penalty l1 |w| + l2 w^2 on all that was seen."""

    alpha: float
    beta: float
    l1: float
    l2: float


def pass_online(
    chains: Chains,
    layout: Layout,
    order: Ints,
    labels: Ints,
    weights: Floats,
    rule: Rule,
    w: Floats,
    z: Floats,
    n: Floats,
    x: Scratch,
    step: Step,
    g: Floats,
) -> float:
    """A step for each sentence of ``order``; returns the losses met."""
    plan = _one_by_one(order, labels, weights)
    memory = scratch_struct(layout, x), step_struct(step, np.empty(0, dtype=np.int64), g)
    met: float = core.run(chains_struct(chains), layout_struct(layout), plan, *rule, w.size, w, z, n, *memory)
    return met


def sum_gradients(
    chains: Chains,
    layout: Layout,
    order: Ints,
    labels: Ints,
    weights: Floats,
    w: Floats,
    x: Scratch,
    step: Step,
    g: Floats,
    sums: Floats,
    squares: Floats,
) -> float:
    """Sums over sentences of each weight's gradient at w, and of its squares, to the last two; returns the loss."""
    plan = _one_by_one(order, labels, weights)
    memory = scratch_struct(layout, x), step_struct(step, np.empty(0, dtype=np.int64), g)
    met: float = core.gradients(
        chains_struct(chains), layout_struct(layout), plan, w.size, w, sums, squares, *memory
    )
    return met


def _one_by_one(order: Ints, labels: Ints, weights: Floats) -> Any:
    """A pass of one sentence a step; rates and penalties are not used."""
    return pass_struct(order, labels, weights, np.zeros(order.size), np.zeros(order.size + 1), 1)
