"""Adds columns that describe each word's head, grandparent, children and siblings.

Of K observed columns: 0 to K-1 the word's own; K to 2K-1 its head's; 2K to 3K-1 those of its head's head; then, of
the last observed column (usually the finest tags), the first child, the last child, and the nearest sibling on the
left; then the side and distance of the head, and the numbers of children on the left and on the right;
then, of each observed column, the first child, the last child, and the nearest siblings on the left and on the right.
"""

from __future__ import annotations

import numpy as np

from epigram.features.columns import Column, Columns
from epigram.features.trees import Trees
from epigram.protocols import Ints, Offsets

NOTHING, ROOT = "<none>", "<root>"
FARTHEST = (1, 2, 3, 4, 5, 10)
MOST_CHILDREN = 3


def parents_of(heads: Ints) -> Ints:
    """Convert heads (from 1, 0 for the root) to parents (from 0, -1 for a root or no head)."""
    return np.maximum(heads - 1, -1).astype(np.int32)


def add_tree_columns(observed: Columns, parents: Ints) -> Trees:
    """Append the tree-context columns of each word to the observed columns.

    Examples
    --------
    >>> words = Columns.from_rows([[("the", "DT"), ("dog", "NN"), ("barks", "VBZ")]])
    >>> trees = add_tree_columns(words, np.array([1, 2, -1], dtype=np.int32))
    >>> dog = next(trees.nodes.rows())[1]
    >>> dog[:11]
    ('dog', 'NN', 'barks', 'VBZ', '<root>', '<root>', 'DT', 'DT', '<none>', 'R1', '1/0')
    >>> dog[11:]
    ('the', 'the', '<none>', '<none>', 'DT', 'DT', '<none>', '<none>')
    """
    n = observed.n_tokens
    firsts = np.repeat(observed.sentence_ptr[:-1], np.diff(observed.sentence_ptr))
    head = np.where(parents >= 0, parents + firsts, -1)
    grand = np.where(head >= 0, head[head], -2)
    own = observed.columns
    columns = [*own, *(_moved(column, head) for column in own), *(_moved(column, grand) for column in own)]
    *relatives, left, right = _relatives(head, n)
    columns += [_moved(own[-1], of) for of in relatives[:3]]
    columns.append(_ways(head, n))
    counts = np.minimum(left, MOST_CHILDREN) * (MOST_CHILDREN + 1) + np.minimum(right, MOST_CHILDREN)
    names = [f"{a}/{b}" for a in range(MOST_CHILDREN + 1) for b in range(MOST_CHILDREN + 1)]
    columns.append(Column(counts.astype(np.int32), names))
    columns += [_moved(column, of) for column in own for of in relatives]
    return Trees(Columns(observed.sentence_ptr, columns, observed.path, observed.lines), parents)


def _moved(column: Column, of: Offsets) -> Column:
    """Take the cells of other words: -1 is the parent of a root, -2 and below a missing word."""
    k = len(column.strings)
    ids = np.where(of >= 0, column.ids[np.maximum(of, 0)], np.where(of == -1, k, k + 1))
    return Column(ids.astype(np.int32), [*column.strings, ROOT, NOTHING])


def _relatives(head: Offsets, n: int) -> tuple[Offsets, ...]:
    """Return first and last child, left and right sibling (-2: none), and counts of children."""
    words = np.arange(n)
    inner = words[head >= 0]
    above = head[inner]
    first, last, before, after = (np.full(n, -2, dtype=np.int64) for _ in range(4))
    last[above] = inner  # of repeated indices the last assignment wins
    first[above[::-1]] = inner[::-1]
    order = np.argsort(above, kind="stable")
    same = above[order[1:]] == above[order[:-1]]
    before[inner[order[1:][same]]] = inner[order[:-1][same]]
    after[inner[order[:-1][same]]] = inner[order[1:][same]]
    left = np.bincount(above[inner < above], minlength=n)
    return first, last, before, after, left, np.bincount(above[inner > above], minlength=n)


def _ways(head: Offsets, n: int) -> Column:
    """Return side and distance of the head: ``R1`` is the next word, ``L5`` 5 to 9 words before."""
    distance = np.abs(head - np.arange(n))
    bins = np.searchsorted(FARTHEST, distance, side="right") - 1
    names = [f"{side}{far}" for side in "LR" for far in FARTHEST]
    ids = np.where(head > np.arange(n), len(FARTHEST) + bins, bins)
    return Column(np.where(head >= 0, ids, len(names)).astype(np.int32), [*names, ROOT])


def default_template(n_observed: int) -> str:
    """Return the default template over the columns of :func:`add_tree_columns`.

    The tags are the third column, or the last of fewer; a fourth one has morphological features. Lines combine cells of
    the word, its head, its children and its siblings, and the side and distance of the head.
    """
    k, tag = n_observed, min(2, n_observed - 1)
    way, children, relatives = 3 * k + 3, 3 * k + 4, 3 * k + 5
    first_word, last_word, left_word, right_word = range(relatives, relatives + 4)
    first, last, left, right = range(relatives + 4 * tag, relatives + 4 * tag + 4)
    own, head, grand = tag, k + tag, 2 * k + tag
    lines = [f"%x[0,{c}]" for c in (*range(2 * k), first, last, left, right, way, children)]
    lines += [f"%x[{offset},{c}]" for offset in (-1, 1) for c in (tag, 0)] + [f"%x[-2,{tag}]", f"%x[2,{tag}]"]
    bags = [
        (0, k), (0, head), (own, k), (own, head), (own, way), (0, way), (head, way), (own, left), (own, first),
        (own, last), (own, children), (k, way), (0, first), (0, left), (k, left), (0, children), (own, right),
        (own, head, way), (0, head, way), (own, k, way), (own, head, left), (own, head, first), (own, head, last),
        (own, head, grand), (own, head, children), (own, k, left), (0, k, way), (head, left, way),
        (own, head, right, way), (own, k, right), (first_word,), (own, first_word), (own, head, first_word),
        (own, k, first_word), (0, first_word), (own, last_word), (own, head, left_word), (own, head, right_word),
        (own, head, first_word, way),
    ]  # fmt: skip
    if k > 2:
        bags += [(1, k + 1), (1, way), (0, k + 1), (1, k), (1, k + 1, way), (1, k + 1, 2 * k + 1)]
        bags += [(1, k + 1, relatives + 6), (1, k + 1, first_word), (1, k, first_word)]
    if k > 3:
        feats, of_head = 3, k + 3
        bags += [(own, feats), (own, feats, head), (own, feats, head, way), (own, head, of_head, way)]
        bags += [(own, feats, head, of_head), (own, feats, first_word), (own, feats, k), (0, head, of_head)]
        bags += [(1, relatives + 4 * feats), (own, head, of_head, left), (own, feats, children)]
    lines += ["/".join(f"%x[0,{c}]" for c in dict.fromkeys(bag)) for bag in bags]
    lines += [f"%x[-1,{tag}]/%x[0,{tag}]", f"%x[0,{tag}]/%x[1,{tag}]", f"%x[0,{tag}]/%x[1,{tag}]/%x[0,{way}]"]
    lines += ["%x[0,0|lower|suffix:3]", f"%x[0,0|lower|suffix:2]/%x[0,{head}]"]
    lines += ["%x[0,0|lower]", f"%x[0,{k}|lower]"]
    return (
        "".join(f"U{number:02}:{line}\n" for number, line in enumerate(dict.fromkeys(lines)))
        + f"B\nB0:%x[0,{tag}]\n"
    )
