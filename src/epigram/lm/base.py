"""What every language model of the family offers, from four primitives: ids in, log-probabilities out.

A model is its vocabulary, a start state, a transition, a stream scorer and a full distribution. States are integers or
tuples of them: hashable and comparable, so that a search can merge equal ones. Contexts are words (a string or
tokens); ``<s>`` may stand first, for the start of a sentence; without it nothing is assumed about what came before.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from epigram.errors import InputError
from epigram.lm.corpus import BOUNDARY, UNSEEN, Corpus, Sentences, Vocabulary
from epigram.protocols import Floats, Ints

if TYPE_CHECKING:
    from epigram.storage import ModelFile

MAPPED = "mapped."
"""In a model file, what stands before the names of arrays that are used where they lie."""

State: TypeAlias = int | tuple[Any, ...]
"""What a model needs to know of the words so far: an integer, or a tuple of integers or of other models' states."""

Context: TypeAlias = str | Sequence[str] | State
"""Words before the one to predict, or a state from ``start`` or ``advance``."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How well a model predicts a text; words outside the vocabulary (``oov``) are skipped."""

    log_likelihood: float
    log_likelihood_of_ends: float
    tokens: int
    sentences: int
    oov: int

    @property
    def perplexity(self) -> float:
        """Over the words of the vocabulary and one ``</s>`` a sentence; NaN for an empty text."""
        return _perplexity(self.log_likelihood, self.tokens - self.oov + self.sentences)

    @property
    def perplexity_without_end(self) -> float:
        """The same over words only; NaN where no word is in the vocabulary."""
        return _perplexity(self.log_likelihood - self.log_likelihood_of_ends, self.tokens - self.oov)


def _perplexity(log_likelihood: float, n: int) -> float:
    if n == 0:
        return math.nan
    return math.exp(-log_likelihood / n) if -log_likelihood / n < 700 else math.inf


class LanguageModel(ABC):
    """A model p(word | context) over a closed vocabulary with an end of sentence."""

    vocabulary_: Vocabulary

    @abstractmethod
    def start(self) -> State:
        """State at the start of a sentence."""

    @abstractmethod
    def step(self, state: Any, word: int) -> tuple[State, float]:
        """State after a word id, and its log-probability; -1 gives NaN and forgets the context."""

    @abstractmethod
    def score_stream(self, stream: Ints) -> Floats:
        """Log-probability of each id of a stream that starts a sentence; 0 ends one, -1 gives NaN."""

    @abstractmethod
    def distribution(self, context: Context = ()) -> Floats:
        """Probabilities of all words of the vocabulary after a context, in the order of their ids."""

    def advance(self, state: State, word: str) -> tuple[State, float]:
        """State after a word, and the natural log of its probability (NaN outside the vocabulary)."""
        return self.step(state, self.vocabulary_.id(word))

    def state(self, context: Context = ()) -> State:
        """The state that a context leads to."""
        if isinstance(context, int | np.integer):
            return int(context)
        if isinstance(context, tuple) and context and not isinstance(context[0], str):
            return context
        state, _ = self.step(self.start(), UNSEEN)
        for word in self.vocabulary_.tokens(context):
            state, _ = self.advance(state, word)
        return state

    def score(self, sentences: Sentences | Corpus | PathLike[str], y: None = None) -> float:
        """Mean natural log-probability of a word (or an end of a sentence) of a text: higher is better.

        Minus the logarithm of :meth:`perplexity`; words outside the vocabulary are not counted.
        """
        return -math.log(self.perplexity(sentences))

    def word_scores(self, sentence: str | Sequence[str]) -> Floats:
        """Natural log-probability of each word of a sentence and, last, of its end."""
        return self.score_stream(
            np.append(self.vocabulary_.ids(self.vocabulary_.tokens(sentence)), np.int32(BOUNDARY))
        )

    def score_corpus(self, corpus: Corpus) -> Floats:
        """Log-probability of each word and each end of a text in ids of this vocabulary; -1 gives NaN."""
        return self.score_stream(corpus.stream()[1:])

    def evaluate(self, sentences: Sentences | Corpus | PathLike[str]) -> Evaluation:
        """Log-likelihood and counts of a text (sentences, a path, or a tokenised corpus)."""
        corpus = Corpus.known(sentences, self.vocabulary_)
        stream, logp = corpus.stream()[1:], self.score_corpus(corpus)
        return Evaluation(
            log_likelihood=float(logp[stream != UNSEEN].sum()),
            log_likelihood_of_ends=float(logp[stream == BOUNDARY].sum()),
            tokens=corpus.n_tokens,
            sentences=corpus.n_sentences,
            oov=corpus.n_unseen,
        )

    def perplexity(self, sentences: Sentences | Corpus | PathLike[str], end: bool = True) -> float:
        """Perplexity with, or without, the ends of sentences counted."""
        evaluation = self.evaluate(sentences)
        return evaluation.perplexity if end else evaluation.perplexity_without_end

    def next_words(self, context: Context = (), k: int = 10) -> list[tuple[str, float]]:
        """The ``k`` likeliest next words with their probabilities, likeliest first."""
        p = self.distribution(context)
        k = min(max(k, 0), p.size)
        best = np.argpartition(-p, k - 1)[:k] if 0 < k < p.size else np.arange(p.size)[:k]
        best = best[np.lexsort((best, -p[best]))]
        return [(self.vocabulary_.words[u], float(p[u])) for u in best.tolist()]

    def sample(
        self,
        n: int = 1,
        *,
        context: Context | None = None,
        seed: int | np.random.Generator | None = None,
        max_words: int = 200,
    ) -> list[list[str]]:
        """Random sentences (without ``</s>``), from the start or going on from a context."""
        rng = np.random.default_rng(seed)
        return [self._sample_one(rng, context, max_words) for _ in range(n)]

    def to_model_file(
        self, bits: int = 0, fit: dict[str, Any] | None = None, text: bool = False
    ) -> ModelFile:
        """The model as header and arrays; ``fit`` adds metrics to the header, the rest is as for :meth:`save`."""
        raise InputError(f"a {type(self).__name__} has no model file; merge it to a back-off model first.")

    def mapped(self, tensors: dict[str, Any]) -> dict[str, Any]:
        """The arrays of its file (:meth:`to_model_file`) laid out to be mapped: as scoring uses them."""
        raise InputError(f"a {type(self).__name__} cannot be mapped; merge it to a back-off model first.")

    def save(
        self,
        path: str | PathLike[str],
        bits: int = 0,
        text: bool = False,
        fit: dict[str, Any] | None = None,
        mapped: bool = False,
    ) -> None:
        """Write a model file; ``bits`` (1 to 16) stores the weights in that many bits each, 0 in full.

        ``text=True`` keeps the training text in the file, where whoever has the file can read it; a model that can go
        on training (``partial_fit``) then does so exactly. ``fit`` adds metrics to the header.

        ``mapped=True`` makes a larger file whose arrays are used where they lie: loading decodes and copies nothing,
        and all processes that load it share its memory. Its weights are in full, and it has no room for a text.
        """
        if mapped and (bits or text):
            raise InputError("a mapped file holds weights in full, and no text; leave out bits and text.")
        file = self.to_model_file(bits, fit, text)
        if mapped:
            file.tensors = self.mapped(file.tensors)
            file.unbounded = [*file.unbounded, *(name for name in file.tensors if MAPPED in name)]
        file.save(path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a model file; it scores, explains (without counts) and goes on training as before."""
        from epigram.storage import load

        model = load(path)
        if not isinstance(model, cls):
            raise InputError(
                f"holds a {type(model).__name__}, not a {cls.__name__}; epigram.load reads it", path=path
            )
        return model

    def _sample_one(self, rng: np.random.Generator, context: Context | None, max_words: int) -> list[str]:
        state = self.start() if context is None else self.state(context)
        words: list[str] = []
        while len(words) < max_words:
            cumulative = np.cumsum(self.distribution(state))
            word = int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))
            word = min(word, cumulative.size - 1)
            if word == BOUNDARY:
                break
            words.append(self.vocabulary_.words[word])
            state, _ = self.step(state, word)
        return words
