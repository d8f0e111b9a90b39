"""Models as a server holds them: what is made on first use is there before two requests can ask for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")

from epigram.serve.registry import load_model


def test_a_loaded_model_has_the_tables_of_its_first_use(
    files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("made on first use")

    entry = load_model("mine", files["log-linear"], "file")
    monkeypatch.setattr("epigram.lm.loglinear.model.to_backoff", refuse)
    assert entry.estimator.next_words("the", 1)
    assert entry.estimator.word_scores("the old boat").size == 4
