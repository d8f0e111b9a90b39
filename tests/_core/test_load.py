"""The build of the compiled core: libraries in use stay until they are replaced, whole, by new ones."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

COMPILER = """
import pathlib, sys, time
target = pathlib.Path(sys.argv[sys.argv.index("-o") + 1])
core = pathlib.Path(sys.argv[-2]).parent
there = sorted(path.name for path in core.glob("epigram.*"))
with target.open("w") as file:
    file.write("new ")
    file.flush()
    time.sleep(0.3)
    if "wrong" in (core / "a.c").read_text():
        sys.exit(1)
    file.write(" ".join(["of", *there]))
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    core = tmp_path / "src" / "epigram" / "_core"
    core.mkdir(parents=True)
    for module in ("hatch_build.py", "hatch_bindings.py"):
        shutil.copy(Path(__file__).parents[2] / module, tmp_path)
    (tmp_path / "compiler.py").write_text(COMPILER)
    (core / "a.c").write_text("int a;")
    (core / "a.h").write_text("")
    return tmp_path


def build(checkout: Path) -> subprocess.Popen[bytes]:
    compiler = f"{sys.executable} {checkout / 'compiler.py'}"
    return subprocess.Popen(
        [sys.executable, "hatch_build.py"], cwd=checkout, env={**os.environ, "CC": compiler}
    )


def libraries(checkout: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in checkout.glob("src/epigram/_core/epigram.*")}


def bindings(checkout: Path) -> str:
    return (checkout / "src/epigram/_core/bindings.py").read_text()


def test_libraries_in_use_stay_until_they_are_replaced(checkout: Path) -> None:
    assert build(checkout).wait() == 0
    first = libraries(checkout)
    assert "library(0x00000000)" in bindings(checkout)
    (checkout / "src/epigram/_core/epigram.older.so").write_text("new old")
    builds = [build(checkout), build(checkout)]
    while any(one.poll() is None for one in builds):
        found = libraries(checkout)
        assert set(first) <= set(found)
        assert all(len(text) > len("new ") for text in found.values())
        time.sleep(0.01)
    assert [one.returncode for one in builds] == [0, 0]
    assert set(libraries(checkout)) == set(first)
    assert list((checkout / "build").iterdir()) == []


def test_a_build_that_fails_changes_nothing(checkout: Path) -> None:
    assert build(checkout).wait() == 0
    first = libraries(checkout)
    (checkout / "src/epigram/_core/a.c").write_text("wrong")
    assert build(checkout).wait() != 0
    assert libraries(checkout) == first
    assert list((checkout / "build").iterdir()) == []


def test_headers_that_change_during_a_build_are_not_those_it_was_made_of(checkout: Path) -> None:
    running = build(checkout)
    time.sleep(0.01)
    while running.poll() is None and not list(checkout.rglob("epigram.*.*")):
        time.sleep(0.01)
    (checkout / "src/epigram/_core/a.h").write_text("int a;")
    assert running.wait() == 0
    assert "library(0x00000000)" in bindings(checkout)
    compiled = "import hatch_build as h; print(h.is_compiled())"
    said = subprocess.check_output([sys.executable, "-c", compiled], cwd=checkout)
    assert said == b"False\n"
    assert build(checkout).wait() == 0
    assert subprocess.check_output([sys.executable, "-c", compiled], cwd=checkout) == b"True\n"
