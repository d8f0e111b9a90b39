"""``epigram serve`` as a process, on a free port."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self


class Running:
    """The server while it runs; ``address`` is what it printed."""

    def __init__(self, *arguments: str, cache: Path, **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "epigram", "serve", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "EPIGRAM_CACHE": str(cache), **environment},
        )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()
        if not self.address:
            assert self.process.stderr is not None
            raise AssertionError(self.process.stderr.read())

    @property
    def url(self) -> str:
        """Without token and slash."""
        return self.address.partition("#")[0].rstrip("/")

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.url.rpartition(":")[2])

    def end(self, number: int = signal.SIGTERM) -> float:
        """Ask it to end; the seconds that took."""
        began = time.monotonic()
        self.process.send_signal(number)
        self.process.wait(timeout=600)
        return time.monotonic() - began

    def memory(self) -> int:
        """Resident bytes."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmRSS"))

    def children(self) -> list[int]:
        """Processes that it started and that are alive."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(pid) for pid in path.read_text().split()]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.end()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
