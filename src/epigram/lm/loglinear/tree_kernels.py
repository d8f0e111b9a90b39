"""Kernels of the context tree: growing it level by level, collapsing it, finding contexts in it.

Letters: a *context* c is a node, a *pair* p = (c, u) a predicted symbol u seen after c, q its parent pair
(c', u) where c' is c without its oldest symbol. A *slot* stands for one training position on its way down.
"""

from __future__ import annotations

import numpy as np

from epigram.jit import kernel


@kernel
def _stable_sort(keys, values, lo, hi, spare_keys, spare_values, bins):
    """Sort keys[lo:hi] with their values, keeping ties in order: by insertion, counting or merging."""
    n = hi - lo
    if n <= 24:
        for i in range(lo + 1, hi):
            key, value, j = keys[i], values[i], i
            while j > lo and keys[j - 1] > key:
                keys[j], values[j] = keys[j - 1], values[j - 1]
                j -= 1
            keys[j], values[j] = key, value
        return
    if 2 * n >= bins.size:
        bins[:] = 0
        for i in range(lo, hi):
            bins[keys[i]] += 1
            spare_keys[i], spare_values[i] = keys[i], values[i]
        total = lo
        for k in range(bins.size):
            bins[k], total = total, total + bins[k]
        for i in range(lo, hi):
            k = spare_keys[i]
            keys[bins[k]], values[bins[k]] = k, spare_values[i]
            bins[k] += 1
        return
    width = 1
    while width < n:
        for start in range(lo, hi, 2 * width):
            middle, end = min(start + width, hi), min(start + 2 * width, hi)
            i, j = start, middle
            for k in range(start, end):
                if i < middle and (j >= end or keys[i] <= keys[j]):
                    spare_keys[k], spare_values[k] = keys[i], values[i]
                    i += 1
                else:
                    spare_keys[k], spare_values[k] = keys[j], values[j]
                    j += 1
        for k in range(lo, hi):
            keys[k], values[k] = spare_keys[k], spare_values[k]
        width *= 2


@kernel
def plant(root, target, n_roots, n_targets, slots, pair_of_slot, slot_ptr, pair_ptr, word, count):
    """Level 0: positions sorted by (root, target) into ``slots``; one pair for each distinct couple.

    Returns the number of pairs.
    """
    n = target.size
    first = np.zeros(n_targets + 1, np.int64)
    for i in range(n):
        first[target[i] + 1] += 1
    for u in range(n_targets):
        first[u + 1] += first[u]
    by_target = np.empty(n, np.int32)
    for i in range(n):
        by_target[first[target[i]]] = i
        first[target[i]] += 1
    slot_ptr[:] = 0
    for i in range(n):
        slot_ptr[root[i] + 1] += 1
    for r in range(n_roots):
        slot_ptr[r + 1] += slot_ptr[r]
    free = slot_ptr[:n_roots].copy()
    for i in by_target:
        slots[free[root[i]]] = i
        free[root[i]] += 1
    n_pairs = 0
    for r in range(n_roots):
        pair_ptr[r] = n_pairs
        for j in range(slot_ptr[r], slot_ptr[r + 1]):
            u = target[slots[j]]
            if j == slot_ptr[r] or u != target[slots[j - 1]]:
                word[n_pairs] = u
                count[n_pairs] = 0
                n_pairs += 1
            count[n_pairs - 1] += 1
            pair_of_slot[j] = n_pairs - 1
    pair_ptr[n_roots] = n_pairs
    return n_pairs


@kernel
def grow(
    depth,
    slot_ptr,
    slots,
    pair_of_slot,
    first_context,
    first_pair,
    history,
    end,
    length,
    target,
    collapse,
    bins,
    keys,
    values,
    spare_keys,
    spare_values,
    terminal,
    new_parent,
    new_symbol,
    new_depth,
    new_slot_ptr,
    new_pair_ptr,
    new_word,
    new_count,
    new_pair_parent,
    new_slots,
    new_pair_of_slot,
):
    """Split every context of a level by its next older symbol; returns (contexts, pairs) of the next level.

    ``length[i]`` symbols ``history[end[i] - 1], history[end[i] - 2], ...`` are the context of position i.
    Slots of a context are sorted by target and stay so. With ``collapse`` a new context goes on to the
    longest context that all its positions share.
    """
    n_contexts, n_pairs, n_slots = 0, 0, 0
    for c in range(depth.size):
        d = depth[c]
        n_keys = 0
        for j in range(slot_ptr[c], slot_ptr[c + 1]):
            i = slots[j]
            if length[i] > d:
                keys[n_keys] = history[end[i] - 1 - d]
                values[n_keys] = j
                n_keys += 1
        terminal[c] = slot_ptr[c + 1] - slot_ptr[c] - n_keys
        _stable_sort(keys, values, 0, n_keys, spare_keys, spare_values, bins)
        lo = 0
        while lo < n_keys:
            hi = lo + 1
            while hi < n_keys and keys[hi] == keys[lo]:
                hi += 1
            new_parent[n_contexts] = first_context + c
            new_symbol[n_contexts] = keys[lo]
            new_slot_ptr[n_contexts] = n_slots
            new_pair_ptr[n_contexts] = n_pairs
            deeper = d + 1
            if collapse:
                shared = True
                while shared:
                    i = slots[values[lo]]
                    if length[i] <= deeper:
                        break
                    symbol = history[end[i] - 1 - deeper]
                    for k in range(lo + 1, hi):
                        i = slots[values[k]]
                        if length[i] <= deeper or history[end[i] - 1 - deeper] != symbol:
                            shared = False
                            break
                    if shared:
                        deeper += 1
            new_depth[n_contexts] = deeper
            previous = -1
            for k in range(lo, hi):
                j = values[k]
                q = pair_of_slot[j]
                if q != previous:
                    new_word[n_pairs] = target[slots[j]]
                    new_count[n_pairs] = 0
                    new_pair_parent[n_pairs] = first_pair + q
                    n_pairs += 1
                    previous = q
                new_count[n_pairs - 1] += 1
                new_slots[n_slots] = slots[j]
                new_pair_of_slot[n_slots] = n_pairs - 1
                n_slots += 1
            n_contexts += 1
            lo = hi
    new_slot_ptr[n_contexts] = n_slots
    new_pair_ptr[n_contexts] = n_pairs
    return n_contexts, n_pairs


@kernel
def collapsed_pairs(pair_parent, count):
    """|T|: pairs that are not alone below a parent of the same count (a path without branches is one)."""
    n = 0
    for p in range(count.size):
        q = pair_parent[p]
        if q < 0 or count[p] != count[q]:
            n += 1
    return n


@kernel
def search_rising(values, lo, hi, wanted):
    """Index of ``wanted`` in the rising values[lo:hi], or -1."""
    last = hi
    while lo < hi:
        middle = (lo + hi) >> 1
        if values[middle] < wanted:
            lo = middle + 1
        else:
            hi = middle
    if lo < last and values[lo] == wanted:
        return lo
    return -1


@kernel
def step_down(node, d, wanted, history, example, depth, child_ptr, symbol):
    """The node of a context of d symbols with ``wanted`` before it: further along a chain, or a child; else -1."""
    if node < 0:
        return -1
    if d < depth[node]:
        return node if history[example[node] - 1 - d] == wanted else -1
    return search_rising(symbol, child_ptr[node], child_ptr[node + 1], wanted)


@kernel
def locate(
    child_ptr,
    symbol,
    depth,
    example,
    tree_history,
    pair_ptr,
    word,
    history,
    end,
    length,
    target,
    root,
    context,
    matched,
    pair,
):
    """Longest known context of each position, and where its target was last seen on the way.

    ``context`` gets the deepest node that matches, ``matched`` how many of its symbols do (less than its
    depth inside a collapsed node), ``pair`` the deepest pair of the target on the path, -1 for none.
    """
    for i in range(target.size):
        c = root[i]
        pair[i] = search_rising(word, pair_ptr[c], pair_ptr[c + 1], target[i])
        d = 0
        while d == depth[c] and d < length[i]:
            below = search_rising(symbol, child_ptr[c], child_ptr[c + 1], history[end[i] - 1 - d])
            if below < 0:
                break
            c = below
            d += 1
            while (
                d < depth[c] and d < length[i] and history[end[i] - 1 - d] == tree_history[example[c] - 1 - d]
            ):
                d += 1
            if pair[i] >= 0:
                p = search_rising(word, pair_ptr[c], pair_ptr[c + 1], target[i])
                if p >= 0:
                    pair[i] = p
        context[i] = c
        matched[i] = d


@kernel
def count_spread(nodes, depth, parent, pair_ptr, w):
    """Contexts and non-zero pairs of the kept nodes but the root, chains counted in full."""
    n_nodes, n_pairs = 0, 0
    for c in nodes[1:]:
        m = depth[c] - depth[parent[c]]
        n_nodes += m
        for p in range(pair_ptr[c], pair_ptr[c + 1]):
            if w[p] != 0.0:
                n_pairs += m
    return n_nodes, n_pairs


@kernel
def spread(
    nodes,
    history,
    example,
    depth,
    parent,
    pair_ptr,
    pair_parent,
    word,
    w,
    e,
    z,
    number,
    new_parent,
    new_label,
    new_pair_ptr,
    new_word,
    new_logp,
    new_bow,
):
    """One node for each context of the kept nodes; ``number`` comes to name the deepest of each."""
    n_nodes, n_pairs = 1, new_pair_ptr[1]
    number[0] = 0
    for c in nodes[1:]:
        above = parent[c]
        last_z = z[above]
        for d in range(depth[above] + 1, depth[c] + 1):
            part = d - depth[above]
            total = z[above]
            for p in range(pair_ptr[c], pair_ptr[c + 1]):
                before = e[pair_parent[p]]
                total += before * np.exp(part * w[p]) - before
            for p in range(pair_ptr[c], pair_ptr[c + 1]):
                if w[p] != 0.0:
                    new_word[n_pairs] = word[p]
                    new_logp[n_pairs] = np.log(e[pair_parent[p]]) + part * w[p] - np.log(total)
                    n_pairs += 1
            new_parent[n_nodes] = number[above] if part == 1 else n_nodes - 1
            new_label[n_nodes] = history[example[c] - d]
            new_bow[n_nodes] = np.log(last_z / total)
            new_pair_ptr[n_nodes + 1] = n_pairs
            last_z = total
            n_nodes += 1
        number[c] = n_nodes - 1


@kernel
def match_trees(
    history,
    example,
    depth,
    parent,
    symbol,
    pair_ptr,
    word,
    n_roots,
    old_history,
    old_example,
    old_depth,
    old_child_ptr,
    old_symbol,
    old_pair_ptr,
    old_word,
    old_w,
    node,
    out,
):
    """Copy the weights of an old tree to the pairs of a new one: those of the first context of each node.

    ``node`` gets the old node that holds the deepest context of each new one, -1 where there is none. An old
    node may stand for more contexts than the new one (its chain was split), or for fewer.
    """
    for c in range(parent.size):
        first = c
        old = c
        if c >= n_roots:
            d = depth[parent[c]]
            old = step_down(
                node[parent[c]], d, symbol[c], old_history, old_example, old_depth, old_child_ptr, old_symbol
            )
            first = old
            for k in range(d + 1, depth[c]):
                at = history[example[c] - 1 - k]
                old = step_down(old, k, at, old_history, old_example, old_depth, old_child_ptr, old_symbol)
        node[c] = old
        if first >= 0:
            for p in range(pair_ptr[c], pair_ptr[c + 1]):
                q = search_rising(old_word, old_pair_ptr[first], old_pair_ptr[first + 1], word[p])
                if q >= 0:
                    out[p] = old_w[q]


@kernel
def link_pairs(parent, pair_ptr, word, pair_parent):
    """The nearest ancestor pair of the same word, for trees from which pairs of weight 0 were dropped."""
    for c in range(1, parent.size):
        for p in range(pair_ptr[c], pair_ptr[c + 1]):
            above = parent[c]
            q = search_rising(word, pair_ptr[above], pair_ptr[above + 1], word[p])
            while q < 0:
                above = parent[above]
                q = search_rising(word, pair_ptr[above], pair_ptr[above + 1], word[p])
            pair_parent[p] = q


@kernel
def close_prefixes(parent, symbol, child_ptr, pair_ptr, word, n_roots, needed, kept):
    """Keep what kept pairs are spelled with: the suffixes of their contexts, and each context as an n-gram.

    For a trie with one root. Context s_k .. s_2 s_1 is the pair of s_1 after s_k .. s_2, which is less deep.
    """
    path = np.empty(64, np.int32)
    for c in range(parent.size - 1, n_roots - 1, -1):
        if not needed[c]:
            for p in range(pair_ptr[c], pair_ptr[c + 1]):
                if kept[p]:
                    needed[c] = True
                    break
        if not needed[c]:
            continue
        needed[parent[c]] = True
        k = 0
        node = c
        while node >= n_roots:
            if k == path.size:
                longer = np.empty(2 * path.size, np.int32)
                longer[:k] = path
                path = longer
            path[k] = symbol[node]
            k += 1
            node = parent[node]
        # path holds s_k .. s_1; walk s_2, s_3, .. s_k from the root.
        for j in range(k - 2, -1, -1):
            node = search_rising(symbol, child_ptr[node], child_ptr[node + 1], path[j])
            if node < 0:
                break
        if node >= n_roots:
            p = search_rising(word, pair_ptr[node], pair_ptr[node + 1], path[k - 1])
            if p >= 0:
                kept[p] = True
                needed[node] = True
