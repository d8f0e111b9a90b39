"""A search of one setting over the paper's grid, and beyond it where the best value lies at its edge.

The paper tests a few values of eta_0 and alpha (section 4.1). On other data the best may lie outside: then the next
value of a longer ladder is tried, until the best has neighbours on both sides or the ladder ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence


def search(
    objective: Callable[[float], float], grid: Sequence[float], ladder: Sequence[float]
) -> dict[float, float]:
    """The objective at every setting tried: those of the grid, then those of the ladder beyond a best edge.

    What is not a number counts as infinite: at that setting nothing was learned.

    Examples
    --------
    >>> search(lambda x: (x - 5) ** 2, [1, 2], [0, 1, 2, 4, 6, 8])
    {1: 16, 2: 9, 4: 1, 6: 1}
    """
    steps = sorted({*grid, *(x for x in ladder if not min(grid) <= x <= max(grid))})
    tried = {x: _number(objective(x)) for x in grid}
    while True:
        place = steps.index(lowest(tried))
        beyond = [x for x in steps[max(place - 1, 0) : place + 2] if x not in tried]
        if not beyond:
            return tried
        tried |= {x: _number(objective(x)) for x in beyond}


def lowest(tried: dict[float, float]) -> float:
    """The setting with the lowest objective; the first of equals."""
    return min(tried, key=lambda x: tried[x])


def _number(value: float) -> float:
    return math.inf if math.isnan(value) else value
