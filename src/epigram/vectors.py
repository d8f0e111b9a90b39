"""Work on long vectors in threads: each has a part of the columns, the same one every time."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from types import TracebackType
from typing import Self, TypeVar

import numpy as np

from epigram.protocols import Floats

T = TypeVar("T")
FEW = 1 << 14  # columns that one thread is through with before another one has begun


class Parts:
    """The columns of vectors, shared out among threads. Same number of threads, same parts.

    Examples
    --------
    >>> x = np.arange(4.0)
    >>> with Parts(x.size, threads=1) as parts:
    ...     parts.each(lambda part: float(x[part].sum()))
    [6.0]
    """

    def __init__(self, n: int, threads: int = 1) -> None:
        bounds = np.linspace(0, n, (threads if n >= FEW else 1) + 1).astype(int).tolist()
        self._slices = [slice(a, b) for a, b in pairwise(bounds)]
        self._run: Callable[..., object] = map
        if len(self._slices) > 1:
            from concurrent.futures import ThreadPoolExecutor

            self._pool = ThreadPoolExecutor(len(self._slices))
            self._run = self._pool.map

    def each(self, work: Callable[[slice], T]) -> list[T]:
        """Results of the work on each part, in their order; C lets go of the interpreter meanwhile."""
        return list(self._run(work, self._slices))  # type: ignore[call-overload, no-any-return]

    def sums(self, size: int, work: Callable[[slice, Floats], object]) -> Floats:
        """Numbers that the work writes for each part, added up."""

        def run(part: slice) -> Floats:
            out = np.zeros(size)
            work(part, out)
            return out

        return np.asarray(sum(self.each(run)))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if len(self._slices) > 1:
            self._pool.shutdown()
