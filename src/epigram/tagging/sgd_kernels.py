"""Passes of SGD with an l1 penalty on chains; see ``chain_sgd.h`` for the equations."""

from __future__ import annotations

from typing import Any, NamedTuple

from epigram._core.native import family
from epigram.protocols import Floats, Ints, Offsets
from epigram.tagging.kernels import Chains, Layout, Scratch, chains_struct, layout_struct, scratch_struct

core = family("chain_sgd")


class Step(NamedTuple):
    """The rows of weights that one SGD step touches, where their gradients are, and those of a sentence's rows."""

    rows: Offsets
    slots: Offsets
    places: Offsets


def step_struct(step: Step, taken: Offsets, g: Floats) -> Any:
    """A step's memory as C takes it."""
    return core.Step(step.rows.size, taken.size, g.size, *step, taken, g)


def pass_struct(
    order: Ints, labels: Ints, weights: Floats, rates: Floats, penalties: Floats, batch: int
) -> Any:
    """The samples and rates of a pass as C takes them."""
    return core.Pass(
        order.size, rates.size, batch, labels.size, weights.size, order, labels, weights, rates, penalties
    )


def _run(
    kernel: Any,
    chains: Chains,
    layout: Layout,
    order: Ints,
    labels: Ints,
    weights: Floats,
    rates: Floats,
    penalties: Floats,
    batch: int,
    w: Floats,
    q: Floats,
    x: Scratch,
    step: Step,
    taken: Offsets,
    g: Floats,
) -> float:
    met: float = kernel(
        chains_struct(chains),
        layout_struct(layout),
        pass_struct(order, labels, weights, rates, penalties, batch),
        w.size,
        w,
        q,
        scratch_struct(layout, x),
        step_struct(step, taken, g),
    )
    return met


def pass_cumulative(*arguments: Any) -> float:
    """One pass of SGD with cumulative penalty (Tsuruoka et al. 2009, Fig. 2); returns the losses met."""
    return _run(core.cumulative, *arguments)


def pass_naive(*arguments: Any) -> float:
    """One pass of SGD-L1 (Naive): the subgradient of the penalty on all weights at every step."""
    return _run(core.naive, *arguments)


def pass_clipping(*arguments: Any) -> float:
    """One pass of SGD-L1 (Clipping): after the gradient step all weights are pulled to zero, not across."""
    return _run(core.clipping, *arguments)


def pass_lazy(*arguments: Any) -> float:
    """One pass of SGD-L1 (Clipping + Lazy-Update): the same weights, each clipped only when it is needed."""
    return _run(core.lazy, *arguments)
