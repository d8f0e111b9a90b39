"""Kernels of the n-gram trie: a node is (parent, token) in one open-addressing hash table, the root is 0."""

from __future__ import annotations

import numpy as np

from epigram.jit import kernel

MIXER = np.uint64(0x9E3779B97F4A7C15)


@kernel
def find(table_keys, key):
    """Slot of ``key`` in an open-addressing table of 2^b int64 keys (empty = -1), or of the hole for it."""
    mask = table_keys.shape[0] - 1
    mixed = np.uint64(key) * MIXER
    place = np.int64((mixed ^ (mixed >> np.uint64(29))) & np.uint64(mask))
    while table_keys[place] != key and table_keys[place] != -1:
        place = (place + 1) & mask
    return place


@kernel
def rehash(old_keys, old_nodes, table_keys, table_nodes):
    """Move a hash table into an empty larger one."""
    for i in range(old_keys.shape[0]):
        if old_keys[i] != -1:
            place = find(table_keys, old_keys[i])
            table_keys[place] = old_keys[i]
            table_nodes[place] = old_nodes[i]


@kernel
def insert_grams(tokens, token_ptr, order, n_nodes, table_keys, table_nodes, counts, keys):
    """Enter all windows of up to ``order`` tokens of the padded candidates into the trie.

    A node is (parent, token), the root is node 0. ``counts[node]`` is how often it occurs, ``keys[node]`` its
    (parent, token). Returns the new number of nodes.
    """
    for c in range(token_ptr.shape[0] - 1):
        end = token_ptr[c + 1]
        for j in range(token_ptr[c], end):
            node = np.int64(0)
            for m in range(min(order, end - j)):
                key = (node << 32) | np.int64(tokens[j + m])
                place = find(table_keys, key)
                if table_keys[place] == -1:
                    table_keys[place] = key
                    table_nodes[place] = n_nodes
                    keys[n_nodes] = key
                    n_nodes += 1
                node = np.int64(table_nodes[place])
                counts[node] += 1
    return n_nodes


@kernel
def walk_grams(tokens, token_ptr, order, table_keys, table_nodes, node_feature, out_ptr, out_feature):
    """Features of each candidate, one entry per occurrence; an empty ``out_feature`` only counts."""
    n = np.int64(0)
    counting = out_feature.shape[0] == 0
    for c in range(token_ptr.shape[0] - 1):
        end = token_ptr[c + 1]
        for j in range(token_ptr[c], end):
            node = np.int64(0)
            for m in range(min(order, end - j)):
                if tokens[j + m] < 0:
                    break
                key = (node << 32) | np.int64(tokens[j + m])
                place = find(table_keys, key)
                if table_keys[place] == -1:
                    break
                node = np.int64(table_nodes[place])
                if node_feature[node] >= 0:
                    if not counting:
                        out_feature[n] = node_feature[node]
                    n += 1
        out_ptr[c + 1] = n


@kernel
def score_grams(tokens, token_ptr, order, table_keys, table_nodes, node_weight, out):
    """Add the weights of all n-grams of each candidate to ``out``."""
    for c in range(token_ptr.shape[0] - 1):
        end = token_ptr[c + 1]
        total = 0.0
        for j in range(token_ptr[c], end):
            node = np.int64(0)
            for m in range(min(order, end - j)):
                if tokens[j + m] < 0:
                    break
                key = (node << 32) | np.int64(tokens[j + m])
                place = find(table_keys, key)
                if table_keys[place] == -1:
                    break
                node = np.int64(table_nodes[place])
                total += node_weight[node]
        out[c] += total
