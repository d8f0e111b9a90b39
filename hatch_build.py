"""Compiles the inner loops (src/epigram/_core/*.c) when epigram is built or installed.

With the machine's C compiler where there is one, else with the one that the ``ziglang`` package brings, which is asked
for only then. The libraries know nothing of Python: one wheel per platform serves every version. By hand, in a
checkout: ``python hatch_build.py``; with ``sanitize`` after it, a build that stops at the first wrong access.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # by hand, without hatch
    BuildHookInterface = object  # type: ignore[assignment, misc]

CORE = Path(__file__).parent / "src" / "epigram" / "_core"
FLAGS = ["-std=c11", "-O3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast", "-fPIC", "-shared"]
WARNINGS = ["-Wall", "-Wextra", "-Wno-unknown-warning-option", "-Wno-vla-parameter", "-Wno-array-parameter"]
SANITIZE = [
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
    "-g",
    "-O1",
    "-fno-omit-frame-pointer",
]
LEVELS = ("x86-64-v2", "x86-64-v3", "x86-64-v4")


def compiler() -> list[str] | None:
    """The command of a C compiler on the path."""
    named = os.environ.get("CC")
    for name in [named] if named else ["cc", "gcc", "clang"]:
        if shutil.which(name.split()[0]):
            return name.split()
    return None


def compile_core(sanitize: bool = False) -> None:
    """One library for each level of the instruction set; Python chooses when it loads them."""
    command = compiler()
    zig = command is None
    command = command or [sys.executable, "-m", "ziglang", "cc"]
    ending = {"win32": "dll", "darwin": "dylib"}.get(sys.platform, "so")
    levels = LEVELS if platform.machine() in ("x86_64", "AMD64") else ("plain",)
    for old in CORE.glob("epigram.*"):
        old.unlink()
    running = []
    for level in levels:
        march = [] if level == "plain" else ["-march=" + (level.replace("-", "_") if zig else level)]
        target = CORE / f"epigram.{level}.{ending}"
        extra = SANITIZE if sanitize else ["-s"] if sys.platform == "linux" else []
        sources = [str(source) for source in sorted(CORE.glob("*.c"))]
        arguments = [*command, *FLAGS, *WARNINGS, *march, *extra, "-o", str(target), *sources, "-lm"]
        running.append(subprocess.Popen(arguments))
    if any([process.wait() for process in running]):  # noqa: C419 (all of them end before the first is an error)
        raise SystemExit("the inner loops could not be compiled; see above")
    (CORE / "epigram.headers").write_text(headers_digest(CORE), "utf-8")


def is_compiled() -> bool:
    """Whether the libraries of an earlier installation are newer than everything they are made of."""
    made = CORE / "epigram.headers"
    sources = [Path(__file__), *CORE.glob("*.[ch]")]
    return made.is_file() and all(source.stat().st_mtime < made.stat().st_mtime for source in sources)


def headers_digest(folder: Path) -> str:
    """What the headers are, in eight letters; native.py refuses a library that was compiled from others."""
    return f"{zlib.crc32(b''.join(path.read_bytes() for path in sorted(folder.glob('*.h')))):08x}"


class CoreHook(BuildHookInterface):  # type: ignore[misc]
    """hatch's hook for wheels and editable installs."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """What the build needs besides hatchling."""
        return [] if compiler() else ["ziglang"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and name the wheel after the platform, not a version of Python; an archive has sources only."""
        from packaging.tags import sys_tags

        if self.target_name == "sdist":
            return
        if version != "editable" or not is_compiled():
            compile_core()
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{next(iter(sys_tags())).platform}"


if __name__ == "__main__":
    compile_core(sanitize="sanitize" in sys.argv[1:])
