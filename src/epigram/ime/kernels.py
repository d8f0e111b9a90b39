"""Kernels of the input method: readings to edges, the relaxed forward pass, exact k-best by A*.

Array names are bound in the modules that call them: lexicon.py (trie), scoring.py (back-off tables), lattice.py.
"""

from __future__ import annotations

import numpy as np

from epigram.jit import kernel

CHAR_BITS = 21
HASH_BASE = 1099511628211


@kernel
def trie_slot(key, trie_keys):
    """Place of a key (node << 21 | character) in the table, or of the hole where it would stand."""
    h = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    h ^= h >> np.uint64(32)
    slot = np.int64(h & np.uint64(trie_keys.size - 1))
    while trie_keys[slot] >= 0 and trie_keys[slot] != key:
        slot = (slot + 1) & (trie_keys.size - 1)
    return slot


@kernel
def grow_trie(chars, char_ptr, trie_keys, trie_nodes, node_reading):
    """Enter all readings; ``node_reading`` gets the reading that ends at a node, -1 elsewhere. Returns nodes."""
    n_nodes = 1
    node_reading[0] = -1
    for r in range(char_ptr.size - 1):
        node = np.int64(0)
        for c in range(char_ptr[r], char_ptr[r + 1]):
            key = (node << CHAR_BITS) | chars[c]
            slot = trie_slot(key, trie_keys)
            if trie_keys[slot] < 0:
                trie_keys[slot] = key
                trie_nodes[slot] = n_nodes
                node_reading[n_nodes] = -1
                n_nodes += 1
            node = np.int64(trie_nodes[slot])
        node_reading[node] = r
    return n_nodes


@kernel
def surface_hashes(raw, starts, lengths, out_hash, out_pow):
    """Polynomial hash of byte strings, and the base to their length: hash(a + b) = hash(a) pow(b) + hash(b)."""
    base = np.uint64(HASH_BASE)
    for k in range(starts.size):
        h = np.uint64(0)
        p = np.uint64(1)
        for j in range(starts[k], starts[k] + lengths[k]):
            h = h * base + np.uint64(raw[j]) + np.uint64(1)
            p = p * base
        out_hash[k] = h
        out_pow[k] = p


@kernel
def find_edges(chars, trie_keys, trie_nodes, node_reading, reading_word, edge_end, edge_low, edge_high):
    """Words that start at each position, as ranges of word ids; returns the offsets of the positions' edges.

    Edges of a position rise with their end and, because words are sorted by reading, with their ids.
    """
    n = chars.size
    edge_ptr = np.zeros(n + 1, np.int64)
    n_edges = 0
    for i in range(n):
        edge_ptr[i] = n_edges
        node = np.int64(0)
        for j in range(i, n):
            slot = trie_slot((node << CHAR_BITS) | chars[j], trie_keys)
            if trie_keys[slot] < 0:
                break
            node = np.int64(trie_nodes[slot])
            r = node_reading[node]
            if r >= 0:
                edge_end[n_edges] = j + 1
                edge_low[n_edges] = reading_word[r]
                edge_high[n_edges] = reading_word[r + 1]
                n_edges += 1
    edge_ptr[n] = n_edges
    return edge_ptr


@kernel
def find_unknown(
    chars, kind, kana, longest, hiragana, katakana, class_logp, char_logp, out_end, out_form, out_logp
):
    """Words outside the lexicon that start at each position, with their log-probability; returns offsets.

    ``kind`` is the class of each character (0 kana, else digits, Latin letters, other), ``kana`` its row in the
    character models ``hiragana`` and ``katakana`` (last row and column: the edges of a word). Form 0 stands as
    typed, form 1 is katakana. Only characters of one class join.
    """
    n = chars.size
    edge = hiragana.shape[0] - 1
    ptr = np.zeros(n + 1, np.int64)
    count = 0
    for i in range(n):
        ptr[i] = count
        as_typed = class_logp[kind[i] + 1]
        as_katakana = class_logp[0]
        before = edge
        for j in range(i, min(n, i + longest)):
            if kind[j] != kind[i]:
                break
            if kind[i] == 0:
                here = kana[j]
                as_typed += hiragana[before, here]
                as_katakana += katakana[before, here]
                before = here
                out_end[count] = j + 1
                out_form[count] = 0
                out_logp[count] = as_typed + hiragana[here, edge]
                count += 1
                out_end[count] = j + 1
                out_form[count] = 1
                out_logp[count] = as_katakana + katakana[here, edge]
                count += 1
            else:
                as_typed += char_logp[kind[i]]
                out_end[count] = j + 1
                out_form[count] = 0
                out_logp[count] = as_typed
                count += 1
    ptr[n] = count
    return ptr


@kernel
def find_pair(node, word, pair_ptr, pair_word):
    """Index of (node, word), or -1; the root's pair k is word k."""
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
    """Log-probability of a word after a node, and the node it leads to (see epigram.lm.ngram.model)."""
    logp = 0.0
    while True:
        pair = find_pair(node, word, pair_ptr, pair_word)
        if pair >= 0:
            return logp + pair_logp[pair], pair_next[pair]
        logp += node_bow[node]
        node = node_parent[node]


@kernel
def score_words(words, pair_ptr, pair_word, pair_logp, pair_next, node_parent, node_bow, start, out):
    """Log-probability of each word of a sentence from node ``start``."""
    node = np.int32(start)
    for k in range(words.size):
        out[k], node = step(node, words[k], pair_ptr, pair_word, pair_logp, pair_next, node_parent, node_bow)


@kernel
def gains(node_depth, pair_ptr, pair_word, pair_logp, pair_next, node_parent, node_bow, out):
    """The most that staying at a node can win over backing off from it, over all that may follow.

    A node of depth 2 wins log p(u|x) - log p(u|x') at its best word u, after which both stand at the same node.
    A node of depth 1 wins that against the root, plus what the node it leads to may win over its own parent.
    """
    for depth in range(2, 0, -1):
        for x in range(node_depth.size):
            if node_depth[x] != depth:
                continue
            best = -np.inf
            parent = node_parent[x]
            for pair in range(pair_ptr[x], pair_ptr[x + 1]):
                lower, lower_next = step(
                    parent, pair_word[pair], pair_ptr, pair_word, pair_logp, pair_next, node_parent, node_bow
                )
                gain = pair_logp[pair] - lower
                here = pair_next[pair]
                if here != lower_next:
                    gain += max(np.float64(node_bow[here]), np.float64(out[here]))
                best = max(best, gain)
            out[x] = best


@kernel
def meet(
    node, score, source, edge_low, edge_high, edge_end, first, last, pair_ptr, pair_word, pair_logp, pair_next, bonus,
    head, hit_next, hit_node, hit_score, hit_source, hit_word, n_hits,
):  # fmt: skip
    """Push every stored word of ``node`` that is on an edge first..last; both sides are sorted by word."""
    p = pair_ptr[node]
    stop = pair_ptr[node + 1]
    e = first
    if stop - p <= 4 * (last - first):
        while p < stop and e < last:
            word = pair_word[p]
            if word < edge_low[e]:
                p += 1
            elif word >= edge_high[e]:
                e += 1
            else:
                end = edge_end[e]
                hit_node[n_hits] = pair_next[p]
                hit_score[n_hits] = score + pair_logp[p] + bonus[word]
                hit_source[n_hits] = source
                hit_word[n_hits] = word
                hit_next[n_hits] = head[end]
                head[end] = n_hits
                n_hits += 1
                p += 1
        return n_hits
    while e < last and p < stop:
        low = edge_low[e]
        if pair_word[p] < low:
            n = stop - p
            while n > 1:
                half = n >> 1
                p = p + half if pair_word[p + half] < low else p
                n -= half
            if pair_word[p] < low:
                p += 1
        high = edge_high[e]
        end = edge_end[e]
        while p < stop and pair_word[p] < high:
            word = pair_word[p]
            hit_node[n_hits] = pair_next[p]
            hit_score[n_hits] = score + pair_logp[p] + bonus[word]
            hit_source[n_hits] = source
            hit_word[n_hits] = word
            hit_next[n_hits] = head[end]
            head[end] = n_hits
            n_hits += 1
            p += 1
        e += 1
    return n_hits


@kernel
def grown(array, size):
    """A copy with room for ``size`` entries."""
    out = np.empty(size, array.dtype)
    out[: array.size] = array
    return out


@kernel
def forward(
    edge_ptr, edge_end, edge_low, edge_high, special_ptr, special_end, special_logp,
    start, prune, gain, bonus,
    pair_ptr, pair_word, pair_logp, pair_next, node_parent, node_bow, slot, group_slot,
):  # fmt: skip
    """Best score of every (position, node) where backing off is allowed even past a stored word.

    That relaxation never lowers a score: it bounds what any path can reach. ``prune`` leaves out nodes that
    cannot be on the best relaxed path (see :func:`gains`). ``slot`` and ``group_slot`` are scratch of one
    entry a node, in any state. Words below -1 are special edge -2 - word. Returns the states (node, score,
    source, word) with their offsets by position, and the best score and state after backing off to the root.
    """
    n = edge_ptr.size - 1
    head = np.full(n + 1, -1, np.int32)
    capacity = 4096
    hit_next = np.empty(capacity, np.int32)
    hit_node = np.empty(capacity, np.int32)
    hit_score = np.empty(capacity, np.float64)
    hit_source = np.empty(capacity, np.int32)
    hit_word = np.empty(capacity, np.int32)
    n_hits = 0
    room = 4096
    st_node = np.empty(room, np.int32)
    st_score = np.empty(room, np.float64)
    st_source = np.empty(room, np.int32)
    st_word = np.empty(room, np.int32)
    st_ptr = np.zeros(n + 2, np.int64)
    n_states = 0
    root_score = np.full(n + 1, -np.inf)
    root_state = np.full(n + 1, -1, np.int32)
    n_room = 1024
    group_node = np.empty(n_room, np.int32)
    group_score = np.empty(n_room, np.float64)
    group_state = np.empty(n_room, np.int32)
    for i in range(n + 1):
        st_ptr[i] = n_states
        begin = n_states
        h = head[i]
        if i == 0:
            st_node[0] = start
            st_score[0] = 0.0
            st_source[0] = -1
            st_word[0] = -1
            slot[start] = 0
            n_states = 1
        while h >= 0:
            node = hit_node[h]
            k = slot[node]
            if k >= begin and k < n_states and st_node[k] == node:
                if hit_score[h] > st_score[k]:
                    st_score[k] = hit_score[h]
                    st_source[k] = hit_source[h]
                    st_word[k] = hit_word[h]
            else:
                if n_states == room:
                    room *= 2
                    st_node = grown(st_node, room)
                    st_score = grown(st_score, room)
                    st_source = grown(st_source, room)
                    st_word = grown(st_word, room)
                slot[node] = n_states
                st_node[n_states] = node
                st_score[n_states] = hit_score[h]
                st_source[n_states] = hit_source[h]
                st_word[n_states] = hit_word[h]
                n_states += 1
            h = hit_next[h]
        n_groups = 0
        if n_room < n_states - begin:
            n_room = 2 * (n_states - begin)
            group_node = np.empty(n_room, np.int32)
            group_score = np.empty(n_room, np.float64)
            group_state = np.empty(n_room, np.int32)
        best = -np.inf
        best_state = -1
        for s in range(begin, n_states):
            node = st_node[s]
            score = st_score[s]
            if node != 0 and node_parent[node] != 0:
                score += node_bow[node]
                node = node_parent[node]
            if node == 0:
                if score > best:
                    best = score
                    best_state = s
                continue
            g = group_slot[node]
            if g >= 0 and g < n_groups and group_node[g] == node:
                if score > group_score[g]:
                    group_score[g] = score
                    group_state[g] = s
            else:
                group_slot[node] = n_groups
                group_node[n_groups] = node
                group_score[n_groups] = score
                group_state[n_groups] = s
                n_groups += 1
        for g in range(n_groups):
            score = group_score[g] + node_bow[group_node[g]]
            if score > best:
                best = score
                best_state = group_state[g]
        root_score[i] = best
        root_state[i] = best_state
        if i == n or n_states == begin:
            continue
        first = edge_ptr[i]
        last = edge_ptr[i + 1]
        n_words = special_ptr[i + 1] - special_ptr[i]
        for e in range(first, last):
            n_words += edge_high[e] - edge_low[e]
        needed = n_hits + n_words
        if needed > capacity:
            capacity = 2 * needed
            hit_next = grown(hit_next, capacity)
            hit_node = grown(hit_node, capacity)
            hit_score = grown(hit_score, capacity)
            hit_source = grown(hit_source, capacity)
            hit_word = grown(hit_word, capacity)
        for e in range(first, last):
            end = edge_end[e]
            for word in range(edge_low[e], edge_high[e]):
                hit_node[n_hits] = pair_next[word]
                hit_score[n_hits] = best + pair_logp[word] + bonus[word]
                hit_source[n_hits] = best_state
                hit_word[n_hits] = word
                hit_next[n_hits] = head[end]
                head[end] = n_hits
                n_hits += 1
        for e in range(special_ptr[i], special_ptr[i + 1]):
            end = special_end[e]
            hit_node[n_hits] = 0
            hit_score[n_hits] = best + special_logp[e]
            hit_source[n_hits] = best_state
            hit_word[n_hits] = -2 - e
            hit_next[n_hits] = head[end]
            head[end] = n_hits
            n_hits += 1
        if first == last:
            continue
        for k in range(n_groups + n_states - begin):
            if k < n_groups:
                node = group_node[k]
                score = group_score[k]
                source = group_state[k]
                if prune and score + gain[node] <= best:
                    continue
            else:
                source = begin + k - n_groups
                node = st_node[source]
                if node == 0 or node_parent[node] == 0:
                    continue
                score = st_score[source]
                if prune and score + gain[node] <= group_score[group_slot[node_parent[node]]]:
                    continue
            if n_hits + n_words > capacity:
                capacity = 2 * (n_hits + n_words)
                hit_next = grown(hit_next, capacity)
                hit_node = grown(hit_node, capacity)
                hit_score = grown(hit_score, capacity)
                hit_source = grown(hit_source, capacity)
                hit_word = grown(hit_word, capacity)
            n_hits = meet(
                node, score, source, edge_low, edge_high, edge_end, first, last,
                pair_ptr, pair_word, pair_logp, pair_next, bonus,
                head, hit_next, hit_node, hit_score, hit_source, hit_word, n_hits,
            )  # fmt: skip
    st_ptr[n + 1] = n_states
    return st_ptr, st_node, st_score, st_source, st_word, root_score, root_state


@kernel
def best_path(
    st_ptr, st_node, st_score, st_source, st_word, start, special_logp, bonus,
    pair_ptr, pair_word, pair_logp, pair_next, node_parent, node_bow, out,
):  # fmt: skip
    """Words of the best relaxed path that ends in ``</s>``; returns how many, its relaxed score and its own score.

    Where both are the same, no path is better: the relaxed score bounds them all.
    """
    n = st_ptr.size - 2
    best = -np.inf
    at = np.int64(-1)
    for s in range(st_ptr[n], st_ptr[n + 1]):
        logp, _ = step(
            st_node[s], np.int32(0), pair_ptr, pair_word, pair_logp, pair_next, node_parent, node_bow
        )
        if st_score[s] + logp > best:
            best = st_score[s] + logp
            at = s
    count = 0
    while at >= 0 and st_word[at] != -1:
        out[count] = st_word[at]
        count += 1
        at = np.int64(st_source[at])
    own = 0.0
    node = np.int32(start)
    for k in range(count - 1, -1, -1):
        word = out[k]
        if word >= 0:
            logp, node = step(node, word, pair_ptr, pair_word, pair_logp, pair_next, node_parent, node_bow)
            own += logp + bonus[word]
        else:
            while node != 0:
                own += node_bow[node]
                node = node_parent[node]
            own += special_logp[-2 - word]
    logp, _ = step(node, np.int32(0), pair_ptr, pair_word, pair_logp, pair_next, node_parent, node_bow)
    return count, best, own + logp
