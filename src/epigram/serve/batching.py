"""Batches concurrent requests for the same model into one call.

Each call of a model has a fixed cost, so under load a batch costs little more than one request; a single request does
not wait for others. Work runs in a thread, unless earlier calls show that it takes less than :data:`BRIEF`: then it
runs in the event loop, because handing the interpreter over between two threads costs more than a sentence.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Executor
from threading import Lock
from typing import Any

from epigram.serve.http import RequestError

MAX_BATCH = 64
BRIEF = 0.003
"""Seconds that work may take in the event loop."""
MAX_BRIEF_LENGTH = 128
"""Length of an item above which its work counts as long: it may grow faster than the length."""
SLICE = 4096
"""Length of the items after which a thread checks whether a client still waits for its work."""
MAX_KEYS = 1000
STOPPING = "the server is stopping"
Work = Callable[[list[Any]], Sequence[Any]]
Waiting = tuple[list[Any], asyncio.Future[Any]]


class Batcher:
    """Runs one batch at a time for each key.

    Parameters
    ----------
    pool : runs work that is not brief.
    most_waiting : number of waiting requests above which new ones are refused.
    """

    def __init__(self, pool: Executor, most_waiting: int) -> None:
        self._pool, self._most = pool, most_waiting
        self._queues: dict[Hashable, deque[Waiting]] = {}
        self._pace: OrderedDict[Hashable, float] = OrderedDict()
        self.n_waiting = self.n_running = 0
        self._lock = Lock()

    def _run(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Run work in a thread of the pool, and count it as running until it ends."""
        with self._lock:
            self.n_running += 1
        try:
            return work(*arguments)
        finally:
            with self._lock:
                self.n_running -= 1

    async def submit(self, key: Hashable, work: Work, items: list[Any]) -> list[Any]:
        """Return ``work(items)``, computed together with other requests of the same key.

        Items have a length, with which their work grows.
        """
        self._refuse_more()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        queue = self._queues.get(key)
        if queue is None:
            queue = self._queues[key] = deque()
            loop.call_soon(self._next, key, work)  # after requests that are ready now
        queue.append((items, future))
        self.n_waiting += 1
        try:
            result: list[Any] = await future
            return result
        finally:
            self.n_waiting -= 1

    async def run_in_thread(self, work: Callable[[], Any]) -> Any:
        """Return ``work()``, called in a thread."""
        self._refuse_more()
        done = asyncio.get_running_loop().run_in_executor(self._pool, self._run, work)
        done.add_done_callback(_error_of)
        self.n_waiting += 1
        try:
            await asyncio.wait([done])
        finally:
            self.n_waiting -= 1
            done.cancel()  # skips work that no thread has begun, if its client disconnected
        if done.cancelled():
            raise RequestError(503, STOPPING)
        return done.result()

    def _refuse_more(self) -> None:
        if self.n_waiting >= self._most:
            raise RequestError(503, "too many requests wait already; try again in a second")

    def _next(self, key: Hashable, work: Work) -> None:
        """Run a batch of the requests that wait now."""
        batch, size, brief = self._take(key)
        if not batch:
            del self._queues[key]
        elif brief:
            self._finish(key, work, batch, size, _timed(work, batch))
        else:
            loop = asyncio.get_running_loop()
            task = loop.run_in_executor(self._pool, self._run, _timed, work, batch)

            def finish(done: asyncio.Future[Any]) -> None:
                error = _error_of(done)
                found = done.result() if error is None else ([error] * len(batch), math.inf)
                self._finish(key, work, batch, size, found)

            task.add_done_callback(finish)

    def _take(self, key: Hashable) -> tuple[list[Waiting], int, bool]:
        """Return the requests of the next call, the length of their items, and whether it is brief."""
        queue, pace = self._queues[key], self._pace.get(key, math.inf)
        batch: list[Waiting] = []
        n_items = size = 0
        brief = True
        while queue:
            items, future = queue[0]
            length = 1 + len(items) + sum(map(len, items))
            fits = (size + length) * pace <= BRIEF and max(map(len, items), default=0) <= MAX_BRIEF_LENGTH
            if batch and (n_items + len(items) > MAX_BATCH or (brief and not fits)):
                break
            queue.popleft()
            if future.done():  # its client disconnected, or it timed out
                continue
            brief = brief and fits
            batch.append((items, future))
            n_items, size = n_items + len(items), size + length
        return batch, size, brief

    def _finish(
        self, key: Hashable, work: Work, batch: list[Waiting], size: int, done: tuple[list[Any], float]
    ) -> None:
        """Deliver answers, record how long they took, and start the next batch."""
        answers, seconds = done
        for (_, future), answer in zip(batch, answers, strict=True):
            if future.done():
                continue
            if isinstance(answer, BaseException):
                future.set_exception(answer)
            else:
                future.set_result(answer)
        if not any(isinstance(answer, BaseException) for answer in answers):
            self._pace[key] = seconds / size
            self._pace.move_to_end(key)
        if len(self._pace) > MAX_KEYS:
            self._pace.popitem(last=False)
        if self._queues[key]:
            asyncio.get_running_loop().call_soon(self._next, key, work)
        else:
            del self._queues[key]


def _error_of(done: asyncio.Future[Any]) -> BaseException | None:
    """Return the error of work, if any; asyncio logs errors that are never retrieved."""
    return RequestError(503, STOPPING) if done.cancelled() else done.exception()


def _timed(work: Work, batch: list[Waiting]) -> tuple[list[Any], float]:
    """Return the answer or error of each request, and the CPU seconds they took."""
    began = time.thread_time()
    return _compute(work, batch), time.thread_time() - began


def _compute(work: Work, batch: list[Waiting]) -> list[Any]:
    """Return the answer or error of each request; requests of a failed batch run alone."""
    try:
        flat: list[Any] = []
        for some in _slices([item for items, _ in batch for item in items]):
            if all(future.done() for _, future in batch):
                raise RequestError(503, "no client waits for this any more")
            flat += work(some)
    except Exception as error:
        if len(batch) == 1:
            return [error]
        return [answer for one in batch for answer in _compute(work, [one])]
    ends, at = [], 0
    for items, _ in batch:
        ends.append(flat[at : at + len(items)])
        at += len(items)
    return ends


def _slices(items: list[Any]) -> Iterator[list[Any]]:
    """Split items, in their order, into calls of about equal work."""
    some: list[Any] = []
    size = 0
    for item in items:
        some.append(item)
        size += len(item)
        if size >= SLICE:
            yield some
            some, size = [], 0
    if some or not items:
        yield some
