"""Linear interpolation: p(w | h) = sum_k lambda_k p_k(w | h), the weights by EM on held-out text.

The models may have different vocabularies: the mixture predicts their union, a word that a model lacks gets
nothing from it and, as a context, cuts that model's context only. With a background and an adaptation model
this is the MAP adaptation of the reranking experiments.

A mixture is not a back-off model: the share of each model in an unseen n-gram changes with the history. So
:class:`InterpolatedLM` keeps its models and is exact; :func:`merge` makes one back-off model of it (for ARPA),
exact for every n-gram that a model stores, renormalised elsewhere, as SRILM's ``-mix-lm``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from epigram.errors import InputError
from epigram.lm.base import Context, LanguageModel, State
from epigram.lm.corpus import UNSEEN, Corpus, Sentences, Vocabulary
from epigram.lm.mixed.blend import Blend, blend
from epigram.lm.ngram.model import BackoffModel, as_backoff
from epigram.lm.ngram.prune import renormalised
from epigram.protocols import Floats, Ints

if TYPE_CHECKING:
    from epigram.storage import ModelFile


class InterpolatedLM(LanguageModel):
    """A mixture of models with fixed weights; see :func:`interpolate` to choose them.

    Examples
    --------
    >>> from epigram.lm.ngram.kneser_ney import KneserNeyLM
    >>> one, two = KneserNeyLM(2).fit(["a b a b"]), KneserNeyLM(2).fit(["a c"])
    >>> mixture = InterpolatedLM([one, two], [0.5, 0.5])
    >>> mixture.vocabulary_.words, round(float(mixture.distribution("a").sum()), 12)
    (['</s>', 'a', 'b', 'c'], 1.0)
    """

    def __init__(self, models: Sequence[LanguageModel], weights: Sequence[float]) -> None:
        shares = np.asarray(weights, dtype=np.float64)
        if len(models) < 2 or shares.shape != (len(models),):
            raise InputError(
                f"{len(models)} models and {shares.size} weights; expected one for each of two or more."
            )
        if not (shares >= 0).all() or abs(shares.sum() - 1) > 1e-6:
            raise InputError(f"weights must be >= 0 and sum to 1, not {shares.tolist()}.")
        self.models: list[LanguageModel] = []
        flat: list[float] = []
        for model, share in zip(models, (shares / shares.sum()).tolist(), strict=True):
            inner = model.models if isinstance(model, InterpolatedLM) else [model]
            inner_weights = model.weights.tolist() if isinstance(model, InterpolatedLM) else [1.0]
            self.models += inner
            flat += [share * weight for weight in inner_weights]
        self.weights: Floats = np.array(flat)
        pieces = self.models[0].vocabulary_.pieces
        if any(model.vocabulary_.pieces != pieces for model in self.models):
            raise InputError(
                "the models cut text in different ways (words, characters, pieces); mix those of one way."
            )
        self.vocabulary_ = Vocabulary((word for model in self.models for word in model.vocabulary_), pieces)
        self._translated = [
            np.append(model.vocabulary_.ids(self.vocabulary_), np.int32(UNSEEN)) for model in self.models
        ]

    def start(self) -> tuple[State, ...]:
        """The start states of all models."""
        return tuple(model.start() for model in self.models)

    def step(self, state: tuple[State, ...], word: int) -> tuple[tuple[State, ...], float]:
        """State after a word id, and its natural log-probability; -1 gives NaN and forgets the context."""
        states, p = [], 0.0
        for model, weight, ids, own in zip(
            self.models,
            self.weights.tolist(),
            self._translated,
            state,
            strict=True,
        ):
            following, logp = model.step(own, int(ids[word]))
            states.append(following)
            p += 0.0 if np.isnan(logp) else weight * float(np.exp(logp))
        with np.errstate(divide="ignore"):
            return tuple(states), float("nan") if word == UNSEEN else float(np.log(p))

    def score_stream(self, stream: Ints) -> Floats:
        """Log-probability of each id of a stream that starts a sentence; -1 gives NaN."""
        each = zip(self.models, self._translated, strict=True)
        return self._mixed([model.score_stream(ids[stream]) for model, ids in each], stream)

    def score_corpus(self, corpus: Corpus) -> Floats:
        """Log-probability of each word and each end of a text in ids of this vocabulary; -1 gives NaN."""
        return self._mixed(self.component_logps(corpus), corpus.stream()[1:])

    def component_logps(self, corpus: Corpus) -> Floats:
        """One row for each model; NaN for words it lacks."""
        return np.stack(
            [model.score_corpus(corpus.with_vocabulary(model.vocabulary_)) for model in self.models]
        )

    def _mixed(self, rows: Sequence[Floats] | Floats, stream: Ints) -> Floats:
        """Log of the weighted sum of probabilities, a row for each model."""
        with np.errstate(divide="ignore"):
            parts = np.where(np.isnan(rows), -np.inf, rows) + np.log(self.weights)[:, None]
        out: Floats = np.logaddexp.reduce(parts, axis=0)
        out[np.asarray(stream) == UNSEEN] = np.nan
        return out

    def distribution(self, context: Context = ()) -> Floats:
        """Probabilities of the whole vocabulary after a context; they sum to 1."""
        out = np.zeros(len(self.vocabulary_))
        states: Any = self.state(context)
        for model, weight, ids, state in zip(
            self.models, self.weights, self._translated, states, strict=True
        ):
            known = ids[:-1] != UNSEEN
            out[known] += weight * model.distribution(state)[ids[:-1][known]]
        return out

    def explain(self, context: str | list[str], word: str) -> Blend:
        """What each model says to P(word | context), and its own reasons where it has any."""
        states: Any = self.state(context)
        named = zip(self.models, self.weights.tolist(), states, strict=True)
        return blend(context, word, [(f"model {k}", w, m, s) for k, (m, w, s) in enumerate(named)])

    def to_model_file(
        self, bits: int = 0, fit: dict[str, Any] | None = None, text: bool = False
    ) -> ModelFile:
        """The models and their weights as header and arrays; ``fit`` adds metrics to the header."""
        from epigram.lm.mixed.storage import to_model_file

        settings = {"model": "mixture", "weights": self.weights.tolist()}
        return to_model_file(self.models, settings, bits, fit or {}, text)


def interpolate(
    models: Sequence[LanguageModel],
    held_out: Sentences | Corpus | PathLike[str],
    tolerance: float = 1e-9,
    max_iterations: int = 1000,
) -> InterpolatedLM:
    """The mixture that predicts held-out text best; EM converges to it, the likelihood being concave.

    Examples
    --------
    >>> from epigram.lm.ngram.kneser_ney import KneserNeyLM
    >>> news, prose = KneserNeyLM(2).fit(["a b a b"]), KneserNeyLM(2).fit(["a c", "c a"])
    >>> mixture = interpolate([news, prose], ["a b a", "c a"])
    >>> bool(0 < mixture.weights[0] < 1)
    True
    """
    even = InterpolatedLM(models, [1 / len(models)] * len(models))
    logps = even.component_logps(Corpus.known(held_out, even.vocabulary_))
    logps = np.where(np.isnan(logps), -np.inf, logps)
    logps = logps[:, np.isfinite(logps).any(axis=0)]
    if logps.shape[1] == 0:
        raise InputError("the held-out text has no word that the models know.")
    even.weights = mixture_weights(logps, tolerance, max_iterations)
    return even


def mixture_weights(logps: Floats, tolerance: float = 1e-9, max_iterations: int = 1000) -> Floats:
    """EM for the weights of a mixture from log-probabilities, a row for each model."""
    p = np.exp(logps - logps.max(axis=0))
    weights = np.full(len(p), 1 / len(p))
    for _ in range(max_iterations):
        joint = weights[:, None] * p
        updated = (joint / joint.sum(axis=0)).mean(axis=1)
        moved = float(np.abs(updated - weights).max())
        weights = updated
        if moved < tolerance:
            break
    return weights


def merge(mixture: InterpolatedLM) -> BackoffModel:
    """One back-off model of all n-grams of a mixture of back-off models; see the module for what is exact."""
    backoffs = [as_backoff(model) for model in mixture.models]
    vocabulary = mixture.vocabulary_
    order = max(model.order for model in backoffs)
    grams, logps = [np.arange(len(vocabulary), dtype=np.int32)[:, None]], []
    for n in range(2, order + 1):
        grams.append(
            np.unique(np.concatenate([grams_of(model, vocabulary, n) for model in backoffs]), axis=0)
        )
    for rows in grams:
        parts = []
        for model, weight, ids in zip(backoffs, mixture.weights, mixture._translated, strict=True):
            states = np.zeros(len(rows), dtype=np.int32)
            for column in ids[rows.T]:
                states, logp = model.step_many(states, column)
            with np.errstate(divide="ignore"):
                parts.append(np.where(np.isnan(logp), -np.inf, logp) + np.log(weight))
        logps.append(reduce(np.logaddexp, parts))
    return renormalised(BackoffModel.from_ngrams(vocabulary, grams, logps, [], []))


def grams_of(model: BackoffModel, vocabulary: Vocabulary, n: int) -> Ints:
    """The n-grams of one order, in the ids of another vocabulary."""
    nodes = np.flatnonzero((model.node_depth == n - 1) & (np.diff(model.pair_ptr) > 0)).astype(np.int32)
    sizes = np.diff(model.pair_ptr)[nodes]
    contexts = (
        np.repeat(model.spell(nodes), sizes, axis=0) if nodes.size else np.empty((0, n - 1), dtype=np.int32)
    )
    pairs = np.flatnonzero(np.repeat(model.node_depth, np.diff(model.pair_ptr)) == n - 1)
    table = vocabulary.ids(model.vocabulary_)
    return table[np.column_stack((contexts, model.pair_word[pairs])).astype(np.int32)]
