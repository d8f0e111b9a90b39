"""One call for all who wait: requests for the same model that arrive together are answered together.

A call of a model has a price of its own beside that of its sentences, so under load a batch costs little more than one
request, and a lone request waits for nobody. Work goes to a thread, unless the last calls show that it takes less
than :data:`BRIEF`: then it is done between two looks at the sockets, because two threads that hand over the
interpreter for each answer cost more than a sentence.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Executor
from typing import Any

from epigram.serve.errors import Refusal

MOST_TOGETHER = 64
BRIEF = 0.003
"""Seconds for which other connections may wait."""
MOST_KEYS = 1000
STOPPING = "the server is stopping"
Work = Callable[[list[Any]], Sequence[Any]]
Waiting = tuple[list[Any], asyncio.Future[Any]]


class Gathering:
    """Runs work, one call a key at a time.

    Parameters
    ----------
    pool : where work is done that is not brief.
    most_waiting : with more requests waiting, new ones are refused.
    """

    def __init__(self, pool: Executor, most_waiting: int) -> None:
        self._pool, self._most = pool, most_waiting
        self._queues: dict[Hashable, deque[Waiting]] = {}
        self._pace: OrderedDict[Hashable, float] = OrderedDict()
        self.n_waiting = 0

    async def ask(self, key: Hashable, work: Work, items: list[Any]) -> list[Any]:
        """``work(items)``, perhaps together with others' items; ``key`` says whose work can be joined.

        Items have a length, with which their work grows.
        """
        self._refuse_more()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        queue = self._queues.get(key)
        if queue is None:
            queue = self._queues[key] = deque()
            loop.call_soon(self._next, key, work)  # after those who are ready to ask, too
        queue.append((items, future))
        self.n_waiting += 1
        try:
            result: list[Any] = await future
            return result
        finally:
            self.n_waiting -= 1

    async def alone(self, work: Callable[[], Any]) -> Any:
        """``work()`` in a thread."""
        self._refuse_more()
        done = asyncio.get_running_loop().run_in_executor(self._pool, work)
        done.add_done_callback(_looked_at)
        self.n_waiting += 1
        try:
            await asyncio.wait([done])
        finally:
            self.n_waiting -= 1
        if done.cancelled():
            raise Refusal(503, STOPPING)
        return done.result()

    def _refuse_more(self) -> None:
        if self.n_waiting >= self._most:
            raise Refusal(503, "too many requests wait already; try again in a second")

    def _next(self, key: Hashable, work: Work) -> None:
        """Do the work of those who wait now."""
        batch, size, brief = self._take(key)
        parts = [items for items, _ in batch]
        if not batch:
            del self._queues[key]
        elif brief:
            self._finish(key, work, batch, size, _answers(work, parts))
        else:
            task = asyncio.get_running_loop().run_in_executor(self._pool, _answers, work, parts)

            def finish(done: asyncio.Future[Any]) -> None:
                error = _looked_at(done)
                found = done.result() if error is None else ([error] * len(parts), math.inf)
                self._finish(key, work, batch, size, found)

            task.add_done_callback(finish)

    def _take(self, key: Hashable) -> tuple[list[Waiting], int, bool]:
        """Requests to answer in one call, the length of their items, and whether that is brief."""
        queue, pace = self._queues[key], self._pace.get(key, math.inf)
        batch: list[Waiting] = []
        n_items = size = 0
        brief = True
        while queue:
            items, future = queue[0]
            length = 1 + len(items) + sum(map(len, items))
            fits = (size + length) * pace <= BRIEF
            if batch and (n_items + len(items) > MOST_TOGETHER or (brief and not fits)):
                break
            queue.popleft()
            if future.done():  # its client went away, or its time was up
                continue
            brief = brief and fits
            batch.append((items, future))
            n_items, size = n_items + len(items), size + length
        return batch, size, brief

    def _finish(
        self, key: Hashable, work: Work, batch: list[Waiting], size: int, done: tuple[list[Any], float]
    ) -> None:
        """Hand out answers, remember how long they took, and go on."""
        answers, seconds = done
        for (_, future), answer in zip(batch, answers, strict=True):
            if future.done():
                continue
            if isinstance(answer, BaseException):
                future.set_exception(answer)
            else:
                future.set_result(answer)
        self._pace[key] = seconds / size
        self._pace.move_to_end(key)
        if len(self._pace) > MOST_KEYS:
            self._pace.popitem(last=False)
        if self._queues[key]:
            asyncio.get_running_loop().call_soon(self._next, key, work)
        else:
            del self._queues[key]


def _looked_at(done: asyncio.Future[Any]) -> BaseException | None:
    """The error of work, if any; asked for, so that nobody complains where the client went away before."""
    return Refusal(503, STOPPING) if done.cancelled() else done.exception()


def _answers(work: Work, parts: list[list[Any]]) -> tuple[list[Any], float]:
    """What each part gets, and the CPU seconds that it took."""
    began = time.thread_time()
    return _each(work, parts), time.thread_time() - began


def _each(work: Work, parts: list[list[Any]]) -> list[Any]:
    """What each part gets; where the joint call fails, every part is tried alone, so that one's error is its own."""
    try:
        flat = list(work([item for part in parts for item in part]))
    except Exception as error:
        if len(parts) == 1:
            return [error]
        return [answer for part in parts for answer in _each(work, [part])]
    ends, at = [], 0
    for part in parts:
        ends.append(flat[at : at + len(part)])
        at += len(part)
    return ends
