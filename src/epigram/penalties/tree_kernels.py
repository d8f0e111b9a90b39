"""Kernels of the tree norms. Nodes are numbered parents first (``parent[x] < x``, -1 at roots), so a loop
from the last node to the first meets children before parents: the post-order of the paper's algorithms.

``kappa[x] = scale * weight[x] * step`` is the radius of the ball at node x. A ``step`` of one element holds
for all. Under tree-linf steps may differ between nodes: one counts ``c = 1 / step`` times, its multiplicity.
"""

from __future__ import annotations

import numpy as np

from epigram.jit import kernel


@kernel
def parents_first(parent, out):
    """Nodes in pre-order, roots and children by falling number; returns how many were reached.

    Fewer than all means a cycle; -1 that a parent is out of range.
    """
    n = parent.size
    first = np.full(n, -1, np.int64)
    sibling = np.full(n, -1, np.int64)
    stack = np.empty(n, np.int64)
    top = 0
    for x in range(n):
        p = parent[x]
        if p < -1 or p >= n:
            return -1
        if p == -1:
            stack[top] = x
            top += 1
        else:
            sibling[x] = first[p]
            first[p] = x
    reached = 0
    while top > 0:
        top -= 1
        x = stack[top]
        out[reached] = x
        reached += 1
        child = first[x]
        while child >= 0:
            stack[top] = child
            top += 1
            child = sibling[child]
    return reached


@kernel
def prox_l2(parent, w, weight, scale, step, nonnegative, gamma, out):
    """Algorithm 2: scaling factors upward, their products downward.

    ``gamma[x]`` collects the squared norms of the children as they are left, then holds the factor eta.
    """
    n = parent.size
    uniform = step.size == 1
    for x in range(n):
        gamma[x] = 0.0
    for x in range(n - 1, -1, -1):
        v = w[x]
        if nonnegative and v < 0.0:
            v = 0.0
        kappa = scale * weight[x] * step[0 if uniform else x]
        size = np.sqrt(gamma[x] + v * v)
        left = size - kappa
        p = parent[x]
        if left > 0.0:
            if p >= 0:
                gamma[p] += left * left  # (eta size)^2, without waiting for the division
            gamma[x] = left / size
        else:
            gamma[x] = 0.0
    for x in range(n):
        eta = gamma[x]
        if parent[x] >= 0:
            eta *= gamma[parent[x]]
            gamma[x] = eta
        v = w[x]
        if nonnegative and v < 0.0:
            v = 0.0
        out[x] = v * eta


@kernel
def value_l2(parent, w, weight, gamma):
    """Sum of weight[x] times the l2 norm of the subtree of x."""
    for x in range(parent.size):
        gamma[x] = w[x] * w[x]
    total = 0.0
    for x in range(parent.size - 1, -1, -1):
        total += weight[x] * np.sqrt(gamma[x])
        if parent[x] >= 0:
            gamma[parent[x]] += gamma[x]
    return total


@kernel
def value_linf(parent, w, weight, largest):
    """Sum of weight[x] times the largest absolute value in the subtree of x."""
    for x in range(parent.size):
        largest[x] = abs(w[x])
    total = 0.0
    for x in range(parent.size - 1, -1, -1):
        total += weight[x] * largest[x]
        if parent[x] >= 0 and largest[x] > largest[parent[x]]:
            largest[parent[x]] = largest[x]
    return total


@kernel
def meld(a, b, key, child, sibling):
    """Pairing heaps with the largest key on top: the smaller root becomes the first child of the larger."""
    if a < 0:
        return b
    if b < 0:
        return a
    if key[a] < key[b]:
        a, b = b, a
    sibling[b] = child[a]
    child[a] = b
    return a


@kernel
def pop(root, key, child, sibling):
    """What remains without the root: its children melded in pairs, then from last to first."""
    x = child[root]
    if x < 0:
        return x
    pairs = np.int32(-1)
    while x >= 0:
        y = sibling[x]
        if y < 0:
            sibling[x] = pairs
            pairs = x
            break
        following = sibling[y]
        sibling[x] = -1
        sibling[y] = -1
        z = meld(x, y, key, child, sibling)
        sibling[z] = pairs
        pairs = z
        x = following
    root = pairs
    x = sibling[root]
    sibling[root] = -1
    while x >= 0:
        following = sibling[x]
        sibling[x] = -1
        root = meld(root, x, key, child, sibling)
        x = following
    return root


@kernel
def prox_linf(
    parent, w, weight, scale, step, nonnegative, heap, child, sibling, key, count, total, bound, out
):
    """Algorithm 4. ``heap[x]`` is the heap of the subtree of x, ``total[x]`` its l1 norm.

    Entries clipped at a node are equal from then on, so they go back as one entry with their joint count:
    each entry is popped at most once more than it is pushed, and the whole costs O(n log n). What a node
    clips to is remembered in ``bound`` and applied to its subtree on the way down.
    """
    n = parent.size
    uniform = step.size == 1
    rate = scale * step[0] if uniform else scale
    for x in range(n):
        heap[x] = -1
        total[x] = 0.0
    for x in range(n - 1, -1, -1):
        v = w[x]
        if v < 0.0:
            v = 0.0 if nonnegative else -v
        kappa = rate * weight[x]
        c = 1.0 if uniform else 1.0 / step[x]
        root = heap[x]
        p = parent[x]
        if root < 0:  # nothing below: the commonest case, worth a path of its own
            t = v * c - kappa
            if t <= 0.0:
                bound[x] = 0.0
                continue
            r = v - kappa / c
            bound[x] = r
            key[x] = r
            count[x] = c
            child[x] = -1
            if p >= 0:
                total[p] += t
                top = heap[p]
                if top < 0:
                    heap[p] = x
                elif key[top] >= r:
                    sibling[x] = child[top]
                    child[top] = x
                else:
                    sibling[top] = -1
                    child[x] = top
                    heap[p] = x
            continue
        t = total[x]
        if v > 0.0:
            key[x] = v
            count[x] = c
            child[x] = -1
            t += v * c
            root = meld(np.int32(x), root, key, child, sibling)
        bound[x] = np.inf
        if kappa > 0.0:
            if t <= kappa:
                bound[x] = 0.0
                continue
            pooled = root
            s = key[root] * count[root]
            size = count[root]
            r = key[root] - kappa / size
            below = child[root]
            for _ in range(32):
                if below < 0 or key[below] > r:
                    break
                below = sibling[below]
            if below < 0:
                key[root] = r  # only the top is clipped, and stays on top: nothing to rearrange
            else:
                root = pop(root, key, child, sibling)
                while root >= 0 and key[root] > r:
                    s += key[root] * count[root]
                    size += count[root]
                    r = (s - kappa) / size
                    root = pop(root, key, child, sibling)
                key[pooled] = r
                count[pooled] = size
                child[pooled] = -1
                root = meld(pooled, root, key, child, sibling)
            bound[x] = max(r, 0.0)
            t -= kappa
        if p >= 0:
            total[p] += t
            heap[p] = meld(root, heap[p], key, child, sibling)
    for x in range(n):
        p = parent[x]
        r = bound[x]
        if p >= 0:
            r = min(r, bound[p])
            bound[x] = r
        out[x] = max(min(w[x], r), 0.0 if nonnegative else -r)


@kernel
def prox_linf_pivot(parent, w, weight, scale, step, nonnegative, seed, c, size, live, out):
    """Algorithm 3: project every subtree anew, pivots at random. Needs pre-order: subtrees are contiguous."""
    state = np.uint64(2 * seed + 1)
    n = parent.size
    uniform = step.size == 1
    rate = scale * step[0] if uniform else scale
    for x in range(n):
        v = w[x]
        c[x] = 1.0 if uniform else 1.0 / step[x]
        out[x] = (0.0 if nonnegative else -v) if v < 0.0 else v
        size[x] = 1
    for x in range(n - 1, -1, -1):
        if parent[x] >= 0:
            size[parent[x]] += size[x]
        kappa = rate * weight[x]
        if kappa <= 0.0:
            continue
        last = x + size[x]
        norm = 0.0
        for k in range(x, last):
            norm += out[k] * c[k]
            live[k - x] = k
        if norm <= kappa:
            out[x:last] = 0.0
            continue
        n_live = last - x
        s = 0.0
        counted = 0.0
        while n_live > 0:
            state ^= state << np.uint64(13)
            state ^= state >> np.uint64(7)
            state ^= state << np.uint64(17)
            pivot = out[live[np.int64((state >> np.uint64(11)) % np.uint64(n_live))]]
            more_s = 0.0
            more_c = 0.0
            n_larger = 0
            for k in range(n_live):
                i = live[k]
                if out[i] >= pivot:
                    more_s += out[i] * c[i]
                    more_c += c[i]
                    live[k] = live[n_larger]
                    live[n_larger] = i
                    n_larger += 1
            if s + more_s - (counted + more_c) * pivot < kappa:
                s += more_s
                counted += more_c
                n_live -= n_larger
                for k in range(n_live):
                    live[k] = live[n_larger + k]
            else:
                n_live = 0
                for k in range(n_larger):
                    if out[live[k]] > pivot:
                        live[n_live] = live[k]
                        n_live += 1
        r = max((s - kappa) / counted, 0.0)
        for k in range(x, last):
            if out[k] > r:
                out[k] = r
    for x in range(n):
        if w[x] < 0.0:
            out[x] = -out[x]


@kernel
def collapse_chains(parent, value, node, parent_out, value_out, count_out):
    """Nodes that are only children and equal to their parent join it; returns how many nodes remain."""
    n_children = np.zeros(parent.size, np.int32)
    for x in range(parent.size):
        if parent[x] >= 0:
            n_children[parent[x]] += 1
    n = 0
    for x in range(parent.size):
        p = parent[x]
        if p >= 0 and n_children[p] == 1 and value[p] == value[x]:
            node[x] = node[p]
            count_out[node[x]] += 1
        else:
            node[x] = n
            parent_out[n] = node[p] if p >= 0 else -1
            value_out[n] = value[x]
            count_out[n] = 1
            n += 1
    return n
