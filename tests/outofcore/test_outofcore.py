"""Searches on a cluster: the same scores and files as on one machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cluster_processes import Processes

from epigram import OWLQN, CRFTagger, LogLinearLM
from epigram.datasets import sample
from epigram.lm.outofcore.encode import write_stream
from epigram.lm.outofcore.loglinear import fit_stream, solve_stream
from epigram.outofcore import Here, connect

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    with Processes(tmp_path_factory.mktemp("cluster"), 2) as processes:
        yield processes


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


def few(n: int) -> Any:
    """Ends a search after so many fits."""
    seen: list[Any] = []
    return lambda trial: seen.append(trial) or len(seen) == n


@pytest.mark.parametrize(("penalty", "order"), [("elastic", 3), ("l1", 2)])
def test_strengths_are_chosen_on_shards_as_on_one_machine(tmp_path: Path, penalty: str, order: int) -> None:
    """The same trials in the same order, the same factors and perplexity, whether arrays are in memory or in files."""
    lines = [" ".join(token[0] for token in sentence) for sentence in sample.tagged("train", 25)]
    (tmp_path / "text").write_text("\n".join(lines) + "\n", "utf-8")
    valid = [" ".join(token[0] for token in sentence) for sentence in sample.tagged("test", 15)]
    manifest = write_stream([tmp_path / "text"], tmp_path / "s")
    settings: dict[str, Any] = {
        "order": order,
        "penalty": penalty,
        "max_iterations": 12,
        "depth_weight": 1.4,
        "open_vocabulary": False,
    }
    one = LogLinearLM(**settings).fit(tmp_path / "text", valid=valid, on_trial=few(6))
    many = fit_stream(LogLinearLM(**settings), manifest, n_shards=5, valid=valid, on_trial=few(6))
    assert len(many.trials_) == len(one.trials_) == 6
    for a, b in zip(many.trials_, one.trials_, strict=True):
        assert a.strength.strength == pytest.approx(b.strength.strength, rel=1e-6)
        assert a.perplexity == pytest.approx(b.perplexity, rel=1e-6)
    np.testing.assert_allclose(many.scales_, one.scales_, rtol=1e-3)
    assert many.valid_perplexity_ == pytest.approx(one.valid_perplexity_, rel=1e-5)
    assert many.perplexity(valid) == pytest.approx(many.valid_perplexity_, rel=1e-9)


def test_a_search_on_the_cluster_has_the_bits_of_this_machine(cluster: Processes, tmp_path: Path) -> None:
    lines = [" ".join(token[0] for token in sentence) for sentence in sample.tagged("train", 20)]
    (tmp_path / "text").write_text("\n".join(lines) + "\n", "utf-8")
    manifest = write_stream([tmp_path / "text"], tmp_path / "s")
    settings: dict[str, Any] = {"order": 3, "penalty": "l1", "depth_weight": 1.1, "max_iterations": 3}
    found = []
    with connect(str(cluster.file), deadline=120) as engine:
        for where in (Here(), engine):
            model = LogLinearLM(**settings, calibrate=False)
            found_here = solve_stream(model, manifest, where, 3, valid=lines[:4], on_trial=few(3))
            found_here.save(tmp_path / "model")
            found.append((tmp_path / "model").read_bytes())
    assert found[0] == found[1]
