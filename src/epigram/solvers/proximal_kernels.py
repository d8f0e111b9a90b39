"""Fused passes of the proximal solvers: each reads its vectors once."""

from __future__ import annotations

from epigram.jit import kernel


@kernel
def forward_step(y, gradient, d, scale, step, out):
    """step = 1 / (scale d); out = y - step * gradient."""
    for i in range(y.size):
        step[i] = 1.0 / (scale * d[i])
        out[i] = y[i] - step[i] * gradient[i]


@kernel
def measure(y, new, x, gradient, d):
    """With the move m = new - y: sum d m^2, sum gradient m, and sum d m (new - x)."""
    size, slope, along = 0.0, 0.0, 0.0
    for i in range(y.size):
        m = new[i] - y[i]
        size += d[i] * m * m
        slope += gradient[i] * m
        along += d[i] * m * (new[i] - x[i])
    return size, slope, along


@kernel
def extrapolate(new, x, pull, y):
    """y = new + pull (new - x)."""
    for i in range(y.size):
        y[i] = new[i] + pull * (new[i] - x[i])


@kernel
def average(w, z, tau, out):
    """out = (1 - tau) w + tau z."""
    for i in range(w.size):
        out[i] = (1.0 - tau) * w[i] + tau * z[i]


@kernel
def sage_average(point, w, rho, tau, mu, z):
    """z = (rho tau z + (mu - rho) point + rho w) / (rho tau + mu)."""
    for i in range(z.size):
        z[i] = (rho * tau * z[i] + (mu - rho) * point[i] + rho * w[i]) / (rho * tau + mu)
