"""Passes of SGD with an l1 penalty on chains; see ``chain_sgd.h`` for the equations."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from epigram._core.native import family
from epigram.protocols import Floats, Ints, Offsets
from epigram.tagging.kernels import Chains, Layout, Scratch, chains_struct, layout_struct, scratch_struct
from epigram.tagging.layout import aligned
from epigram.tagging.sequences import Sequences

core = family("chain_sgd")
cumulative = family("chain_cumulative")
PREFETCHED = 20  # room for it behind the occurrences


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


def pass_naive(*arguments: Any) -> float:
    """One pass of SGD-L1 (Naive): the subgradient of the penalty on all weights at every step."""
    return _run(core.naive, *arguments)


def pass_clipping(*arguments: Any) -> float:
    """One pass of SGD-L1 (Clipping): after the gradient step all weights are pulled to zero, not across."""
    return _run(core.clipping, *arguments)


def pass_lazy(*arguments: Any) -> float:
    """One pass of SGD-L1 (Clipping + Lazy-Update): the same weights, each clipped only when it is needed."""
    return _run(core.lazy, *arguments)


def fresh_dual(sequences: Sequences, chains: Chains, layout: Layout, batch: int) -> Any:
    """Memory of cumulative SGD for steps of so many sentences, with the rows of all occurrences filled in."""
    n_dense, n_words = layout.dense_end // layout.width, -(-layout.width // 64)
    n_entries, n_edges = layout.state_end - layout.dense_end, layout.free.size - layout.state_end
    n_step_tokens = int(np.sort(sequences.lengths)[-batch:].sum())
    n = chains.local.size
    dual = cumulative.Dual(
        n_dense,
        layout.width,
        n_words,
        n_entries,
        n_edges,
        n,
        n_step_tokens,
        np.empty(n + PREFETCHED, dtype=np.int32),
        aligned(n_dense * (1 + n_words)),
        aligned(layout.dense_end),
        aligned(4 * n_entries),
        np.empty(n_edges),
        np.empty(n_edges),
        np.empty(n_edges),
        aligned(n_step_tokens * layout.width),
    )
    if not cumulative.prepare(chains_struct(chains), layout_struct(layout), dual):
        raise ValueError("occurrences with dense rows must come first in every token; see dense_first")
    return dual


def pass_cumulative(
    chains: Chains, layout: Layout, plan: Any, w: Floats, q: Floats, dual: Any, x: Scratch
) -> float:
    """One pass of SGD with cumulative penalty (Tsuruoka et al. 2009, Fig. 2); returns the losses met."""
    met: float = cumulative.run(
        chains_struct(chains), layout_struct(layout), plan, w.size, w, q, dual, scratch_struct(layout, x)
    )
    return met
