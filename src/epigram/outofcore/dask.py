"""Runs shard tasks on a Dask cluster, with retries when workers die.

The only module that imports Dask, when a cluster is asked for. Things are built by tasks from recipes, each on one
worker; those of a worker that dies are rebuilt elsewhere. The driver has all arguments of a call, so a call that fails
on the way is repeated until a deadline. Results come in the order of the things, never of their arrival.

Dask's ports run code for whoever reaches them: ``local:N`` listens on this machine only, and other clusters are those
that their owner has secured.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import fields, is_dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import epigram
from epigram.errors import EpigramError, InputError, install

BY_ITSELF = 1 << 20  # bytes from which a piece goes straight to its worker, not through the scheduler
DEADLINE, LONELY = 1800.0, 60.0
LOCAL_SETTINGS = {
    # Otherwise a local cluster gives a worker up for good that is absent 15 s after any loss, and a task after 3.
    "distributed.deploy.lost-worker-timeout": "600s",
    "distributed.scheduler.allowed-failures": 100,
    "distributed.worker.daemon": True,
    "distributed.admin.large-graph-warning-threshold": "1GB",
    # A worker that computes for seconds is no reason to look at it a hundred times a second.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "500ms",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.worker.memory.monitor-interval": "10s",
}


class Thing:
    """Something made from a recipe, and the worker that has it."""

    __slots__ = ("function", "future", "home", "recipe")

    def __init__(self, function: Callable[[Any], Any], recipe: Any) -> None:
        self.function, self.recipe = function, recipe
        self.home: str | None = None
        self.future: Any = None


class DaskEngine(AbstractContextManager["DaskEngine"]):
    """Work on the workers of a Dask client; see :class:`epigram.outofcore.engine.Engine`.

    Parameters
    ----------
    client : a connected ``distributed.Client``.
    deadline : seconds after which a question that nobody answers is an error.
    lonely : seconds to wait for a first worker, or for one after all are gone.
    direct : whether this process reaches workers by itself; False where only the scheduler does.
    """

    may_lose: ClassVar[bool] = True

    def __init__(
        self, client: Any, deadline: float = DEADLINE, lonely: float = LONELY, direct: bool = True
    ) -> None:
        self.client, self.deadline, self.lonely, self.direct = client, deadline, lonely, direct
        self.asked = self.again = self.sent = self.received = 0  # questions, asked once more, and bytes
        self.kernel_seconds = 0.0
        self._things: list[Thing] = []
        self._opened = ExitStack()

    @property
    def workers(self) -> int:
        """Workers alive now."""
        return len(self._alive())

    def make(self, function: Callable[[Any], Any], recipes: Sequence[Any]) -> list[Any]:
        """See :class:`.Engine`; errors of building show with the first call."""
        things = [Thing(function, recipe) for recipe in recipes]
        self._things += things
        return things

    def ask(
        self,
        function: Callable[[Any, Any], Any],
        handles: Sequence[Any],
        pieces: Sequence[Any],
        may_move: bool = True,
    ) -> list[Any]:
        """See :class:`~epigram.outofcore.engine.Engine`."""
        began, pause = time.monotonic(), 0.1
        self.asked += 1
        while True:
            try:
                answers = self._round(function, handles, pieces, may_move, began + self.deadline)
            except _lost() as error:
                if time.monotonic() > began + self.deadline:
                    raise EpigramError(
                        f"the cluster did not answer within {self.deadline:g} s ({type(error).__name__}); look at "
                        "its workers, and go on with --resume"
                    ) from None
                self.again += 1
                time.sleep(pause)
                pause = min(2.0 * pause, 5.0)
                continue
            self.sent += sum(n_bytes(piece) for piece in pieces)
            self.received += sum(n_bytes(answer) for answer, _ in answers)
            self.kernel_seconds += sum(seconds for _, seconds in answers)
            return [answer for answer, _ in answers]

    @property
    def megabytes(self) -> float:
        """Moved in both directions."""
        return (self.sent + self.received) / 1e6

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of all things, and of the cluster where it was started here."""
        for thing in self._things:
            thing.future = None
        self._things.clear()
        self._opened.close()

    def _round(
        self, function: Any, things: Sequence[Thing], pieces: Sequence[Any], may_move: bool, end: float
    ) -> list[Any]:
        """Ask once."""
        self._settle(things, may_move)
        futures = []
        for thing, piece in zip(things, pieces, strict=True):
            sent = piece
            if n_bytes(piece) >= BY_ITSELF:
                sent = self.client.scatter(
                    piece, workers=[thing.home], direct=self.direct, hash=False, timeout=30
                )
            futures.append(
                self.client.submit(
                    _answer,
                    function,
                    thing.future,
                    sent,
                    workers=[thing.home],  # not another: a copy there would lack the state of this one
                    pure=False,
                )
            )
        try:
            return self._gathered(futures, {thing.home for thing in things}, end)
        except EpigramError:
            raise
        except (ImportError, AttributeError) as error:
            raise InputError(
                f"a worker cannot run this epigram ({error}); install epigram {epigram.__version__} on every worker"
            ) from None
        except MemoryError:
            raise EpigramError("a worker ran out of memory; use more shards or more workers") from None

    def _gathered(self, futures: list[Any], homes: set[str | None], end: float) -> list[Any]:
        """The answers; gives up as soon as one of the workers that were asked is gone."""
        loop = self.client.loop.asyncio_loop
        answers = asyncio.run_coroutine_threadsafe(
            self.client._gather(futures, errors="raise", direct=self.direct), loop
        )
        try:
            while True:
                try:
                    return [aligned(answer) for answer in answers.result(timeout=1.0)]
                except TimeoutError:
                    if answers.done() or time.monotonic() > end or not homes <= set(self._alive()):
                        raise
        finally:
            answers.cancel()

    def _settle(self, things: Sequence[Thing], may_move: bool) -> None:
        """Assign things to live workers, balanced if they may move, and build missing ones."""
        alive = self._alive()
        load: dict[str, list[Thing]] = {worker: [] for worker in alive}
        homeless = []
        for thing in dict.fromkeys(things):
            if (
                thing.home in load
                and thing.future is not None
                and thing.future.status not in ("error", "lost", "cancelled")
            ):
                load[thing.home].append(thing)
            else:
                homeless.append(thing)
        most = -(-len(set(things)) // len(alive))
        for worker in (
            alive if may_move else ()
        ):  # workers that joined later take over from those with too many
            homeless += load[worker][most:]
            del load[worker][most:]
        for thing in homeless:
            worker = min(alive, key=lambda name: len(load[name]))
            load[worker].append(thing)
            thing.home = worker
            thing.future = self.client.submit(
                _make, thing.function, thing.recipe, epigram.__version__, workers=[worker], pure=False
            )

    def _alive(self) -> list[str]:
        """Addresses of all workers; waits for a first one, and says so where none comes."""
        end = time.monotonic() + self.lonely
        while True:
            try:
                found = sorted(self.client.nthreads(callback_timeout=min(self.lonely, 30.0)))
            except (OSError, TimeoutError, RuntimeError) as error:
                if self.client.status in ("closed", "closing") or time.monotonic() > end:
                    raise EpigramError(
                        f"the Dask scheduler is gone ({type(error).__name__}); start it again, and go on with --resume"
                    ) from None
                found = []
            if found:
                return found
            if time.monotonic() > end:
                raise EpigramError(
                    f"no Dask worker for {self.lonely:g} s; start some ('dask worker ADDRESS') and go on with --resume"
                )
            time.sleep(0.2)


def _lost() -> tuple[type[BaseException], ...]:
    """Exceptions of a call whose worker died: the call is repeated."""
    from asyncio import CancelledError
    from concurrent.futures import CancelledError as CancelledHere

    from distributed import KilledWorker

    return CancelledError, CancelledHere, KilledWorker, OSError, TimeoutError, KeyError


def _make(function: Callable[[Any], Any], recipe: Any, version: str) -> Any:
    """On a worker: make a thing, if the two sides speak the same language."""
    if epigram.__version__ != version:
        raise InputError(
            f"a worker has epigram {epigram.__version__}, the driver {version}; install the same on both"
        )
    return function(aligned(recipe))


def _answer(function: Callable[[Any, Any], Any], thing: Any, piece: Any) -> tuple[Any, float]:
    """On a worker: an answer, and the CPU seconds it took."""
    began = time.thread_time()
    answer = function(thing, aligned(piece))
    return answer, time.thread_time() - began


def aligned(piece: Any) -> Any:
    """Align the arrays of a received message, which may start at any address, for C.

    Those in tuples, lists and dataclasses are looked at too; what has none to be moved is returned as it is.

    Examples
    --------
    >>> import numpy as np
    >>> odd = np.frombuffer(b" " + np.arange(2.0).tobytes(), np.float64, 2, 1)
    >>> odd.flags.aligned, aligned((odd, None))[0].flags.aligned, aligned(odd).tolist()
    (False, True, [0.0, 1.0])
    """
    if isinstance(piece, np.ndarray):
        return piece if piece.flags.aligned else piece.copy()
    if isinstance(piece, tuple | list):
        parts = [aligned(part) for part in piece]
        if all(new is old for new, old in zip(parts, piece, strict=True)):
            return piece
        return type(piece)(*parts) if hasattr(piece, "_fields") else type(piece)(parts)
    if is_dataclass(piece) and not isinstance(piece, type):
        given = {one.name: getattr(piece, one.name) for one in fields(piece) if one.init}
        moved = {name: new for name, old in given.items() if (new := aligned(old)) is not old}
        return replace(piece, **moved) if moved else piece
    return piece


def n_bytes(thing: Any) -> int:
    """Bytes of the arrays, texts and numbers in something that travels.

    Examples
    --------
    >>> import numpy as np
    >>> n_bytes((np.zeros(3), 1.0, b"ab", None))
    34
    """
    if isinstance(thing, tuple | list):
        return sum(n_bytes(part) for part in thing)
    if isinstance(thing, bytes | str):
        return len(thing)
    return int(getattr(thing, "nbytes", 8 if isinstance(thing, int | float) else 0))


def connect(where: str | Any, deadline: float = DEADLINE, timeout: float = 20.0) -> DaskEngine:
    """Connect to ``local:N`` (N processes here), a scheduler's address or file, or a client.

    A scheduler that does not answer within ``timeout`` seconds is an error.
    """
    try:
        dask, distributed = (import_module(name) for name in ("dask", "distributed"))
    except ImportError:
        raise InputError(f"a cluster needs Dask: {install('scale')}") from None
    if not isinstance(where, str):
        return DaskEngine(where, deadline)
    opened = ExitStack()
    try:
        if where.startswith("local"):
            opened.enter_context(dask.config.set(LOCAL_SETTINGS))
            cluster = distributed.LocalCluster(
                n_workers=_count(where),
                threads_per_worker=1,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                memory_limit=0,
                silence_logs=50,
            )
            opened.callback(_quietly, cluster)
            client = distributed.Client(cluster, timeout=60)
        elif "://" in where:
            client = distributed.Client(where, timeout=timeout)
        else:
            if not Path(where).is_file():
                raise InputError(
                    f"--cluster {where!r} is neither local:N nor an address (tcp://host:8786) nor a scheduler file"
                )
            client = distributed.Client(scheduler_file=where, timeout=timeout)
    except (OSError, TimeoutError, ValueError) as error:
        opened.close()
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"no Dask scheduler answers at {where!r} ({type(error).__name__}); start one"
        ) from None
    opened.callback(_quietly, client)
    logging.getLogger("asyncio").addFilter(_is_news)
    engine = DaskEngine(client, deadline)
    engine._opened = opened
    return engine


def _count(where: str) -> int:
    """N of ``local:N``."""
    name, _, number = where.partition(":")
    if name != "local" or not number.isdigit() or int(number) < 1:
        raise InputError(f"--cluster {where!r} is not local:N with N of at least 1")
    return int(number)


def _is_news(record: logging.LogRecord) -> bool:
    """Whether to log a record: not the tracebacks of Dask's tasks when all workers are lost."""
    return not (record.exc_info and type(record.exc_info[1]).__name__ == "AllExit")


def _quietly(thing: Any) -> None:
    """Close, ignoring errors."""
    with suppress(Exception):
        thing.close(timeout=10)
