"""Kernels of exact k-best search: A* from the end of the reading, led by the forward scores.

A hypothesis is a suffix of words from a state to the end; its priority is its exact score plus the best (relaxed,
so never too low) score of reaching that state. A state popped again with the same surface suffix, or more than k
times, cannot give a new one of the k best distinct surfaces and is dropped; nothing else is.

States are those of ``kernels.forward``; state n_states + i is "at position i, backed off to the root", through
which all words pass that no context knows; the last one is the end of the sentence.
"""

from __future__ import annotations

import numpy as np

from epigram.ime.kernels import grown, step
from epigram.jit import kernel


@kernel
def heap_push(keys, items, n, key, item):
    """Max-heap: enter an item; returns the new size."""
    at = n
    while at > 0:
        up = (at - 1) >> 1
        if keys[up] >= key:
            break
        keys[at] = keys[up]
        items[at] = items[up]
        at = up
    keys[at] = key
    items[at] = item
    return n + 1


@kernel
def heap_pop(keys, items, n):
    """Max-heap: remove the first item, which the caller has read; returns the new size."""
    n -= 1
    key = keys[n]
    item = items[n]
    at = 0
    while True:
        down = 2 * at + 1
        if down >= n:
            break
        if down + 1 < n and keys[down + 1] > keys[down]:
            down += 1
        if keys[down] <= key:
            break
        keys[at] = keys[down]
        items[at] = items[down]
        at = down
    keys[at] = key
    items[at] = item
    return n


@kernel
def sort_down(keys, states, words, arcs):
    """Sort four columns by falling key (heap sort)."""
    n = keys.size
    for top in range(n // 2 - 1, -1, -1):
        sift(keys, states, words, arcs, top, n)
    for last in range(n - 1, 0, -1):
        keys[0], keys[last] = keys[last], keys[0]
        states[0], states[last] = states[last], states[0]
        words[0], words[last] = words[last], words[0]
        arcs[0], arcs[last] = arcs[last], arcs[0]
        sift(keys, states, words, arcs, 0, last)


@kernel
def sift(keys, states, words, arcs, at, n):
    """Restore the min-heap below ``at``."""
    key, state, word, arc = keys[at], states[at], words[at], arcs[at]
    while True:
        down = 2 * at + 1
        if down >= n:
            break
        if down + 1 < n and keys[down + 1] < keys[down]:
            down += 1
        if keys[down] >= key:
            break
        keys[at], states[at], words[at], arcs[at] = keys[down], states[down], words[down], arcs[down]
        at = down
    keys[at], states[at], words[at], arcs[at] = key, state, word, arc


@kernel
def predecessors(
    state, position, st_ptr, st_node, st_score, root_score,
    in_ptr, in_start, in_low, in_high, in_special_ptr, in_special, special_start, special_logp,
    word_length, node_word, node_prefix, bonus,
    pair_ptr, pair_word, pair_logp, pair_next, node_parent, node_bow,
    keys, states, words, arcs,
):  # fmt: skip
    """Ways into a state: (forward score + arc, state before, word, arc); returns how many."""
    n = st_ptr.size - 2
    n_states = st_ptr[n + 1]
    count = 0
    if state == n_states + n + 1:
        for x in range(st_ptr[n], st_ptr[n + 1]):
            arc, _ = step(
                st_node[x], np.int32(0), pair_ptr, pair_word, pair_logp, pair_next, node_parent, node_bow
            )
            keys[count], states[count], words[count], arcs[count] = st_score[x] + arc, x, -1, arc
            count += 1
        return count
    if state >= n_states:
        for x in range(st_ptr[position], st_ptr[position + 1]):
            arc = 0.0
            node = st_node[x]
            while node != 0:
                arc += node_bow[node]
                node = node_parent[node]
            keys[count], states[count], words[count], arcs[count] = st_score[x] + arc, x, -1, arc
            count += 1
        return count
    node = st_node[state]
    if node == 0:
        for e in range(in_ptr[position], in_ptr[position + 1]):
            before = in_start[e]
            for word in range(in_low[e], in_high[e]):
                if pair_next[word] == 0 and root_score[before] > -np.inf:
                    arc = pair_logp[word] + bonus[word]
                    keys[count], states[count] = root_score[before] + arc, n_states + before
                    words[count], arcs[count] = word, arc
                    count += 1
        for k in range(in_special_ptr[position], in_special_ptr[position + 1]):
            e = in_special[k]
            before = special_start[e]
            if root_score[before] > -np.inf:
                arc = special_logp[e]
                keys[count], states[count] = root_score[before] + arc, n_states + before
                words[count], arcs[count] = -2 - e, arc
                count += 1
        return count
    word = node_word[node]
    before = position - word_length[word]
    deep = node_parent[node] != 0
    prefix = node_prefix[node]
    for x in range(st_ptr[before], st_ptr[before + 1]):
        if deep and st_node[x] != prefix and (st_node[x] == 0 or node_parent[st_node[x]] != prefix):
            continue
        arc, to = step(st_node[x], word, pair_ptr, pair_word, pair_logp, pair_next, node_parent, node_bow)
        if to == node:
            arc += bonus[word]
            keys[count], states[count], words[count], arcs[count] = st_score[x] + arc, x, word, arc
            count += 1
    return count


@kernel
def k_best(
    k, st_ptr, st_node, st_score, root_score,
    in_ptr, in_start, in_low, in_high, in_special_ptr, in_special, special_start, special_logp,
    word_length, node_word, node_prefix, bonus, word_hash, word_pow, special_hash, special_pow,
    pair_ptr, pair_word, pair_logp, pair_next, node_parent, node_bow,
    out_ptr, out_score,
):  # fmt: skip
    """The k best distinct surfaces, best first; returns their words end to end (see ``out_ptr``), and how many."""
    n = st_ptr.size - 2
    n_states = st_ptr[n + 1]
    n_all = n_states + n + 2
    position = np.empty(n_all, np.int32)
    for i in range(n + 1):
        position[st_ptr[i] : st_ptr[i + 1]] = i
        position[n_states + i] = i
    position[n_all - 1] = n
    pops = np.zeros(n_all, np.int32)
    popped = np.full(n_all, -1, np.int32)
    way_first = np.full(n_all, -1, np.int64)
    way_count = np.zeros(n_all, np.int32)
    widest = n_states
    for i in range(n + 1):
        here = in_special_ptr[i + 1] - in_special_ptr[i]
        for e in range(in_ptr[i], in_ptr[i + 1]):
            here += in_high[e] - in_low[e]
        widest = max(widest, here)
    room = 4 * widest
    way_key = np.empty(room, np.float64)
    way_state = np.empty(room, np.int32)
    way_word = np.empty(room, np.int32)
    way_arc = np.empty(room, np.float64)
    n_ways = 0
    size = 4096
    hyp_state = np.empty(size, np.int32)
    hyp_score = np.empty(size, np.float64)
    hyp_parent = np.empty(size, np.int32)
    hyp_rank = np.empty(size, np.int32)
    hyp_word = np.empty(size, np.int32)
    hyp_hash = np.empty(size, np.uint64)
    hyp_pow = np.empty(size, np.uint64)
    hyp_chain = np.empty(size, np.int32)
    heap_key = np.empty(size, np.float64)
    heap_item = np.empty(size, np.int32)
    hyp_state[0], hyp_score[0], hyp_parent[0], hyp_rank[0], hyp_word[0] = n_all - 1, 0.0, -1, 0, -1
    hyp_hash[0], hyp_pow[0] = np.uint64(0), np.uint64(1)
    n_hyps = 1
    n_heap = heap_push(heap_key, heap_item, 0, 0.0, 0)
    out_words = np.empty(256, np.int32)
    n_out = 0
    found = 0
    out_ptr[0] = 0
    while n_heap > 0 and found < k:
        h = heap_item[0]
        n_heap = heap_pop(heap_key, heap_item, n_heap)
        if n_hyps + 2 > size:
            size *= 2
            hyp_state = grown(hyp_state, size)
            hyp_score = grown(hyp_score, size)
            hyp_parent = grown(hyp_parent, size)
            hyp_rank = grown(hyp_rank, size)
            hyp_word = grown(hyp_word, size)
            hyp_hash = grown(hyp_hash, size)
            hyp_pow = grown(hyp_pow, size)
            hyp_chain = grown(hyp_chain, size)
            heap_key = grown(heap_key, size)
            heap_item = grown(heap_item, size)
        s = hyp_state[h]
        keep = pops[s] < k
        other = popped[s]
        while keep and other >= 0:
            if hyp_hash[other] == hyp_hash[h]:
                keep = False
            other = hyp_chain[other]
        if keep:
            pops[s] += 1
            hyp_chain[h] = popped[s]
            popped[s] = h
            if s == 0:
                at = h
                while at >= 0:
                    if hyp_word[at] != -1:
                        if n_out == out_words.size:
                            out_words = grown(out_words, 2 * n_out)
                        out_words[n_out] = hyp_word[at]
                        n_out += 1
                    at = hyp_parent[at]
                out_score[found] = hyp_score[h]
                found += 1
                out_ptr[found] = n_out
            elif way_first[s] < 0:
                if n_ways + widest > room:
                    room = 2 * (n_ways + widest)
                    way_key = grown(way_key, room)
                    way_state = grown(way_state, room)
                    way_word = grown(way_word, room)
                    way_arc = grown(way_arc, room)
                count = predecessors(
                    s, position[s], st_ptr, st_node, st_score, root_score,
                    in_ptr, in_start, in_low, in_high, in_special_ptr, in_special, special_start, special_logp,
                    word_length, node_word, node_prefix, bonus,
                    pair_ptr, pair_word, pair_logp, pair_next, node_parent, node_bow,
                    way_key[n_ways:], way_state[n_ways:], way_word[n_ways:], way_arc[n_ways:],
                )  # fmt: skip
                end = n_ways + count
                sort_down(
                    way_key[n_ways:end], way_state[n_ways:end], way_word[n_ways:end], way_arc[n_ways:end]
                )
                way_first[s] = n_ways
                way_count[s] = count
                n_ways = end
        for turn in range(2):
            if turn == 0:
                if not keep or s == 0:
                    continue
                parent, rank = h, 0
            else:
                parent, rank = hyp_parent[h], hyp_rank[h] + 1
                if parent < 0:
                    continue
            above = hyp_state[parent]
            if rank >= way_count[above]:
                continue
            way = way_first[above] + rank
            word = way_word[way]
            hyp_state[n_hyps] = way_state[way]
            hyp_score[n_hyps] = hyp_score[parent] + way_arc[way]
            hyp_parent[n_hyps] = parent
            hyp_rank[n_hyps] = rank
            hyp_word[n_hyps] = word
            if word == -1:
                hyp_hash[n_hyps] = hyp_hash[parent]
                hyp_pow[n_hyps] = hyp_pow[parent]
            else:
                this = word_hash[word] if word >= 0 else special_hash[-2 - word]
                length = word_pow[word] if word >= 0 else special_pow[-2 - word]
                hyp_hash[n_hyps] = this * hyp_pow[parent] + hyp_hash[parent]
                hyp_pow[n_hyps] = length * hyp_pow[parent]
            n_heap = heap_push(heap_key, heap_item, n_heap, hyp_score[parent] + way_key[way], n_hyps)
            n_hyps += 1
    return out_words[:n_out], found
