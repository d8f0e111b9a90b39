"""Adapt a converter to a domain by its text: MAP interpolation, a reranker, or both (Gao et al. 2006, section 5).

``map`` interpolates the background with P_a by plain maximum likelihood, as the paper does; ``map-kn`` smooths P_a by
Kneser-Ney. The name of a learner makes a reranker of 20-best lists of the text. Both may be joined by ``+``; then the
lists must not come from a model that has seen their sentences: the text is cut in two, and each half is converted by
the background adapted to the other half.

The held-out part (the last tenth of the text where none is given) chooses the weight of the background, the step of
the learner and its settings. After that nothing is refitted on it. For MAP, words of the domain join the lexicon;
the background gives them what it gives an unknown word. A model of characters (the second look) is mixed with one of
the text, too; a reranker takes its place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from epigram.errors import InputError
from epigram.ime.decoder import Decoder, convert_text
from epigram.ime.lexicon import Lexicon
from epigram.ime.mixture import (
    BIGRAM,
    best_weight,
    map_mixture,
    mixture,
    relative_frequencies,
    share_with_bigrams,
    widen,
)
from epigram.ime.text import plain_token, split_token
from epigram.ime.trigram import Scorer
from epigram.lm.corpus import Corpus
from epigram.lm.ngram.kneser_ney import KneserNeyLM
from epigram.lm.ngram.model import BackoffModel
from epigram.rerank import NBest, Reranker
from epigram.rerank.model import LEARNERS, make_learner

if TYPE_CHECKING:
    from epigram.ime.converter import KanaKanjiConverter

SMOOTHINGS = ("map", "map-kn")
HELD_OUT = 0.1
N_BEST = 20


def parse_method(method: str) -> tuple[str | None, str | None]:
    """Interpolation and learner of a method's name.

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
    text: Sequence[Sequence[str]],
    dev: Sequence[Sequence[str]] | None = None,
    method: str = "map-kn",
    callback: Callable[[str, float | None], bool | None] | None = None,
    **settings: float | None,
) -> KanaKanjiConverter:
    """Return a new converter; corrections of the old one stay.

    ``settings`` are those of the learner (smoothing, shrinkage, eps, theta, steps); what is not given or None is
    chosen on the held-out text. ``callback`` is told what is being done and which share of it is done (None where
    the end is not known); once it returns True the learner stops at the best of its steps, or does not begin.

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
    if not text:
        raise InputError("no sentences to adapt to")
    tell = callback or (lambda what, share: None)
    train = [list(map(plain_token, tokens)) for tokens in text]
    held_out = [list(map(plain_token, tokens)) for tokens in dev] if dev else None
    if held_out is None:
        cut = len(train) - max(1, round(HELD_OUT * len(train)))
        if cut < 1:
            raise InputError(f"{len(train)} sentence is too few to adapt to; give at least 2")
        train, held_out = train[:cut], train[cut:]
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
    look = converter.second_look if learner is None else None  # a reranker looks in its place
    if look is not None:
        tell("mixing characters", 0.5)
        look = look.adapted(corpus, held)
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
            reranker = Reranker(learner).fit(
                lists, dev=held_lists,
                callback=lambda now: tell(
                    f"{name} {now.trial}, step {now.step}", now.step / now.steps if now.steps else None
                ),
            )  # fmt: skip
            fit["reranker_step"] = reranker.step_
            fit["reranker_weights"] = int((reranker.weights_ != 0).sum())
            fit |= {f"reranker_{name}": getattr(reranker.learner_, name) for name in learner.ladders}
            fit["settings_tried"] = len(reranker.trials_)
    return KanaKanjiConverter(
        decoder, reranker, {**converter.settings, "method": method}, fit, converter.journal.lessons,
        converter.journal.words, look,
    )  # fmt: skip


def _learner(name: str | None, settings: dict[str, float | None]) -> Any:
    """The learner of a method, if it has one; settings without one are refused."""
    if name is not None:
        return make_learner(name, **settings)
    given = [setting for setting, value in settings.items() if value is not None]
    if given:
        raise InputError(f"{given[0]} is a setting of learners; use a method with one, as map-kn+blasso")
    return None


@dataclass(frozen=True)
class Adapted:
    """A decoder adapted by interpolation, its language model, and the weight of the background in it."""

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
    """Interpolate ``model`` with one of ``text``; without ``held_out`` the weight is found on a tenth of ``text``.

    ``bigram`` is the share of the bigram model in a smoothed P_a (see epigram.ime.build).
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
    """Lexicon and model with the words of ``text``."""
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
    """P_a by Kneser-Ney, as the background's P_b is made."""
    model = KneserNeyLM(order=3).fit(text).backoff_
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
    """Each half of ``text`` converted by a model adapted to the other half."""
    sentences = list(text.sentences())
    halves = [np.arange(part, len(sentences), 2) for part in range(2)]
    lists = []
    for mine, other in (halves, halves[::-1]):
        rest = Corpus.of([sentences[i] for i in other])
        adapted = adapt_by_map(decoder, model, rest, held_out, smoothing, bigram=bigram)
        lists.append(convert_text(adapted.decoder, [sentences[i] for i in mine], k, tick))
    return NBest.joined(lists)


def cross_entropy(model: BackoffModel, text: Corpus) -> float:
    """Bits per word of a text, ends of sentences counted, unknown words not: how far a domain is (Table 1, column 2).

    Examples
    --------
    >>> text = Corpus.of(["a b a", "b b"])
    >>> round(cross_entropy(KneserNeyLM(order=3).fit(text).backoff_, text), 3)
    0.747
    """
    logp = model.score_stream(text.with_vocabulary(model.vocabulary_).stream())[1:]
    return float(-np.nanmean(logp) / np.log(2))
