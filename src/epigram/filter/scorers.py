"""Scores of documents: a number for each text of a batch, NaN for a text without a word."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Protocol

import numpy as np

from epigram._core.arrays import offsets
from epigram.classify import TextClassifier
from epigram.errors import InputError
from epigram.filter.pieces import PieceModel
from epigram.filter.streams import TextStream
from epigram.lm.base import LanguageModel
from epigram.lm.vocabulary import BOUNDARY, UNSEEN
from epigram.protocols import Floats, Ints, Offsets


class DocumentScorer(Protocol):
    """Gives every text of a batch a number."""

    def __call__(self, texts: Sequence[str]) -> Floats: ...


class Perplexity:
    """Perplexity of a document under a language model; every line of it is a sentence.

    Parameters
    ----------
    model : the language model.
    pieces : a sentencepiece model that cuts the text, where that of the language model does not.
    ccnet : normalise the text as CCNet does; it is one sentence then.

    Examples
    --------
    >>> from epigram import KneserNeyLM
    >>> model = KneserNeyLM(2).fit(["a b a b", "b a c"])
    >>> Perplexity(model)(["a b a b\\nb a", ""]).round(2).tolist()
    [2.89, nan]
    """

    def __init__(self, model: LanguageModel, pieces: PieceModel | None = None, ccnet: bool = False) -> None:
        self.model, self.words, self.unknown = model, 0, 0
        self._lock = Lock()
        tokenizer = model.vocabulary_.tokenizer
        if tokenizer is not None and (pieces is not None or tokenizer.kind != "sentencepiece"):
            if pieces is not None or ccnet:
                raise InputError("the language model has a tokenizer in its file, which reads plain text")
            self._stream: Callable[[Sequence[str]], tuple[Ints, Offsets, Offsets]] = self._tokenized
            return
        if tokenizer is not None:
            pieces = PieceModel.from_bytes(tokenizer.content)
        self._stream = TextStream(model.vocabulary_, pieces, ccnet)

    def __call__(self, texts: Sequence[str]) -> Floats:
        log_p, n = self.log_probabilities(texts)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            return np.where(n > 0, np.exp(-log_p / n), np.nan)

    def log_probabilities(self, texts: Sequence[str]) -> tuple[Floats, Floats]:
        """Natural log-probability of each document, and how many words and sentence ends it has."""
        stream, ptr, unknown = self._stream(texts)
        log_p = self.model.score_stream(self.model.as_unknown(stream))
        owner, scored = np.repeat(np.arange(len(texts)), np.diff(ptr)), ~np.isnan(log_p)
        if not scored.all():  # a closed model leaves unknown words out
            owner, log_p = owner[scored], log_p[scored]
        with self._lock:
            self.words += stream.size
            self.unknown += int(unknown.sum())
        sums = np.asarray(np.bincount(owner, log_p, minlength=len(texts)), np.float64)
        return sums, np.bincount(owner, minlength=len(texts)).astype(np.float64)

    def _tokenized(self, texts: Sequence[str]) -> tuple[Ints, Offsets, Offsets]:
        """The stream of texts that a tokenizer of Python cuts."""
        vocabulary, ids, counts, unknown = self.model.vocabulary_, [], [], []
        for text in texts:
            lines = [found for line in text.split("\n") if (found := vocabulary.tokens(line))]
            own = [np.append(vocabulary.ids(line), np.int32(BOUNDARY)) for line in lines]
            counts.append(sum(line.size for line in own))
            unknown.append(sum(int((line == UNSEEN).sum()) for line in own))
            ids += own
        stream = np.concatenate([np.empty(0, np.int32), *ids])
        return stream, offsets(counts), np.array(unknown, np.int64)


class PerplexityRatio:
    """Perplexity under one model divided by that under another (Moore and Lewis 2010)."""

    def __init__(
        self,
        model: LanguageModel,
        against: LanguageModel,
        pieces: PieceModel | None = None,
        ccnet: bool = False,
    ) -> None:
        if model.vocabulary_.tokenizer != against.vocabulary_.tokenizer:
            raise InputError("the two language models cut text in different ways (words, characters, pieces)")
        self.one, self.other = Perplexity(model, pieces, ccnet), Perplexity(against, pieces, ccnet)

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
