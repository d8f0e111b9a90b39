"""What a word sees of the tree around it, as columns that templates can name.

Of K observed columns: 0 to K-1 the word's own; K to 2K-1 its head's; 2K to 3K-1 those of its head's head; then, of
the last observed column (usually the finest tags), the first child, the last child, and the nearest sibling on the
left; then on which side the head is and how far away, and how many children there are on the left and on the right.
"""

from __future__ import annotations

import numpy as np

from epigram.protocols import Ints, Offsets
from epigram.tagging.corpus import Column, Columns
from epigram.tagging.trees import Trees

NOTHING, ROOT = "<none>", "<root>"
FARTHEST = (1, 2, 3, 4, 5, 10)
MOST_CHILDREN = 3


def surroundings(observed: Columns, parents: Ints) -> Trees:
    """The observed columns and those of the tree around each word.

    Examples
    --------
    >>> words = Columns.from_rows([[("the", "DT"), ("dog", "NN"), ("barks", "VBZ")]])
    >>> trees = surroundings(words, np.array([1, 2, -1], dtype=np.int32))
    >>> list(trees.nodes.rows())[0][0]
    ('the', 'DT', 'dog', 'NN', 'barks', 'VBZ', '<none>', '<none>', '<none>', 'R1', '0/0')
    """
    n = observed.n_tokens
    firsts = np.repeat(observed.sentence_ptr[:-1], np.diff(observed.sentence_ptr))
    head = np.where(parents >= 0, parents + firsts, -1)
    grand = np.where(head >= 0, head[head], -2)
    own = observed.columns
    columns = [*own, *(_moved(column, head) for column in own), *(_moved(column, grand) for column in own)]
    first, last, sibling, left, right = _children(head, n)
    columns += [_moved(own[-1], of) for of in (first, last, sibling)]
    columns.append(_ways(head, n))
    counts = np.minimum(left, MOST_CHILDREN) * (MOST_CHILDREN + 1) + np.minimum(right, MOST_CHILDREN)
    names = [f"{a}/{b}" for a in range(MOST_CHILDREN + 1) for b in range(MOST_CHILDREN + 1)]
    columns.append(Column(counts.astype(np.int32), names))
    return Trees(Columns(observed.sentence_ptr, columns, observed.path, observed.lines), parents)


def _moved(column: Column, of: Offsets) -> Column:
    """The cells of other words; -1 is above a root, -2 and below are nothing."""
    k = len(column.strings)
    ids = np.where(of >= 0, column.ids[np.maximum(of, 0)], np.where(of == -1, k, k + 1))
    return Column(ids.astype(np.int32), [*column.strings, ROOT, NOTHING])


def _children(head: Offsets, n: int) -> tuple[Offsets, ...]:
    """First child, last child and left sibling of each word (-2: none); how many children on the left and right."""
    words = np.arange(n)
    inner = words[head >= 0]
    above = head[inner]
    first, last, sibling = (np.full(n, -2, dtype=np.int64) for _ in range(3))
    last[above] = inner  # the last assignment stays
    first[above[::-1]] = inner[::-1]
    order = np.argsort(above, kind="stable")
    same = above[order[1:]] == above[order[:-1]]
    sibling[inner[order[1:][same]]] = inner[order[:-1][same]]
    left = np.bincount(above[inner < above], minlength=n)
    return first, last, sibling, left, np.bincount(above[inner > above], minlength=n)


def _ways(head: Offsets, n: int) -> Column:
    """Side and distance of the head, such as ``R1`` (the next word) or ``L5`` (five to nine words before)."""
    distance = np.abs(head - np.arange(n))
    bins = np.searchsorted(FARTHEST, distance, side="right") - 1
    names = [f"{side}{far}" for side in "LR" for far in FARTHEST]
    ids = np.where(head > np.arange(n), len(FARTHEST) + bins, bins)
    return Column(np.where(head >= 0, ids, len(names)).astype(np.int32), [*names, ROOT])


def usual_template(n_observed: int) -> str:
    """A template over the columns of :func:`surroundings`: pairs of own and head's cells, children, siblings, sides."""
    k, tag = n_observed, n_observed - 1
    own, head = range(k), range(k, 2 * k)
    first, last, sibling, way, children = range(3 * k, 3 * k + 5)
    bags: list[tuple[int | str, ...]] = [(c,) for c in (*own, *head, first, last, sibling, way, children)]
    bags += [("-1", tag), ("1", tag), ("-1", 0), ("1", 0), ("-2", tag), ("2", tag)]
    lines = [f"%x[{bag[0]},{bag[1]}]" if len(bag) == 2 else f"%x[0,{bag[0]}]" for bag in bags]
    pairs = [
        (0, k), (0, k + tag), (tag, k), (tag, k + tag), (tag, way), (0, way), (k + tag, way), (tag, sibling),
        (tag, first), (tag, last), (tag, children), (k, way), (0, first), (0, sibling), (k, sibling), (0, children),
    ]  # fmt: skip
    triples = [
        (tag, k + tag, way), (0, k + tag, way), (tag, k, way), (tag, k + tag, sibling), (tag, k + tag, first),
        (tag, k + tag, last), (tag, k + tag, 2 * k + tag), (tag, k + tag, children), (tag, k, sibling), (0, k, way),
        (k + tag, sibling, way),
    ]  # fmt: skip
    if k > 2:
        pairs += [(1, k + 1), (1, way), (0, k + 1), (1, k)]
        triples += [(1, k + 1, way), (1, k + 1, sibling), (1, k + 1, 2 * k + 1)]
    for bag in (*pairs, *triples):
        lines.append("/".join(f"%x[0,{c}]" for c in dict.fromkeys(bag)))
    lines += [f"%x[-1,{tag}]/%x[0,{tag}]", f"%x[0,{tag}]/%x[1,{tag}]", f"%x[0,{tag}]/%x[1,{tag}]/%x[0,{way}]"]
    lines += ["%x[0,0|lower|suffix:3]", f"%x[0,0|lower|suffix:2]/%x[0,{k + tag}]"]
    lines += ["%x[0,0|lower]", f"%x[0,{k}|lower]"]
    return "".join(f"U{number:02}:{line}\n" for number, line in enumerate(lines)) + f"B\nB0:%x[0,{tag}]\n"
