"""Adapts a converter to domain text: interpolation, reranking or both (Gao et al. 2006).

``map`` interpolates the background with P_a by plain maximum likelihood, as the paper does; ``map-kn`` smooths P_a by
Kneser-Ney. The name of a learner trains a reranker on 20-best lists of the text. ``+`` combines both; then the lists
must not come from a model that was trained on their sentences: the text is split in two, and each half is converted by
the background adapted to the other half.

The held-out part (default: the last tenth of the text) chooses the weight of the background, the step of the learner
and its settings; nothing is refitted on it. For MAP, words of the domain are added to the lexicon; the background gives
them the probability of an unknown word. The character model of the rescorer is interpolated with one of the text; a
reranker replaces the rescorer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from epigram.errors import InputError
from epigram.ime.decoder import Decoder, convert_text
from epigram.ime.kana import sentences_of, split_token
from epigram.ime.lexicon.lexicon import Lexicon
from epigram.ime.mixture import (
    BIGRAM,
    best_weight,
    map_mixture,
    mixture,
    relative_frequencies,
    share_with_bigrams,
    widen,
)
from epigram.ime.scorer import Scorer
from epigram.lm.corpus import Corpus, Sentences
from epigram.lm.ngram.backoff import BackoffModel
from epigram.lm.ngram.kneser_ney import KneserNeyLM
from epigram.rerank import NBest, Reranker
from epigram.rerank.model import LEARNERS, make_learner

if TYPE_CHECKING:
    from epigram.ime.converter import KanaKanjiConverter

SMOOTHINGS = ("map", "map-kn")
HELD_OUT = 0.1
N_BEST = 20


def parse_method(method: str) -> tuple[str | None, str | None]:
    """Parse the name of a method into interpolation and learner.

    Examples
    --------
    >>> parse_method("map-kn+blasso"), parse_method("boosting"), parse_method("map")
    (('map-kn', 'blasso'), (None, 'boosting'), ('map', None))
    """
    smoothing, learner = None, None
    for part in method.split("+"):
        if part in SMOOTHINGS and smoothing is None and learner is None:
            smoothing = part
        elif part in LEARNERS and learner is None:
            learner = part
        else:
            known = ", ".join([*SMOOTHINGS, *LEARNERS])
            raise InputError(f"unknown method {method!r}; use one of {known}, or two as in map-kn+blasso")
    return smoothing, learner


def adapt(
    converter: KanaKanjiConverter,
    text: Sentences | PathLike[str],
    dev: Sentences | PathLike[str] | None = None,
    method: str = "map-kn",
    callback: Callable[[str, float | None], bool | None] | None = None,
    **settings: float | None,
) -> KanaKanjiConverter:
    """Make an adapted converter that keeps the corrections.

    ``text`` and ``dev`` are sentences of ``surface/reading`` tokens: the :class:`~pathlib.Path` of a file with one
    sentence per line, or a list of strings (split at blanks) or of lists of tokens.

    ``settings`` are those of the learner (smoothing, shrinkage, eps, theta, steps); those that are None are chosen on
    the held-out text. ``callback`` receives the current activity and the share that is done (None if unknown); once it
    returns True the learner stops at the best of its steps, or does not start.

    Examples
    --------
    >>> from epigram.ime.converter import KanaKanjiConverter
    >>> converter = KanaKanjiConverter.build(["橋/はし を 渡る/わたる"] * 4 + ["箸/はし を 使う/つかう"])
    >>> adapted = converter.adapt([["箸/はし", "だ"]] * 20)
    >>> converter.convert("はし"), adapted.convert("はし")
    ('橋', '箸')
    """
    from epigram.ime.converter import KanaKanjiConverter

    smoothing, name = parse_method(method)
    learner = _learner(name, settings)
    if converter.reranker is not None:
        raise InputError("this converter was reranked already; adapt the one it was made from")
    train, held_out = _read(text, dev)
    tell = callback or (lambda what, share: None)
    corpus, held = Corpus.of(train), Corpus.of(held_out)
    decoder, model = converter.decoder, converter.model
    fit: dict[str, object] = {
        **converter.fit_, "adapted_to": len(train), "held_out": len(held_out),
        "cross_entropy": cross_entropy(model, corpus),
    }  # fmt: skip
    if smoothing is not None:
        tell("interpolating", 0.0)
        adapted = adapt_by_map(decoder, model, corpus, held, smoothing)
        decoder, fit["background_weight"] = adapted.decoder, adapted.weight
        fit["words"], fit["ngrams"] = len(decoder.lexicon) - 1, adapted.model.n_ngrams
    rescorer = converter.rescorer if learner is None else None  # a reranker replaces it
    if rescorer is not None:
        tell("mixing characters", 0.5)
        rescorer = rescorer.adapted(corpus, held)
    reranker = None
    if learner is not None:
        done, stopped = 0, False

        def tick() -> bool:
            nonlocal done, stopped
            done += 1
            stopped = bool(tell("making n-best lists", done / (len(train) + len(held_out)))) or stopped
            return stopped

        if smoothing is None:
            lists = convert_text(decoder, train, N_BEST, tick)
        else:
            lists = crossed_lists(converter.decoder, model, corpus, held, smoothing, tick=tick)
        held_lists = convert_text(decoder, held_out, N_BEST, tick)
        if not stopped:
            reranker = _fit_reranker(
                learner, lists, held_lists, lambda now, share: tell(f"{name} {now}", share), fit
            )
    return KanaKanjiConverter(
        decoder, reranker, {**converter.settings, "method": method}, fit, converter.journal.lessons,
        converter.journal.words, rescorer,
    )  # fmt: skip


def _read(
    text: Sentences | PathLike[str], dev: Sentences | PathLike[str] | None
) -> tuple[list[Any], list[Any]]:
    """Training and held-out sentences; without ``dev`` the last tenth is held out."""
    train = sentences_of(text, "text")
    held_out = None if dev is None else sentences_of(dev, "dev")
    if not train:
        raise InputError("no sentences to adapt to")
    if held_out:
        return train, held_out
    cut = len(train) - max(1, round(HELD_OUT * len(train)))
    if cut < 1:
        raise InputError(f"{len(train)} sentence is too few to adapt to; give at least 2")
    return train[:cut], train[cut:]


def _fit_reranker(
    learner: Any,
    lists: NBest,
    held_out: NBest,
    callback: Callable[[str, float | None], bool | None],
    fit: dict[str, object],
) -> Reranker:
    """Train a reranker on n-best lists, and note its step and settings in ``fit``."""
    reranker = Reranker(learner).fit(
        lists, dev=held_out,
        callback=lambda now: callback(
            f"{now.trial}, step {now.step}", now.step / now.steps if now.steps else None
        ),
    )  # fmt: skip
    fit["reranker_step"] = reranker.step_
    fit["reranker_weights"] = int((reranker.weights_ != 0).sum())
    fit |= {f"reranker_{name}": getattr(reranker.learner_, name) for name in learner.ladders}
    fit["settings_tried"] = len(reranker.trials_)
    return reranker


def _learner(name: str | None, settings: dict[str, float | None]) -> Any:
    """Make the learner of a method, or None; refuses settings without a learner."""
    if name is not None:
        return make_learner(name, **settings)
    given = [setting for setting, value in settings.items() if value is not None]
    if given:
        raise InputError(f"{given[0]} is a setting of learners; use a method with one, as map-kn+blasso")
    return None


@dataclass(frozen=True)
class Adapted:
    """Decoder adapted by interpolation, its language model, and the weight of the background."""

    decoder: Decoder
    model: BackoffModel
    weight: float


def adapt_by_map(
    decoder: Decoder,
    model: BackoffModel,
    text: Corpus,
    held_out: Corpus | None = None,
    smoothing: str = "map-kn",
    weight: float | None = None,
    bigram: float = BIGRAM,
) -> Adapted:
    """Interpolate ``model`` with a model of ``text``.

    ``held_out`` (default: a tenth of ``text``) chooses the weight. ``bigram`` is the share of the bigram model in a
    smoothed P_a (see epigram.ime.build).
    """
    if smoothing not in SMOOTHINGS:
        raise InputError(f"unknown smoothing {smoothing!r}; use one of {', '.join(SMOOTHINGS)}")
    lexicon, background = widened(decoder, model, text)
    text = text.with_vocabulary(background.vocabulary_)
    domain = domain_model(text, bigram) if smoothing == "map-kn" else None
    if weight is None:
        rest, part, tenth = text, domain, held_out
        if tenth is None:
            rest, tenth = text.split(HELD_OUT)
            part = domain_model(rest, bigram) if domain is not None else None
        stream = tenth.with_vocabulary(background.vocabulary_).stream()
        logp = relative_frequencies(rest, stream) if part is None else part.score_stream(stream)
        weight = best_weight(background.score_stream(stream)[1:], logp[1:])
    mixed = map_mixture(background, text, weight) if domain is None else mixture(background, domain, weight)
    classes = decoder.scorer.classes
    if lexicon is not decoder.lexicon:
        classes = classes.widened(mixed.vocabulary_.ids(decoder.lexicon.vocabulary()), len(lexicon))
    return Adapted(
        Decoder(lexicon, Scorer.of(mixed, classes), decoder.unknown, decoder.numbers), mixed, weight
    )


def widened(decoder: Decoder, model: BackoffModel, text: Corpus) -> tuple[Lexicon, BackoffModel]:
    """Add the words of ``text`` to lexicon and model."""
    old = decoder.lexicon
    known = set(old.tokens())
    fresh = [token for token in text.vocabulary.words[1:] if token not in known]
    if not fresh:
        return old, model
    lexicon = Lexicon.of([*known, *fresh])
    vocabulary = lexicon.vocabulary()
    new_id = vocabulary.ids(old.vocabulary())
    logp = np.full(len(lexicon), -np.inf)
    for token in fresh:
        logp[vocabulary.id(token)] = decoder.unknown.log_probability(*split_token(token))
    return lexicon, widen(model, vocabulary, new_id, logp)


def domain_model(text: Corpus, bigram: float = BIGRAM) -> BackoffModel:
    """Train P_a by Kneser-Ney, as build does P_b."""
    model = KneserNeyLM(order=3, open_vocabulary=False).fit(text).backoff_
    share_with_bigrams(model, bigram)
    return model


def crossed_lists(
    decoder: Decoder,
    model: BackoffModel,
    text: Corpus,
    held_out: Corpus | None,
    smoothing: str,
    k: int = N_BEST,
    tick: Callable[[], object] | None = None,
    bigram: float = BIGRAM,
) -> NBest:
    """Convert each half of ``text`` by a model adapted to the other half."""
    sentences = list(text.sentences())
    halves = [np.arange(part, len(sentences), 2) for part in range(2)]
    lists = []
    for mine, other in (halves, halves[::-1]):
        rest = Corpus.of([sentences[i] for i in other])
        adapted = adapt_by_map(decoder, model, rest, held_out, smoothing, bigram=bigram)
        lists.append(convert_text(adapted.decoder, [sentences[i] for i in mine], k, tick))
    return NBest.joined(lists)


def cross_entropy(model: BackoffModel, text: Corpus) -> float:
    """Bits per word of a text with ends of sentences, without unknown words (Table 1).

    Examples
    --------
    >>> text = Corpus.of(["a b a", "b b"])
    >>> round(cross_entropy(KneserNeyLM(order=3, open_vocabulary=False).fit(text).backoff_, text), 3)
    0.747
    """
    logp = model.score_stream(text.with_vocabulary(model.vocabulary_).stream())[1:]
    return float(-np.nanmean(logp) / np.log(2))
