"""Kernels of SGD with an l1 penalty on chains. Tsuruoka et al. 2009, sections 3.1 and 3.2, Fig. 2.

Letters: eta the rate of a step, u the total penalty each weight could have received by then (3), q what it has
received (4). The gradient of a step is summed per weight first. Differs: rows of weights that occur once in
the step's only sentence are stepped on at once, straight from the score gradient, without a sum.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from epigram.jit import kernel
from epigram.tagging.kernels import U, exp_shared, sentence_loss


class Step(NamedTuple):
    """The rows of weights that one SGD step touches; see :func:`claim_rows`."""

    rows: Any
    slots: Any
    places: Any


@kernel
def claim_rows(chains, layout, s, n_shared, taken, n_rows, n_used, step, g):
    """Give the first rows of sentence s a zero row of gradient in g, unless an earlier sentence of the step did.

    ``step.rows`` lists the step's distinct rows, ``step.slots`` where their gradients are, ``step.places`` the
    same for each row of sentence s. ``taken`` maps a row to its slot; it is empty for steps of one sentence.
    """
    width, dense_end = U(layout.width), U(layout.dense_end)
    base = U(chains.rows_ptr[s])
    for m in range(U(n_shared)):
        p = U(chains.rows[base + m])
        if taken.size and taken[p] >= 0:
            step.places[m] = taken[p]
            continue
        length = width if p < dense_end else U(layout.codes[p] >> 16)
        for j in range(U(n_used), U(n_used) + length):
            g[j] = 0.0
        step.places[m] = n_used
        step.rows[n_rows] = p
        step.slots[n_rows] = n_used
        if taken.size:
            taken[p] = n_used
        n_rows += 1
        n_used += np.int64(length)
    return n_rows, n_used


@kernel
def penalised(z, u, total):
    """apply_penalty of Fig. 2: the weight z after what it still owes of u, having received ``total``.

    As -u <= total <= u, at most one of the two terms is not zero.
    """
    return max(0.0, z - (u + total)) + min(0.0, z + (u - total))


@kernel
def step_cumulative(g, r, eta, u, free, p, n, w, q):
    """Gradient step on the n weights from p on, whose gradient is at g[r:], then apply_penalty."""
    for i in range(n):
        z = w[p + i] - eta * g[r + i] * free[p + i]
        v = penalised(z, u, q[p + i])
        q[p + i] += v - z
        w[p + i] = v


@kernel
def scatter_or_step(chains, layout, s, scores, n_shared, step, eta, u, g, w, q):
    """Add the score gradient of sentence s to its shared rows' g; step at once on rows that occur once."""
    first, last = U(chains.sentence_ptr[s]), U(chains.sentence_ptr[s + 1])
    base, width, dense_end = U(chains.rows_ptr[s]), U(layout.width), U(layout.dense_end)
    for t in range(first, last):
        row = (t - first) * width
        for k in range(U(chains.attribute_ptr[t]), U(chains.attribute_ptr[t + U(1)])):
            p = U(chains.rows[base + U(chains.local[k])])
            v = chains.values[k * U(chains.value_stride)]
            if chains.local[k] < n_shared:
                to = U(step.places[chains.local[k]])
                if p < dense_end:
                    for j in range(width):
                        g[to + j] += v * scores[row + j]
                else:
                    for m in range(U(layout.codes[p] >> 16)):
                        g[to + m] += v * scores[row + U(layout.codes[p + m] & 0xFFFF)]
            elif p < dense_end:
                step_cumulative(scores, row, eta * v, u, layout.free, p, width, w, q)
            else:
                for m in range(p, p + U(layout.codes[p] >> 16)):
                    z = w[m] - eta * v * scores[row + U(layout.codes[m] & 0xFFFF)]
                    w[m] = penalised(z, u, q[m])
                    q[m] += w[m] - z


@kernel
def pass_cumulative(chains, layout, order, labels, weights, rates, penalties, batch, w, q, x, step, taken, g):
    """One pass of SGD with cumulative penalty (Tsuruoka et al. 2009, Fig. 2); returns the losses met."""
    loss = 0.0
    base, width, dense_end = U(layout.state_end), U(layout.width), U(layout.dense_end)
    n_edges = w.size - layout.state_end
    edges = g[:n_edges]
    for k in range(rates.size):
        n_rows, n_used = 0, n_edges
        eta, u = rates[k], penalties[k + 1]
        edges[:] = 0.0
        if layout.has_transitions:
            exp_shared(layout, w, x)
        for at in range(k * batch, min((k + 1) * batch, order.size)):
            s = order[at]
            n_shared = chains.n_shared[s] if batch == 1 else chains.rows_ptr[s + 1] - chains.rows_ptr[s]
            n_rows, n_used = claim_rows(chains, layout, s, n_shared, taken, n_rows, n_used, step, g)
            loss += sentence_loss(chains, layout, s, labels, weights[s], w, x, edges)
            scatter_or_step(chains, layout, s, x.scores, n_shared, step, eta, u, g, w, q)
        for m in range(n_rows):
            p = U(step.rows[m])
            n = width if p < dense_end else U(layout.codes[p] >> 16)
            step_cumulative(g, U(step.slots[m]), eta, u, layout.free, p, n, w, q)
            if taken.size:
                taken[p] = -1
        step_cumulative(edges, U(0), eta, u, layout.free, base, U(n_edges), w, q)
    return loss


@kernel
def step_gradient(chains, layout, sentences, labels, weights, w, q, x, step, taken, g):
    """Loss of one step's sentences, its number of distinct rows; their gradients are summed in g."""
    n_rows, n_used = 0, w.size - layout.state_end
    g[:n_used] = 0.0
    loss = 0.0
    if layout.has_transitions:
        exp_shared(layout, w, x)
    for s in sentences:
        n = chains.rows_ptr[s + 1] - chains.rows_ptr[s]
        n_rows, n_used = claim_rows(chains, layout, s, n, taken, n_rows, n_used, step, g)
        loss += sentence_loss(chains, layout, s, labels, weights[s], w, x, g)
        scatter_or_step(chains, layout, s, x.scores, n, step, 0.0, 0.0, g, w, q)
    return loss, n_rows


@kernel
def descend(layout, n_rows, eta, step, taken, g, w):
    """w -= eta g on the rows of a step, transitions and edge weights."""
    width, dense_end, base = U(layout.width), U(layout.dense_end), U(layout.state_end)
    for m in range(n_rows):
        p, r = U(step.rows[m]), U(step.slots[m])
        for i in range(width if p < dense_end else U(layout.codes[p] >> 16)):
            w[p + i] -= eta * g[r + i] * layout.free[p + i]
        if taken.size:
            taken[p] = -1
    for i in range(U(w.size) - base):
        w[base + i] -= eta * g[i] * layout.free[base + i]


@kernel
def clip(p, n, amount, w):
    """Pull n weights from p on towards zero, not across it."""
    for i in range(p, p + n):
        w[i] = max(0.0, w[i] - amount) if w[i] > 0.0 else min(0.0, w[i] + amount)


@kernel
def clip_due(p, n, u, w, q):
    """Lazy form of clip: what has fallen due since the weight was last touched."""
    for i in range(p, p + n):
        due = u - q[i]
        w[i] = max(0.0, w[i] - due) if w[i] > 0.0 else min(0.0, w[i] + due)
        q[i] = u


@kernel
def pass_naive(chains, layout, order, labels, weights, rates, penalties, batch, w, q, x, step, taken, g):
    """One pass of SGD-L1 (Naive): the subgradient of the penalty on all weights at every step."""
    loss = 0.0
    for k in range(rates.size):
        sentences = order[k * batch : (k + 1) * batch]
        value, n_rows = step_gradient(chains, layout, sentences, labels, weights, w, q, x, step, taken, g)
        loss += value
        amount = penalties[k + 1] - penalties[k]
        for i in range(w.size):
            w[i] -= amount * np.sign(w[i])
        descend(layout, n_rows, rates[k], step, taken, g, w)
    return loss


@kernel
def pass_clipping(chains, layout, order, labels, weights, rates, penalties, batch, w, q, x, step, taken, g):
    """One pass of SGD-L1 (Clipping): after the gradient step all weights are pulled to zero, not across."""
    loss = 0.0
    for k in range(rates.size):
        sentences = order[k * batch : (k + 1) * batch]
        value, n_rows = step_gradient(chains, layout, sentences, labels, weights, w, q, x, step, taken, g)
        loss += value
        descend(layout, n_rows, rates[k], step, taken, g, w)
        clip(U(0), U(w.size), penalties[k + 1] - penalties[k], w)
    return loss


@kernel
def pass_lazy(chains, layout, order, labels, weights, rates, penalties, batch, w, q, x, step, taken, g):
    """One pass of SGD-L1 (Clipping + Lazy-Update): the same weights, each clipped only when it is needed."""
    loss = 0.0
    width, dense_end, base = U(layout.width), U(layout.dense_end), U(layout.state_end)
    n_edges = U(w.size) - base
    for k in range(rates.size):
        sentences = order[k * batch : (k + 1) * batch]
        for s in sentences:
            for m in range(chains.rows_ptr[s], chains.rows_ptr[s + 1]):
                p = U(chains.rows[m])
                clip_due(p, width if p < dense_end else U(layout.codes[p] >> 16), penalties[k], w, q)
        clip_due(base, n_edges, penalties[k], w, q)
        value, n_rows = step_gradient(chains, layout, sentences, labels, weights, w, q, x, step, taken, g)
        loss += value
        descend(layout, n_rows, rates[k], step, taken, g, w)
        for m in range(n_rows):
            p = U(step.rows[m])
            clip_due(p, width if p < dense_end else U(layout.codes[p] >> 16), penalties[k + 1], w, q)
        clip_due(base, n_edges, penalties[k + 1], w, q)
    clip_due(U(0), U(w.size), penalties[-1], w, q)
    return loss
