"""Makes trees projective by lifting crossing arcs (Nivre and Nilsson 2005).

The shortest crossing arc is lifted to its head's head, until none is left. Differs: relations do not encode the lifts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from epigram.protocols import Ints, Offsets


def crossing_arcs(heads: Sequence[int]) -> list[int]:
    """Find children (from 1) whose arc covers a word that does not descend from the arc's head.

    Examples
    --------
    >>> crossing_arcs([2, 0, 2]), crossing_arcs([3, 4, 0, 3])
    ([], [2])
    """
    found = []
    for child, head in enumerate(heads, 1):
        if head == 0:
            continue
        for word in range(min(head, child) + 1, max(head, child)):
            above = heads[word - 1]
            while above not in (0, head):
                above = heads[above - 1]
            if above != head:
                found.append(child)
                break
    return found


def projectivise(heads: Ints, sentence_ptr: Offsets) -> tuple[Ints, int, int]:
    """Lift crossing arcs; return heads and the numbers of changed sentences and arcs.

    Examples
    --------
    >>> projectivise(np.array([3, 4, 0, 3], dtype=np.int32), np.array([0, 4]))
    (array([3, 3, 0, 3], dtype=int32), 1, 1)
    """
    out, n_sentences = heads.copy(), 0
    for a, b in zip(sentence_ptr[:-1].tolist(), sentence_ptr[1:].tolist(), strict=True):
        own = out[a:b].tolist()
        crossing = crossing_arcs(own)
        n_sentences += bool(crossing)
        while crossing:
            child = min(crossing, key=lambda c: (abs(own[c - 1] - c), c))
            own[child - 1] = own[own[child - 1] - 1]
            crossing = crossing_arcs(own)
        out[a:b] = own
    return out, n_sentences, int(np.count_nonzero(out != heads))
