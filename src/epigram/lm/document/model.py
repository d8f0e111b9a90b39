"""Class-factored model with document features: weights for the words before the sentence.

    P(u | h, past)  =  P_model(u | h) exp( (v + v_c) . phi(u, past) )  /  Z        u a class, or a word of one class

phi are the features of :mod:`epigram.lm.document.features`, v weights that all candidates share, v_c those of a class.
The text is read in its order, so figures depend on that order, as those of a cache do. The model itself stays as it is;
v is fitted on held-out text in order, which is as new to the model as other text will be.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any

import numpy as np

from epigram.errors import InputError
from epigram.lm.base import Context, LanguageModel
from epigram.lm.corpus import Corpus, Sentences
from epigram.lm.document.features import DocumentFeatures, FeatureEntries, Windows
from epigram.lm.factored.contexts import FactorExamples
from epigram.lm.factored.loss import PARTS
from epigram.lm.factored.model import ClassFactoredLM, FactoredExplanation, FactorExplanation, one_position
from epigram.lm.factored.scorer import ContextStep, Factors, FactorScorer
from epigram.lm.loglinear.estimator import Text
from epigram.lm.loglinear.tree import Positions
from epigram.lm.vocabulary import BOUNDARY, UNSEEN, Vocabulary
from epigram.penalties.separable import L2
from epigram.protocols import Callback, Floats, Ints, Offsets
from epigram.solvers.quasi_newton import LBFGS
from epigram.tuning import TrialCallback

AT_ONCE = 500  # sentences that are scored together
NO_SENTENCE: Ints = np.zeros(1, np.int32)
Past = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
"""A state: that of the model within the sentence, the words of the sentence, the words before it."""


@dataclass(frozen=True)
class PastWeights:
    """Feature weights of one part: ``shared`` by all candidates, and a row of ``own`` per class."""

    shared: Floats = field(repr=False)
    own: Floats = field(repr=False)

    @classmethod
    def of(cls, v: Floats, n_features: int) -> PastWeights:
        """From the vector of a solver."""
        rows = v.reshape(-1, n_features)
        return cls(rows[0], rows[1:])

    def factors(self, entries: FeatureEntries) -> Factors:
        """Factors by which the features multiply the odds of their candidates."""
        scores = np.einsum("ek,ek->e", entries.phi, self.shared + self.own[entries.own])
        return Factors(entries.row_ptr, entries.candidate, np.exp(scores))


class PastLoss:
    """Sum of -log P over positions, the model being fixed; a BatchLoss.

    This is a log-linear model of few weights: convex, and exactly normalised, as the candidates are a few hundred.
    """

    def __init__(
        self,
        scorer: FactorScorer,
        examples: FactorExamples,
        entries: FeatureEntries,
        row_of: Ints,
        n_classes: int,
    ) -> None:
        self.scorer, self.examples, self.entries, self.row_of = scorer, examples, entries, row_of
        self.n_features = entries.phi.shape[1]
        self.n_weights, self.n_samples = (1 + n_classes) * self.n_features, examples.candidate.size
        self._n_classes = n_classes
        self._seen = self._count()

    def _count(self) -> Floats:
        """Times that the candidate of each entry was chosen."""
        entries, widest = self.entries, int(self.scorer.n_candidates.max())
        row = np.repeat(np.arange(entries.row_ptr.size - 1), np.diff(entries.row_ptr))
        keys = row * widest + entries.candidate
        order = np.argsort(keys)
        wanted = self.row_of.astype(np.int64) * widest + self.examples.candidate
        at = np.minimum(np.searchsorted(keys, wanted, sorter=order), max(keys.size - 1, 0))
        found = keys[order[at]] == wanted if keys.size else np.zeros(wanted.size, bool)
        return np.bincount(order[at[found]], minlength=keys.size).astype(np.float64)

    def value_and_gradient(self, w: Floats, out: Floats) -> float:
        """Loss and gradient: features times (expected count - count)."""
        entries, expected = self.entries, np.zeros(self.entries.candidate.size)
        factors = PastWeights.of(w, self.n_features).factors(entries)
        logps = self.scorer.log_probabilities(self.examples, factors, self.row_of, expected)
        excess = (expected - self._seen)[:, None] * entries.phi
        rows = out.reshape(-1, self.n_features)
        rows[0] = excess.sum(axis=0)
        for k in range(self.n_features):
            rows[1:, k] = np.bincount(entries.own, excess[:, k], self._n_classes)
        return -float(logps.sum())


class DocumentLM(LanguageModel):
    """A class-factored model that expects the classes and words of the sentences before again.

    Parameters
    ----------
    model : the fitted class-factored model
    recent : features of the words before a sentence
    weights : those of both parts; :meth:`chosen` finds them on held-out text

    Examples
    --------
    >>> model = ClassFactoredLM(classes=3, order=2, budget=0).fit(["a b a", "c d c", "a b", "d c"])
    >>> document = DocumentLM.chosen(model, ["a b", "a b", "a b a", "c d", "c c d", "c d"])
    >>> round(float(document.distribution("<s> a").sum()), 12)
    1.0
    """

    kind = "document"

    def __init__(
        self, model: ClassFactoredLM, recent: DocumentFeatures, weights: dict[str, PastWeights]
    ) -> None:
        self.model, self.recent, self.weights = model, recent, weights
        self.vocabulary_: Vocabulary = model.vocabulary_
        self.unknown_ = model.unknown_

    @classmethod
    def chosen(
        cls,
        model: ClassFactoredLM,
        held_out: Sentences | Corpus | PathLike[str],
        ridge: float = 30.0,
        **settings: Any,
    ) -> DocumentLM:
        """With the weights that predict held-out text best.

        ``settings`` are those of :class:`.DocumentFeatures`, ``ridge`` is the penalty weight of a squared weight. The
        model must know its training text, as after ``fit``.
        """
        if not hasattr(model, "corpus_"):
            raise InputError(
                "document weights need how often each word was seen; train the model again, or save it with text=True."
            )
        recent = DocumentFeatures(model.classes_, model.corpus_.counts, **settings)
        corpus = Corpus.known(held_out, model.known_vocabulary_)
        stream = corpus.stream()
        windows, sentence = Windows.of_stream(stream[1:], recent.window, corpus.document_ptr)
        words = Positions.of_stream(stream, len(model.known_vocabulary_))
        if windows.first.size < 3:
            raise InputError("the held-out text has fewer than two sentences: nothing comes before any.")
        weights = {}
        for part in PARTS:
            factor, scorer = model.part(part)
            entries, row_of = recent.entries(part, factor, windows, sentence[words.end - 1], words.target)
            loss = PastLoss(scorer, factor.examples(words), entries, row_of, recent.classes.n_classes)
            found = LBFGS(tolerance=1e-4).solve(loss, L2(ridge)).w
            weights[part] = PastWeights.of(found, recent.n_features(part))
        return cls(model, recent, weights)

    @property
    def parts(self) -> tuple[LanguageModel]:
        """The class-factored model."""
        return (self.model,)

    def start(self) -> Past:
        """The start of a text."""
        return self.model.start(), (), ()

    def step(self, state: Past, word: int) -> tuple[Past, float]:
        """State after a word id, and its log-probability; -1 gives NaN and cuts the context."""
        inner, sentence, before = state
        following, logp = self.model.step(inner, word)
        word = int(self.model.known_ids(np.array([word]))[0])
        if word != UNSEEN:
            words = one_position(inner, word, self._n_words)
            logp = float(self._logps(words, self._window(before), NO_SENTENCE)[0]) + math.log1p(
                -self.unknown_
            )
        if word == BOUNDARY:
            return (following, (), (*before, *sentence)[-self.recent.window :]), logp
        return (following, (*sentence, word), before), logp

    def score_stream(self, stream: Ints) -> Floats:
        """Log-probability of each id of a stream that starts a text; -1 gives NaN."""
        return self._score(np.asarray(stream, np.int32), None)

    def score_corpus(self, corpus: Corpus) -> Floats:
        """Log-probability of each word and each end of a text; blank lines begin new documents."""
        return self._score(self.as_unknown(corpus.stream()[1:]), corpus.document_ptr)

    def _score(self, given: Ints, document_ptr: Offsets | None) -> Floats:
        stream = self.model.known_ids(given)
        history = np.concatenate(([BOUNDARY], stream)).astype(np.int32)
        words = Positions.of_stream(history, self._n_words)
        windows, sentence = Windows.of_stream(stream, self.recent.window, document_ptr)
        own = sentence[words.end - 1]
        out = np.full(stream.size, np.nan)
        for first in range(0, windows.first.size, AT_ONCE):
            some = slice(*np.searchsorted(own, (first, first + AT_ONCE)).tolist())
            if some.stop > some.start:
                near = replace(
                    windows,
                    first=windows.first[first : first + AT_ONCE],
                    last=windows.last[first : first + AT_ONCE],
                )
                chosen = words.part(some.start, some.stop)
                out[chosen.end - 1] = self._logps(chosen, near, own[some] - np.int32(first))
        return self.model.beside_unknown(out, given)

    @property
    def _n_words(self) -> int:
        return len(self.model.known_vocabulary_)

    def _logps(self, words: Positions, windows: Windows, sentence: Ints) -> Floats:
        found = self._parts(words, windows, sentence)
        return np.asarray(sum(scorer.log_probabilities(*rest) for scorer, *rest in found))

    def _parts(self, words: Positions, windows: Windows, sentence: Ints) -> Iterator[tuple[Any, ...]]:
        """Scorer, choices, factors and rows of both parts at some positions."""
        for part in PARTS:
            factor, scorer = self.model.part(part)
            entries, row_of = self.recent.entries(part, factor, windows, sentence, words.target)
            yield scorer, factor.examples(words), self.weights[part].factors(entries), row_of

    def _window(self, before: Iterable[int]) -> Windows:
        ids = np.array([*before], np.int32)
        return Windows(ids, np.zeros(1, np.int64), np.array([ids.size], np.int64))

    def distribution(self, context: Context = ()) -> Floats:
        """Probabilities of the whole vocabulary after a context; they sum to 1.

        Words alone are one sentence, with nothing before it; give a state to look further back.
        """
        inner, _, before = self._state(context)
        words, windows = one_position(inner, BOUNDARY, self._n_words), self._window(before)
        (class_factor, class_model), (word_factor, word_model) = map(self.model.part, PARTS)
        every = np.arange(self.recent.classes.n_classes, dtype=np.int32)
        entries = {
            "class": self.recent.of_classes(windows),
            "word": self.recent.of_words(windows, np.zeros_like(every), every, word_factor.rank),
        }
        factors = {part: self.weights[part].factors(entries[part]) for part in PARTS}
        of_class = class_model.distributions(class_factor.examples(words), factors["class"])
        within = word_model.distributions(word_factor.examples(words), factors["word"])
        return self.model.spread(of_class, within)

    def explain(self, context: Context, word: str) -> FactoredExplanation:
        """The weights of the model, and last of each part the effect of the text before."""
        inner, _, past = self._state(context)
        why = self.model.explain(inner, word)
        words = one_position(inner, self.vocabulary_.id(word), self._n_words)
        parts = []
        for own, (scorer, examples, factors, row_of) in zip(
            (why.class_part, why.word_part), self._parts(words, self._window(past), NO_SENTENCE), strict=True
        ):
            p = float(np.exp(scorer.log_probabilities(examples, factors, row_of)[0]))
            mine = factors.candidate == examples.candidate[0]
            added = float(np.log(factors.f[mine]).sum())
            parts.append(
                FactorExplanation(
                    own.choice, p, (*own.terms, ("the text before", ContextStep(-1, 0, added, None, p)))
                )
            )
        known = 1 - self.unknown_
        return FactoredExplanation(word, known * parts[0].probability * parts[1].probability, *parts)

    def _state(self, context: Context) -> Past:
        inner, sentence, before = self.state(context)  # type: ignore[misc]
        return inner, sentence, before


def fit_document(
    model: ClassFactoredLM,
    sentences: Text,
    *,
    valid: Text | None = None,
    callback: Callback | None = None,
    on_trial: TrialCallback | None = None,
) -> DocumentLM:
    """Fit a class-factored model on a text in order, then document weights.

    They need text that the model has not learnt: ``valid``, or the end of the text, which a second model of the same
    classes and strengths is kept from.

    Examples
    --------
    >>> text = ["a b a", "a b", "b a b", "c d", "d c d", "c c d", "d c"] * 5
    >>> document = fit_document(ClassFactoredLM(classes=3, order=2, budget=0), text)
    >>> round(float(document.distribution("c").sum()), 12)
    1.0
    """
    corpus = Corpus.for_training(sentences, model.vocabulary, model.min_count, model.max_words)
    model.fit(corpus, valid=valid, callback=callback, on_trial=on_trial)
    if valid is not None:
        return DocumentLM.chosen(model, valid)
    first, rest = corpus.split(model.held_out)
    known = np.append(first.counts > 0, False)
    rest = replace(rest, ids=np.where(known[rest.ids], rest.ids, np.int32(UNSEEN)))
    kept = {"classes": model.classes_, "budget": 0.0}
    strengths = {"class_strength": model.class_strength_, "word_strength": model.word_strength_}
    other = ClassFactoredLM(**{**model.get_params(deep=False), **kept, **strengths})
    found = DocumentLM.chosen(other.fit(first, callback=callback), rest)
    return DocumentLM(model, replace(found.recent, counts=corpus.counts), found.weights)
