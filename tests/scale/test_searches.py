"""Searches and experiments on a cluster: the same scores and files as on one machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cluster_processes import Processes

from epigram import OWLQN, CRFTagger
from epigram.datasets import sample
from epigram.errors import InputError
from epigram_papers.runner import Experiment, Runner

distributed = pytest.importorskip("distributed")


def squared(data: str, x: int) -> dict[str, Any]:
    import os

    if x < 0:
        from epigram.errors import InputError

        raise InputError(f"{x} is below 0")
    return {"square": x * x, "data": data, "environment": os.environ["EPIGRAM_DATA"]}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    with Processes(tmp_path_factory.mktemp("cluster"), 2) as processes:
        yield processes


def test_experiments_run_on_the_workers_and_keep_the_same_files(cluster: Processes, tmp_path: Path) -> None:
    experiments = [Experiment(f"paper/{x}", squared, {"x": x}, alone=x == 3) for x in range(4)]
    with Runner(tmp_path, tmp_path, cluster=str(cluster.file)) as runner:
        results = runner.run(experiments)
        assert [result["square"] for result in results.values()] == [0, 1, 4, 9]
        assert {result["environment"] for result in results.values()} == {str(tmp_path)}
        found = sorted(path.name for path in (tmp_path / "finished").iterdir())
        assert found == sorted(runner.path(one).name for one in experiments)
        record = json.loads((tmp_path / "finished" / found[0]).read_bytes())
        assert record["function"].endswith("squared")
        with pytest.raises(InputError, match="-1 is below 0"):
            runner.run([Experiment("paper/bad", squared, {"x": -1})])
    with Runner(tmp_path, tmp_path, jobs=1) as again:  # goes on without the cluster, from the files
        assert again.run(experiments) == results


def test_grid_search_on_the_cluster_has_the_same_scores(cluster: Processes) -> None:
    pytest.importorskip("sklearn")
    from joblib import parallel_config
    from sklearn.model_selection import GridSearchCV

    rows = sample.tagged("train", 45)
    X = [[list(token[:2]) for token in sentence] for sentence in rows]
    y = [[token[2] for token in sentence] for sentence in rows]

    def searched() -> Any:
        tagger = CRFTagger(solver=OWLQN(max_iterations=8))
        return GridSearchCV(tagger, {"l1": [0.2, 2.0]}, cv=3).fit(X, y)

    here = searched()
    with distributed.Client(scheduler_file=str(cluster.file)), parallel_config(backend="dask"):
        there = searched()
    assert there.best_params_ == here.best_params_
    assert there.cv_results_["mean_test_score"].tolist() == here.cv_results_["mean_test_score"].tolist()
