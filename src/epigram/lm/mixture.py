"""Linear interpolation of models: p(w | h) = sum_k lambda_k p_k(w | h), weights by EM.

The models may have different vocabularies: the mixture predicts their union, a word that a model lacks gets
nothing from it and, as a context, cuts that model's context only. With a background and an adaptation model
this is the MAP adaptation of the reranking experiments.

A mixture is not a back-off model: the share of each model in an unseen n-gram changes with the history. So
:class:`InterpolatedLM` keeps its models and is exact; :func:`~epigram.lm.ngram.merge.merge` makes one back-off model.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np

from epigram.errors import InputError, ModelFileError
from epigram.lm import storage
from epigram.lm.base import Context, LanguageModel, State
from epigram.lm.corpus import Corpus, Sentences
from epigram.lm.ngram.backoff import BackoffModel, as_backoff
from epigram.lm.ngram.merge import merge
from epigram.lm.vocabulary import UNKNOWN, UNSEEN, Vocabulary
from epigram.protocols import Floats, Ints
from epigram.storage import ModelFile, Section


class InterpolatedLM(LanguageModel):
    """A mixture of models with fixed weights; see :func:`interpolate` to choose them.

    Examples
    --------
    >>> from epigram.lm.ngram.kneser_ney import KneserNeyLM
    >>> one, two = KneserNeyLM(2).fit(["a b a b"]), KneserNeyLM(2).fit(["a c"])
    >>> mixture = InterpolatedLM([one, two], [0.5, 0.5])
    >>> mixture.vocabulary_.words, round(float(mixture.distribution("a").sum()), 12)
    (['</s>', 'a', 'b', '<unk>', 'c'], 1.0)
    """

    kind = "mixture"

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
        tokenizer = self.models[0].vocabulary_.tokenizer
        if any(model.vocabulary_.tokenizer != tokenizer for model in self.models):
            raise InputError("the models have different tokenizers; mix models of the same tokenizer.")
        self.vocabulary_ = Vocabulary(
            (word for model in self.models for word in model.vocabulary_), tokenizer
        )
        self._translated = [
            np.append(model.vocabulary_.ids(self.vocabulary_), np.int32(UNSEEN)) for model in self.models
        ]

    @property
    def parts(self) -> Sequence[LanguageModel]:
        """The models that are mixed."""
        return self.models

    def start(self) -> tuple[State, ...]:
        """The start states of all models."""
        return tuple(model.start() for model in self.models)

    def step(self, state: tuple[State, ...], word: int) -> tuple[tuple[State, ...], float]:
        """State after a word id, and its log-probability; -1 gives NaN and forgets the context."""
        states, p = [], 0.0
        weights = self.weights.tolist()
        for model, weight, ids, own in zip(self.models, weights, self._translated, state, strict=True):
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
        """Log-probability of each word and each end of a text; -1 is ``<unk>``."""
        return self._mixed(self.component_logps(corpus), self.as_unknown(corpus.stream()[1:]))

    def component_logps(self, corpus: Corpus) -> Floats:
        """Log-probabilities of a text, a row for each model; NaN for words it lacks."""
        rows, ids = [], self.as_unknown(corpus.ids)
        for model, table in zip(self.models, self._translated, strict=True):
            own = replace(corpus, ids=table[ids], vocabulary=model.vocabulary_)
            rows.append(np.where(own.stream()[1:] == UNSEEN, np.nan, model.score_corpus(own)))
        return np.stack(rows)

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
        """P(word | context) by each model, with the explanation of models that have one."""
        states: Any = self.state(context)
        named = zip(self.models, self.weights.tolist(), states, strict=True)
        return blend(context, word, [(f"model {k}", w, m, s) for k, (m, w, s) in enumerate(named)])


def interpolate(
    models: Sequence[LanguageModel],
    held_out: Sentences | Corpus | PathLike[str],
    tolerance: float = 1e-9,
    max_iterations: int = 1000,
) -> InterpolatedLM:
    """The mixture that predicts held-out text best, by EM (the likelihood is concave).

    Examples
    --------
    >>> from epigram.lm.ngram.kneser_ney import KneserNeyLM
    >>> news, prose = KneserNeyLM(2).fit(["a b a b"]), KneserNeyLM(2).fit(["a c", "c a"])
    >>> mixture = interpolate([news, prose], ["a b a", "c a"])
    >>> bool(0 < mixture.weights[0] < 1)
    True
    """
    even = InterpolatedLM(models, [1 / len(models)] * len(models))
    corpus = Corpus.known(held_out, even.vocabulary_)
    logps = even.component_logps(corpus)[:, corpus.stream()[1:] != UNSEEN]
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


def table_of(model: LanguageModel, path: str | PathLike[str] | None = None) -> BackoffModel:
    """The back-off model that a language model is or holds; a mixture of such models is merged."""
    if not isinstance(model, InterpolatedLM):
        return as_backoff(model, path)
    parts = [as_backoff(part, path) for part in model.models]
    return merge(parts, model.weights.tolist(), model.vocabulary_)


@dataclass(frozen=True, slots=True)
class Share:
    """Share of a part of a mixture, its probability of a word, and its explanation, if any."""

    name: str
    share: float
    probability: float
    why: Any = None


@dataclass(frozen=True, slots=True)
class Blend:
    """A probability as the sum of share times probability over parts."""

    word: str
    probability: float
    parts: tuple[Share, ...]


def blend(
    context: str | Sequence[str], word: str, parts: Sequence[tuple[str, float, LanguageModel | float, Any]]
) -> Blend:
    """Blend models (with the state each is in) and plain probabilities."""
    found = []
    for name, share, source, state in parts:
        if not isinstance(source, LanguageModel):
            found.append(Share(name, share, source))
        elif word not in source.vocabulary_:
            found.append(Share(name, share, 0.0))
        else:
            _, logp = source.advance(state, word)
            own = getattr(source, "explain", None)
            if word == UNKNOWN and source.unknown_:
                own = None  # its probability was set after training
            found.append(Share(name, share, math.exp(logp), None if own is None else own(context, word)))
    if not any(isinstance(source, LanguageModel) and word in source.vocabulary_ for _, _, source, _ in parts):
        raise InputError(f"{word!r} is not in the vocabulary.")
    return Blend(word, sum(part.share * part.probability for part in found), tuple(found))


def to_model_file(
    model: LanguageModel, bits: int, fit: dict[str, Any], text: bool, compress: bool
) -> ModelFile:
    """The parts of a mixture and their weights, or a model and its cache, as header and arrays."""
    if isinstance(model, InterpolatedLM):
        settings: dict[str, Any] = {"model": "mixture", "weights": model.weights.tolist()}
        return storage.pack_parts(model.models, settings, bits, fit, text, compress)
    from epigram.lm.cache import CachedLM

    assert isinstance(model, CachedLM)
    settings = {"model": "cached", "size": model.size, "weight": model.weight}
    return storage.pack_parts([model.model], settings, bits, fit, text, compress)


def from_model_file(file: ModelFile) -> LanguageModel:
    """The mixture, or the model with its cache."""
    settings = file.header["settings"]
    models = [storage.from_model_file(part) for part in storage.parts_of(file)]
    try:
        if settings["model"] == "mixture":
            return InterpolatedLM(models, [float(weight) for weight in settings["weights"]])
        from epigram.lm.cache import CachedLM

        return CachedLM(models[0], int(settings["size"]), float(settings["weight"]))
    except (TypeError, ValueError) as wrong:
        raise ModelFileError(f"corrupt file: {wrong}") from wrong


def describe(file: ModelFile) -> list[Section]:
    """The shares, then the contents of each part."""
    settings, parts = file.header["settings"], storage.parts_of(file)
    kinds = [part.header["settings"].get("model", "?") for part in parts]
    if settings["model"] == "mixture":
        shares = list(zip(map(str, range(len(parts))), kinds, settings["weights"], strict=True))
    else:
        weight = settings["weight"]
        shares = [("0", kinds[0], 1 - weight), ("cache", f"{settings['size']} words", weight)]
    sections = [Section("shares", ("part", "kind", "share"), shares)]
    for k, part in enumerate(parts):
        sections += [
            Section(f"part {k}: {own.title}", own.columns, own.rows) for own in storage.describe(part)
        ]
    return sections


def weights(file: ModelFile) -> storage.Rows:
    """Every weight of every part."""

    def rows() -> Iterator[tuple[Any, ...]]:
        for k, part in enumerate(storage.parts_of(file)):
            columns, own = storage.weights(part)
            picked = [columns.index(name) for name in ("attribute", "label", "weight")]
            for row in own:
                yield (k, *(row[column] for column in picked))

    return ("model", "attribute", "label", "weight"), rows()
