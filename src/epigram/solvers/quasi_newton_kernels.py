"""Fused passes of OWL-QN: each reads its vectors once."""

from __future__ import annotations

import numpy as np

from epigram.jit import kernel


@kernel
def pseudo_gradient(w, g, l1, out):
    """Andrew & Gao (4): the subgradient of least norm, to ``out``; returns its l2 norm."""
    total = 0.0
    for i in range(w.size):
        if w[i] > 0.0:
            p = g[i] + l1
        elif w[i] < 0.0:
            p = g[i] - l1
        else:
            p = max(0.0, g[i] - l1) + min(0.0, g[i] + l1)
        out[i] = p
        total += p * p
    return np.sqrt(total)


@kernel
def step_in_orthant(w, pseudo, d, step, l1, out):
    """w + step * d to ``out``; with an l1 part, d keeps only what goes downhill and the sum stays in w's orthant
    (section 3.2). Returns sum |out| and the slope pseudo . (out - w)."""
    size, slope = 0.0, 0.0
    for i in range(w.size):
        v = w[i] + step * d[i]
        if l1 > 0.0:
            if d[i] * pseudo[i] >= 0.0:
                v = w[i]
            side = w[i] if w[i] != 0.0 else -pseudo[i]
            if v * side <= 0.0:
                v = 0.0
        out[i] = v
        size += abs(v)
        slope += pseudo[i] * (v - w[i])
    return size, slope


@kernel
def differences(w_next, w, g_next, g, s, y):
    """s = w' - w, y = g' - g; returns s . y and y . y."""
    sy, yy = 0.0, 0.0
    for i in range(w.size):
        s[i] = w_next[i] - w[i]
        y[i] = g_next[i] - g[i]
        sy += s[i] * y[i]
        yy += y[i] * y[i]
    return sy, yy
