"""One pass each for the price and the prox of l1 |w| + l2 w^2, priced per coordinate."""

from __future__ import annotations

from epigram.jit import kernel


@kernel
def value(w, l1, l2, weights, ridge_weights):
    """sum (l1 weights |w| + l2 ridge_weights w^2)."""
    total = 0.0
    for i in range(w.size):
        total += l1 * weights[i] * abs(w[i]) + l2 * ridge_weights[i] * w[i] * w[i]
    return total


@kernel
def prox(w, step, l1, l2, weights, ridge_weights, nonnegative, out):
    """Soft threshold by step l1 weights, divide by 1 + 2 step l2 ridge_weights."""
    for i in range(w.size):
        v = max(abs(w[i]) - l1 * step[i] * weights[i], 0.0) / (1.0 + 2.0 * l2 * step[i] * ridge_weights[i])
        if w[i] < 0.0:
            v = 0.0 if nonnegative else -v
        out[i] = v
