"""What a word sees of the tree around it, found word by word: the twin of :mod:`epigram.parsing.tree_columns`."""

from __future__ import annotations


def seen(rows, parents):
    """The columns of every word of one sentence; parents count from 0, -1 is a root."""
    return [_columns(rows, parents, t) for t in range(len(rows))]


def _columns(rows, parents, t):
    n_columns, parent = len(rows[0]), parents[t]
    grand = None if parent < 0 else parents[parent]
    children = [c for c, p in enumerate(parents) if p == t]
    siblings = [c for c, p in enumerate(parents) if p == parent and parent >= 0]
    relatives = [
        children[0] if children else None,
        children[-1] if children else None,
        max((c for c in siblings if c < t), default=None),
        min((c for c in siblings if c > t), default=None),
    ]
    own = [*rows[t], *(_cell(rows, parent, k) for k in range(n_columns))]
    own += [_cell(rows, grand, k) for k in range(n_columns)]
    own += [_cell(rows, of, n_columns - 1) for of in relatives[:3]]
    own.append(_way(parent, t))
    left = sum(c < t for c in children)
    own.append(f"{min(3, left)}/{min(3, len(children) - left)}")
    return (*own, *(_cell(rows, of, k) for k in range(n_columns) for of in relatives))


def _cell(rows, t, k):
    if t is None:
        return "<none>"
    return "<root>" if t < 0 else rows[t][k]


def _way(parent, t):
    if parent < 0:
        return "<root>"
    far = abs(parent - t)
    return ("R" if parent > t else "L") + str(far if far < 5 else 5 if far < 10 else 10)
