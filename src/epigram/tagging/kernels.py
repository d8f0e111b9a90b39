"""Kernels of the linear-chain CRF: token scores, forward-backward, loss and gradient.

Letters: L labels, padded to ``width`` so that rows of labels are whole vectors; E = exp(transition weights);
alpha, beta the scaled forward and backward vectors; c their scales. A maxent model is the chain of length 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import intrinsic

from epigram._core.native import family
from epigram.jit import kernel
from epigram.protocols import Floats, Ints

LANES = 8  # rows of labels are padded to a multiple of this, so that loops over them are whole vectors
FLOOR = -700.0  # exp of less underflows
U = np.uint64  # unsigned indices: numba need not ask whether they are negative, so loops become vectors


@intrinsic
def float_of_bits(context, bits):
    """The float64 with these bits."""

    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], context.get_value_type(types.float64))

    return types.float64(types.int64), generate


@kernel
def exp(x):
    """e^x for -708 < x < 708 to about 1e-16: 2^k times a polynomial in the rest, all of it vectorisable."""
    k = np.floor(x * 1.4426950408889634 + 0.5)
    r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10
    y = 2.08767569878680989792e-09  # 1/12!, then 1/11!, ...
    y = y * r + 2.50521083854417187751e-08
    y = y * r + 2.75573192239858906526e-07
    y = y * r + 2.75573192239858906526e-06
    y = y * r + 2.48015873015873015873e-05
    y = y * r + 1.98412698412698412698e-04
    y = y * r + 1.38888888888888888889e-03
    y = y * r + 8.33333333333333333333e-03
    y = y * r + 4.16666666666666666667e-02
    y = y * r + 1.66666666666666666667e-01
    y = y * r + 0.5
    y = y * r + 1.0
    y = y * r + 1.0
    return y * float_of_bits((np.int64(k) + 1023) << 52)


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


@kernel
def score_tokens(chains, layout, s, w, scores):
    """Unnormalised label scores of each token of sentence s, one row a token."""
    first, last = U(chains.sentence_ptr[s]), U(chains.sentence_ptr[s + 1])
    base, width, dense_end = U(chains.rows_ptr[s]), U(layout.width), U(layout.dense_end)
    stride = U(chains.value_stride)
    for t in range(first, last):
        row = (t - first) * width
        for j in range(width):
            scores[row + j] = 0.0
        k, end = U(chains.attribute_ptr[t]), U(chains.attribute_ptr[t + U(1)])
        while k < end:
            p = U(chains.rows[base + U(chains.local[k])])
            v = chains.values[k * stride]
            if p >= dense_end:
                for m in range(p, p + U(layout.codes[p] >> 16)):
                    scores[row + U(layout.codes[m] & 0xFFFF)] += v * w[m]
                k += U(1)
                continue
            second = U(chains.rows[base + U(chains.local[k + U(1)])]) if k + U(1) < end else dense_end
            if second < dense_end:  # two dense rows at a time halve the traffic on the scores
                v2 = chains.values[(k + U(1)) * stride]
                for j in range(width):
                    scores[row + j] += v * w[p + j] + v2 * w[second + j]
                k += U(2)
            else:
                for j in range(width):
                    scores[row + j] += v * w[p + j]
                k += U(1)


@kernel
def exp_shared(layout, w, x):
    """The E that all steps share, and its transpose."""
    L, width = U(layout.n_labels), U(layout.width)
    base = U(layout.state_end)
    for i in range(L):
        for j in range(width):
            x.matrices[i * width + j] = layout.allowed[i * width + j] * exp(w[base + i * width + j])
        for j in range(L):
            x.transposed[j * width + i] = x.matrices[i * width + j]


@kernel
def exp_edges(chains, layout, s, w, x):
    """An E of its own for each token of sentence s with edge attributes; returns the number of matrices."""
    first, last = U(chains.sentence_ptr[s]), U(chains.sentence_ptr[s + 1])
    L, width = U(layout.n_labels), U(layout.width)
    for t in range(last - first):
        x.which[t] = 0
    n_matrices = U(1)
    if chains.edge_attributes.size == 0:
        return n_matrices
    size = L * width
    base = U(layout.state_end) + size
    for t in range(first + U(1), last):
        k0, k1 = U(chains.edge_ptr[t]), U(chains.edge_ptr[t + U(1)])
        if k0 == k1:
            continue
        E, ET = n_matrices * size, n_matrices * width * width
        for j in range(size):
            x.matrices[E + j] = 0.0
        for k in range(k0, k1):
            a = chains.edge_attributes[k]
            for m in range(U(layout.edge_row_ptr[a]), U(layout.edge_row_ptr[a + 1])):
                x.matrices[E + U(layout.edge_pair[m])] += w[base + m]
        for i in range(L):
            for j in range(L):
                at = E + i * width + j
                x.matrices[at] = x.matrices[i * width + j] * exp(x.matrices[at])
                x.transposed[ET + j * width + i] = x.matrices[at]
        x.which[t - first] = n_matrices
        n_matrices += U(1)
    return n_matrices


@kernel
def add_product(vector, start, matrix, first_row, L, width, out, row):
    """out[row] += vector[start:start + L] @ matrix, four rows of the matrix at a time."""
    whole = L - L % U(4)
    for i in range(U(0), whole, U(4)):
        a, b = vector[start + i], vector[start + i + U(1)]
        c, d = vector[start + i + U(2)], vector[start + i + U(3)]
        m = first_row + i * width
        for j in range(width):
            out[row + j] += (
                a * matrix[m + j]
                + b * matrix[m + width + j]
                + c * matrix[m + U(2) * width + j]
                + d * matrix[m + U(3) * width + j]
            )
    for i in range(whole, L):
        a = vector[start + i]
        m = first_row + i * width
        for j in range(width):
            out[row + j] += a * matrix[m + j]


@kernel
def row_max(a, row, width, lanes, to):
    """Largest of a row, by eight lanes; lanes[to:to + 8] is working memory."""
    for j in range(U(8)):
        lanes[to + j] = a[row + j]
    for k in range(row + U(8), row + width, U(8)):
        for j in range(U(8)):
            lanes[to + j] = max(lanes[to + j], a[k + j])
    for j in range(U(4)):
        lanes[to + j] = max(lanes[to + j], lanes[to + j + U(4)])
    return max(max(lanes[to], lanes[to + U(1)]), max(lanes[to + U(2)], lanes[to + U(3)]))


@kernel
def row_sum(a, row, width, lanes, to):
    """Sum of a row, by eight lanes; lanes[to:to + 8] is working memory."""
    for j in range(U(8)):
        lanes[to + j] = a[row + j]
    for k in range(row + U(8), row + width, U(8)):
        for j in range(U(8)):
            lanes[to + j] += a[k + j]
    for j in range(U(4)):
        lanes[to + j] += lanes[to + j + U(4)]
    return (lanes[to] + lanes[to + U(1)]) + (lanes[to + U(2)] + lanes[to + U(3)])


@kernel
def forward(n, layout, x):
    """log Z of n tokens; scores become exponentials, alpha and c the scaled forward quantities."""
    L, width = U(layout.n_labels), U(layout.width)
    log_z = 0.0
    for t in range(U(n)):
        row = t * width
        for j in range(L, width):
            x.scores[row + j] = x.scores[row]
        top = row_max(x.scores, row, width, x.beta, row)
        log_z += top
        for j in range(width):
            x.scores[row + j] = exp(max(x.scores[row + j] - top, FLOOR))
        for j in range(L, width):
            x.scores[row + j] = 0.0
        if t == U(0) or not layout.has_transitions:
            for j in range(width):
                x.alpha[row + j] = x.scores[row + j]
        else:
            for j in range(width):
                x.alpha[row + j] = 0.0
            E = U(x.which[t]) * L * width
            add_product(x.alpha, row - width, x.matrices, E, L, width, x.alpha, row)
            for j in range(width):
                x.alpha[row + j] *= x.scores[row + j]
        c = row_sum(x.alpha, row, width, x.beta, row)
        log_z += np.log(c)
        c = 1.0 / c
        x.c[t] = c
        for j in range(width):
            x.alpha[row + j] *= c
    return log_z


@kernel
def backward(n, n_matrices, layout, x):
    """The scaled beta, and with it the sums over steps of alpha[t-1] beta'[t], beta' = c scores beta."""
    L, width = U(layout.n_labels), U(layout.width)
    last = U(n) - U(1)
    for j in range(width):
        x.beta[last * width + j] = 1.0
    if not layout.has_transitions:
        for j in range(last * width):
            x.beta[j] = 1.0
        return
    for j in range(n_matrices * L * width):
        x.pair_sums[j] = 0.0
    for back in range(last):
        t = last - back  # the step from t - 1 into t
        row, before = t * width, (t - U(1)) * width
        for j in range(width):
            x.scores[row + j] *= x.beta[row + j] * x.c[t]
            x.beta[before + j] = 0.0
        matrix = U(x.which[t])
        add_product(x.scores, row, x.transposed, matrix * width * width, L, width, x.beta, before)
        for i in range(L):
            a = x.alpha[before + i]
            sums = (matrix * L + i) * width
            for j in range(width):
                x.pair_sums[sums + j] += a * x.scores[row + j]


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
