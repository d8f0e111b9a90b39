"""Ctrl-C and SIGTERM in a long fit: the first asks it to stop after the current pass, the second ends the process.

Python runs signal handlers between bytecodes only, so they would wait for a kernel to return. The signal's number
is written to a socket at once instead (``set_wakeup_fd``), and a thread reads it while the kernel runs.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

EXIT_CODE = 130
SIGNALS = (signal.SIGINT, signal.SIGTERM)
SHOW_CURSOR = "\x1b[?25h"


class GracefulStop:
    """Context in which ``asked`` turns true on the first signal, and the second exits with code 130.

    Parameters
    ----------
    on_first : called, in another thread, when the first signal arrives.

    Examples
    --------
    >>> import time
    >>> with GracefulStop() as stop:
    ...     signal.raise_signal(signal.SIGINT)
    ...     while not stop.asked:
    ...         time.sleep(0.001)
    >>> stop.asked
    True
    """

    def __init__(self, on_first: Callable[[], Any] = lambda: None) -> None:
        self.asked = False
        self._on_first = on_first

    def __enter__(self) -> Self:
        self._reader, self._writer = socket.socketpair()
        self._writer.setblocking(False)
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        self._wakeup = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        self._handlers = {number: signal.signal(number, _nothing) for number in SIGNALS}
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._wakeup)
        self._writer.close()
        self._listener.join()
        self._reader.close()

    def _listen(self) -> None:
        while byte := self._reader.recv(1):
            if byte[0] not in SIGNALS:
                continue
            if self.asked:
                sys.stderr.write(SHOW_CURSOR if sys.stderr.isatty() else "")
                sys.stderr.flush()
                os._exit(EXIT_CODE)
            self.asked = True
            self._on_first()


def _nothing(*_: Any) -> None:
    """Takes the place of the handler that would raise KeyboardInterrupt."""
