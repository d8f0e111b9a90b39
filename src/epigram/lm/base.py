"""Base class of language models: states, scoring, perplexity, sampling, saving.

A model is its vocabulary, a start state, a transition, a stream scorer and a full distribution. States are integers or
tuples of them: hashable and comparable, so that a search can merge equal ones. Contexts are words (a string or
tokens); ``<s>`` may stand first, for the start of a sentence; without it nothing is assumed about what came before.

Open vocabulary: a model whose vocabulary has ``<unk>`` scores every word outside its vocabulary as ``<unk>``. Text to
train on rarely has that word, so training adds it. Kneser-Ney interpolates the 1-grams with the uniform distribution
over the vocabulary, ``<unk>`` included, as lmplz does. The other families give it, after training, the probability of
a word seen once in a held-out tenth of the text (:func:`added_unknown`); their weights stay as they are.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from epigram.errors import InputError
from epigram.lm.corpus import Corpus, Sentences
from epigram.lm.vocabulary import BOUNDARY, UNKNOWN, UNSEEN, Vocabulary
from epigram.protocols import Floats, Ints

if TYPE_CHECKING:
    from epigram.storage import ModelFile

State: TypeAlias = int | tuple[Any, ...]
"""State of a model after the words so far: an integer, or a tuple of integers or of other models' states."""

Context: TypeAlias = str | Sequence[str] | State
"""Words before the one to predict, or a state from ``start`` or ``advance``."""


HELD_OUT = 0.1
"""Share of the training text in which a word seen once has the probability of an unknown word."""


def added_unknown(is_open: bool, vocabulary: Vocabulary, n_positions: int) -> float:
    """Probability of an ``<unk>`` added after training on ``n_positions`` words and ends.

    With n a tenth of them, 1 / (1 + n); but no more than a word of the vocabulary has on average. 0 where the text has
    ``<unk>`` itself, or the vocabulary is to be closed.

    Examples
    --------
    >>> added_unknown(True, Vocabulary(["a", "rose"]), 990), added_unknown(True, Vocabulary(["a", "rose"]), 10)
    (0.01, 0.25)
    """
    if not is_open or UNKNOWN in vocabulary:
        return 0.0
    return 1.0 / (1.0 + max(HELD_OUT * n_positions, len(vocabulary)))


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Log-likelihoods and counts of a text; ``oov`` words are outside the vocabulary.

    ``log_likelihood`` is that of the words of the vocabulary and of the ends of sentences, ``..._of_unknown`` that of
    the words outside it, NaN where the model has no probability for them.
    """

    log_likelihood: float
    log_likelihood_of_ends: float
    log_likelihood_of_unknown: float
    tokens: int
    sentences: int
    oov: int

    @property
    def perplexity(self) -> float:
        """Over the words of the vocabulary and one ``</s>`` a sentence; NaN for an empty text."""
        return _perplexity(self.log_likelihood, self.tokens - self.oov + self.sentences)

    @property
    def perplexity_without_end(self) -> float:
        """Perplexity over words only; NaN where no word is in the vocabulary."""
        return _perplexity(self.log_likelihood - self.log_likelihood_of_ends, self.tokens - self.oov)

    @property
    def perplexity_with_unknown(self) -> float:
        """Over all words and one ``</s>`` a sentence; NaN where a closed model meets unknown words."""
        return _perplexity(self.log_likelihood + self.log_likelihood_of_unknown, self.tokens + self.sentences)


def _perplexity(log_likelihood: float, n: int) -> float:
    if n == 0 or math.isnan(log_likelihood):
        return math.nan
    return math.exp(-log_likelihood / n) if -log_likelihood / n < 700 else math.inf


class LanguageModel(ABC):
    """A model p(word | context) over a vocabulary, ``</s>``, and ``<unk>`` where it is open."""

    kind = ""
    """Kind of the model in a model file."""
    vocabulary_: Vocabulary
    unknown_: float = 0.0
    """Probability that an ``<unk>`` got after training (in the empty context); 0 where none was added."""
    text_digest_: int = 0
    """:attr:`~epigram.lm.corpus.Corpus.digest` of the training text; 0 where it is not known."""

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

    @property
    def parts(self) -> Sequence[LanguageModel]:
        """The models that this one mixes, or adds something to."""
        return ()

    def is_training_text(self, corpus: Corpus) -> bool:
        """Whether the model, or one of its parts, was trained on a text (in ids of this vocabulary)."""
        if self.parts:
            return any(part.is_training_text(Corpus.known(corpus, part.vocabulary_)) for part in self.parts)
        return self.text_digest_ == replace(corpus, ids=self.as_unknown(corpus.ids)).digest

    @property
    def is_open(self) -> bool:
        """Whether words outside the vocabulary have a probability, that of ``<unk>``."""
        return UNKNOWN in self.vocabulary_

    def as_unknown(self, ids: Ints) -> Ints:
        """Ids with ``<unk>`` for -1; as they are where the model is closed."""
        return np.where(ids == UNSEEN, np.int32(self.vocabulary_.id(UNKNOWN)), ids)

    def advance(self, state: State, word: str) -> tuple[State, float]:
        """State after a word, and its log-probability; an unknown one is ``<unk>``, or NaN."""
        known = self.vocabulary_.id(word)
        return self.step(state, self.vocabulary_.id(UNKNOWN) if known == UNSEEN else known)

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
        """Mean natural log-probability of a word or an end of a sentence of a text.

        Minus the logarithm of :meth:`perplexity`, so words outside the vocabulary are not counted.
        """
        return -math.log(self.perplexity(sentences))

    def word_scores(self, sentence: str | Sequence[str]) -> Floats:
        """Natural log-probability of each word of a sentence and of its end, as :meth:`advance`."""
        ids = self.as_unknown(self.vocabulary_.ids(self.vocabulary_.tokens(sentence)))
        return self.score_stream(np.append(ids, np.int32(BOUNDARY)))

    def score_corpus(self, corpus: Corpus) -> Floats:
        """Log-probability of each word and each end of a text in ids of this vocabulary.

        -1 is ``<unk>``, which has NaN in a closed model.
        """
        return self.score_stream(self.as_unknown(corpus.stream()[1:]))

    def evaluate(self, sentences: Sentences | Corpus | PathLike[str]) -> Evaluation:
        """Log-likelihood and counts of a text (sentences, a path, or a tokenised corpus)."""
        corpus = Corpus.known(sentences, self.vocabulary_)
        stream, logp = corpus.stream()[1:], self.score_corpus(corpus)
        return Evaluation(
            log_likelihood=float(logp[stream != UNSEEN].sum()),
            log_likelihood_of_ends=float(logp[stream == BOUNDARY].sum()),
            log_likelihood_of_unknown=float(logp[stream == UNSEEN].sum()),
            tokens=corpus.n_tokens,
            sentences=corpus.n_sentences,
            oov=corpus.n_unseen,
        )

    def perplexity(self, sentences: Sentences | Corpus | PathLike[str], end: bool = True) -> float:
        """Perplexity of the words of the vocabulary with, or without, the ends of sentences counted."""
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
        """Random sentences (without ``</s>``), from the start or after a context."""
        rng = np.random.default_rng(seed)
        return [self._sample_one(rng, context, max_words) for _ in range(n)]

    def to_model_file(
        self, bits: int = 0, fit: dict[str, Any] | None = None, text: bool = False, compress: bool = True
    ) -> ModelFile:
        """The model as header and arrays; arguments are those of :meth:`save`."""
        from epigram.lm.storage import to_model_file

        return to_model_file(self, bits, fit or {}, text, compress)

    def save(
        self,
        path: str | PathLike[str],
        bits: int = 0,
        text: bool = False,
        fit: dict[str, Any] | None = None,
        compress: bool = True,
    ) -> None:
        """Write a model file; ``bits`` (1 to 16) stores each weight in so many bits, 0 in full.

        ``text=True`` keeps the training text in the file, where whoever has the file can read it; a model that can go
        on training (``partial_fit``) then does so exactly. ``fit`` adds metrics to the header.

        ``compress=False`` makes a larger file that holds the arrays as scoring uses them, derived arrays included:
        loading decodes and copies nothing, and all processes that load it share its memory.
        """
        if bits and not compress:
            raise InputError("compress=False stores weights in full; leave out bits.")
        self.to_model_file(bits, fit, text, compress).save(path, compress)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a model file; the model works and is trained further as before."""
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
