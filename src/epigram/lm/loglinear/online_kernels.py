"""Kernels of training on a stream: positions by their last word, and a table of weights by n-gram.

Letters: x = 64-bit key of a node or pair, mixed from the key of its parent and the symbol it adds (the finaliser of
splitmix64); 0 marks a free place of the table.
"""

from __future__ import annotations

import numpy as np

from epigram.jit import kernel

FIRST = np.uint64(0x9E3779B97F4A7C15)
SECOND = np.uint64(0xBF58476D1CE4E5B9)
THIRD = np.uint64(0x94D049BB133111EB)
PAIR = np.uint64(0xD1B54A32D192ED03)


@kernel
def link(block, first, last, previous):
    """Chain the positions of each block: ``last`` names its newest one, ``previous`` the one before each."""
    for i in range(block.size):
        previous[first + i] = last[block[i]]
        last[block[i]] = first + i


@kernel
def follow(blocks, total, last, previous, out):
    """The positions of some blocks, block by block, oldest first."""
    n = 0
    for b in blocks:
        n += total[b]
        i = last[b]
        for k in range(total[b]):
            out[n - 1 - k] = i
            i = previous[i]


@kernel
def mix(x, y):
    """A key from a key and a symbol; never 0."""
    x = (x ^ (y * FIRST)) + SECOND
    x = (x ^ (x >> np.uint64(30))) * SECOND
    x = (x ^ (x >> np.uint64(27))) * THIRD
    x = x ^ (x >> np.uint64(31))
    return x if x != np.uint64(0) else FIRST


@kernel
def pair_keys(parent, symbol, pair_ptr, word, node, out):
    """The key of every pair, by the first symbols of the nodes on its path; ``node`` gets those of the nodes."""
    for c in range(parent.size):
        if parent[c] < 0:
            node[c] = mix(FIRST, np.uint64(c))
        else:
            node[c] = mix(node[parent[c]], np.uint64(symbol[c] + 1))
        for p in range(pair_ptr[c], pair_ptr[c + 1]):
            out[p] = mix(node[c] ^ PAIR, np.uint64(word[p]))


@kernel
def look_up(table, values, keys, out):
    """The value of each key, 0 where it has none; the table's size is a power of 2."""
    mask = np.uint64(table.size - 1)
    for i in range(keys.size):
        at = keys[i] & mask
        while table[at] != keys[i] and table[at] != np.uint64(0):
            at = (at + np.uint64(1)) & mask
        out[i] = values[at] if table[at] == keys[i] else 0.0


@kernel
def insert(table, values, keys, news):
    """Set the value of each key; returns how many were not there before."""
    mask = np.uint64(table.size - 1)
    n = 0
    for i in range(keys.size):
        if keys[i] == np.uint64(0):
            continue
        at = keys[i] & mask
        while table[at] != keys[i] and table[at] != np.uint64(0):
            at = (at + np.uint64(1)) & mask
        if table[at] == np.uint64(0):
            table[at] = keys[i]
            n += 1
        values[at] = news[i]
    return n
