"""Packages whose public names are resolved on first use, as their stub (``__init__.pyi``) lists them.

The stub is the one list, one ``from module import Name as Name`` per line: type checkers read it, and so does
:func:`attach`. Importing a package then costs
milliseconds, and a name costs what its module costs.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def attach(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of the package whose ``__init__.py`` is ``file``."""
    stub = Path(file).with_suffix(".pyi").read_text("utf-8")
    home = {
        name: module for module, name in re.findall(r"^from (\S+) import (\w+) as \2$", stub, re.MULTILINE)
    }

    def getattr_(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if "numpy" not in sys.modules:
            _import_numpy()
        return getattr(import_module(home[name]), name)

    return getattr_, lambda: sorted(home), sorted(home)


def _import_numpy() -> None:
    """Import numpy such that the threads of its BLAS, which wait for work from then on, soon do so asleep.

    By default they spin for 2^26 clock cycles first: CPU time of every short program, for nothing. Who has set
    the time, or imports numpy before, keeps it.
    """
    name = "OPENBLAS_THREAD_TIMEOUT"
    if name in os.environ:
        return
    os.environ[name] = "20"  # 2^20 cycles
    try:
        import_module("numpy")
    finally:
        del os.environ[name]
