"""Scores of documents: a number for each text of a batch, NaN for a text without a word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from epigram.classify import TextClassifier
from epigram.errors import InputError
from epigram.lm.base import LanguageModel
from epigram.lm.corpus import Corpus
from epigram.protocols import Floats


class DocumentScorer(Protocol):
    """Gives every text of a batch a number."""

    def __call__(self, texts: Sequence[str]) -> Floats: ...


class Perplexity:
    """Perplexity of a document under a language model; every line of it is a sentence.

    Examples
    --------
    >>> from epigram import KneserNeyLM
    >>> model = KneserNeyLM(2).fit(["a b a b", "b a c"])
    >>> Perplexity(model)(["a b\\nb a", ""]).round(2).tolist()
    [3.16, nan]
    """

    def __init__(self, model: LanguageModel) -> None:
        self.model = model

    def __call__(self, texts: Sequence[str]) -> Floats:
        log_p, n = self.log_probabilities(texts)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            return np.where(n > 0, np.exp(-log_p / n), np.nan)

    def log_probabilities(self, texts: Sequence[str]) -> tuple[Floats, Floats]:
        """Natural log-probability of each document, and how many words and sentence ends it has."""
        tokens = self.model.vocabulary_.tokens
        sentences, owners = [], []
        for k, text in enumerate(texts):
            lines = [found for line in text.splitlines() if (found := tokens(line))]
            sentences += lines
            owners += [k] * len(lines)
        if not sentences:
            return np.zeros(len(texts)), np.zeros(len(texts))
        corpus = Corpus.of(sentences).with_vocabulary(self.model.vocabulary_)
        log_p = self.model.score_corpus(corpus)
        lengths = np.diff(corpus.sentence_ptr) + 1
        owner = np.repeat(owners, lengths)
        scored = ~np.isnan(log_p)
        sums = np.asarray(np.bincount(owner[scored], log_p[scored], minlength=len(texts)), np.float64)
        return sums, np.bincount(owner[scored], minlength=len(texts)).astype(np.float64)


class PerplexityRatio:
    """Perplexity under one model divided by that under another (Moore and Lewis 2010)."""

    def __init__(self, model: LanguageModel, against: LanguageModel) -> None:
        self.one, self.other = Perplexity(model), Perplexity(against)

    def __call__(self, texts: Sequence[str]) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.one(texts) / self.other(texts))


class LabelProbability:
    """Probability of a label under a text classifier."""

    def __init__(self, classifier: TextClassifier, label: str) -> None:
        names = [str(name) for name in classifier.classes_.tolist()]
        if label not in names:
            raise InputError(f"no label {label!r}; the labels are {', '.join(names[:20])}")
        self.classifier, self._column = classifier, names.index(label)

    def __call__(self, texts: Sequence[str]) -> Floats:
        p = self.classifier.predict_proba(list(texts))[:, self._column]
        return np.where([bool(text.strip()) for text in texts], p, np.nan)
