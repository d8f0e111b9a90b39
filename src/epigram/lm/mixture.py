"""Linear interpolation: p(w | h) = sum_k lambda_k p_k(w | h), the weights by EM on held-out text.

The models may have different vocabularies: the mixture predicts their union, a word that a model lacks gets
nothing from it and, as a context, cuts that model's context only. With a background and an adaptation model
this is the MAP adaptation of the reranking experiments.

A mixture is not a back-off model: the share of each model in an unseen n-gram changes with the history. So
:class:`InterpolatedLM` keeps its models and is exact; :func:`merge` makes one back-off model of it (for ARPA),
exact for every n-gram that a model stores, renormalised elsewhere, as SRILM's ``-mix-lm``. In a model file the parts of
a mixture stand side by side.

:func:`fit_beside` is what ``epigram lm train`` does where nothing else is asked for. The log-linear model is better
than Kneser-Ney on most texts; on a text whose end is unlike its beginning, held-out text misleads the choice of its
strengths, and Kneser-Ney, which chooses nothing, may be ahead. A mixture of both is safe. EM finds the share that
predicts held-out text best; as that text may mislead here too, the share used is half way from there to one half.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

import epigram.lm.storage as lm_storage
from epigram.errors import InputError, ModelFileError
from epigram.lm.base import Context, LanguageModel, State
from epigram.lm.corpus import UNKNOWN, UNSEEN, Corpus, Sentences, Vocabulary
from epigram.lm.ngram.backoff import BackoffModel, as_backoff, renormalised
from epigram.protocols import Callback, Floats, Ints
from epigram.storage import ModelFile, Section
from epigram.tuning import TrialCallback

if TYPE_CHECKING:
    from epigram.lm.loglinear.model import LogLinearLM, Text


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
        """Log-probability of each word and each end of a text in ids of this vocabulary; -1 is ``<unk>``."""
        return self._mixed(self.component_logps(corpus), self.as_unknown(corpus.stream()[1:]))

    def component_logps(self, corpus: Corpus) -> Floats:
        """One row for each model; NaN for words it lacks, though another one has them, and for what none has."""
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
        """What each model says to P(word | context), and its own reasons where it has any."""
        states: Any = self.state(context)
        named = zip(self.models, self.weights.tolist(), states, strict=True)
        return blend(context, word, [(f"model {k}", w, m, s) for k, (m, w, s) in enumerate(named)])

    def to_model_file(
        self, bits: int = 0, fit: dict[str, Any] | None = None, text: bool = False, compress: bool = True
    ) -> ModelFile:
        """The models and their weights as header and arrays; ``fit`` adds metrics to the header."""
        settings = {"model": "mixture", "weights": self.weights.tolist()}
        return put_together(self.models, settings, bits, fit or {}, text, compress)


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
    """The back-off model that a language model is or keeps; a mixture of such models is merged."""
    return merge(model, path) if isinstance(model, InterpolatedLM) else as_backoff(model, path)


def merge(mixture: InterpolatedLM, path: str | PathLike[str] | None = None) -> BackoffModel:
    """One back-off model of all n-grams of a mixture of back-off models; see the module for what is exact."""
    backoffs = [as_backoff(model, path) for model in mixture.models]
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


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a mixture: its share, what it makes of the word, and its own reasons where it has any."""

    name: str
    share: float
    probability: float
    why: Any = None


@dataclass(frozen=True, slots=True)
class Blend:
    """A probability as the sum of share times probability over parts."""

    word: str
    probability: float
    parts: tuple[Part, ...]


def blend(
    context: str | Sequence[str], word: str, parts: Sequence[tuple[str, float, LanguageModel | float, Any]]
) -> Blend:
    """The blend of models (with the state each is in) and of plain probabilities."""
    found = []
    for name, share, source, state in parts:
        if not isinstance(source, LanguageModel):
            found.append(Part(name, share, source))
        elif word not in source.vocabulary_:
            found.append(Part(name, share, 0.0))
        else:
            _, logp = source.advance(state, word)
            own = getattr(source, "explain", None)
            if word == UNKNOWN and source.unknown_:
                own = None  # its probability was set after training
            found.append(Part(name, share, math.exp(logp), None if own is None else own(context, word)))
    if not any(isinstance(source, LanguageModel) and word in source.vocabulary_ for _, _, source, _ in parts):
        raise InputError(f"{word!r} is not in the vocabulary.")
    return Blend(word, sum(part.share * part.probability for part in found), tuple(found))


def put_together(
    models: Sequence[LanguageModel],
    settings: dict[str, Any],
    bits: int,
    fit: dict[str, Any],
    text: bool,
    compress: bool,
) -> ModelFile:
    """The parts as one file; the arrays of part k have the prefix ``k.``."""
    files = [model.to_model_file(bits, None, text, compress) for model in models]
    tensors = {f"{k}.{name}": array for k, file in enumerate(files) for name, array in file.tensors.items()}
    unbounded = [f"{k}.{name}" for k, file in enumerate(files) for name in file.unbounded]
    header = {"settings": settings, "fit": fit, "parts": [file.header for file in files]}
    return ModelFile(lm_storage.FAMILY, header, tensors, unbounded)


def parts_of(file: ModelFile) -> list[ModelFile]:
    """The files that were put together."""
    headers = file.header["parts"]
    if not isinstance(headers, list) or not headers or len(headers) > len(file.tensors):
        raise ModelFileError("damaged: the parts of a mixture are missing")
    return [_part(file, k, header) for k, header in enumerate(headers)]


def _part(file: ModelFile, k: int, header: Any) -> ModelFile:
    if not isinstance(header, dict) or not isinstance(header.get("settings"), dict):
        raise ModelFileError(f"damaged: part {k} of a mixture has no settings")
    own = _under(f"{k}.", file.tensors)
    return ModelFile(lm_storage.FAMILY, header, own, own)


def _under(prefix: str, tensors: dict[str, Any]) -> dict[str, Any]:
    return {name.removeprefix(prefix): array for name, array in tensors.items() if name.startswith(prefix)}


def from_model_file(file: ModelFile) -> LanguageModel:
    """The mixture, or the model with its cache."""
    settings = file.header["settings"]
    models = [lm_storage.from_model_file(part) for part in parts_of(file)]
    try:
        if settings["model"] == "mixture":
            return InterpolatedLM(models, [float(weight) for weight in settings["weights"]])
        from epigram.lm.cache import CachedLM

        return CachedLM(models[0], int(settings["size"]), float(settings["weight"]))
    except (TypeError, ValueError) as wrong:
        raise ModelFileError(f"damaged: {wrong}") from wrong


def describe(file: ModelFile) -> list[Section]:
    """The shares, then what each part holds."""
    settings, parts = file.header["settings"], parts_of(file)
    kinds = [part.header["settings"].get("model", "?") for part in parts]
    if settings["model"] == "mixture":
        shares = list(zip(map(str, range(len(parts))), kinds, settings["weights"], strict=True))
    else:
        weight = settings["weight"]
        shares = [("0", kinds[0], 1 - weight), ("cache", f"{settings['size']} words", weight)]
    sections = [Section("shares", ("part", "kind", "share"), shares)]
    for k, part in enumerate(parts):
        sections += [
            Section(f"part {k}: {own.title}", own.columns, own.rows) for own in lm_storage.describe(part)
        ]
    return sections


def weights(file: ModelFile) -> tuple[tuple[str, ...], Iterator[tuple[Any, ...]]]:
    """Every weight of every part, as JSON objects would name them: parts differ in their columns."""

    def rows() -> Iterator[tuple[Any, ...]]:
        for k, part in enumerate(parts_of(file)):
            columns, own = lm_storage.weights(part)
            places = [columns.index(name) for name in ("attribute", "label", "weight")]
            for row in own:
                yield (k, *(row[place] for place in places))

    return ("model", "attribute", "label", "weight"), rows()


@dataclass(frozen=True)
class Beside:
    """A mixture of ``loglinear`` and Kneser-Ney, with what held-out text said: perplexities alone and together."""

    mixture: InterpolatedLM
    loglinear: LogLinearLM
    alone: tuple[float, float]
    together: float

    @property
    def why(self) -> str:
        """The choice in one line."""
        share = float(self.mixture.weights[0])
        return (
            f"a mixture of {share:.2f} log-linear and {1 - share:.2f} modified Kneser-Ney; held-out perplexity "
            f"{self.together:.2f} together, {self.alone[0]:.2f} and {self.alone[1]:.2f} alone "
            "(--model loglinear makes the log-linear model alone)"
        )


def fit_beside(
    model: LogLinearLM,
    sentences: Text,
    *,
    valid: Text | None = None,
    callback: Callback | None = None,
    on_trial: TrialCallback | None = None,
) -> Beside:
    """Fit a log-linear model and Kneser-Ney of its order on a text, and mix them; arguments are those of its ``fit``.

    Examples
    --------
    >>> from epigram import LogLinearLM
    >>> text = ["a rose is a rose", "a rose is red", "a tulip is red", "red is a rose"] * 3
    >>> both = fit_beside(LogLinearLM(order=2), text)
    >>> round(float(both.mixture.distribution("a").sum()), 12)
    1.0
    >>> bool(both.together <= max(both.alone))
    True
    """
    from epigram.lm.ngram.kneser_ney import KneserNeyLM

    corpus = Corpus.for_training(sentences, model.vocabulary, model.min_count, model.max_words)
    judged: list[Floats] = []

    plain = KneserNeyLM(model.order, open_vocabulary=model.open_vocabulary)

    def on_choice(text: Corpus, held_out: Corpus, logps: Floats) -> None:
        judged.append(np.stack([logps, _logps(plain.fit(text), held_out)]))

    model.fit(corpus, valid=valid, callback=callback, on_trial=on_trial, on_choice=on_choice)
    kneser_ney = plain.fit(corpus)
    if valid is not None:
        held_out = Corpus.known(valid, corpus.vocabulary)
        judged.append(np.stack([_logps(each, held_out) for each in (model, kneser_ney)]))
    logps = judged[-1]
    share = (float(mixture_weights(logps)[0]) + 0.5) / 2
    together = np.logaddexp(logps[0] + np.log(share), logps[1] + np.log(1 - share))
    first, second = np.exp(-logps.mean(axis=1)).tolist()
    mixture = InterpolatedLM([model, kneser_ney], [share, 1 - share])
    return Beside(mixture, model, (first, second), float(np.exp(-together.mean())))


def _logps(model: LanguageModel, held_out: Corpus) -> Floats:
    """Log-probabilities of the known words of held-out text."""
    found: Floats = model.score_corpus(held_out)[held_out.stream()[1:] != UNSEEN]
    return found
