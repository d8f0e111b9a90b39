"""Experiments: pure functions that run in worker processes, each finished one kept in a file.

An experiment's file is named by its function, settings, size (quick or full) and the version of epigram, and is written
whole or not at all. So a run that was interrupted or killed goes on where it stopped, with the same results: a
result is always what its file says, whatever the order or the number of workers.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import epigram
from epigram.errors import EpigramError, InputError
from epigram.files import make_folder, write_atomically
from experiments.provenance import code_digest, n_cores
from experiments.workers import Failure, Pool

KEPT = "finished"
FAILED = "failed"


@dataclass(frozen=True)
class Experiment:
    """One experiment.

    Parameters
    ----------
    name : unique, with slashes: ``"sgd-l1/conll2000/owlqn"``.
    function : at module level; called with ``data=`` (a folder, as str) and the settings; returns a dict that
        can be JSON.
    settings : keyword arguments that can be JSON.
    cost : expected CPU seconds, for the progress display.
    alone : nothing else runs beside it, because it measures time.
    """

    name: str
    function: Callable[..., dict[str, Any]]
    settings: Mapping[str, Any] = field(default_factory=dict)
    cost: float = 1.0
    alone: bool = False


@dataclass(frozen=True)
class Status:
    """How far a run is, in expected CPU seconds: ``kept`` of ``done`` came from files, ``under_way`` is a guess."""

    done: float
    kept: float
    under_way: float
    total: float
    running: tuple[str, ...]
    finished: str | None = None


class ExperimentError(EpigramError):
    """An experiment that failed, by name."""


class Runner:
    """Runs experiments and keeps their results under ``folder``; use it as a context manager.

    Parameters
    ----------
    folder : where results are kept.
    data : the folder of data sets, handed to every experiment.
    quick : subsets instead of the whole; part of a result's name.
    jobs : worker processes; the number of cores by default.
    plan : expected CPU seconds of every experiment that will be asked for, by name.
    watch : called with a :class:`Status` whenever something changes, and now and then.
    """

    def __init__(
        self,
        folder: Path,
        data: Path,
        *,
        quick: bool = False,
        jobs: int | None = None,
        plan: Mapping[str, float] | None = None,
        watch: Callable[[Status], object] = lambda status: None,
    ) -> None:
        self.folder, self.data, self.quick = folder, data, quick
        self.jobs = jobs or n_cores()
        self.records: dict[str, dict[str, Any]] = {}
        self._costs = dict(plan or {})
        self._done: dict[str, bool] = {}  # name -> came from a file
        self._began: dict[str, float] = {}
        self._watch = watch
        self._pool = Pool(self.jobs, {"EPIGRAM_DATA": str(data)})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._pool.close()

    def run(self, experiments: Sequence[Experiment]) -> dict[str, dict[str, Any]]:
        """Results by name, in the order asked for; a failed experiment raises after the others have ended."""
        wanted = {experiment.name: experiment for experiment in experiments}
        if len(wanted) != len(experiments):
            names = [experiment.name for experiment in experiments]
            raise ValueError(
                f"experiments need names of their own: {sorted({n for n in names if names.count(n) > 1})}"
            )
        missing = []
        for experiment in experiments:
            self._costs[experiment.name] = experiment.cost
            kept = self._load(experiment)
            if kept is None:
                missing.append(experiment)
            else:
                self._finish(experiment, kept, from_file=True)
        failures = self._compute(missing) if missing else {}
        if failures:
            raise self._error(failures)
        return {
            name: {"cpu_seconds": self.records[name]["cpu_seconds"], **self.records[name]["result"]}
            for name in wanted
        }

    @property
    def stale(self) -> list[str]:
        """Names of the results that were computed by another state of the code than this one."""
        return [
            name
            for name, record in self.records.items()
            if record["code"] != code_digest(record["function"].rpartition(".")[0])
        ]

    def drop(self, prefix: str) -> None:
        """Take planned experiments under this prefix that nobody asked for off the total."""
        self._costs = {
            name: cost
            for name, cost in self._costs.items()
            if name in self._done or not name.startswith(prefix)
        }
        self._tell()

    def path(self, experiment: Experiment) -> Path:
        """The file of an experiment's result."""
        key = {
            "function": experiment.function.__qualname__,
            "settings": experiment.settings,
            "quick": self.quick,
            "epigram": epigram.__version__,
        }
        digest = hashlib.sha256(json.dumps(key, sort_keys=True, default=plain).encode()).hexdigest()[:16]
        return self.folder / KEPT / f"{experiment.name.replace('/', '--')}-{digest}.json"

    def _compute(self, experiments: list[Experiment]) -> dict[str, Failure]:
        """Run experiments in the workers: those that measure time alone, after the others."""
        for place in (KEPT, FAILED):
            make_folder(self.folder / place, "; choose another with -o")
        # The longest first, so that workers end together.
        experiments = sorted(experiments, key=lambda one: -one.cost)
        together = [(one.name, execute, self._call(one)) for one in experiments if not one.alone]
        alone = [(one.name, execute, self._call(one)) for one in experiments if one.alone]
        by_name = {one.name: one for one in experiments}
        failures: dict[str, Failure] = {}
        for batch in (together, *([one] for one in alone)):
            for name, failure, running in self._pool.work(batch):
                if name is None:
                    self._tell(running)
                elif failure is not None:
                    failures[name] = failure
                    self._tell(running)
                else:
                    kept = self._load(by_name[name])
                    assert kept is not None, name
                    self._finish(by_name[name], kept, from_file=False, running=running)
        return failures

    def _call(self, one: Experiment) -> tuple[Any, ...]:
        code = code_digest(one.function.__module__)
        return one.name, one.function, dict(one.settings), str(self.data), str(self.path(one)), code

    def _load(self, experiment: Experiment) -> dict[str, Any] | None:
        try:
            record: dict[str, Any] = json.loads(self.path(experiment).read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise InputError(
                f"cannot read a kept result ({error}); remove it", path=self.path(experiment)
            ) from error
        return record

    def _finish(
        self, experiment: Experiment, record: dict[str, Any], from_file: bool, running: tuple[str, ...] = ()
    ) -> None:
        self.records[experiment.name] = record
        self._done.setdefault(experiment.name, from_file)
        self._tell(running, experiment.name)

    def _tell(self, running: tuple[str, ...] = (), finished: str | None = None) -> None:
        now = time.monotonic()
        self._began = {name: self._began.get(name, now) for name in running}
        under_way = sum(min(now - self._began[name], 0.95 * self._costs.get(name, 0.0)) for name in running)
        done = sum(self._costs[name] for name in self._done)
        kept = sum(self._costs[name] for name, from_file in self._done.items() if from_file)
        self._watch(Status(done, kept, under_way, sum(self._costs.values()), running, finished))

    def _error(self, failures: dict[str, Failure]) -> EpigramError:
        """The error to raise: what is wrong with the input as it is, anything else with a place to read on."""
        for failure in failures.values():
            if failure.is_input:
                return InputError(failure.message)
        places = []
        for name, failure in failures.items():
            place = self.folder / FAILED / f"{name.replace('/', '--')}.txt"
            place.write_text(failure.traceback, "utf-8")
            places.append(f"{name}: {failure.message} (see {place})")
        return ExperimentError("failed: " + "; ".join(places))


def execute(
    name: str,
    function: Callable[..., dict[str, Any]],
    settings: dict[str, Any],
    data: str,
    path: str,
    code: str,
) -> None:
    """In a worker: run one experiment and keep its result."""
    began, wall = time.process_time(), time.perf_counter()
    result = function(data=data, **settings)
    record = {
        "name": name,
        "function": f"{function.__module__}.{function.__qualname__}",
        "settings": settings,
        "epigram": epigram.__version__,
        "code": code,
        "date": time.strftime("%Y-%m-%d"),
        "cpu_seconds": round(time.process_time() - began, 3),
        "seconds": round(time.perf_counter() - wall, 3),
        "result": result,
    }
    write_atomically(path, json.dumps(record, ensure_ascii=False, default=plain).encode())


def plain(value: Any) -> Any:
    """NumPy's numbers and arrays, and paths, as JSON has them."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"an experiment's result cannot hold {type(value).__name__} {value!r}")
