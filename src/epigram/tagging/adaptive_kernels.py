"""A pass of AdaGrad with an l1 penalty on chains; see ``chain_adaptive.h`` for the equations."""

from __future__ import annotations

from typing import Any

from epigram._core.native import family
from epigram.protocols import Floats, Ints
from epigram.tagging.kernels import Chains, Layout, chains_struct, layout_struct, scratch_struct
from epigram.tagging.sgd_kernels import pass_struct, step_struct

core = family("chain_adaptive")


def pass_adaptive(
    chains: Chains,
    layout: Layout,
    order: Ints,
    labels: Ints,
    weights: Floats,
    rates: Floats,
    penalties: Floats,
    batch: int,
    *rest: Any,
) -> float:
    """One pass; ``penalties[k]`` is u before step k. All weights are up to date at its end; returns the losses met.

    ``rest``: w, z, h and r, the working memory, and the step's rows, places and gradients.
    """
    w, z, h, r, x, *step = rest
    met: float = core.run(
        chains_struct(chains),
        layout_struct(layout),
        pass_struct(order, labels, weights, rates, penalties, batch),
        w.size,
        w,
        z,
        h,
        r,
        scratch_struct(layout, x),
        step_struct(*step),
    )
    return met
