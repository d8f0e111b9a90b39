"""Trees of third order the slow way: each child with the one before it and with the head of its head."""

from __future__ import annotations

from reference import siblings


def parts(heads):
    """The (grandparent, head, sibling, child) of a tree; that of the root's child is (-1, 0, 0, child)."""
    root = heads.index(0) + 1
    return [(heads[h - 1], h, q, c) for h, q, c in siblings.parts(heads)] + [(-1, 0, 0, root)]


def score(scores, heads):
    """Sum of the scores of all parts, by part."""
    return sum(scores[part] for part in parts(heads))


def numbers_of(part, n):
    """Which arc, trio and grand a part has: None where it has none."""
    g, h, q, c = part
    if g < 0:
        return h * n + c - 1, None, None
    is_end = c in (0, n + 1)
    return None if is_end else h * n + c - 1, (0, h, q, c), None if is_end else (g, h, h, c)
