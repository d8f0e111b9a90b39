"""Adapters for datatrove, Hugging Face datasets, Ray Data and Spark, with the packages where they are installed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from epigram import KneserNeyLM
from epigram.filter import Perplexity, ScorerRecipe

CLIENTS = str(Path(__file__).parents[1] / "docs" / "clients")
sys.path.append(CLIENTS)
TEXTS = ["a b a b", "b a c\na b", "zebra a", "c c c a", "a b"]


@pytest.fixture
def recipe(tmp_path: Path) -> ScorerRecipe:
    KneserNeyLM(2).fit(["a b a b", "b a c", "a c c"]).save(tmp_path / "lm.epigram")
    return ScorerRecipe("perplexity", str(tmp_path / "lm.epigram"))


def wanted(recipe: ScorerRecipe) -> list[float]:
    scorer = recipe.build()
    assert isinstance(scorer, Perplexity)
    return [float(scorer([text])[0]) for text in TEXTS]


def test_datatrove(recipe: ScorerRecipe, tmp_path: Path) -> None:
    pytest.importorskip("datatrove")
    from datatrove.data import Document
    from filter_datatrove import EpigramFilter

    scores = wanted(recipe)
    documents = [Document(text=text, id=str(k)) for k, text in enumerate([*TEXTS, ""])]
    step = EpigramFilter(recipe, most=sorted(scores)[2], batch_size=2)
    kept = list(step.run(iter(documents)))
    assert [doc.metadata["perplexity"] for doc in kept] == pytest.approx(
        [x for x in scores if x <= sorted(scores)[2]]
    )
    assert step.stats["dropped_empty"].total == 1


def test_huggingface_datasets(recipe: ScorerRecipe) -> None:
    datasets = pytest.importorskip("datasets")
    if not hasattr(datasets, "Dataset"):  # the folder tests/datasets, where the package is missing
        pytest.skip("could not import 'datasets'")
    from filter_batches import BatchScorer

    found = datasets.Dataset.from_dict({"text": TEXTS}).map(BatchScorer(recipe), batched=True, batch_size=2)
    assert found["perplexity"][:] == pytest.approx(wanted(recipe))
    assert found["text"][:] == TEXTS


def test_ray_data(recipe: ScorerRecipe) -> None:
    ray, data = pytest.importorskip("ray"), pytest.importorskip("ray.data")
    from filter_batches import BatchScorer

    ray.init(num_cpus=1, include_dashboard=False, runtime_env={"env_vars": {"PYTHONPATH": CLIENTS}})
    found = data.from_items([{"text": text} for text in TEXTS]).map_batches(
        BatchScorer(recipe), batch_format="numpy"
    )
    scores = dict(zip(TEXTS, wanted(recipe), strict=True))
    try:
        assert {row["text"]: row["perplexity"] for row in found.take_all()} == pytest.approx(scores)
    finally:
        ray.shutdown()


def test_spark(recipe: ScorerRecipe) -> None:
    """Of Spark itself only the frames, which mapInPandas gives and takes."""
    pandas = pytest.importorskip("pandas")
    from filter_batches import FrameScorer

    frames = iter([pandas.DataFrame({"text": TEXTS[:2]}), pandas.DataFrame({"text": TEXTS[2:]})])
    found = pandas.concat(FrameScorer(recipe)(frames))
    assert found["perplexity"].tolist() == pytest.approx(wanted(recipe))
