"""The Dask engine on separately started processes: same bits as here, whoever dies; errors in one sentence."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cluster_processes import Processes

import epigram
from epigram import OWLQN, CRFTagger, LogLinearLM
from epigram.checkpoint import Checkpoint
from epigram.datasets import sample
from epigram.errors import EpigramError, InputError
from epigram.features.formats import ColumnSpec
from epigram.features.template import Template
from epigram.lm.outofcore.encode import write_stream
from epigram.lm.outofcore.loglinear import PENALTIES, fit_stream
from epigram.outofcore import DaskEngine, Here, Manifest, connect, dask
from epigram.tagging.outofcore.crf import TaggerShards
from epigram.tagging.outofcore.encode import write_shards

pytest.importorskip("distributed")
TEMPLATE = Template.parse("U0:%x[0,0]\nU1:%x[-1,1]/%x[0,0|suffix:1]\nB\n")
READING = ColumnSpec("conll", None, (), -1, (0, 1), 3)


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "train.txt"
    lines = ["".join(" ".join(t) + "\n" for t in sentence) + "\n" for sentence in sample.tagged("train", 200)]
    path.write_text("".join(lines), "utf-8")
    return path


@pytest.fixture(scope="module")
def folder(text: Path) -> Path:
    write_shards([text], text.parent / "here", TEMPLATE, READING, n_shards=5)
    return text.parent / "here"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    with Processes(tmp_path_factory.mktemp("cluster"), 2) as processes:
        yield processes


@pytest.fixture
def engine(cluster: Processes) -> Iterator[DaskEngine]:
    with connect(str(cluster.file), deadline=120) as engine:
        cluster.wait_for_workers(engine.client, 2)
        yield engine


def fitted(folder: Path, engine: Any, iterations: int = 12, **more: Any) -> CRFTagger:
    tagger = CRFTagger(TEMPLATE, l1=0.2, solver=OWLQN(max_iterations=iterations))
    return tagger.fit_shards(folder, engine=engine, **more)


def same_but_for_seconds(one: CRFTagger, other: CRFTagger) -> bool:
    for tagger in (one, other):
        tagger.history_ = [{**entry, "seconds": 0.0} for entry in tagger.history_]
    return one.to_bytes() == other.to_bytes()


def test_same_bits_as_here_and_shards_are_the_same_files(
    engine: DaskEngine, text: Path, folder: Path, tmp_path: Path
) -> None:
    write_shards([text], tmp_path / "s", TEMPLATE, READING, n_shards=5, partition_bytes=9000, engine=engine)
    files = sorted(path.relative_to(folder) for path in folder.rglob("*.npy"))
    assert files == sorted(path.relative_to(tmp_path / "s") for path in (tmp_path / "s").rglob("*.npy"))
    assert all((folder / name).read_bytes() == (tmp_path / "s" / name).read_bytes() for name in files)
    here, there = fitted(folder, Here()), fitted(tmp_path / "s", engine)
    assert same_but_for_seconds(here, there)
    shards = TaggerShards.open(folder)
    seen = shards.seen()
    own = sum(places.size for places in shards.places(shards.layout(seen), seen))
    loss = shards.loss(engine, shards.layout(seen), seen)
    w = np.zeros(loss.n_weights)
    loss.value_and_gradient(w, np.empty_like(w))
    before = engine.sent + engine.received
    loss.value_and_gradient(w, np.empty_like(w))
    assert engine.sent + engine.received - before <= 16 * own + 8 * 5  # and the five values


def test_every_model_has_the_same_bits_on_one_two_and_three_workers(
    cluster: Processes, folder: Path, tmp_path: Path
) -> None:
    lines = [" ".join(token[0] for token in sentence) for sentence in sample.tagged("train", 40)]
    (tmp_path / "text").write_text("\n".join(lines) + "\n", "utf-8")
    manifest = write_stream([tmp_path / "text"], tmp_path / "words")

    def models(engine: Any) -> Iterator[bytes]:
        yield fitted(folder, engine, 4).model_.w.tobytes()
        settings: dict[str, Any] = {"strength": 0.4, "depth_weight": 1.2, "max_iterations": 2}
        fitted_models: list[Any] = [
            fit_stream(
                LogLinearLM(
                    order=3, penalty=name, **settings, **({"ridge": 0.06} if name == "elastic" else {})
                ),
                manifest,
                engine,
                3,
            )
            for name in PENALTIES
        ]
        for model in fitted_models:
            model.save(tmp_path / "model")
            yield (tmp_path / "model").read_bytes()

    expected = list(models(Here()))
    for n_workers in (1, 2, 3):
        with connect(str(cluster.file), deadline=120) as engine:
            cluster.wait_for_workers(engine.client, n_workers)
            assert list(models(engine)) == expected


def test_a_killed_worker_changes_no_bit(engine: DaskEngine, cluster: Processes, folder: Path) -> None:
    def kill(entry: dict[str, Any]) -> None:
        if entry["iteration"] == 3:
            cluster.kill_worker()
        if entry["iteration"] == 6:
            cluster.add_worker()
        if entry["iteration"] == 8:
            threading.Timer(0.01, cluster.kill_worker).start()

    there = fitted(folder, engine, callback=kill)
    assert same_but_for_seconds(fitted(folder, Here()), there)


def fitted_language_model(folder: Path, engine: Any, callback: Any = None) -> bytes:
    if not (folder / "words").exists():
        lines = [" ".join(token[0] for token in sentence) for sentence in sample.tagged("train", 40)]
        (folder / "text").write_text("\n".join(lines) + "\n", "utf-8")
        write_stream([folder / "text"], folder / "words")
    model = LogLinearLM(order=3, strength=0.4, depth_weight=1.2, ridge=0.06, max_iterations=10)
    fit_stream(model, Manifest.read(folder / "words", "lm"), engine, 3, callback).save(folder / "model")
    return (folder / "model").read_bytes()


@pytest.mark.parametrize("every", [0.0, np.inf])
def test_a_killed_worker_changes_no_bit_of_a_language_model(
    engine: DaskEngine, cluster: Processes, tmp_path: Path, every: float
) -> None:
    """With checkpoints, which the shards return to, and without: then the fit begins again."""
    numbers: list[int] = []

    def kill(now: Any) -> None:
        numbers.append(now.number)
        if len(numbers) == 6:
            cluster.kill_worker()

    with Checkpoint(tmp_path / "state", every=every):
        there = fitted_language_model(tmp_path, engine, kill)
    assert numbers == [*range(1, 7), *range(6 if every == 0.0 else 1, 11)]
    assert there == fitted_language_model(tmp_path, Here())


def test_a_worker_that_joins_late_takes_no_shard_from_its_worker(
    engine: DaskEngine, cluster: Processes, tmp_path: Path
) -> None:
    """A shard of a language model that moves loses its state, and the fit returns to the last checkpoint."""
    numbers: list[int] = []

    def join(now: Any) -> None:
        numbers.append(now.number)
        if now.number == 3:
            cluster.wait_for_workers(engine.client, 3)

    there = fitted_language_model(tmp_path, engine, join)
    assert numbers == [*range(1, 11)]
    assert there == fitted_language_model(tmp_path, Here())


def test_errors_of_workers_are_one_sentence(
    engine: DaskEngine, folder: Path, text: Path, tmp_path: Path
) -> None:
    write_shards([text], tmp_path / "s", TEMPLATE, READING, n_shards=2)
    file = tmp_path / "s" / "shards" / "00001" / "labels.npy"
    file.write_bytes(file.read_bytes()[:-1] + b"\xff")
    began = time.monotonic()
    with pytest.raises(InputError, match=r"labels.npy: corrupt"):
        fitted(tmp_path / "s", engine)
    file.unlink()
    with pytest.raises(InputError, match=r"labels.npy: .*cannot be read"):
        fitted(tmp_path / "s", engine)
    with pytest.raises(InputError, match="SGD stays on one machine"):
        CRFTagger(TEMPLATE).fit_shards(folder, engine=engine)
    assert time.monotonic() - began < 60


def test_another_version_is_refused(tmp_path: Path, folder: Path) -> None:
    with (
        Processes(tmp_path, 1, preload="import epigram\nepigram.__version__ = '0.0.1'\n") as old,
        connect(str(old.file), deadline=60) as engine,
        pytest.raises(InputError, match=r"a worker has epigram 0\.0\.1, the driver"),
    ):
        fitted(folder, engine)


def test_a_cluster_without_workers_or_scheduler_is_an_error(tmp_path: Path, folder: Path) -> None:
    with Processes(tmp_path, 1) as lonely, connect(str(lonely.file), deadline=30) as engine:
        engine.lonely = 0.5

        def stop(entry: dict[str, Any]) -> None:
            lonely.kill_worker()

        with pytest.raises(EpigramError, match="no Dask worker for"):
            fitted(folder, engine, callback=stop)
        lonely.processes[0].kill()
        with pytest.raises(EpigramError, match=r"no Dask worker|scheduler is gone|did not answer"):
            fitted(folder, engine)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("local:0", "local:N with N"),
        ("nowhere.json", "neither local:N nor an address"),
        ("tcp://127.0.0.1:9", "no Dask scheduler answers"),
    ],
)
def test_what_is_no_cluster_is_said(where: str, message: str) -> None:
    began = time.monotonic()
    with pytest.raises(InputError, match=message):
        connect(where, timeout=0.5)
    assert time.monotonic() - began < 60


def test_without_dask_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"pip install '\.\[scale\]'"):
        connect("local:2")


def test_local_cluster_survives_the_loss_of_all_workers(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from distributed.client import AllExit

    with connect("local:1", deadline=120) as engine:

        def kill(entry: dict[str, Any]) -> None:
            if entry["iteration"] == 2:
                for pid in engine.client.run(os.getpid).values():
                    os.kill(pid, signal.SIGKILL)

        there = fitted(folder, engine, 5, callback=kill)
        logging.getLogger("asyncio").error("Task exception was never retrieved", exc_info=AllExit())
    assert same_but_for_seconds(fitted(folder, Here(), 5), there)
    assert [record for record in caplog.records if record.name == "asyncio"] == []


@dataclass(frozen=True)
class Recipe:
    name: str
    arrays: tuple[Any, ...]


def test_arrays_of_recipes_questions_and_answers_are_aligned_wherever_they_lie() -> None:
    odd = np.frombuffer(b" " + np.arange(3, dtype=np.int32).tobytes(), np.int32, 3, 1)
    assert not odd.flags.aligned
    recipe = dask._make(lambda recipe: recipe, Recipe("x", (odd, None)), epigram.__version__)
    assert recipe.arrays[0].flags.aligned
    assert recipe.arrays[0].tolist() == [0, 1, 2]
    right = Recipe("x", (np.arange(3), None))
    assert dask.aligned(right) is right
    (piece,), _ = dask._answer(lambda _, piece: piece, None, [odd])
    assert piece.flags.aligned
