"""Damaged files of every format: a few hundred with a fixed seed, and those that once broke something."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CASES = sorted((HERE / "cases").glob("*.*"))


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory and time are those of Linux")
def test_a_few_hundred_damaged_files() -> None:
    command = [sys.executable, str(HERE / "torture.py"), "--seconds", "300", "--files", "400", "--seed", "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "400 different files" in done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory and time are those of Linux")
def test_what_broke_once_is_read_or_refused() -> None:
    command = [sys.executable, str(HERE / "child.py"), "--kept", *map(str, CASES)]
    stale = os.environ | {"MALLOC_PERTURB_": "165"}  # memory that nobody has written to is full of it
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=stale)
    assert done.returncode == 0, done.stdout
    assert "!" not in done.stdout, done.stdout
    assert done.stdout.count("=") == len(CASES) >= 5


@pytest.mark.skipif(sys.platform != "linux", reason="memory is asked of Linux")
def test_memory_stays_where_it_was_over_predictions() -> None:
    """A short look; ``make torture`` asks every family 20,000 times."""
    command = [sys.executable, str(HERE / "memory.py"), "--predictions", "20"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="limits of time are those of Linux")
def test_a_few_hundred_damaged_files_in_javascript() -> None:
    command = [sys.executable, str(HERE / "javascript.py"), "--files", "300", "--seed", "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "different files" in done.stdout or "nothing is read" in done.stdout
