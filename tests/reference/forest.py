"""Reference implementation of third-order trees: enumerates the parts of one tree."""

from __future__ import annotations

import numpy as np


def parts(heads):
    """The (grandparent, head, sibling, child) of a tree; that of the root's child is (-1, 0, 0, child).

    The head stands for a missing sibling, and 0 and n + 1 for the ends after the last child on each side.
    """
    n, found = len(heads), [(-1, 0, 0, heads.index(0) + 1)]
    for h in range(1, n + 1):
        own = [c for c in range(1, n + 1) if heads[c - 1] == h]
        for side in ([c for c in own[::-1] if c < h] + [0], [c for c in own if c > h] + [n + 1]):
            found += [(heads[h - 1], h, q, c) for q, c in zip([h, *side], side, strict=False)]
    return found


def score(scores, heads):
    """Sum of the scores of all parts, by part."""
    return sum(scores[part] for part in parts(heads))


def likely_arcs(p, best, share, most=16):
    """Arcs whose probability is at least a share of the likeliest head's, and those of the best tree."""
    n, keep = len(best), np.zeros_like(p, dtype=np.uint8)
    for c in range(n):
        first = sorted(p[:, c], reverse=True)
        for h in range(n + 1):
            keep[h, c] = (
                p[h, c] > 0 and p[h, c] >= share * first[0] and (n <= most or p[h, c] >= first[most - 1])
            )
        keep[best[c], c] = 1
    return keep


def numbers_of(part, n):
    """Which arc, trio and grand a part has: None where it has none."""
    g, h, q, c = part
    if g < 0:
        return h * n + c - 1, None, None
    is_end = c in (0, n + 1)
    return None if is_end else h * n + c - 1, (0, h, q, c), None if is_end else (g, h, h, c)
