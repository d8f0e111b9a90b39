"""The machine a run was made on: what a reader needs to judge its times."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import epigram
from epigram_papers.runner import n_cores


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
