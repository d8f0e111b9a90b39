"""Compiles every kernel of the reranker by using it on two tiny lists."""

from __future__ import annotations

from typing import Any

from epigram.rerank import FSLR, BLasso, Perceptron, Reranker


def warm() -> None:
    """Fit, rerank and explain once."""
    lists: list[dict[str, Any]] = [
        {
            "reference": "a b",
            "candidates": [
                {"text": "a c", "score": -1.0, "features": {"x": 0.5}},
                {"text": "a b b", "score": -2.0},
            ],
        }
    ] * 2
    for learner in (BLasso(steps=2), FSLR(steps=2), Perceptron(steps=1)):
        model = Reranker(learner, headwords=["a", "c"], chars=2, min_count=1).fit(lists, dev=lists)
    model.predict(lists)
