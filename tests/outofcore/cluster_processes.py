"""A Dask scheduler and workers as separate processes in folders of their own, as on separate machines."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self


def _worker_names(dask_scheduler: Any) -> list[str]:
    return [worker.name for worker in dask_scheduler.workers.values()]


HERE = Path(__file__).resolve()
OURS = f"{HERE.parents[2] / 'src'}{os.pathsep}{HERE.parent}"  # and functions of tests


class Processes:
    """Use as a context manager; every process ends with it."""

    def __init__(self, home: Path, n_workers: int, preload: str = "") -> None:
        self.home, self.n_workers, self.preload = home, n_workers, preload
        self.file = home / "scheduler.json"
        self.processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        words = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(self.file)]
        self._start("scheduler", words)
        end = time.monotonic() + 600
        while not self.file.exists():
            assert time.monotonic() < end, "the scheduler did not start within ten minutes"
            time.sleep(0.05)
        for _ in range(self.n_workers):
            self.add_worker()
        return self

    def add_worker(self) -> subprocess.Popen[bytes]:
        """One more, without a nanny: who is killed stays dead."""
        words = ["--scheduler-file", str(self.file), "--nthreads", "1", "--no-nanny", "--no-dashboard"]
        words += ["--name", f"worker-{len(self.processes)}"]
        if self.preload:
            (self.home / "preload.py").write_text(self.preload)
            words += ["--preload", str(self.home / "preload.py")]
        return self._start("worker", [*words, "--memory-limit", "0", "--death-timeout", "60"])

    @property
    def alive(self) -> dict[str, subprocess.Popen[bytes]]:
        """Workers whose process runs, by name."""
        workers = enumerate(self.processes[1:], 1)
        return {f"worker-{k}": process for k, process in workers if process.poll() is None}

    def kill_worker(self) -> None:
        """Send SIGKILL to the oldest worker."""
        next(iter(self.alive.values())).send_signal(signal.SIGKILL)

    def wait_for_workers(self, client: Any, n_workers: int) -> None:
        """Add or kill workers until there are so many; wait until the scheduler knows these and no others."""
        for process in list(self.alive.values())[n_workers:]:
            process.kill()
            process.wait()
        while len(self.alive) < n_workers:
            self.add_worker()
        end = time.monotonic() + 600
        while set(client.run_on_scheduler(_worker_names)) != set(self.alive):
            assert time.monotonic() < end, "the workers did not register within ten minutes"
            time.sleep(0.05)

    def _start(self, what: str, words: list[str]) -> subprocess.Popen[bytes]:
        folder = self.home / f"{what}-{len(self.processes)}"
        folder.mkdir()
        code = (
            f"import sys; from distributed.cli.dask_{what} import main; sys.argv[0] = 'dask-{what}'; main()"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", code, *words],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": OURS},
            stdout=subprocess.DEVNULL,
            stderr=(folder / "log").open("wb"),
        )
        self.processes.append(process)
        return process

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for process in reversed(self.processes):
            process.kill()
        for process in self.processes:
            process.wait(timeout=600)
