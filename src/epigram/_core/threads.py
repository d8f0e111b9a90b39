"""Thread pools for calls of the C core, which releases the interpreter while it runs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from itertools import pairwise
from types import TracebackType
from typing import Self, TypeVar

import numpy as np

from epigram._core.arrays import Floats

S = TypeVar("S")
T = TypeVar("T")
FEW = 1 << 14  # columns that one thread is through with before another one has begun


class Team:
    """Thread pool in which the calling thread works too.

    Examples
    --------
    >>> with Team(2) as team:
    ...     team.run(abs, [-1, -2, -3])
    [1, 2, 3]
    """

    def __init__(self, threads: int) -> None:
        self._others, self._pool = threads - 1, None
        if self._others > 0:
            from concurrent.futures import ThreadPoolExecutor  # not cheap to import

            self._pool = ThreadPoolExecutor(self._others)

    def run(self, work: Callable[[S], T], tasks: Sequence[S]) -> list[T]:
        """Results of the work on all tasks, in their order; C lets go of the interpreter meanwhile."""
        if self._pool is None or len(tasks) < 2:
            return list(map(work, tasks))
        results: dict[int, T] = {}
        waiting = deque(enumerate(tasks))

        def labour() -> None:
            while waiting:
                try:
                    k, task = waiting.popleft()
                except IndexError:  # another thread was faster
                    return
                results[k] = work(task)

        others = [self._pool.submit(labour) for _ in range(min(self._others, len(tasks) - 1))]
        try:
            labour()
        finally:
            failures = [other.exception() for other in others if not other.cancel()]
        for failure in failures:
            if failure is not None:
                raise failure
        return [results[k] for k in range(len(tasks))]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool:
            self._pool.shutdown()


class Parts(Team):
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
        super().__init__(threads)

    def each(self, work: Callable[[slice], T]) -> list[T]:
        """Results of the work on each part, in their order."""
        return self.run(work, self._slices)

    def sums(self, size: int, work: Callable[[slice, Floats], object]) -> Floats:
        """Numbers that the work writes for each part, added up."""

        def run(part: slice) -> Floats:
            out = np.zeros(size)
            work(part, out)
            return out

        return np.asarray(sum(self.each(run)))
