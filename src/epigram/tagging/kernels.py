"""Kernels of the linear-chain CRF: token scores, forward-backward, loss and gradient.

Letters: L labels, padded to ``width`` so that rows of labels are whole vectors; E = exp(transition weights);
alpha, beta the scaled forward and backward vectors; c their scales. A maxent model is the chain of length 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from epigram._core.native import family
from epigram.protocols import Floats, Ints

LANES = 8  # rows of labels are padded to a multiple of this, so that loops over them are whole vectors


class Chains(NamedTuple):
    """Training or test sentences. Sentence s uses the distinct rows of weights that start at
    ``rows[rows_ptr[s]:rows_ptr[s + 1]]``; occurrence k of a token is number ``local[k]`` among them, with value
    ``values[k * value_stride]``. Its first ``n_shared[s]`` rows occur more than once in it, the others once.
    Where nobody asks for distinct rows, ``rows`` is the row of each attribute, ``local`` the attributes, and
    ``rows_ptr`` zero."""

    sentence_ptr: Any
    attribute_ptr: Any
    rows_ptr: Any
    n_shared: Any
    rows: Any
    local: Any
    values: Any
    value_stride: int
    edge_ptr: Any
    edge_attributes: Any


class Layout(NamedTuple):
    """Where weights live. First the dense rows, up to ``dense_end``: one weight per (padded) label. Then the
    sparse rows, up to ``state_end``: of entry m, ``codes[m] & 0xFFFF`` is the label and ``codes[m] >> 16`` the
    number of entries to the row's end. Then the transitions, L rows of ``width``; then for each edge attribute
    the weights of the label pairs (i * width + j) in ``edge_pair``. ``free`` is 0 where a weight is not part of
    the model; ``allowed`` is 0 where a transition is forbidden."""

    n_labels: int
    width: int
    dense_end: int
    state_end: int
    codes: Any
    free: Any
    has_transitions: bool
    allowed: Any
    edge_row_ptr: Any
    edge_pair: Any


class Scratch(NamedTuple):
    """Working memory for the longest sentence of n tokens, all flat. Rows of labels are ``width`` long;
    matrix 0 is the E that all steps share, the others belong to tokens with edge attributes."""

    scores: Any  # n rows: scores, then their exponentials, then what the gradient adds for each label
    alpha: Any  # n rows
    beta: Any  # n rows
    c: Any  # n: reciprocal scales of alpha
    matrices: Any  # k x L rows: E
    transposed: Any  # k x width rows: E transposed
    pair_sums: Any  # k x L rows: sums of alpha beta'; times E, the expected transitions
    which: Any  # n: matrix of the step into token t


core = family("chain")


def chains_struct(chains: Chains) -> Any:
    """Sentences as C takes them."""
    n = chains.sentence_ptr.size - 1, chains.attribute_ptr.size - 1, chains.local.size
    return core.Chains(
        *n,
        chains.edge_attributes.size,
        chains.value_stride,
        chains.sentence_ptr,
        chains.attribute_ptr,
        chains.rows_ptr,
        chains.n_shared,
        chains.rows,
        chains.local,
        chains.values,
        chains.edge_ptr,
        chains.edge_attributes,
    )


def layout_struct(layout: Layout) -> Any:
    """Where the weights are, as C takes it."""
    return core.Layout(
        layout.n_labels,
        layout.width,
        layout.dense_end,
        layout.state_end,
        layout.free.size,
        layout.edge_row_ptr.size - 1,
        layout.has_transitions,
        layout.codes,
        layout.free,
        layout.allowed,
        layout.edge_row_ptr,
        layout.edge_pair,
    )


def scratch_struct(layout: Layout, x: Scratch) -> Any:
    """Working memory as C takes it."""
    n_matrices = x.matrices.size // max(layout.n_labels * layout.width, 1)
    return core.Scratch(x.c.size, layout.n_labels, layout.width, n_matrices, *x)


def batch_gradient(
    chains: Chains,
    layout: Layout,
    sentences: Ints,
    labels: Ints,
    weights: Floats,
    w: Floats,
    x: Scratch,
    out: Floats,
) -> float:
    """Loss of the given sentences; the gradient is added to ``out`` (as long as w)."""
    loss: float = core.batch_gradient(
        chains_struct(chains),
        layout_struct(layout),
        sentences.size,
        sentences,
        labels.size,
        labels,
        weights.size,
        weights,
        w.size,
        w,
        scratch_struct(layout, x),
        out,
    )
    return loss
