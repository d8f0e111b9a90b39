"""Experiments for the tests of the runner: module-level functions, so that worker processes can import them."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np

from epigram.errors import InputError


def square(x: float, data: str) -> dict[str, Any]:
    return {"y": x * x, "data": data}


def drawn(seed: int, data: str) -> dict[str, Any]:
    """NumPy's types, NaN and a tuple, as experiments return them."""
    numbers = np.random.default_rng(seed).normal(size=3)
    return {"numbers": numbers, "mean": numbers.mean(), "nothing": float("nan"), "pair": (1, 2)}


def slow(seconds: float, log: str, name: str, data: str) -> dict[str, Any]:
    """Writes down when it begins and ends."""
    with Path(log).open("a") as file:
        print(name, "begins", os.getpid(), file=file)
    time.sleep(seconds)
    with Path(log).open("a") as file:
        print(name, "ends", os.getpid(), file=file)
    return {"name": name}


def broken(data: str) -> dict[str, Any]:
    raise RuntimeError("the cat is on the keyboard")


def without_data(data: str) -> dict[str, Any]:
    raise InputError("no such file; choose the folder with --data", path=Path(data) / "train.txt")


def dies(data: str) -> dict[str, Any]:
    os.kill(os.getpid(), signal.SIGKILL)
    return {}


def environment(data: str) -> dict[str, Any]:
    return {name: os.environ.get(name) for name in ("EPIGRAM_DATA", "OMP_NUM_THREADS")}


def own_time(data: str) -> dict[str, Any]:
    return {"cpu_seconds": 12.5}


def patient(k: int, folder: str, data: str) -> dict[str, Any]:
    """Notes that it begins; from the fourth on it waits for a file ``go``."""
    with (Path(folder) / "log").open("a") as file:
        print(k, os.getpid(), file=file)
    while k >= 3 and not (Path(folder) / "go").exists():
        time.sleep(0.02)
    return {"k": k}
