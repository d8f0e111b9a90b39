"""Lazy package attributes, resolved from the stub ``__init__.pyi`` (as in SPEC 1).

The stub is the one list, one ``from module import Name as Name`` per line: type checkers read it, and so does
:class:`Package`, when a name is first asked for. Importing a package then costs milliseconds, and a name costs what its
module costs.
"""

from __future__ import annotations

import os
import re
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any


class Package(ModuleType):
    """A package with the names of its stub; its ``__init__.py`` makes itself one of these."""

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return dir(self)
        home = _homes(str(self.__file__))
        if name not in home:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if "numpy" not in sys.modules:
            _import_numpy()
        return getattr(import_module(home[name]), name)

    def __dir__(self) -> list[str]:
        return sorted(_homes(str(self.__file__)))


@cache
def _homes(file: str) -> dict[str, str]:
    """The module of each public name of the package whose ``__init__.py`` is ``file``."""
    stub = Path(file).with_suffix(".pyi").read_text("utf-8")
    return {
        name: module for module, name in re.findall(r"^from (\S+) import (\w+) as \2$", stub, re.MULTILINE)
    }


def _import_numpy() -> None:
    """Import numpy with a short spin time for the threads of its BLAS.

    By default idle threads spin for 2^26 clock cycles before they sleep, which costs every short program CPU time. A
    value that the user set, or numpy imported before, is left alone.
    """
    name = "OPENBLAS_THREAD_TIMEOUT"
    if name in os.environ:
        return
    os.environ[name] = "20"  # 2^20 cycles
    try:
        import_module("numpy")
    finally:
        del os.environ[name]
