"""A pass of SGD inside the l1 ball on chains; see ``chain_projected.h`` for how."""

from __future__ import annotations

from typing import Any

import numpy as np

from epigram._core.native import family
from epigram.protocols import Floats, Ints, Offsets
from epigram.tagging.kernels import Chains, Layout, Scratch, chains_struct, layout_struct, scratch_struct
from epigram.tagging.sgd_kernels import Step, pass_struct, step_struct

core = family("chain_projected")


def fresh_ball(n_weights: int) -> Any:
    """Memory for so many weights."""
    return core.BallMemory(
        n_weights, np.empty(n_weights), np.empty(2 * n_weights), np.empty(2 * n_weights, dtype=np.int32)
    )


def pass_projected(
    chains: Chains,
    layout: Layout,
    order: Ints,
    labels: Ints,
    weights: Floats,
    rates: Floats,
    batch: int,
    radius: float,
    every: int,
    w: Floats,
    ball: Any,
    x: Scratch,
    step: Step,
    taken: Offsets,
    g: Floats,
) -> float:
    """One pass, projecting after each ``every`` steps and at the end; returns the losses met."""
    met: float = core.run(
        chains_struct(chains),
        layout_struct(layout),
        pass_struct(order, labels, weights, rates, np.zeros(rates.size + 1), batch),
        radius,
        every,
        w.size,
        w,
        ball,
        scratch_struct(layout, x),
        step_struct(step, taken, g),
    )
    return met
