"""The papers' experiments on a Dask cluster, whose machines see data and output folder under the same names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from epigram.scale import connect
from epigram_papers.workers import Failure, Task, environment_of, outcome_of


class ClusterPool:
    """What :class:`~epigram_papers.workers.Pool` does, by the workers of a cluster; a lost one's task is done again."""

    def __init__(self, cluster: Any, environment: Mapping[str, str]) -> None:
        self._engine, self._environment = connect(cluster), dict(environment)

    def work(self, tasks: Sequence[Task]) -> Iterator[tuple[str | None, Failure | None, tuple[str, ...]]]:
        """As of the pool."""
        calls = [(function, arguments, self._environment) for _, function, arguments in tasks]
        left = [name for name, *_ in tasks]
        for k, failure in self._engine.as_ended(run_task, calls):
            name = None if k is None else tasks[k][0]
            left = [other for other in left if other != name]
            yield name, failure, tuple(left[: self._engine.workers])

    def close(self) -> None:
        """Let go of the cluster."""
        self._engine.close()


def run_task(call: Any) -> Failure | None:
    """On a worker: one task."""
    function, arguments, environment = call
    with environment_of(environment):
        return outcome_of(function, arguments)
