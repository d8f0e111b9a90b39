"""Where a result comes from: the source files it depends on, and the machine it was computed on.

It depends on the library, and on what the experiment's module imports. That is read from its text, and from the texts
of those it imports, within its own top-level package. So the files that write a report do not count, because no
experiment imports them, whatever their names are.
"""

from __future__ import annotations

import ast
import hashlib
import os
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import epigram

SUFFIXES = (".py", ".c", ".h", ".txt")  # modules, kernels, feature templates
NOT_RESULTS = ("cli",)  # parts of the library that no result depends on


@cache
def code_digest(home: str) -> str:
    """A hash of the sources behind the results of functions in the module ``home``."""
    sources = library() | imported(home)
    digest = hashlib.sha256()
    for name, path in sorted(sources.items()):
        digest.update(name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def library() -> dict[str, Path]:
    """The library's sources by their path in it, without its command line."""
    home = Path(epigram.__file__).parent
    paths = {path.relative_to(home): path for path in home.rglob("*") if path.suffix in SUFFIXES}
    return {name.as_posix(): path for name, path in paths.items() if name.parts[0] not in NOT_RESULTS}


def imported(home: str) -> dict[str, Path]:
    """A module and the modules it imports, and so on, by name, as far as they are of its own top-level package.

    A package's ``__init__`` is left out: importing a part of the package runs it, but no experiment needs it.

    Examples
    --------
    >>> [name.rpartition(".")[2] for name in sorted(imported("experiments.sgd_l1.rival"))]
    ['experiments', 'rival', 'tasks']
    """
    root = home.partition(".")[0]
    found: dict[str, Path] = {}
    waiting = [home]
    while waiting:
        name = waiting.pop()
        path = _source(name)
        if name not in found and path is not None:
            found[name] = path
            waiting += [other for other in _imports(name, path) if other.partition(".")[0] == root]
    return found


def _imports(name: str, path: Path) -> list[str]:
    """Names that a module may import: ``from a import b`` may mean a module ``a.b`` or a name in ``a``."""
    names = []
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = name.split(".")[: -node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            names += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    return names


def _source(name: str) -> Path | None:
    """The file of a module, found without importing anything; None for packages and names that are no modules."""
    root, *parts = name.split(".")
    spec = find_spec(root)
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin)
    if parts:
        path = path.parent.joinpath(*parts).with_suffix(".py")
    return path if path.is_file() and path.name != "__init__.py" else None


def machine() -> dict[str, str]:
    """Processor, cores, memory, system and versions, in words.

    Examples
    --------
    >>> list(machine())
    ['processor', 'cores', 'memory', 'system', 'Python', 'epigram', 'numpy']
    """
    return {
        "processor": _processor(),
        "cores": str(n_cores()),
        "memory": _memory(),
        "system": _system(),
        "Python": platform.python_version(),
        "epigram": epigram.__version__,
        "numpy": _version("numpy"),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine() or "unknown"


def _system() -> str:
    kernel = f"{platform.system()} {platform.release().split('-')[0]}"
    try:
        return f"{platform.freedesktop_os_release()['PRETTY_NAME']}, {kernel}"
    except (OSError, KeyError):
        return kernel


def _memory() -> str:
    try:
        return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"
    except (AttributeError, OSError, ValueError):
        return "unknown"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def n_cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
