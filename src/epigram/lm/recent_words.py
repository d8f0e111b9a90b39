"""A cache of recent words beside any model: texts repeat themselves (Kuhn and De Mori 1990).

    P(w) = (1 - weight) P_model(w | h) + weight * (share of w among the last ``size`` words)

The cache runs over the ends of sentences, so its figures depend on the order of the text: they are reported
beside those of the model, never instead of them. Before the first word it is empty and the model stands alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike

import numpy as np

from epigram._core.native import family
from epigram.errors import InputError
from epigram.lm.base import Evaluation, LanguageModel
from epigram.lm.corpus import Corpus, Sentences
from epigram.lm.ngram.interpolation import mixture_weights
from epigram.lm.vocabulary import BOUNDARY, UNSEEN
from epigram.protocols import Floats, Ints


@dataclass(frozen=True, slots=True)
class RecentWords:
    """How many words are remembered, and their share in the mixture.

    Examples
    --------
    >>> from epigram.lm.ngram.kneser_ney import KneserNeyLM
    >>> model = KneserNeyLM(2).fit(["a b c", "b c a"])
    >>> cache = RecentWords.chosen(model, ["a a", "a a a"], size=10)
    >>> bool(cache.evaluate(model, ["a a", "a a"]).perplexity < model.perplexity(["a a", "a a"]))
    True
    """

    size: int
    weight: float

    def __post_init__(self) -> None:
        if self.size < 1:
            raise InputError(f"a cache remembers 1 word or more, not {self.size}.")
        if not 0 <= self.weight < 1:
            raise InputError(f"the weight of a cache is at least 0 and below 1, not {self.weight:g}.")

    @classmethod
    def chosen(
        cls, model: LanguageModel, held_out: Sentences | Corpus | PathLike[str], size: int = 500
    ) -> RecentWords:
        """The weight that predicts held-out text best (EM)."""
        stream = _stream(model, held_out)
        cached, filled = _shares(stream, cls(size, 0.0).size, len(model.vocabulary_))
        known = (stream != UNSEEN) & filled
        if not known.any():
            raise InputError("the held-out text is too short to fill a cache.")
        with np.errstate(divide="ignore"):
            logps = np.stack((model.score_stream(stream)[known], np.log(cached[known])))
        return cls(size, min(float(mixture_weights(logps)[1]), 1 - 1e-9))

    def score_stream(self, model: LanguageModel, stream: Ints) -> Floats:
        """Log-probability of each id of a stream (:meth:`~epigram.lm.base.LanguageModel.score_stream`)."""
        cached, filled = _shares(stream, self.size, len(model.vocabulary_))
        weight = np.where(filled, self.weight, 0.0)
        return np.asarray(np.log((1 - weight) * np.exp(model.score_stream(stream)) + weight * cached))

    def evaluate(self, model: LanguageModel, text: Sentences | Corpus | PathLike[str]) -> Evaluation:
        """As the model's own, with the cache."""
        stream = _stream(model, text)
        logp = self.score_stream(model, stream)
        ends, unseen = stream == BOUNDARY, stream == UNSEEN
        return Evaluation(
            log_likelihood=float(logp[~unseen].sum()),
            log_likelihood_of_ends=float(logp[ends].sum()),
            tokens=int((~ends).sum()),
            sentences=int(ends.sum()),
            oov=int(unseen.sum()),
        )


def _stream(model: LanguageModel, text: Sentences | Corpus | PathLike[str]) -> Ints:
    return Corpus.known(text, model.vocabulary_).stream()[1:]


def _shares(stream: Ints, size: int, n_words: int) -> tuple[Floats, np.ndarray]:
    """Share of each word among the words before it, and whether there were any."""
    ids, shares = np.ascontiguousarray(stream, np.int32), np.empty(stream.size)
    ring, counts = np.empty(size, np.int32), np.zeros(n_words, np.int32)
    family("ngram").recent_shares(ids.size, ids, size, ring, n_words, counts, shares)
    return np.where(np.isnan(shares), 0.0, shares), ~np.isnan(shares)
