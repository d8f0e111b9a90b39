"""A studio with the sample models, in memory and as a server of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("httpx")

from running import Running
from starlette.testclient import TestClient

from epigram.serve.app import build
from epigram.serve.http import Limits
from epigram.serve.run import close_server, open_server
from epigram.serve.sample_models import SAMPLES, sample_files
from epigram.serve.security import AccessPolicy
from epigram.serve.state import ServerState


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of its own for these tests; workers of one run share it."""
    base = tmp_path_factory.getbasetemp()
    return (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "studio-cache"


@pytest.fixture(scope="session")
def files(cache: Path) -> dict[str, Path]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EPIGRAM_CACHE", str(cache))
        return sample_files()


@pytest.fixture(scope="module")
def studio(files: dict[str, Path]) -> Iterator[ServerState]:
    limits = Limits(body=100_000, upload=2_000_000, arrival=1.0, answer=10.0, sessions=3, trained_models=1)
    made = open_server(files, SAMPLES, limits)
    yield made
    close_server(made)


@pytest.fixture(scope="module")
def client(studio: ServerState) -> Iterator[TestClient]:
    app = build(studio, AccessPolicy())
    with TestClient(app, base_url="http://localhost:8765", raise_server_exceptions=False) as made:
        yield made


@pytest.fixture(scope="module")
def server(files: dict[str, Path], cache: Path) -> Iterator[Running]:
    with Running("--port", "0", cache=cache) as running:
        yield running
