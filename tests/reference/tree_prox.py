"""Tree norms and their prox, slow and obvious: project each group in turn, leaves first, by sorting.

Also the same forests in the form SPAMS takes: one tree, groups in pre-order, a free root above all.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse


def subtrees(parents):
    """The nodes of every subtree, and the nodes ordered so that children come before parents."""
    n = len(parents)
    members = [[] for _ in range(n)]
    depth = []
    for x in range(n):
        path = [x]
        while parents[path[-1]] >= 0:
            path.append(parents[path[-1]])
        depth.append(len(path) - 1)
        for y in path:
            members[y].append(x)
    return members, sorted(range(n), key=lambda x: -depth[x]), depth


def norm(parents, w, weights, kind):
    members, _, _ = subtrees(parents)
    size = {"l2": np.linalg.norm, "linf": lambda v: np.abs(v).max()}[kind]
    return sum(h * size(w[group]) for h, group in zip(weights, members, strict=True))


def clip_threshold(v, counts, kappa):
    """r such that sum counts (v - r)+ = kappa, by sorting; 0 where the sum of v is at most kappa."""
    if counts @ v <= kappa:
        return 0.0
    by_value = np.argsort(-v)
    s = c = 0.0
    for k, i in enumerate(by_value):
        s += counts[i] * v[i]
        c += counts[i]
        r = (s - kappa) / c
        if k + 1 == v.size or v[by_value[k + 1]] <= r:
            return r
    raise AssertionError


def prox(parents, w, weights, step, kind, nonnegative=False):
    """``step`` per node: constant on each tree for l2, anything positive for linf."""
    members, bottom_up, _ = subtrees(parents)
    v = np.maximum(w, 0.0) if nonnegative else w.copy()
    for x in bottom_up:
        group = members[x]
        if kind == "l2":
            kappa = weights[x] * step[x]
            size = np.linalg.norm(v[group])
            v[group] *= max(0.0, 1 - kappa / size) if size > 0 else 1.0
        elif weights[x] > 0:
            r = clip_threshold(np.abs(v[group]), 1 / step[group], weights[x])
            v[group] = np.clip(v[group], -r, r)
    return v


def spams_tree(parents, weights):
    """A forest in pre-order (``parents[x] < x``, subtrees contiguous) as SPAMS's tree; variable 0 is free."""
    n = len(parents)
    above = np.asarray(parents) + 1
    groups = scipy.sparse.csc_matrix((np.ones(n, dtype=bool), (np.arange(1, n + 1), above)), (n + 1, n + 1))
    return {
        "eta_g": np.concatenate(([0.0], weights)),
        "groups": groups,
        "own_variables": np.arange(n + 1, dtype=np.int32),
        "N_own_variables": np.ones(n + 1, dtype=np.int32),
    }


def spams_prox(parents, w, weights, kappa, kind, nonnegative=False):
    spams = pytest.importorskip("spams")

    u = np.asfortranarray(np.concatenate(([1.0], w))[:, None])  # SPAMS: NaN where all is 0
    out = spams.proximalTree(
        u,
        spams_tree(parents, weights),
        False,
        lambda1=kappa,
        regul=f"tree-{kind}",
        pos=nonnegative,
        numThreads=1,
    )
    return out[1:, 0]
