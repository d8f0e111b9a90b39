"""A pool of spawned processes that knows which task each one is at, and survives the death of any of them.

Workers run one task at a time, single-threaded where libraries let us say so. They end with their parent, however
that ends: a closed pipe tells an idle one, a watching thread a busy one.
"""

from __future__ import annotations

import multiprocessing as mp
import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

SINGLE = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)
HEARTBEAT = 0.5  # seconds between reports while nothing ends
Task = tuple[str, Callable[..., object], tuple[Any, ...]]


@dataclass(frozen=True)
class Failure:
    """Why a task failed; ``is_input`` where the error names bad input."""

    message: str
    traceback: str = ""
    is_input: bool = False


class Pool:
    """``jobs`` workers, started when there is work; ``environment`` is added to theirs."""

    def __init__(self, jobs: int, environment: Mapping[str, str]) -> None:
        self._jobs, self._environment = jobs, {**SINGLE, **environment}
        self._idle: list[_Worker] = []
        self._busy: list[_Worker] = []

    def work(self, tasks: Sequence[Task]) -> Iterator[tuple[str | None, Failure | None, tuple[str, ...]]]:
        """Run (name, function, arguments) tasks; yields (name, failure, names still running) as each ends.

        In between it yields (None, None, names running) now and then.
        """
        waiting = list(reversed(tasks))
        while waiting or self._busy:
            while waiting and len(self._busy) < self._jobs:
                self._idle = [worker for worker in self._idle if worker.process.is_alive()]
                worker = self._idle.pop() if self._idle else _Worker(self._environment)
                self._busy.append(worker)
                worker.start(waiting.pop())
            ready = wait([worker.pipe for worker in self._busy], HEARTBEAT)
            for worker in [one for one in self._busy if one.pipe in ready]:
                failure = worker.outcome()
                self._busy.remove(worker)
                if worker.process.is_alive():
                    self._idle.append(worker)
                yield worker.task, failure, self._running()
            if not ready:
                yield None, None, self._running()

    def close(self) -> None:
        """End all workers, whatever they are at."""
        for worker in [*self._idle, *self._busy]:
            worker.process.kill()
        for worker in [*self._idle, *self._busy]:
            worker.process.join()
            worker.pipe.close()
        self._idle, self._busy = [], []

    def _running(self) -> tuple[str, ...]:
        return tuple(worker.task for worker in self._busy)


class _Worker:
    """One process and what it is at."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        spawn = mp.get_context("spawn")
        self.pipe, theirs = spawn.Pipe()
        self.process = spawn.Process(target=_serve, args=(theirs,), daemon=True)
        with environment_of(environment):
            self.process.start()
        theirs.close()  # so that our end closes when the worker dies
        self.task = ""

    def start(self, task: Task) -> None:
        self.task, function, arguments = task
        self.pipe.send((function, arguments))

    def outcome(self) -> Failure | None:
        try:
            failure: Failure | None = self.pipe.recv()
        except (EOFError, ConnectionResetError):
            self.process.join()
            code = self.process.exitcode or 0
            cause = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
            return Failure(f"its process died ({cause}); too little memory?")
        return failure


def _serve(pipe: Connection) -> None:
    """Run the tasks that come in, and answer each with None or its failure."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's business, which ends us
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while True:
        try:
            function, arguments = pipe.recv()
        except EOFError:
            return
        pipe.send(outcome_of(function, arguments))


def outcome_of(function: Callable[..., object], arguments: tuple[Any, ...]) -> Failure | None:
    """Call a function: None, or why it failed."""
    from epigram.errors import EpigramError

    try:
        function(*arguments)
    except EpigramError as error:
        return Failure(str(error), traceback.format_exc(), is_input=True)
    except Exception as error:
        return Failure(f"{type(error).__name__}: {error}", traceback.format_exc())
    return None


def _end_with_parent() -> None:
    parent = mp.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


@contextmanager
def environment_of(extra: Mapping[str, str]) -> Iterator[None]:
    """The environment with something added, for the processes started inside."""
    before = dict(os.environ)
    os.environ.update(extra)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
