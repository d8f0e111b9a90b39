"""Algorithm 1 of Nelakanti et al. 2013 line by line, in plain numpy; line 6 as Hu et al. 2009 (SAGE) have it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

Gradient = Callable[[np.ndarray], np.ndarray]
Prox = Callable[[np.ndarray, np.ndarray], np.ndarray]


def algorithm_1(
    w: np.ndarray, gradients: list[Gradient], prox: Prox, L: float, mu: float, d: np.ndarray
) -> Iterator[np.ndarray]:
    """W after each mini-batch; ``gradients`` are those of the batches in the order of their visit.

    ``d`` is a diagonal metric: rho stands for rho d. Ones are the paper's.
    """
    z = w  # 2
    tau = delta = 1.0
    rho = L + mu
    for gradient in gradients:  # 3
        y = (1.0 - tau) * w + tau * z  # 4
        w = param_update(y, gradient, prox, rho, d)  # 5
        z = (rho * tau * z + (mu - rho) * y + rho * w) / (rho * tau + mu)  # 6; printed: (1 - mu) z
        rho, tau = L + mu / delta, (np.sqrt(4.0 * delta + delta**2) - delta) / 2.0  # 7
        delta = (1.0 - tau) * delta
        yield w


def param_update(y: np.ndarray, gradient: Gradient, prox: Prox, rho: float, d: np.ndarray) -> np.ndarray:
    """The gradient step, the projection to w >= 0 and the proximal step."""
    w = y - gradient(y) / (rho * d)  # 1
    w = np.maximum(w, 0.0)  # 2
    return prox(w, 1.0 / (rho * d))  # 3
