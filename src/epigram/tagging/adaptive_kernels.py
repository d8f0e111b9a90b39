"""Kernels of AdaGrad with an l1 penalty on chains. Duchi, Hazan and Singer 2011; McMahan 2011.

Letters, one of each per weight: h the sum of its squared gradients so far, r = sqrt(h) / eta its curvature, z the sum
of its gradients less that of (rise of r) w over the steps; u = k C/N the penalty so far. The weight is always

    w = argmin z w + u |w| + r/2 w^2 = -sign(z) max(|z| - u, 0) / r,

so a weight that no sentence uses needs no work until one does: only u has grown, and w is computed when it is read.
"""

from __future__ import annotations

import numpy as np

from epigram.jit import kernel
from epigram.tagging.kernels import U
from epigram.tagging.sgd_kernels import step_gradient


@kernel
def read_weights(p, n, u, z, r, w):
    """The n weights from p on as they are when the penalty so far is u."""
    for i in range(p, p + n):
        size = max(0.0, abs(z[i]) - u) / r[i]
        w[i] = -size if z[i] > 0.0 else size


@kernel
def add_gradient(g, slot, eta, free, p, n, w, z, h, r):
    """Take in the gradients g[slot:] of the n weights from p on, met at their values w."""
    for i in range(n):
        k = p + i
        d = g[slot + i] * free[k]
        h[k] += d * d
        curvature = np.sqrt(h[k]) / eta
        z[k] += d - (curvature - r[k]) * w[k]
        r[k] = curvature


@kernel
def pass_adaptive(
    chains, layout, order, labels, weights, rates, penalties, batch, w, z, h, r, x, step, taken, g
):
    """One pass; ``penalties[k]`` is u before step k. All weights are up to date at its end; returns the losses met."""
    loss = 0.0
    width, dense_end, base = U(layout.width), U(layout.dense_end), U(layout.state_end)
    n_edges = U(w.size) - base
    for k in range(rates.size):
        sentences = order[k * batch : (k + 1) * batch]
        for s in sentences:
            for m in range(chains.rows_ptr[s], chains.rows_ptr[s + 1]):
                p = U(chains.rows[m])
                read_weights(p, width if p < dense_end else U(layout.codes[p] >> 16), penalties[k], z, r, w)
        read_weights(base, n_edges, penalties[k], z, r, w)
        value, n_rows = step_gradient(chains, layout, sentences, labels, weights, w, z, x, step, taken, g)
        loss += value
        for m in range(n_rows):
            p = U(step.rows[m])
            n = width if p < dense_end else U(layout.codes[p] >> 16)
            add_gradient(g, U(step.slots[m]), rates[k], layout.free, p, n, w, z, h, r)
            if taken.size:
                taken[p] = -1
        add_gradient(g, U(0), rates[k], layout.free, base, n_edges, w, z, h, r)
    read_weights(U(0), U(w.size), penalties[-1], z, r, w)
    return loss
