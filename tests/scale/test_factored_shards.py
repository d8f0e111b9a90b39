"""A class-factored model in shards: the optimum of one machine, and the same bits on any engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from epigram import ClassFactoredLM
from epigram.datasets import sample
from epigram.errors import InputError
from epigram.lm.factored.sharded import WordShard, fit_stream
from epigram.lm.loglinear.problem import Strength
from epigram.lm.sharding import KIND, write_stream
from epigram.scale import Here, Manifest

SETTINGS: dict[str, Any] = {
    "classes": 12,
    "order": 3,
    "tolerance": 1e-7,
    "budget": 0,
    "class_strength": Strength(0.25, 1.3, 0.13, 4.0),
    "word_strength": Strength(0.4, 1.3, 0.09, 3.0),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("factored")
    lines = [" ".join(token[0] for token in sentence) for sentence in sample.tagged("train", 25)]
    (home / "text").write_text("\n".join(lines) + "\n", "utf-8")
    write_stream([home / "text"], home / "words")
    return home


@pytest.mark.parametrize(("n_shards", "penalty"), [(1, "elastic"), (3, "elastic"), (9, "l1")])
def test_the_optimum_is_that_of_one_machine(
    folder: Path, tmp_path: Path, n_shards: int, penalty: str
) -> None:
    settings = {**SETTINGS, "penalty": penalty}
    if penalty != "elastic":
        settings |= {"class_strength": Strength(0.5, 1.2), "word_strength": Strength(0.5, 1.2)}
    one = ClassFactoredLM(**settings).fit(folder / "text")
    many = fit_stream(ClassFactoredLM(**settings), Manifest.read(folder / "words", KIND), n_shards=n_shards)
    np.testing.assert_array_equal(many.classes_.class_of, one.classes_.class_of)
    assert many.n_parameters_ == one.n_parameters_
    assert many.objective_ == pytest.approx(one.objective_, rel=1e-6)
    text = [" ".join(token[0] for token in sentence) for sentence in sample.tagged("test", 20)]
    assert many.perplexity(text) == pytest.approx(one.perplexity(text), rel=1e-3)
    many.save(tmp_path / "model")
    assert ClassFactoredLM.load(tmp_path / "model").perplexity(text) == pytest.approx(
        many.perplexity(text), rel=1e-6
    )
    if n_shards == 1:
        np.testing.assert_array_equal(many.word_model_.parent, one.word_model_.parent)


def test_same_bits_with_threads_and_after_a_loss(folder: Path) -> None:
    class Forgetful(Here):
        """Loses a shard of the word part now and then."""

        may_lose = True

        def ask(self, function: Any, handles: Any, pieces: Any) -> Any:
            if len(handles) > 1 and isinstance(handles[1], WordShard) and self.tally.asked % 5 == 0:
                handles[1] = WordShard(handles[1].recipe)
            return super().ask(function, handles, pieces)

    manifest = Manifest.read(folder / "words", KIND)
    settings = {**SETTINGS, "max_iterations": 5}
    found = [
        fit_stream(ClassFactoredLM(**settings), manifest, engine, n_shards=3)
        for engine in (Here(), Here(2), Forgetful())
    ]
    for other in found[1:]:
        for part in ("class_model_", "word_model_"):
            np.testing.assert_array_equal(getattr(other, part).w, getattr(found[0], part).w)


@pytest.mark.parametrize(
    ("more", "message"),
    [({"classes": "auto"}, "number of classes"), ({"penalty": "tree-l2"}, "stays on one machine")],
)
def test_what_shards_cannot_do_is_refused(folder: Path, more: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        fit_stream(ClassFactoredLM(**{**SETTINGS, **more}), Manifest.read(folder / "words", KIND))
