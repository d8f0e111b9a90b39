"""Shared fixtures: where the real data is. It is never part of the repository; tests that need it say so."""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path

import pytest
from hypothesis import settings

# How long an example takes says more about the machine's other work than about the code. The same examples in every
# run, so that a red test is a change's own doing; ``make torture`` looks for new ones.
settings.register_profile("epigram", deadline=None, derandomize=True)
settings.register_profile("torture", deadline=None, max_examples=2000, print_blob=True)
settings.register_profile("orders", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("EPIGRAM_HYPOTHESIS", "epigram"))

# A shell that runs the tests in the background lets them ignore Ctrl-C, and so would the commands that they interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With EPIGRAM_ORDER, a seed: the files in random order, and the tests of each file (``make orders``)."""
    seed = os.environ.get("EPIGRAM_ORDER")
    if seed is None:
        return
    rng = random.Random(seed)
    rng.shuffle(items)
    files = list(dict.fromkeys(item.path for item in items))
    rng.shuffle(files)
    items.sort(key=lambda item: files.index(item.path))


def data_folder() -> Path:
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    return Path(os.environ.get("EPIGRAM_DATA") or default)


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real data sets; a machine without it runs the rest of the tests."""
    folder = data_folder()
    if not folder.is_dir():
        pytest.skip(f"no data sets at {folder}; set EPIGRAM_DATA")
    return folder
