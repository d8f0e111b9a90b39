"""Small models of the built-in sample data, trained when the studio first starts and kept in the cache."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import epigram
from epigram.datasets import sample
from epigram.text import user_cache

CANDIDATES = 6
SAMPLES = {
    "japanese": "types Japanese; from a few dozen sentences written for this project",
    "chunks": "finds phrases in English sentences",
    "words": "tells the parts of speech of English words",
    "log-linear": "predicts the next word; every weight can be seen",
    "kneser-ney": "predicts the next word by counts of n-grams",
    "word-order": "picks the sentence whose words stand in the right order",
}


def sample_files(tell: Callable[[str], object] = lambda name: None) -> dict[str, Path]:
    """Files of the sample models by name; those that are missing are trained first, which ``tell`` is told."""
    folder = user_cache() / "studio" / epigram.__version__
    folder.mkdir(parents=True, exist_ok=True)
    files = {name: folder / f"{name}.epigram" for name in SAMPLES}
    for name, path in files.items():
        if not path.exists():
            tell(name)
            _MAKERS[name]().save(path)
    return files


def tagger_of(column: int, template: str, constrain: str | None) -> Any:
    """A CRF that looks at words alone and learns one column of the sample data."""
    sentences = {part: sample.tagged(part) for part in ("train", "dev")}
    X, y = (
        {part: [[token[k] for token in one] for one in chosen] for part, chosen in sentences.items()}
        for k in (0, column)
    )
    solver = epigram.SGD(passes=20)
    tagger = epigram.CRFTagger(template, l1=0.3, constrain=constrain, solver=solver)
    return tagger.fit(X["train"], y["train"], dev=(X["dev"], y["dev"]))


def word_order_lists(part: str, n: int) -> list[dict[str, Any]]:
    """Lists of a sentence and the same with two neighbours exchanged, all with the same base score."""
    rng = np.random.default_rng([n, len(part)])
    lists: list[dict[str, Any]] = []
    for words in sample.plain(part, n):
        variants = [words, *(_exchanged(words, rng) for _ in range(CANDIDATES - 1))]
        texts = dict.fromkeys(" ".join(variants[k]) for k in rng.permutation(len(variants)))
        candidates = [{"text": text, "score": 0.0} for text in texts]
        lists.append({"id": str(len(lists) + 1), "reference": " ".join(words), "candidates": candidates})
    return lists


def example_lists(n: int = 12) -> str:
    """Some lists of the test part as JSON lines, to look at."""
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in word_order_lists("test", n))


def _exchanged(words: list[str], rng: np.random.Generator) -> list[str]:
    variant = list(words)
    at = int(rng.integers(max(len(words) - 1, 1)))
    variant[at : at + 2] = variant[at : at + 2][::-1]
    return variant


def _japanese() -> Any:
    from epigram.ime.sample import BACKGROUND, WORDS

    return epigram.KanaKanjiConverter.build(BACKGROUND, WORDS)


def _word_order() -> Any:
    learner = epigram.BLasso(steps=1500, eps=0.5)
    train, dev = word_order_lists("train", 600), word_order_lists("dev", 100)
    return epigram.Reranker(learner, measure="wer").fit(train, dev=dev)


def _log_linear() -> Any:
    model = epigram.LogLinearLM(order=4, strength=0.3, depth_weight=1.5, ridge=0.05)
    return model.fit(sample.plain("train"), valid=sample.plain("dev"))


def _kneser_ney() -> Any:
    return epigram.KneserNeyLM(order=4).fit(sample.plain("train"))


_MAKERS: dict[str, Callable[[], Any]] = {
    "japanese": _japanese,
    "chunks": lambda: tagger_of(2, "ner", "iob2"),
    "words": lambda: tagger_of(1, "pos", None),
    "log-linear": _log_linear,
    "kneser-ney": _kneser_ney,
    "word-order": _word_order,
}
