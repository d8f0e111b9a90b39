"""Kernels of the loss over a context tree: the two sweeps of the exact gradient, whole or of a mini-batch.

Letters: a *context* c is a node, a *pair* p = (c, u) a predicted symbol u seen after c, q its parent pair
(c', u) where c' is c without its oldest symbol; e = exp of the summed weights, z the normaliser, r the sum of 1/z over
the positions below c.
"""

from __future__ import annotations

import numpy as np

from epigram.jit import kernel


@kernel
def sweep_down(bounds, pair_ptr, pair_parent, parent, terminal, e, z):
    """e[p] := exp s[p] (on entry exp of the pair's own weight), Z[c] = Z[c'] + sum_u (e[c,u] - e[c',u]).

    ``bounds`` holds for each level the first and the last context of a shard; returns sum term[c] log Z[c].
    """
    total = 0.0
    for level in range(bounds.shape[0]):
        for c in range(bounds[level, 0], bounds[level, 1]):
            zc = z[parent[c]]
            for p in range(pair_ptr[c], pair_ptr[c + 1]):
                before = e[pair_parent[p]]
                now = before * e[p]
                e[p] = now
                zc += now - before
            z[c] = zc
            if terminal[c]:
                total += terminal[c] * np.log(zc)
    return total


@kernel
def sweep_up(bounds, pair_ptr, pair_parent, parent, terminal, multiplicity, count, e, z, r, g, top_r, top_g):
    """The gradient, bottom up. With a[c,u] the expected count of (c,u):

    R[c] = term[c]/Z[c] + sum_d R[d];  a[c,u] = e[c,u] R[c] + sum_d (a[d,u] - e[c,u] R[d]);  g = a - count.
    ``r`` and ``g`` hold the sums over children on entry. Level 1 adds to ``top_r`` and ``top_g``, the shard's
    own copy of the roots' sums.
    """
    for level in range(bounds.shape[0] - 1, -1, -1):
        up_r = r if level > 0 else top_r
        up_g = g if level > 0 else top_g
        for c in range(bounds[level, 1] - 1, bounds[level, 0] - 1, -1):
            rc = r[c]
            if terminal[c]:
                rc += terminal[c] / z[c]
            up_r[parent[c]] += rc
            m = multiplicity[c]
            for p in range(pair_ptr[c], pair_ptr[c + 1]):
                q = pair_parent[p]
                a = g[p] + e[p] * rc
                g[p] = m * (a - count[p])
                up_g[q] += a - e[q] * rc


@kernel
def dot_counts(count, w):
    """sum count * w."""
    total = 0.0
    for p in range(w.size):
        total += count[p] * w[p]
    return total


@kernel
def log_probabilities(context, matched, pair, depth, parent, pair_ptr, pair_parent, w, e, z, out):
    """Natural log P of located positions; inside a collapsed node only the matched part of it counts."""
    for i in range(context.size):
        c = context[i]
        p = pair[i]
        score = e[p] if p >= 0 else 1.0
        total = z[c]
        if matched[i] < depth[c]:
            part = matched[i] - depth[parent[c]]
            total = z[parent[c]]
            for q in range(pair_ptr[c], pair_ptr[c + 1]):
                before = e[pair_parent[q]]
                now = before * np.exp(part * w[q])
                total += now - before
                if q == p:
                    score = now
        out[i] = np.log(score / total)


@kernel
def batch_contexts(samples, context, parent, seen, active):
    """The longest contexts of some positions and their ancestors, unsorted, each once; returns how many.

    ``seen`` counts the positions that end at each context, plus one mark; all zero on entry.
    """
    n = 0
    for i in samples:
        c = context[i]
        seen[c] += 2
        while c >= 0:
            if seen[c] & 1:
                break
            seen[c] |= 1
            active[n] = c
            n += 1
            c = parent[c]
    return n


@kernel
def batch_sweep(
    samples,
    pair,
    active,
    n_roots,
    n_unseen,
    parent,
    pair_ptr,
    pair_parent,
    multiplicity,
    scale,
    w,
    seen,
    e,
    z,
    r,
    g,
):
    """``scale`` times the loss of some positions; gradient to the ``active`` contexts' part of ``g``.

    ``active`` rises, so ancestors come first. Other entries of ``g`` are not touched; ``seen`` is zeroed
    again.
    """
    total = 0.0
    for c in active:
        m = multiplicity[c]
        zc = n_unseen[c] if c < n_roots else z[parent[c]]
        for p in range(pair_ptr[c], pair_ptr[c + 1]):
            before = 0.0
            now = np.exp(m * w[p])
            if c >= n_roots:
                before = e[pair_parent[p]]
                now *= before
            e[p] = now
            zc += now - before
            g[p] = 0.0
        z[c] = zc
        r[c] = scale * (seen[c] >> 1) / zc
        total += scale * (seen[c] >> 1) * np.log(zc)
        seen[c] = 0
    for k in range(active.size - 1, -1, -1):
        c = active[k]
        if c >= n_roots:
            r[parent[c]] += r[c]
        m = multiplicity[c]
        for p in range(pair_ptr[c], pair_ptr[c + 1]):
            a = g[p] + e[p] * r[c]
            g[p] = m * a
            if c >= n_roots:
                q = pair_parent[p]
                g[q] += a - e[q] * r[c]
    for i in samples:
        total -= scale * np.log(e[pair[i]])
    return total


@kernel
def subtract_batch_counts(samples, pair, pair_parent, context, parent, multiplicity, scale, g):
    """g -= scale * count of the positions, along each one's path of pairs."""
    for i in samples:
        p, c = pair[i], context[i]
        while p >= 0:
            g[p] -= scale * multiplicity[c]
            p, c = pair_parent[p], parent[c]


@kernel
def clear_pairs(contexts, pair_ptr, out):
    """out = 0 at the pairs of some contexts."""
    for c in contexts:
        for p in range(pair_ptr[c], pair_ptr[c + 1]):
            out[p] = 0.0
