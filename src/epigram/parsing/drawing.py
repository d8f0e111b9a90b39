"""Draws dependency trees as terminal text or SVG."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

UP, DOWN, LEFT, RIGHT = 1, 2, 4, 8
LINES = {
    0: " ", UP | DOWN: "│", LEFT | RIGHT: "─", LEFT: "─", RIGHT: "─", UP: "│", DOWN: "│",
    DOWN | RIGHT: "┌", UP | RIGHT: "└", UP | DOWN | RIGHT: "├", LEFT | RIGHT | DOWN: "┬", LEFT | RIGHT | UP: "┴",
    UP | DOWN | LEFT | RIGHT: "┼", DOWN | LEFT: "┐", UP | LEFT: "┘", UP | DOWN | LEFT: "┤",
}  # fmt: skip


def levels(heads: Sequence[int]) -> dict[int, int]:
    """Assign each child's arc a level, from 1: above every arc that it covers or touches.

    The root has none.

    Examples
    --------
    >>> levels([2, 3, 0, 3])
    {1: 1, 2: 2, 4: 1}
    """
    spans = {c: (min(h, c), max(h, c)) for c, h in enumerate(heads, 1) if h}
    found: dict[int, int] = {}
    for c, (a, b) in sorted(spans.items(), key=lambda item: (item[1][1] - item[1][0], item[0])):
        drawn = [(found[d], x, y) for d, (x, y) in spans.items() if d in found]
        level = 1 + max((own for own, x, y in drawn if x < b and a < y), default=0)
        while level in {own for own, x, y in drawn if y == a or x == b}:
            level += 1
        found[c] = level
    return dict(sorted(found.items()))


def terminal_picture(words: Sequence[str], heads: Sequence[int], relations: Sequence[str]) -> str:
    """Draw a tree as text: one word per line, arcs on the left, arrows at the children.

    Examples
    --------
    >>> print(terminal_picture(["the", "dog", "barks"], [2, 3, 0], ["det", "nsubj", "root"]))
      ┌──▶ the    det
    ┌─┴──▶ dog    nsubj
    └───── barks  root
    """
    level = levels(heads)
    deepest = max(level.values(), default=0)
    width = 2 * deepest
    grid = [[0] * (width + 1) for _ in words]
    for c, far in level.items():
        h, x = heads[c - 1], width - 2 * far
        a, b = min(h, c) - 1, max(h, c) - 1
        for row in range(a, b + 1):
            grid[row][x] |= (UP if row > a else 0) | (DOWN if row < b else 0)
        for row in (a, b):
            grid[row][x] |= RIGHT
            for k in range(x + 1, width + 1):
                grid[row][k] |= LEFT | RIGHT
    longest = max(map(len, words), default=0)
    lines = []
    for cells, word, head, relation in zip(grid, words, heads, relations, strict=True):
        drawn = "".join(LINES[cell] for cell in cells)
        arrow = "▶" if head else "─" if any(cells) else " "
        lines.append(f"{drawn}{arrow} {word:{longest}}  {relation}".rstrip())
    return "\n".join(lines)


def svg_picture(words: Sequence[str], heads: Sequence[int], relations: Sequence[str]) -> str:
    """Draw a tree as an SVG document: words in a row, arcs above them.

    Examples
    --------
    >>> svg_picture(["hi"], [0], ["root"]).startswith("<svg")
    True
    """
    level = levels(heads)
    widths = [max(9 * len(word), 7 * len(name), 20) + 16 for word, name in zip(words, relations, strict=True)]
    middles, at = [], 10.0
    for width in widths:
        middles.append(at + width / 2)
        at += width
    top = 30 + 34 * (1 + max(level.values(), default=0))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{at + 10:.0f}" height="{top + 40}" '
        'font-family="sans-serif" font-size="14" text-anchor="middle">',
        '<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="6" refY="3" orient="auto">'
        '<path d="M0,0 L6,3 L0,6 z"/></marker></defs>',
    ]
    for c, (word, head, name) in enumerate(zip(words, heads, relations, strict=True), 1):
        x = middles[c - 1]
        parts.append(f'<text x="{x:.0f}" y="{top + 24}">{escape(word)}</text>')
        if head:
            start = middles[head - 1] + (5 if head < c else -5)
            height = top - 34 * level[c]
            path = f"M{start:.0f},{top} C{start:.0f},{height} {x:.0f},{height} {x:.0f},{top - 2}"
            label, y = (start + x) / 2, top - 25.5 * level[c] - 4
        else:
            path, label, y = f"M{x:.0f},12 L{x:.0f},{top - 2}", x + 22, 20.0
        parts.append(f'<path d="{path}" fill="none" stroke="black" marker-end="url(#tip)"/>')
        parts.append(f'<text x="{label:.0f}" y="{y:.0f}" font-size="11">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>", ""])
