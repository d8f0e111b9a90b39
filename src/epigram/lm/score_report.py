"""Log-probability of a text by sentence and by word, and its unknown words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike

import numpy as np

from epigram.lm.base import LanguageModel
from epigram.lm.corpus import Corpus, Sentences
from epigram.lm.vocabulary import BOUNDARY, UNSEEN
from epigram.protocols import Floats, Ints, Offsets


@dataclass(frozen=True)
class Report:
    """Log-probabilities of a text, and sums of them.

    Examples
    --------
    >>> from epigram.lm.ngram.kneser_ney import KneserNeyLM
    >>> model = KneserNeyLM(2).fit(["a b a b", "b a c"])
    >>> report = Report.of(model, ["a b", "c zebra a"])
    >>> report.unknown()
    [('zebra', 1)]
    >>> [word for word, count, bits in report.by_word()]
    ['</s>', 'zebra', 'c', 'a', 'b']
    >>> report.perplexities.round(2).tolist()
    [2.74, 9.43]
    """

    text: Corpus  # in its own words
    ids: Ints  # of the model, with the end of each sentence
    logps: Floats
    ends: Offsets

    @classmethod
    def of(cls, model: LanguageModel, sentences: Sentences | Corpus | PathLike[str]) -> Report:
        """Score a text."""
        text = sentences if isinstance(sentences, Corpus) else Corpus.of(sentences)
        own = text.with_vocabulary(model.vocabulary_)
        ids = own.stream()[1:]
        return cls(text, ids, model.score_corpus(own), np.flatnonzero(ids == BOUNDARY))

    @property
    def log_likelihoods(self) -> Floats:
        """Natural log-probability of each sentence; a closed model leaves out unknown words."""
        return np.add.reduceat(np.nan_to_num(self.logps, nan=0.0, neginf=-np.inf), self._starts)

    @property
    def n_unknown(self) -> Ints:
        """Number of unknown words of each sentence."""
        return np.add.reduceat((self.ids == UNSEEN).astype(np.int64), self._starts)

    @property
    def perplexities(self) -> Floats:
        """Perplexity of each sentence and its end; a closed model leaves out unknown words."""
        n_scored = np.add.reduceat((~np.isnan(self.logps)).astype(np.int64), self._starts)
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(-self.log_likelihoods / n_scored))

    def by_word(self) -> list[tuple[str, int, float]]:
        """Each word with its count and mean bits; those of the most bits in all come first."""
        scored = ~np.isnan(self.logps)
        own = np.full(self.ids.size, BOUNDARY, dtype=np.int32)
        own[self.ids != BOUNDARY] = self.text.ids
        counts = np.bincount(own[scored], minlength=len(self.text.vocabulary))
        bits = np.bincount(own[scored], -self.logps[scored] / np.log(2), minlength=counts.size)
        words = self.text.vocabulary.words
        order = np.lexsort((np.arange(counts.size), -bits))
        return [(words[k], int(counts[k]), float(bits[k] / counts[k])) for k in order.tolist() if counts[k]]

    def unknown(self) -> list[tuple[str, int]]:
        """Words that the model does not know, with how often they occur, frequent ones first."""
        outside = self.ids[self.ids != BOUNDARY] == UNSEEN
        counts = np.bincount(self.text.ids[outside], minlength=len(self.text.vocabulary))
        order = np.argsort(-counts, kind="stable")
        return [(self.text.vocabulary.words[k], int(counts[k])) for k in order.tolist() if counts[k]]

    @property
    def _starts(self) -> Offsets:
        return np.concatenate(([0], self.ends[:-1] + 1))


@dataclass(frozen=True)
class KnownWords:
    """Scores the words that a model knows, for rerankers; its tokenizer joins and cuts them."""

    model: LanguageModel

    def word_scores(self, words: Sequence[str], /) -> Floats:
        """Natural log-probability of each word or token and of the end; NaN for unknown ones."""
        vocabulary = self.model.vocabulary_
        tokens = words if vocabulary.tokenizer is None else vocabulary.tokens(" ".join(words))
        unknown = np.append(vocabulary.ids(tokens) == UNSEEN, False)
        return np.where(unknown, np.nan, self.model.word_scores(tokens))
