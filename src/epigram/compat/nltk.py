"""EpigramTagger: an nltk tagger backed by an epigram model.

It has ``tag``, ``tag_sents`` and ``accuracy``, and needs nltk (``pip install '.[nltk]'`` in a checkout).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any

from nltk.tag.api import TaggerI

from epigram.errors import InputError
from epigram.storage import load

Features = Callable[[Sequence[str], int], Any]


class EpigramTagger(TaggerI):  # type: ignore[misc]
    """Labels tokens with the interface of nltk's taggers.

    Parameters
    ----------
    model : a fitted tagger of epigram, or the name of its file (of CRFsuite, too).
    feature_func : for models trained on features: a function from the tokens and an index to a dict or a list of
        features, as for nltk's ``CRFTagger``. Models with a template read the tokens themselves.

    Examples
    --------
    >>> from epigram import CRFTagger
    >>> model = CRFTagger("U:%x[0,0]\\nB\\n", l1=0.01).fit([["the", "dog"], ["a", "cat"]], [["DT", "NN"], ["DT", "NN"]])
    >>> EpigramTagger(model).tag(["a", "dog"])
    [('a', 'DT'), ('dog', 'NN')]
    """

    def __init__(self, model: str | PathLike[str] | Any, feature_func: Features | None = None) -> None:
        self.model = load(model) if isinstance(model, str | PathLike) else model
        if not hasattr(self.model, "model_") or not hasattr(self.model, "predict"):
            raise InputError(f"EpigramTagger needs a fitted tagger, not a {type(self.model).__name__}")
        if self.model.model_.template is None and feature_func is None:
            raise InputError("this model was trained on features; give feature_func(tokens, index)")
        self._features = feature_func

    def tag(self, tokens: Sequence[str]) -> list[tuple[str, str]]:
        """Return each token with its label."""
        return self.tag_sents([tokens])[0]

    def tag_sents(self, sentences: Sequence[Sequence[str]]) -> list[list[tuple[str, str]]]:
        """Return each token with its label, for many sentences at once."""
        sentences = [list(sentence) for sentence in sentences]
        if self._features is None or self.model.model_.template is not None:
            inputs: list[Any] = [[(token,) for token in sentence] for sentence in sentences]
        else:
            inputs = [[self._features(one, t) for t in range(len(one))] for one in sentences]
        found = self.model.predict(inputs)
        return [list(zip(*pair, strict=True)) for pair in zip(sentences, found, strict=True)]
