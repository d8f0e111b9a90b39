"""Kernels of back-off models: look-ups, distributions, links, weights, pruning. Arrays are named in backoff.py."""

from __future__ import annotations

import numpy as np

from epigram.jit import kernel


@kernel
def find_pair(node, word, pair_ptr, pair_word):
    """Index of (node, word), or -1. The root holds every word, so that its pair k is word k."""
    if node == 0:
        return np.int64(word)
    low = pair_ptr[node]
    n = pair_ptr[node + 1] - low
    if n == 0:
        return np.int64(-1)
    while n > 1:
        half = n >> 1
        low = low + half if pair_word[low + half] <= word else low
        n -= half
    return low if pair_word[low] == word else np.int64(-1)


@kernel
def step(node, word, pair_ptr, pair_word, pair_logp, pair_next, node_parent, node_bow):
    """One word of a back-off model: its log-probability after ``node``, and the node it leads to.

    p(w | x) = p[x,w] where the pair is stored, else bow(x) p(w | x'), x' the longest stored suffix of x.
    Copy these lines with :func:`find_pair` into another kernels file rather than calling across files.
    """
    logp = 0.0
    while True:
        pair = find_pair(node, word, pair_ptr, pair_word)
        if pair >= 0:
            return logp + pair_logp[pair], pair_next[pair]
        logp += node_bow[node]
        node = node_parent[node]


@kernel
def score_stream(stream, start, pair_ptr, pair_word, pair_logp, pair_next, node_parent, node_bow, out):
    """Log-probability of each position of a stream from ``start``; -1 gives NaN and cuts the context.

    Time goes into waiting for memory, so eight runs of sentences advance in turn, one look-up each: their
    waits overlap. A run begins after a boundary, where the state is ``start`` again.
    """
    n_runs = 8
    at = np.empty(n_runs, np.int64)
    end = np.empty(n_runs, np.int64)
    nodes = np.full(n_runs, start, np.int32)
    backed_off = np.zeros(n_runs, np.float64)
    cut = 0
    for k in range(n_runs):
        at[k] = cut
        cut = max(cut, stream.size * (k + 1) // n_runs)
        while 0 < cut < stream.size and stream[cut - 1] != 0:
            cut += 1
        end[k] = cut
    n_open = 1
    while n_open > 0:
        n_open = 0
        for k in range(n_runs):
            i = at[k]
            if i >= end[k]:
                continue
            n_open += 1
            word = stream[i]
            node = nodes[k]
            if word < 0:
                out[i] = np.nan
                nodes[k] = 0
                backed_off[k] = 0.0
                at[k] += 1
                continue
            pair = find_pair(node, word, pair_ptr, pair_word)
            if pair >= 0:
                out[i] = backed_off[k] + pair_logp[pair]
                nodes[k] = pair_next[pair]
                backed_off[k] = 0.0
                at[k] += 1
            else:
                backed_off[k] += node_bow[node]
                nodes[k] = node_parent[node]


@kernel
def step_many(
    nodes, words, pair_ptr, pair_word, pair_logp, pair_next, node_parent, node_bow, out_logp, out_node
):
    """:func:`step` for many (node, word); the word -1 gives NaN and the root."""
    for k in range(nodes.size):
        if words[k] < 0:
            out_logp[k] = np.nan
            out_node[k] = 0
        else:
            out_logp[k], out_node[k] = step(
                nodes[k], words[k], pair_ptr, pair_word, pair_logp, pair_next, node_parent, node_bow
            )


@kernel
def distribution(node, pair_ptr, pair_word, pair_logp, node_parent, node_bow, root_p, out):
    """p(. | node) over the whole vocabulary: the root's row, overwritten from short to long suffixes."""
    path = np.empty(256, np.int64)
    shift = np.empty(256, np.float64)
    n = 0
    total = 0.0
    x = node
    while x != 0:
        if n == path.size:
            path = np.concatenate((path, np.empty(n, np.int64)))
            shift = np.concatenate((shift, np.empty(n, np.float64)))
        path[n] = x
        shift[n] = total
        total += node_bow[x]
        x = node_parent[x]
        n += 1
    scale = np.exp(total)
    for u in range(root_p.size):
        out[u] = scale * root_p[u]
    for j in range(n - 1, -1, -1):
        x = path[j]
        for k in range(pair_ptr[x], pair_ptr[x + 1]):
            out[pair_word[k]] = np.exp(pair_logp[k] + shift[j])


@kernel
def link(node_pair, pair_ptr, pair_word, pair_node_of, start_pair, node_parent, node_depth, pair_next):
    """Suffix links of nodes and transitions of pairs, in one pass from short contexts to long ones.

    ``node_pair[x]`` is the pair (prefix context, last word) that spells node x, rising with x;
    ``pair_node_of`` its inverse (-1 where a pair is no context). The boundary leads to the start node.
    """
    start = pair_node_of[start_pair] if pair_node_of[start_pair] >= 0 else 0
    node_parent[0] = -1
    node_depth[0] = 0
    for x in range(node_parent.size):
        for pair in range(pair_ptr[x], pair_ptr[x + 1]):
            word = pair_word[pair]
            suffix = np.int32(0)
            y = node_parent[x]
            while y >= 0:
                shorter = find_pair(y, word, pair_ptr, pair_word)
                if shorter >= 0:
                    suffix = pair_next[shorter]
                    break
                y = node_parent[y]
            own = pair_node_of[pair]
            if own >= 0:
                node_parent[own] = suffix
                node_depth[own] = node_depth[x] + 1
            pair_next[pair] = own if own >= 0 else suffix
            if word == 0:
                pair_next[pair] = start


@kernel
def fill_missing(pair_ptr, pair_word, pair_logp, pair_next, node_parent, node_bow):
    """Pairs that stand only because a longer context needs them (NaN) get their backed-off value."""
    for x in range(1, node_parent.size):
        for pair in range(pair_ptr[x], pair_ptr[x + 1]):
            if np.isnan(pair_logp[pair]):
                logp, _ = step(
                    node_parent[x],
                    pair_word[pair],
                    pair_ptr,
                    pair_word,
                    pair_logp,
                    pair_next,
                    node_parent,
                    node_bow,
                )
                pair_logp[pair] = node_bow[x] + logp


@kernel
def find_grams(grams, n_words, pair_ptr, pair_word, pair_node_of, out):
    """Pair that spells the first ``n_words`` words of each row, -1 where there is none."""
    for k in range(grams.shape[0]):
        node = np.int64(0)
        pair = np.int64(-1)
        for j in range(n_words):
            pair = find_pair(node, grams[k, j], pair_ptr, pair_word)
            if pair < 0:
                break
            if j + 1 < n_words:
                node = pair_node_of[pair]
                if node < 0:
                    pair = np.int64(-1)
                    break
        out[k] = pair


@kernel
def spell(nodes, node_pair, pair_word, pair_node, depth, out):
    """The context words of nodes of one depth, oldest first."""
    for k in range(nodes.size):
        x = nodes[k]
        for j in range(depth - 1, -1, -1):
            pair = node_pair[x]
            out[k, j] = pair_word[pair]
            x = pair_node[pair]


@kernel
def renormalise(pair_ptr, pair_word, pair_logp, pair_next, node_parent, node_bow):
    """bow(x) = (1 - sum p[x,w]) / (1 - sum p(w | x')) over stored pairs, from short contexts to long."""
    for x in range(1, node_parent.size):
        rest = 1.0
        lower_rest = 1.0
        for pair in range(pair_ptr[x], pair_ptr[x + 1]):
            lower, _ = step(
                node_parent[x],
                pair_word[pair],
                pair_ptr,
                pair_word,
                pair_logp,
                pair_next,
                node_parent,
                node_bow,
            )
            rest -= np.exp(pair_logp[pair])
            lower_rest -= np.exp(lower)
        # all words stored: nothing is ever backed off to, and rounding must not make an infinity
        node_bow[x] = np.log(rest / lower_rest) if rest > 1e-12 and lower_rest > 1e-12 else 0.0
        if rest <= 1e-12 < lower_rest:
            node_bow[x] = np.log(1e-12 / lower_rest)


@kernel
def stationary_step(pair_ptr, pair_word, pair_logp, pair_node_of, node_bow, pi, out):
    """One step of the Markov chain of the 2-grams: out[w] = sum_v pi[v] p(w | v); id 0 is the boundary."""
    out[:] = 0.0
    base = 0.0
    for v in range(pi.size):
        x = pair_node_of[v]
        if x < 0:
            base += pi[v]
            continue
        bow = np.exp(node_bow[x])
        base += pi[v] * bow
        for pair in range(pair_ptr[x], pair_ptr[x + 1]):
            u = pair_word[pair]
            out[u] += pi[v] * (np.exp(pair_logp[pair]) - bow * np.exp(pair_logp[u]))
    moved = 0.0
    for u in range(pi.size):
        out[u] = max(out[u] + base * np.exp(pair_logp[u]), 0.0)
        moved += abs(out[u] - pi[u])
    return moved


@kernel
def relative_entropy_scores(
    pi, node_pair, pair_ptr, pair_word, pair_logp, pair_next, pair_node_of, node_parent, node_bow, log_h, out
):
    """Stolcke 1998: the relative entropy each pair costs if it goes, or a pair that it holds up, if more."""
    log_h[0] = 0.0
    for x in range(node_parent.size):
        for pair in range(pair_ptr[x], pair_ptr[x + 1]):
            own = pair_node_of[pair]
            if own >= 0:
                log_h[own] = log_h[x] + pair_logp[pair] if x > 0 else np.log(pi[pair])
    out[: pair_ptr[1]] = np.inf
    lower = np.empty(pair_word.size, np.float64)
    for x in range(1, node_parent.size):
        rest = 1.0
        lower_rest = 1.0
        for pair in range(pair_ptr[x], pair_ptr[x + 1]):
            lower[pair], _ = step(
                node_parent[x],
                pair_word[pair],
                pair_ptr,
                pair_word,
                pair_logp,
                pair_next,
                node_parent,
                node_bow,
            )
            rest -= np.exp(pair_logp[pair])
            lower_rest -= np.exp(lower[pair])
        rest = max(rest, 0.0)
        lower_rest = max(lower_rest, 0.0)
        for pair in range(pair_ptr[x], pair_ptr[x + 1]):
            p = np.exp(pair_logp[pair])
            bow = np.log((rest + p) / (lower_rest + np.exp(lower[pair])))
            cost = p * (pair_logp[pair] - lower[pair] - bow)
            if rest > 0.0:
                cost -= rest * (bow - node_bow[x])
            out[pair] = np.exp(log_h[x]) * max(cost, 0.0)
    for x in range(node_parent.size - 1, 0, -1):
        held = node_pair[x]
        for pair in range(pair_ptr[x], pair_ptr[x + 1]):
            out[held] = max(out[held], out[pair])


@kernel
def recent_shares(stream, ring, counts, shares):
    """Share of each id among the last ``ring.size`` words before it; NaN where there are none yet.

    Ends of sentences (0) and words outside the vocabulary (-1) are not remembered.
    """
    n, at = 0, 0
    for i in range(stream.size):
        word = stream[i]
        shares[i] = np.nan if n == 0 else (counts[word] / n if word > 0 else 0.0)
        if word <= 0:
            continue
        if n == ring.size:
            counts[ring[at]] -= 1
        else:
            n += 1
        ring[at] = word
        counts[word] += 1
        at = (at + 1) % ring.size
