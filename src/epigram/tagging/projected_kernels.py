"""Kernels of SGD inside the l1 ball on chains. Duchi et al. 2008, section 5: projections for sparse gradients.

Every projection is a soft threshold theta of all weights (their equation 3), and soft thresholds add up. So a weight is
kept as key = |w| + Theta, Theta being the sum of all thetas so far: it is |w| = key - Theta whenever it is read, and
zero, for good, once Theta passes its key. A projection then needs the sum and the number of the keys above Theta, and
the smallest of them. Differs: a heap of the keys that are nearly due replaces their red-black tree of all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from epigram.jit import kernel
from epigram.tagging.kernels import U
from epigram.tagging.sgd_kernels import step_gradient


class Ball(NamedTuple):
    """The weights as keys (0 for a weight that is zero), and a heap of those up to ``numbers[LIMIT]``.

    ``heap_keys`` and ``heap_owners`` may hold keys that their weight no longer has; those are left out when met.
    There is room for twice the weights, so a heap just made has room for as many steps again.
    """

    keys: Any
    heap_keys: Any
    heap_owners: Any
    numbers: Any  # what THETA to STEPS stand for


THETA, SUM, COUNT = 0, 1, 2  # Theta; the sum and the number of all keys that are not zero
LIMIT, SIZE = 3, 4  # of the heap
MARGIN, STEPS = 5, 6  # how far beyond Theta the heap was to reach, and the steps since it was made
# A heap that lasted fewer than OFTEN steps reaches further next time, one of more than SELDOM steps less far.
OFTEN, SELDOM = 64, 512


def fresh_ball(n_weights: int) -> Ball:
    """Memory for so many weights; :func:`enter` fills it."""
    numbers = np.zeros(7)
    numbers[MARGIN] = 1e-3
    return Ball(
        np.zeros(n_weights), np.empty(2 * n_weights), np.empty(2 * n_weights, dtype=np.int32), numbers
    )


@kernel
def push(ball, key, owner):
    """Add an entry to the heap."""
    at = np.int64(ball.numbers[SIZE])
    while at > 0:
        parent = (at - 1) // 2
        if ball.heap_keys[parent] <= key:
            break
        ball.heap_keys[at] = ball.heap_keys[parent]
        ball.heap_owners[at] = ball.heap_owners[parent]
        at = parent
    ball.heap_keys[at] = key
    ball.heap_owners[at] = owner
    ball.numbers[SIZE] += 1


@kernel
def pop(ball):
    """Remove the entry with the smallest key."""
    ball.numbers[SIZE] -= 1
    n = np.int64(ball.numbers[SIZE])
    key, owner = ball.heap_keys[n], ball.heap_owners[n]
    at = 0
    while 2 * at + 1 < n:
        child = 2 * at + 1
        if child + 1 < n and ball.heap_keys[child + 1] < ball.heap_keys[child]:
            child += 1
        if key <= ball.heap_keys[child]:
            break
        ball.heap_keys[at] = ball.heap_keys[child]
        ball.heap_owners[at] = ball.heap_owners[child]
        at = child
    ball.heap_keys[at] = key
    ball.heap_owners[at] = owner


@kernel
def rebuild(ball):
    """Make the heap anew, of the keys a little beyond Theta, and add up all keys."""
    numbers = ball.numbers
    if numbers[STEPS] < OFTEN:
        numbers[MARGIN] *= 2.0
    elif numbers[STEPS] > SELDOM:
        numbers[MARGIN] *= 0.5
    numbers[LIMIT] = numbers[THETA] + numbers[MARGIN]
    numbers[SUM] = numbers[COUNT] = numbers[SIZE] = numbers[STEPS] = 0.0
    for i in range(ball.keys.size):
        key = ball.keys[i]
        if key > 0.0:
            numbers[SUM] += key
            numbers[COUNT] += 1.0
            if key <= numbers[LIMIT]:
                push(ball, key, i)


@kernel
def project(ball, radius, w):
    """Raise Theta to where the weights sum to the radius; weights whose key it passes are zero from now on."""
    numbers = ball.numbers
    while numbers[SUM] - numbers[COUNT] * numbers[THETA] > radius:
        theta = (numbers[SUM] - radius) / numbers[COUNT]
        while numbers[SIZE] > 0.0 and ball.heap_keys[0] <= min(theta, numbers[LIMIT]):
            key, owner = ball.heap_keys[0], ball.heap_owners[0]
            pop(ball)
            if ball.keys[owner] == key:
                ball.keys[owner] = 0.0
                w[owner] = 0.0
                numbers[SUM] -= key
                numbers[COUNT] -= 1.0
                theta = (numbers[SUM] - radius) / numbers[COUNT]
        if theta <= numbers[LIMIT]:
            numbers[THETA] = max(numbers[THETA], theta)
            return
        numbers[THETA] = numbers[LIMIT]  # all keys up to here are out; look further
        rebuild(ball)


@kernel
def read_weights(p, n, ball, w):
    """The n weights from p on as they are now; the sign of a weight is kept in w."""
    for i in range(p, p + n):
        if ball.keys[i] > 0.0:
            size = max(0.0, ball.keys[i] - ball.numbers[THETA])
            w[i] = size if w[i] > 0.0 else -size


@kernel
def descend(g, slot, eta, free, p, n, ball, w):
    """w -= eta g on the n weights from p on, whose gradient is at g[slot:]; their keys follow."""
    theta, limit = ball.numbers[THETA], ball.numbers[LIMIT]
    total, count = 0.0, 0.0
    for i in range(n):
        k = p + i
        if free[k] == 0:
            continue
        if ball.keys[k] > 0.0:
            total -= ball.keys[k]
            count -= 1.0
        w[k] -= eta * g[slot + i]
        ball.keys[k] = abs(w[k]) + theta if w[k] != 0.0 else 0.0
        if ball.keys[k] > 0.0:
            total += ball.keys[k]
            count += 1.0
            if ball.keys[k] <= limit:
                if np.int64(ball.numbers[SIZE]) == ball.heap_keys.size:
                    rebuild(ball)  # which adds up all keys, those of this row too
                    limit, total, count = ball.numbers[LIMIT], 0.0, 0.0
                else:
                    push(ball, ball.keys[k], k)
    ball.numbers[SUM] += total
    ball.numbers[COUNT] += count


@kernel
def enter(ball, radius, w):
    """Begin at w, which is projected first if it lies outside."""
    ball.numbers[THETA] = 0.0
    for i in range(w.size):
        ball.keys[i] = abs(w[i])
    ball.numbers[STEPS] = OFTEN
    rebuild(ball)
    project(ball, radius, w)


@kernel
def pass_projected(
    chains, layout, order, labels, weights, rates, batch, radius, every, w, ball, x, step, taken, g
):
    """One pass, projecting after each ``every`` steps and at the end; returns the losses met."""
    loss = 0.0
    width, dense_end, base = U(layout.width), U(layout.dense_end), U(layout.state_end)
    n_edges = U(w.size) - base
    enter(ball, radius, w)
    for k in range(rates.size):
        sentences = order[k * batch : (k + 1) * batch]
        for s in sentences:
            for m in range(chains.rows_ptr[s], chains.rows_ptr[s + 1]):
                p = U(chains.rows[m])
                read_weights(p, width if p < dense_end else U(layout.codes[p] >> 16), ball, w)
        read_weights(base, n_edges, ball, w)
        value, n_rows = step_gradient(chains, layout, sentences, labels, weights, w, w, x, step, taken, g)
        loss += value
        for m in range(n_rows):
            p = U(step.rows[m])
            n = width if p < dense_end else U(layout.codes[p] >> 16)
            descend(g, U(step.slots[m]), rates[k], layout.free, p, n, ball, w)
            if taken.size:
                taken[p] = -1
        descend(g, U(0), rates[k], layout.free, base, n_edges, ball, w)
        ball.numbers[STEPS] += 1.0
        if (k + 1) % every == 0 or k + 1 == rates.size:
            project(ball, radius, w)
    read_weights(U(0), U(w.size), ball, w)
    return loss
