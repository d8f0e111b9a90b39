"""Packages whose public names are resolved on first use, as their stub (``__init__.pyi``) lists them.

The stub is the one list: type checkers read it, and so does :func:`attach`. Importing a package then costs
milliseconds, and a name costs what its module costs.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def attach(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of the package whose ``__init__.py`` is ``file``."""
    home = {
        alias.name: statement.module
        for statement in ast.parse(Path(file).with_suffix(".pyi").read_text("utf-8")).body
        if isinstance(statement, ast.ImportFrom) and statement.module is not None
        for alias in statement.names
    }

    def getattr_(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(home[name]), name)

    return getattr_, lambda: sorted(home), sorted(home)
