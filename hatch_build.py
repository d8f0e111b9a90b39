"""Compiles the C core (src/epigram/_core/*.c) and writes its bindings when epigram is built or installed.

With the machine's C compiler where there is one, else with the one that the ``ziglang`` package brings, which is asked
for only then. The libraries know nothing of Python: one wheel per platform serves every version. By hand, in a
checkout: ``python hatch_build.py``; with ``sanitize`` after it, a build that stops at the first wrong access.
"""

from __future__ import annotations

import compileall
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import hatch_bindings

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # by hand, without hatch
    BuildHookInterface = object  # type: ignore[assignment, misc]

ROOT = Path(__file__).parent
BUILD, CORE, WEB = ROOT / "build", ROOT / "src" / "epigram" / "_core", ROOT / "src" / "epigram" / "web"
JAVASCRIPT, GENERATED = ROOT / "js" / "src", ROOT / "js" / "generated"
FLAGS = ["-std=c11", "-O3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast", "-fPIC", "-shared"]
WARNINGS = ["-Wall", "-Wextra", "-Wno-unknown-warning-option", "-Wno-vla-parameter", "-Wno-array-parameter"]
SANITIZE = [
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
    "-g",
    "-O1",
    "-fno-omit-frame-pointer",
]
ZIGLANG = "ziglang>=0.15,<0.18"
LEVELS = ("x86-64-v2", "x86-64-v3", "x86-64-v4")


def compiler() -> list[str] | None:
    """The command of a C compiler on the path."""
    named = os.environ.get("CC")
    for name in [named] if named else ["cc", "gcc", "clang"]:
        if shutil.which(name.split()[0]):
            return name.split()
    return None


def compile_core(sanitize: bool = False) -> None:
    """Compile one library for each level of the instruction set, and write the bindings.

    It compiles in a folder of its own: the libraries that are there serve until each is replaced, and two builds at a
    time do not disturb each other. The bindings come last, with the time at which the build began.
    """
    command = compiler()
    zig = command is None
    command = command or [sys.executable, "-m", "ziglang", "cc"]
    ending = {"win32": "dll", "darwin": "dylib"}.get(sys.platform, "so")
    levels = LEVELS if platform.machine() in ("x86_64", "AMD64") else ("plain",)
    BUILD.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="core-", dir=BUILD) as folder:
        made = Path(folder)
        headers = hatch_bindings.write(CORE, made)
        _compile(
            {level: made / f"epigram.{level}.{ending}" for level in levels},
            command,
            zig,
            sanitize,
            headers.digest,
        )
        web = [] if sanitize else compile_web(headers, made / "web")
        names = [path.name for path in made.glob("epigram.*")]
        for name in [*names, "bindings.pyi", "bindings.py"]:
            os.replace(made / name, CORE / name)
        for name in web:
            (WEB / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(made / "web" / name, WEB / name)
    for old in CORE.glob("epigram.*"):
        if old.name not in names:
            old.unlink(missing_ok=True)


def _compile(targets: dict[str, Path], command: list[str], zig: bool, sanitize: bool, digest: int) -> None:
    running = []
    for level, target in targets.items():
        march = [] if level == "plain" else ["-march=" + (level.replace("-", "_") if zig else level)]
        extra = SANITIZE if sanitize else ["-s"] if sys.platform == "linux" else []
        sources = [str(source) for source in sorted(CORE.glob("*.c"))]
        arguments = [
            *command,
            *FLAGS,
            *WARNINGS,
            *march,
            *extra,
            f"-DEPIGRAM_HEADERS={digest}u",
            "-o",
            str(target),
            *sources,
            "-lm",
        ]
        running.append(subprocess.Popen(arguments))
    if any([process.wait() for process in running]):  # noqa: C419 (all of them end before the first is an error)
        raise SystemExit("the inner loops could not be compiled; see above")


def compile_web(headers: hatch_bindings.Headers, made: Path) -> list[str]:
    """Write what ``epigram export-web`` copies: core.wasm, and the modules of js/src as one; return their names.

    core.wasm has those functions of the core that the modules name, and nothing else; Japanese converters have both
    files of their own. Without ziglang the rest is built, and said to be incomplete.
    """
    if not JAVASCRIPT.is_dir():
        return []
    environment = _ziglang()
    if environment is None:
        print(
            "ziglang cannot be had: core.wasm is missing, so `epigram export-web` will not work",
            file=sys.stderr,
        )
    names: list[str] = []
    for variant in (Path(), Path("japanese")):
        folder = made / variant
        folder.mkdir(parents=True)
        modules = _modules("load.mjs", {"families.mjs": "japanese.mjs"} if variant.name else {})
        words = set(re.findall(r"\w+", "".join(modules.values())))
        bindings = hatch_bindings.emit_javascript(headers, words)
        (folder / "epigram.mjs").write_text(_bundle(modules, bindings), "utf-8")
        names.append(str(variant / "epigram.mjs"))
        if environment is not None:
            _compile_wasm(folder, headers, {*headers.functions} & words, environment)
            names.append(str(variant / "core.wasm"))
    return names


def _compile_wasm(
    folder: Path, headers: hatch_bindings.Headers, names: set[str], environment: dict[str, str]
) -> None:
    """Write core.wasm with some functions of the core."""
    digest = folder / "digest.c"
    digest.write_text(f"unsigned headers_digest(void) {{ return {headers.digest}u; }}\n", "utf-8")
    exports = [f"-Wl,--export={name}" for name in sorted({*names, "malloc", "headers_digest"})]
    target = ["-target", "wasm32-wasi", "-mexec-model=reactor", "-msimd128", "-s"]
    flags = [flag for flag in FLAGS if flag not in ("-fPIC", "-shared")]
    sources = [str(source) for source in (*_needed(names), digest)]
    command = [
        sys.executable,
        "-m",
        "ziglang",
        "cc",
        *target,
        *flags,
        *exports,
        "-o",
        str(folder / "core.wasm"),
    ]
    if subprocess.run([*command, *sources], env=environment).returncode:
        raise SystemExit("the inner loops could not be compiled to WebAssembly; see above")


def _needed(names: set[str]) -> list[Path]:
    """The C files that define some functions, and those that define what these files name."""
    words = {path: set(re.findall(r"\w+", path.read_text("utf-8"))) for path in sorted(CORE.glob("*.c"))}
    home = {
        name: path
        for path in words
        for name in re.findall(r"^[a-z]\w+ \*?(\w+)\(", path.read_text("utf-8"), re.MULTILINE)
    }
    found: set[Path] = set()
    waiting = {home[name] for name in names}
    while waiting:
        found |= waiting
        waiting = {home[word] for path in waiting for word in words[path] if word in home} - found
    return sorted(found)


def _ziglang() -> dict[str, str] | None:
    """The environment in which ``python -m ziglang`` runs, after an installation where it has to be; None for none."""
    folder = BUILD / "ziglang"
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]),
    }

    def runs(*command: str) -> bool:
        found = subprocess.run(
            [sys.executable, *command], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        return found.returncode == 0

    works = runs("-m", "ziglang", "version")
    if not works:  # isolated from the environment of the build, which has no pip
        runs("-I", "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), ZIGLANG)
        works = runs("-m", "ziglang", "version")
    return environment if works else None


def _modules(entry: str, other: dict[str, str]) -> dict[str, str]:
    """A module and those that it imports, each after its own imports; ``other`` stands for modules of these names."""
    done: dict[str, str] = {}

    def add(name: str) -> None:
        path = next((folder / name for folder in (JAVASCRIPT, GENERATED) if (folder / name).is_file()), None)
        text = path.read_text("utf-8") if path else ""  # bindings.mjs comes from the headers
        for imported in re.findall(r'^import .*? from "\./(.*?)";$', text, re.MULTILINE):
            if (imported := other.get(imported, imported)) not in done:
                add(imported)
        done[name] = text

    add(entry)
    return done


def _bundle(modules: dict[str, str], bindings: str) -> str:
    """One module of several, without comments and unused schemas; the last one's exports stay."""
    text = "".join(modules.values())

    def used(line: str) -> bool:
        name = re.match(r"  (\w+): ", line)
        return name is None or f'("{name[1]}", ' in text

    parts = {**modules, "bindings.mjs": bindings}
    parts["schemas.mjs"] = "".join(filter(used, parts["schemas.mjs"].splitlines(keepends=True)))
    bare = [re.sub(r"^import .*\n", "", part, flags=re.MULTILINE) for part in parts.values()]
    bare = [re.sub(r"^ *(?://.*|/\*\*(?:.|\n)*?\*/)\n", "", part, flags=re.MULTILINE) for part in bare]
    inner = [re.sub(r"^export ", "", part, flags=re.MULTILINE) for part in bare[:-1]]
    return "\n".join([*inner, bare[-1]])


def is_compiled() -> bool:
    """Whether the libraries of an earlier installation are newer than everything they are made of."""
    made = CORE / "bindings.py"
    sources = [
        Path(__file__),
        Path(hatch_bindings.__file__),
        *CORE.glob("*.[ch]"),
        *JAVASCRIPT.glob("*.mjs"),
    ]
    return made.is_file() and all(source.stat().st_mtime < made.stat().st_mtime for source in sources)


class CoreHook(BuildHookInterface):  # type: ignore[misc]
    """hatch's hook for wheels and editable installs."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """What the build needs besides hatchling."""
        return [] if compiler() else [ZIGLANG]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and name the wheel after the platform, not a version of Python; an archive has sources only."""
        from packaging.tags import sys_tags

        if self.target_name == "sdist":
            return
        if version != "editable" or not is_compiled():
            compile_core()
        if version == "editable":
            compileall.compile_dir(CORE.parent, quiet=2)  # as pip does with wheels
        build_data["pure_python"] = False
        # cibuildwheel names the oldest macOS that it compiles for
        platform_tag = os.environ.get("_PYTHON_HOST_PLATFORM") or next(iter(sys_tags())).platform
        build_data["tag"] = f"py3-none-{platform_tag.replace('-', '_').replace('.', '_')}"


if __name__ == "__main__":
    compile_core(sanitize="sanitize" in sys.argv[1:])
