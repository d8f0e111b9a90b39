"""Trains small models on the built-in sample data and caches them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import epigram
from epigram.datasets import sample
from epigram.files import user_cache

SAMPLES = {
    "japanese": "types Japanese; from a few dozen sentences written for this project",
    "chunks": "finds phrases in English sentences",
    "words": "tells the parts of speech of English words",
    "topics": "tells the topic of an English sentence",
    "log-linear": "predicts the next word; every weight can be seen",
    "kneser-ney": "predicts the next word by counts of n-grams",
    "word-order": "picks the sentence whose words stand in the right order",
}


def sample_files(report: Callable[[str], object] = lambda name: None) -> dict[str, Path]:
    """Return the files of the sample models by name; ``report`` is called before one is trained."""
    folder = user_cache() / "studio" / epigram.__version__
    folder.mkdir(parents=True, exist_ok=True)
    files = {name: folder / f"{name}.epigram" for name in SAMPLES}
    for name, path in files.items():
        if not path.exists():
            report(name)
            _MAKERS[name]().save(path)
    return files


def train_tagger(column: int, template: str, constrain: Literal["iob2"] | None) -> Any:
    """Train a CRF tagger on the words and one other column of the sample data."""
    sentences = {part: sample.tagged(part) for part in ("train", "dev")}
    X, y = (
        {part: [[token[k] for token in one] for one in chosen] for part, chosen in sentences.items()}
        for k in (0, column)
    )
    solver = epigram.SGD(passes=20)
    tagger = epigram.CRFTagger(template, l1=0.3, constrain=constrain, solver=solver)
    return tagger.fit(X["train"], y["train"], dev=(X["dev"], y["dev"]))


def example_lists(n: int = 12) -> str:
    """Return n-best lists of the test set as JSON lines."""
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in sample.lists("test", n))


def _japanese() -> Any:
    return epigram.KanaKanjiConverter.build(sample.BACKGROUND, sample.WORDS)


def _word_order() -> Any:
    learner = epigram.BLasso(steps=1500, eps=0.5)
    train, dev = sample.lists("train", 600), sample.lists("dev", 100)
    return epigram.Reranker(learner, measure="wer").fit(train, dev=dev)


def _topics() -> Any:
    labels, texts = zip(*sample.documents("train"), strict=True)
    return epigram.TextClassifier(words=2, l2=0.03).fit(texts, labels)


def _log_linear() -> Any:
    model = epigram.LogLinearLM(order=4, strength=0.3, depth_weight=1.5, ridge=0.05)
    return model.fit(sample.plain("train"), valid=sample.plain("dev"))


def _kneser_ney() -> Any:
    return epigram.KneserNeyLM(order=4).fit(sample.plain("train"))


_MAKERS: dict[str, Callable[[], Any]] = {
    "japanese": _japanese,
    "chunks": lambda: train_tagger(2, "ner", "iob2"),
    "words": lambda: train_tagger(1, "pos", None),
    "topics": _topics,
    "log-linear": _log_linear,
    "kneser-ney": _kneser_ney,
    "word-order": _word_order,
}
