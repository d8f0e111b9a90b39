"""Language model scores as features of candidates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from epigram.errors import InputError
from epigram.protocols import Floats
from epigram.rerank.nbest import NBest

NAME = "lm"


class WordScorer(Protocol):
    """Protocol of a language model that scores words."""

    def word_scores(self, sentence: Sequence[str], /) -> Floats:
        """Natural log-probability of each word and of the end; not finite for unknown words."""
        ...


def with_language_models(lists: NBest, models: Sequence[WordScorer]) -> NBest:
    """Add the features ``lm`` (log-probability of known words and the end) and ``lm:unknown``.

    ``lm:unknown`` counts the words that a model does not know: what one costs is learnt. A second model's features are
    ``lm2`` and ``lm2:unknown``, and so on.

    Examples
    --------
    >>> class Uniform:
    ...     def word_scores(self, words):
    ...         return np.array([-1.0 if word.islower() else np.nan for word in words] + [-2.0])
    >>> lists = NBest.from_lists([{"candidates": [{"text": "a b", "score": 0}, {"text": "a B", "score": 0}]}])
    >>> found = with_language_models(lists, [Uniform()])
    >>> found.names, found.named_values.tolist()
    (['lm', 'lm:unknown'], [-4.0, 0.0, -3.0, 1.0])
    """
    for k, model in enumerate(models):
        scores, unknown = np.zeros(lists.n_candidates), np.zeros(lists.n_candidates)
        known: dict[tuple[str, ...], tuple[float, float]] = {}
        for c in range(lists.n_candidates):
            words = tuple(lists.words(c))
            if words not in known:
                each = model.word_scores(words)
                finite = np.isfinite(each)
                if hasattr(
                    model, "vocabulary_"
                ):  # which may have a probability for the words it does not know
                    finite &= [*(word in model.vocabulary_ for word in words), True]
                known[words] = float(each[finite].sum()), float((~finite).sum())
            scores[c], unknown[c] = known[words]
        name = feature_name(k)
        lists = lists.with_features({name: scores, f"{name}:unknown": unknown})
    return lists


def feature_name(k: int) -> str:
    """The feature of model ``k``, from 0."""
    return NAME if k == 0 else f"{NAME}{k + 1}"


def check_models(names: Sequence[str], n_models: int) -> None:
    """Refuse a number of language models that differs from that of the training."""
    needed = 0
    while feature_name(needed) in names or f"{feature_name(needed)}:unknown" in names:
        needed += 1
    if needed > n_models:
        raise InputError(
            f"this reranker learnt with {needed} language model{'s' * (needed > 1)}, not {n_models}; "
            "give --lm MODEL as in the training"
        )
