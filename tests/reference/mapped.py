"""What must be true of the arrays of a mapped language model before C follows them. Slow and obvious."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

NOTHING = -(2**31)
MASK = 2**64 - 1


def rises(numbers: list[int]) -> bool:
    """Whether each number is above the one before."""
    return all(a < b for a, b in pairwise(numbers))


def is_linked(n_words, node_pair, pair_ptr, pair_word, node_of, node_parent, node_depth, pair_next) -> bool:
    """A forward trie with the node of each pair, the depth and a shorter context of each node."""
    n_nodes, n_pairs = len(node_pair), len(pair_word)
    if pair_ptr[0] != 0 or pair_ptr[-1] != n_pairs or sorted(pair_ptr) != list(pair_ptr):
        return False
    owner = [x for x in range(n_nodes) for _ in range(pair_ptr[x + 1] - pair_ptr[x])]
    words = [list(pair_word[pair_ptr[x] : pair_ptr[x + 1]]) for x in range(n_nodes)]
    if words[0] != list(range(n_words)) or not all(rises(mine) for mine in words):
        return False
    if not all(0 <= word < n_words for word in pair_word):
        return False
    spelled = list(node_pair[1:])
    if not rises(spelled) or not all(
        0 <= pair < n_pairs and owner[pair] < x + 1 for x, pair in enumerate(spelled)
    ):
        return False
    if list(node_of) != [spelled.index(pair) + 1 if pair in spelled else -1 for pair in range(n_pairs)]:
        return False
    depth = [0]
    for pair in spelled:
        depth.append(depth[owner[pair]] + 1)
    if list(node_depth) != depth or node_parent[0] != -1:
        return False
    shorter = all(0 <= node_parent[x] < x and depth[node_parent[x]] < depth[x] for x in range(1, n_nodes))
    return shorter and all(0 <= x < n_nodes for x in pair_next)


def place_of(parent: int, symbol: int, n_bits: int) -> int:
    """Where the search for a step begins."""
    key = (parent * 0x9E3779B97F4A7C15 + symbol * 0xC2B2AE3D27D4EB4F) & MASK
    return (((key ^ key >> 32) * 0xD6E8FEB86659FD93) & MASK) >> (64 - n_bits)


def found(steps, parent: int, symbol: int, n_bits: int) -> tuple[int, int] | None:
    """Child and start of a step; None where the table has no such step."""
    at = place_of(parent, symbol, n_bits)
    while steps[at][2] >= 0:
        if (steps[at][0], steps[at][1]) == (parent, symbol):
            return int(steps[at][2]), int(steps[at][3])
        at = (at + 1) % len(steps)
    return None


def is_packed(
    n_choices, n_trees, n_symbols, longest, parent, symbol, pair_ptr, choice, row_at, steps, pairs, n_rows
) -> bool:
    """Trees of contexts with their candidates, and the table, pairs and rows that scoring reads."""
    n, n_roots = len(parent), len(n_choices)
    top, n_bits = n_roots * n_trees, len(steps).bit_length() - 1
    if top > n or any(parent[c] != -1 for c in range(top)):
        return False
    below = list(zip(parent[top:], symbol[top:], strict=True))
    if not rises(below) or not all(0 <= p < top + k and 0 <= s < n_symbols for k, (p, s) in enumerate(below)):
        return False
    root, depth = list(range(top)), [0] * top
    for above, _ in below:
        root.append(root[above])
        depth.append(depth[above] + 1)
    if (
        max(depth) > longest
        or sum(child >= 0 for _, _, child, _ in steps) != n - top
        or n - top == len(steps)
    ):
        return False
    if pair_ptr[0] != 0 or pair_ptr[-1] != len(choice) or sorted(pair_ptr) != list(pair_ptr):
        return False
    for c in range(n):
        width, mine = n_choices[root[c] % n_roots], range(pair_ptr[c], pair_ptr[c + 1])
        chosen = [choice[p] for p in mine]
        if not rises(chosen) or not all(0 <= u < width for u in chosen):
            return False
        table = [(pairs[p]["choice"], pairs[p]["last"], bool(pairs[p]["f"] >= 0)) for p in mine]
        if table != [(u, k + 1 == len(chosen), True) for k, u in enumerate(chosen)]:
            return False
        if row_at[c] + width > n_rows or row_at[c] < -1 or (row_at[c] == -1 and c < top):
            return False
        start = row_at[c] if row_at[c] >= 0 else ~mine.start if chosen else NOTHING
        if c >= top and found(steps, parent[c], symbol[c], n_bits) != (c if c in parent else 0, start):
            return False
    return True


PAIR = np.dtype([("f", "f8"), ("choice", "i4"), ("last", "i4")])
"""A pair as the table of a scorer has it."""
