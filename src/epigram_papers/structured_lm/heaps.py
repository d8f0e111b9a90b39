"""k of section 4.5: how many entries of a subtree's heap a projection of tree-linf has to take out.

Algorithm 4 as printed: what a node clips returns to the heap as so many equal entries, and counts again at its
ancestors (the library returns it as one). Nodes whose subtree becomes 0 find no threshold and do not count.
"""

from __future__ import annotations

import heapq
from typing import Any

from epigram.protocols import Floats, Ints
from epigram_papers.structured_lm.text import split_text
from epigram_papers.structured_lm.timing import prox_input


def k_best(
    *, data: str, split: int, words: int | None, order: int, strengths: list[float], iterations: int
) -> dict[str, Any]:
    """Mean and largest k of a proximal step on the collapsed tree, at several strengths."""
    train, _ = split_text(data, split, words)
    rows = []
    for strength in strengths:
        found = projection_sizes(*prox_input(train, order, strength, iterations, collapse=True))
        rows.append({"strength": strength, "mean": sum(found) / len(found), "largest": max(found)})
    return {"rows": rows, "words": train.n_tokens}


def projection_sizes(parents: Ints, v: Floats, kappa: float, counts: Floats) -> list[int]:
    """k of each projection, children before parents; the node x has ``counts[x]`` entries ``v[x]`` and groups.

    Examples
    --------
    >>> import numpy as np
    >>> projection_sizes(np.array([-1, 0, 0]), np.array([3.0, 3.5, 1.0]), 0.9, np.ones(3))
    [1, 1, 1]
    >>> projection_sizes(np.array([-1, 0, 0]), np.array([3.0, 3.5, 1.0]), 0.4, np.ones(3))
    [1, 1, 2]
    """
    value, count, parent = v.tolist(), counts.tolist(), parents.tolist()
    heaps: list[list[tuple[float, float]]] = [[] for _ in parent]
    total = [0.0] * len(parent)
    found = []
    for x in range(len(parent) - 1, -1, -1):
        heap, radius = heaps[x], kappa * count[x]
        if value[x] > 0.0:
            heapq.heappush(heap, (-value[x], count[x]))
            total[x] += value[x] * count[x]
        if total[x] <= radius:
            heaps[x] = []
            continue
        s, c, taken = -radius, 0.0, []
        while heap and -heap[0][0] > (s - heap[0][0] * heap[0][1]) / (c + heap[0][1]):
            top, weight = heapq.heappop(heap)
            s, c = s - top * weight, c + weight
            taken.append(weight)
        found.append(len(taken))
        for weight in taken:
            heapq.heappush(heap, (-s / c, weight))
        if parent[x] >= 0:
            total[parent[x]] += total[x] - radius
            heaps[parent[x]] = _merged(heap, heaps[parent[x]])
        heaps[x] = []
    return found


def _merged(a: list[tuple[float, float]], b: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The smaller heap into the larger."""
    if len(a) < len(b):
        a, b = b, a
    for entry in b:
        heapq.heappush(a, entry)
    return a
