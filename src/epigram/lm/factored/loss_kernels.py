"""Kernels of a choice among few candidates under the sum of several context trees.

Letters: a root has the candidates u = 0 .. n - 1, padded with zeros; S[d] = exp of the scores at depth d on the
way down the main tree, G[d] the expected counts gathered below it; E[k] = exp of the scores of the side context
in row k, its ancestors included, H[k] its expected counts; f = exp of a weight.
"""

from __future__ import annotations

import numpy as np

from epigram.jit import kernel
from epigram.lm.loglinear.tree_kernels import search_rising


@kernel
def side_down(first, last, side_context, side_row, parent, pair_ptr, choice, f, E):
    """Rows E of the side contexts ``side_context[first:last]``; parents stand before their children.

    The root of a side tree has no say: that of the main tree says the same.
    """
    for k in range(first, last):
        c = side_context[k]
        row = E[k - first]
        if parent[c] < 0:
            row[:] = 1.0
            continue
        row[:] = E[side_row[parent[c]] - first]
        for p in range(pair_ptr[c], pair_ptr[c + 1]):
            row[choice[p]] *= f[p]


@kernel
def side_up(first, last, side_context, side_row, parent, pair_ptr, choice, count, H, g):
    """Gradient of the side contexts' weights from their rows of expected counts."""
    for k in range(last - 1, first - 1, -1):
        c = side_context[k]
        row = H[k - first]
        if parent[c] < 0:
            g[pair_ptr[c] : pair_ptr[c + 1]] = 0.0
            continue
        for p in range(pair_ptr[c], pair_ptr[c + 1]):
            g[p] = row[choice[p]] - count[p]
        _add(1.0, row, H[side_row[parent[c]] - first])


@kernel
def _add(r, x, out):
    for u in range(x.size):
        out[u] += r * x[u]


@kernel
def _total(x):
    """Sum of any number of values, in four independent runs."""
    m = x.size // 4
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for u in range(m):
        a += x[u]
        b += x[m + u]
        c += x[2 * m + u]
        d += x[3 * m + u]
    for u in range(4 * m, x.size):
        a += x[u]
    return (a + b) + (c + d)


@kernel
def _choose(s, rows, base, E, H, upward, x, gathered):
    """One position: P to ``x`` and, with ``upward``, into the gathered counts; returns Z."""
    x[:] = s
    for k in rows:
        row = E[k - base]
        for u in range(x.size):
            x[u] *= row[u]
    z = _total(x)
    if upward:
        r = 1.0 / z
        _add(r, x, gathered)
        for k in rows:
            _add(r, x, H[k - base])
    return z


@kernel
def sweep_choices(
    root,
    first_child,
    last_child,
    child_ptr,
    pair_ptr,
    choice,
    count,
    sample_ptr,
    sample_rows,
    base,
    f,
    E,
    upward,
    H,
    S,
    G,
    x,
    g,
):
    """Down and, with ``upward``, up the main tree below some children of a root; returns the sum of log Z.

    S[0] holds the root's exp s; G[0] gathers its expected counts. Position i has the side contexts ``sample_rows[i]``.
    """
    context, following = np.empty(S.shape[0], np.int64), np.empty(S.shape[0], np.int64)
    total = 0.0
    d = 0
    context[0] = root
    following[0] = first_child
    while True:
        if following[d] < (last_child if d == 0 else child_ptr[context[d] + 1]):
            c = following[d]
            following[d] += 1
            first, last = pair_ptr[c], pair_ptr[c + 1]
            if last - first == 1 and count[first] == 1:
                # One position: the contexts below make a chain, and all their weights have one gradient.
                u = choice[first]
                product = f[first]
                leaf = c
                while child_ptr[leaf + 1] > child_ptr[leaf]:
                    leaf = child_ptr[leaf]
                    product *= f[pair_ptr[leaf]]
                before = S[d, u]
                S[d, u] = before * product
                z = _choose(S[d], sample_rows[sample_ptr[leaf]], base, E, H, upward, x, G[d])
                S[d, u] = before
                total += np.log(z)
                if upward:
                    gradient = x[u] / z - 1.0
                    g[first] = gradient
                    leaf = c
                    while child_ptr[leaf + 1] > child_ptr[leaf]:
                        leaf = child_ptr[leaf]
                        g[pair_ptr[leaf]] = gradient
                continue
            d += 1
            context[d] = c
            following[d] = child_ptr[c]
            S[d] = S[d - 1]
            G[d] = 0.0
            for p in range(first, last):
                S[d, choice[p]] *= f[p]
            for i in range(sample_ptr[c], sample_ptr[c + 1]):
                total += np.log(_choose(S[d], sample_rows[i], base, E, H, upward, x, G[d]))
        else:
            if d == 0:
                return total
            if upward:
                c = context[d]
                for p in range(pair_ptr[c], pair_ptr[c + 1]):
                    g[p] = G[d, choice[p]] - count[p]
                _add(1.0, G[d], G[d - 1])
            d -= 1


@kernel
def choose_at_root(first, last, sample_rows, base, E, upward, H, S, G, x):
    """The positions whose whole context is the root; returns their sum of log Z."""
    total = 0.0
    for i in range(first, last):
        total += np.log(_choose(S[0], sample_rows[i], base, E, H, upward, x, G[0]))
    return total


@kernel
def batch_choices(
    samples, contexts, n_choices, n_roots, root_of, target, scale, parent, pair_ptr, choice, w, x, out
):
    """``scale`` times the loss of some positions; adds its gradient to ``out``. ``contexts[i]``: one a tree."""
    total = 0.0
    for i in samples:
        n = n_choices[root_of[i]]
        x[:n] = 0.0
        for c in contexts[i]:
            while c >= 0 and (c < n_roots or parent[c] >= 0):
                for p in range(pair_ptr[c], pair_ptr[c + 1]):
                    x[choice[p]] += w[p]
                c = parent[c]
        top = x[0]
        for u in range(1, n):
            top = max(top, x[u])
        z = 0.0
        score = x[target[i]]
        for u in range(n):
            x[u] = np.exp(x[u] - top)
            z += x[u]
        total += top + np.log(z) - score
        for c in contexts[i]:
            while c >= 0 and (c < n_roots or parent[c] >= 0):
                for p in range(pair_ptr[c], pair_ptr[c + 1]):
                    u = choice[p]
                    out[p] += scale * (x[u] / z - (1.0 if u == target[i] else 0.0))
                c = parent[c]
    return scale * total


@kernel
def clear_paths(samples, contexts, parent, pair_ptr, out):
    """Zero the weights on the paths of some positions."""
    for i in samples:
        for c in contexts[i]:
            while c >= 0:
                out[pair_ptr[c] : pair_ptr[c + 1]] = 0.0
                c = parent[c]


@kernel
def place_rows(n_choices, n_roots, parent, pair_ptr, root, row_at):
    """Which contexts get a row of their own, and where it starts; returns the length of all rows.

    Those with a pair for one candidate in eight or more, as far as their parents have one; -1 for the others.
    """
    total = 0
    for c in range(parent.size):
        root[c] = c % n_roots if parent[c] < 0 else root[parent[c]]
        n = n_choices[root[c]]
        row_at[c] = -1
        dense = 8 * (pair_ptr[c + 1] - pair_ptr[c]) >= n
        if parent[c] < 0 or (dense and row_at[parent[c]] >= 0):
            row_at[c] = total
            total += n
    return total


@kernel
def fill_rows(n_choices, parent, pair_ptr, choice, f, root, row_at, rows):
    """exp of the summed scores of the contexts that have a row."""
    for c in range(parent.size):
        if row_at[c] < 0:
            continue
        own = rows[row_at[c] : row_at[c] + n_choices[root[c]]]
        if parent[c] < 0:
            own[:] = 1.0
        else:
            above = row_at[parent[c]]
            own[:] = rows[above : above + own.size]
        for p in range(pair_ptr[c], pair_ptr[c + 1]):
            own[choice[p]] *= f[p]


@kernel
def choice_row(
    root, n_roots, history, ends, lengths, child_ptr, symbol, pair_ptr, choice, f, row_at, rows, x
):
    """x := exp of the scores of all candidates of a root; tree t has the context ``history[ends[t] - 1], ...``.

    From the deepest row on the way, then pair by pair.
    """
    x[:] = 1.0
    for t in range(ends.size):
        c = t * n_roots + root
        d = 0
        row = -1
        while c >= 0:
            if row_at[c] >= 0:
                row = row_at[c]
            else:
                for p in range(pair_ptr[c], pair_ptr[c + 1]):
                    x[choice[p]] *= f[p]
            if d == lengths[t]:
                break
            c = search_rising(symbol, child_ptr[c], child_ptr[c + 1], history[ends[t] - 1 - d])
            d += 1
        own = rows[row : row + x.size]
        for u in range(x.size):
            x[u] *= own[u]


@kernel
def score_choices(
    root_of,
    target,
    n_choices,
    n_roots,
    history,
    ends,
    lengths,
    child_ptr,
    symbol,
    pair_ptr,
    choice,
    f,
    row_at,
    rows,
    x,
    out,
):
    """log P(target) of every position, by walking down all trees; row i of ``ends`` and ``lengths`` has one a tree."""
    for i in range(target.size):
        r = root_of[i]
        n = n_choices[r]
        if n == 1:
            out[i] = 0.0
            continue
        own = x[:n]
        choice_row(
            r,
            n_roots,
            history,
            ends[i],
            lengths[i],
            child_ptr,
            symbol,
            pair_ptr,
            choice,
            f,
            row_at,
            rows,
            own,
        )
        out[i] = np.log(own[target[i]] / _total(own))


@kernel
def score_all(
    n_choices,
    first,
    n_roots,
    history,
    ends,
    lengths,
    child_ptr,
    symbol,
    pair_ptr,
    choice,
    f,
    row_at,
    rows,
    out,
):
    """P(candidate | root) of every candidate of every root; those of root r start at ``first[r]``."""
    for r in range(n_roots):
        own = out[first[r] : first[r] + n_choices[r]]
        choice_row(
            r, n_roots, history, ends, lengths, child_ptr, symbol, pair_ptr, choice, f, row_at, rows, own
        )
        z = _total(own)
        for u in range(own.size):
            own[u] /= z


@kernel
def keep_paths(parent, pair_ptr, w, needed):
    """Mark the contexts that have a weight other than 0, and those above them."""
    for c in range(parent.size - 1, -1, -1):
        if not needed[c]:
            for p in range(pair_ptr[c], pair_ptr[c + 1]):
                if w[p] != 0.0:
                    needed[c] = True
                    break
        if needed[c] and parent[c] >= 0:
            needed[parent[c]] = True
