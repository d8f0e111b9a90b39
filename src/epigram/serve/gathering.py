"""One call for all who wait: requests for the same model that arrive while it is at work are answered together.

A call of a model has a price of its own beside that of its sentences, so under load a batch costs little more than one
request, and a lone request waits for nobody.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Executor
from typing import Any

from epigram.serve.errors import Refusal

MOST_TOGETHER = 64
Work = Callable[[list[Any]], Sequence[Any]]


class Gathering:
    """Runs work in threads, one call a key at a time.

    Parameters
    ----------
    pool : where the work is done.
    most_waiting : with more requests waiting, new ones are refused.
    """

    def __init__(self, pool: Executor, most_waiting: int) -> None:
        self._pool, self._most = pool, most_waiting
        self._queues: dict[Hashable, deque[tuple[list[Any], asyncio.Future[Any]]]] = {}
        self.n_waiting = 0

    async def ask(self, key: Hashable, work: Work, items: list[Any]) -> list[Any]:
        """``work(items)``, perhaps together with others' items; ``key`` says whose work can be joined."""
        if self.n_waiting >= self._most:
            raise Refusal(503, "too many requests wait already; try again in a second")
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        queue = self._queues.get(key)
        self.n_waiting += 1
        if queue is None:
            self._queues[key] = deque()
            self._start(key, work, [(items, future)])
        else:
            queue.append((items, future))
        try:
            result: list[Any] = await future
            return result
        finally:
            self.n_waiting -= 1

    def _start(self, key: Hashable, work: Work, batch: list[tuple[list[Any], asyncio.Future[Any]]]) -> None:
        task = asyncio.get_running_loop().run_in_executor(
            self._pool, _answers, work, [items for items, _ in batch]
        )
        task.add_done_callback(lambda done: self._finish(key, work, batch, done))

    def _finish(
        self,
        key: Hashable,
        work: Work,
        batch: list[tuple[list[Any], asyncio.Future[Any]]],
        done: asyncio.Future[list[Any]],
    ) -> None:
        error = None if done.cancelled() else done.exception()
        if done.cancelled() or error is not None:
            answers: list[Any] = [error or Refusal(503, "the server is stopping")] * len(batch)
        else:
            answers = done.result()
        for (_, future), answer in zip(batch, answers, strict=True):
            if future.done():  # its client went away, or its time was up
                continue
            if isinstance(answer, BaseException):
                future.set_exception(answer)
            else:
                future.set_result(answer)
        queue = self._queues[key]
        together: list[tuple[list[Any], asyncio.Future[Any]]] = []
        size = 0
        while queue and (not together or size + len(queue[0][0]) <= MOST_TOGETHER):
            waiting = queue.popleft()
            if not waiting[1].done():
                together.append(waiting)
                size += len(waiting[0])
        if together:
            self._start(key, work, together)
        else:
            del self._queues[key]


def _answers(work: Work, parts: list[list[Any]]) -> list[Any]:
    """What each part gets; where the joint call fails, every part is tried alone, so that one's error is its own."""
    try:
        flat = list(work([item for part in parts for item in part]))
    except Exception as error:
        if len(parts) == 1:
            return [error]
        return [answer for part in parts for answer in _answers(work, [part])]
    ends, at = [], 0
    for part in parts:
        ends.append(flat[at : at + len(part)])
        at += len(part)
    return ends
