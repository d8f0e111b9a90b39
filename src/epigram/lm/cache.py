"""Cache model: mixes recent words into any model (Kuhn and De Mori 1990).

    P(w) = (1 - weight) P_model(w | h) + weight * (share of w among the last ``size`` words)

The cache runs over the ends of sentences, so its figures depend on the order of the text: compare them with those of
other models that see the text in order. Before the first word it is empty and the model stands alone.
"""

from __future__ import annotations

import math
from os import PathLike
from typing import cast

import numpy as np

from epigram._core import bindings
from epigram.errors import InputError
from epigram.lm.base import Context, LanguageModel, State
from epigram.lm.corpus import Corpus, Sentences
from epigram.lm.mixture import Blend, blend, mixture_weights
from epigram.lm.vocabulary import BOUNDARY, UNSEEN
from epigram.protocols import Floats, Ints

LARGEST = 100_000_000


class CachedLM(LanguageModel):
    """A model mixed with the relative frequencies of the last words of the text.

    Parameters
    ----------
    model : the model beside the cache
    size : number of words in the cache
    weight : the share of the cache in the mixture; :meth:`chosen` finds it on held-out text

    Examples
    --------
    >>> from epigram.lm.ngram.kneser_ney import KneserNeyLM
    >>> model = KneserNeyLM(2).fit(["a b c", "b c a"])
    >>> cached = CachedLM.chosen(model, ["a a", "a a a"], size=10)
    >>> bool(cached.perplexity(["a a", "a a"]) < model.perplexity(["a a", "a a"]))
    True
    """

    kind = "cached"

    def __init__(self, model: LanguageModel, size: int = 500, weight: float = 0.1) -> None:
        if not 1 <= size <= LARGEST:
            raise InputError(f"a cache remembers 1 to {LARGEST:,} words, not {size:,}.")
        if not 0 <= weight < 1:
            raise InputError(f"the weight of a cache is at least 0 and below 1, not {weight:g}.")
        self.model, self.size, self.weight = model, size, weight
        self.vocabulary_ = model.vocabulary_

    @classmethod
    def chosen(
        cls, model: LanguageModel, held_out: Sentences | Corpus | PathLike[str], size: int = 500
    ) -> CachedLM:
        """With the weight that predicts held-out text best (EM)."""
        cached = cls(model, size, 0.0)
        corpus = Corpus.known(held_out, model.vocabulary_)
        stream = corpus.stream()[1:]
        shares, filled = cached._shares(cached.as_unknown(stream))
        known = (stream != UNSEEN) & filled
        if not known.any():
            raise InputError("the held-out text is too short to fill a cache.")
        with np.errstate(divide="ignore"):
            logps = np.stack((model.score_corpus(corpus)[known], np.log(shares[known])))
        cached.weight = min(float(mixture_weights(logps)[1]), 1 - 1e-9)
        return cached

    @property
    def parts(self) -> tuple[LanguageModel]:
        """The model beside the cache."""
        return (self.model,)

    def start(self) -> State:
        """The start of a sentence, with an empty cache."""
        return self.model.start(), ()

    def step(self, state: tuple[State, tuple[int, ...]], word: int) -> tuple[State, float]:
        """State after a word id, and its log-probability; -1 gives NaN and is not remembered."""
        inner, recent = state
        following, logp = self.model.step(inner, word)
        if word == UNSEEN:
            return (following, recent), logp
        if recent:
            share = recent.count(word) / len(recent) if word != BOUNDARY else 0.0
            p = (1 - self.weight) * math.exp(logp) + self.weight * share
            logp = math.log(p) if p > 0 else -math.inf
        if word != BOUNDARY:
            recent = (*recent[-self.size + 1 :], word) if self.size > 1 else (word,)
        return (following, recent), logp

    def score_stream(self, stream: Ints) -> Floats:
        """Log-probability of each id of a stream that starts a text; -1 gives NaN."""
        return self._beside(self.model.score_stream(stream), stream)

    def score_corpus(self, corpus: Corpus) -> Floats:
        """Log-probability of each word and each end of a text; -1 is ``<unk>``."""
        return self._beside(self.model.score_corpus(corpus), self.as_unknown(corpus.stream()[1:]))

    def _beside(self, logps: Floats, stream: Ints) -> Floats:
        """The model's log-probabilities mixed with the cache."""
        shares, filled = self._shares(stream)
        weight = np.where(filled, self.weight, 0.0)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log((1 - weight) * np.exp(logps) + weight * shares))

    def distribution(self, context: Context = ()) -> Floats:
        """Probabilities of the whole vocabulary after a context, whose words are in the cache."""
        inner, recent = self._state(context)
        p = self.model.distribution(inner)
        if not recent:
            return p
        counts = np.bincount(recent, minlength=len(self.vocabulary_))
        return (1 - self.weight) * p + self.weight * counts / len(recent)

    def explain(self, context: str | list[str], word: str) -> Blend:
        """P(word | context) by the model and by the cache."""
        inner, recent = self._state(context)
        target = self.vocabulary_.id(word)
        weight = self.weight if recent else 0.0
        share = recent.count(target) / len(recent) if recent and target != BOUNDARY else 0.0
        return blend(
            context, word, [("model", 1 - weight, self.model, inner), ("cache", weight, share, None)]
        )

    def _state(self, context: Context) -> tuple[State, tuple[int, ...]]:
        inner, recent = cast("tuple[State, tuple[int, ...]]", self.state(context))
        return inner, recent

    def _shares(self, stream: Ints) -> tuple[Floats, np.ndarray]:
        """Share of each word among the words before it, and whether there were any."""
        ids, shares = np.ascontiguousarray(stream, np.int32), np.empty(stream.size)
        n_words = len(self.vocabulary_)
        ring, counts = np.empty(self.size, np.int32), np.zeros(n_words, np.int32)
        bindings.ngram_recent_shares(ids, ring, counts, shares)
        return np.where(np.isnan(shares), 0.0, shares), ~np.isnan(shares)
