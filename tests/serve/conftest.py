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

from epigram import Pipeline
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
def studio(files: dict[str, Path], toy_pipeline: Path) -> Iterator[ServerState]:
    limits = Limits(body=100_000, upload=2_000_000, arrival=1.0, answer=10.0, sessions=3, trained_models=1)
    made = open_server({**files, "toy": toy_pipeline}, SAMPLES, limits)
    yield made
    close_server(made)


@pytest.fixture(scope="module")
def client(studio: ServerState) -> Iterator[TestClient]:
    app = build(studio, AccessPolicy())
    with TestClient(app, base_url="http://localhost:8765", raise_server_exceptions=False) as made:
        yield made


@pytest.fixture(scope="module")
def server(files: dict[str, Path], cache: Path) -> Iterator[Running]:
    """A server of the sample models, whatever models are installed."""
    with Running("--port", "0", *map(str, files.values()), cache=cache) as running:
        yield running


@pytest.fixture(scope="session")
def toy_pipeline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a pipeline that knows one sentence."""
    words = [
        "1 Dogs dog NOUN N _ 2 nsubj _ _",
        "2 bark bark VERB V _ 0 root _ SpaceAfter=No",
        "3 . . PUNCT . _ 2 punct _ _",
    ]
    folder = tmp_path_factory.mktemp("pipeline")
    (folder / "toy.conllu").write_text(("\n".join("\t".join(row.split()) for row in words) + "\n\n") * 12)
    Pipeline(folds=2).fit(folder / "toy.conllu").save(folder / "toy.epigram")
    return folder / "toy.epigram"
