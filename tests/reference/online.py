"""Slow twins of the kernels of training on a stream: dictionaries, and arithmetic modulo 2^64."""

from __future__ import annotations

MASK = (1 << 64) - 1
FIRST, SECOND, THIRD = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
PAIR = 0xD1B54A32D192ED03


def mix(x, y):
    """The finaliser of splitmix64 over a key and a symbol."""
    x = ((x ^ (y * FIRST & MASK)) + SECOND) & MASK
    x = ((x ^ (x >> 30)) * SECOND) & MASK
    x = ((x ^ (x >> 27)) * THIRD) & MASK
    return (x ^ (x >> 31)) or FIRST


def pair_keys(tree):
    """The key of every pair of a tree."""
    nodes, out = [], []
    for c in range(tree.n_contexts):
        above = int(tree.parent[c])
        nodes.append(mix(FIRST, c) if above < 0 else mix(nodes[above], int(tree.symbol[c]) + 1))
        for p in range(int(tree.pair_ptr[c]), int(tree.pair_ptr[c + 1])):
            out.append(mix(nodes[c] ^ PAIR, int(tree.word[p])))
    return out


def positions_of(block, wanted):
    """The positions of some blocks, block by block, oldest first."""
    return [i for b in wanted for i, own in enumerate(block) if own == b]
