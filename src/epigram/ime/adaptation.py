"""Adapting a converter to a domain by its text: MAP interpolation (Gao et al. 2006, section 5.2).

``map`` takes P_a by plain maximum likelihood, as the paper does; ``map-kn`` smooths P_a by Kneser-Ney. The weight
of the background is the one that gives a held-out text of the domain the highest likelihood. Words of the domain
join the lexicon; the background gives them what it gives an unknown word.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from epigram.errors import InputError
from epigram.ime.build import BIGRAM, share_with_bigrams
from epigram.ime.decoder import Decoder
from epigram.ime.lexicon import Lexicon, split_token
from epigram.ime.mixing import best_weight, map_mixture, mixture, widen
from epigram.ime.trigram import Scorer
from epigram.lm.corpus import Corpus
from epigram.lm.ngram.counts import count_ngrams
from epigram.lm.ngram.kneser_ney import KneserNeyLM
from epigram.lm.ngram.model import BackoffModel
from epigram.protocols import Floats, Ints, Offsets

SMOOTHINGS = ("map", "map-kn")
HELD_OUT = 0.1


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
    if weight is None:
        rest, tenth = (text, held_out) if held_out is not None else text.split(HELD_OUT)
        assert tenth is not None
        stream = tenth.with_vocabulary(background.vocabulary_).stream()
        weight = best_weight(
            background.score_stream(stream)[1:], _domain_logp(rest, smoothing, bigram, stream)[1:]
        )
    if smoothing == "map":
        mixed = map_mixture(background, text, weight)
    else:
        mixed = mixture(background, domain_model(text, bigram), weight)
    return Adapted(Decoder(lexicon, Scorer.of(mixed), decoder.unknown), mixed, weight)


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


def _domain_logp(text: Corpus, smoothing: str, bigram: float, stream: Ints) -> Floats:
    """log P_a of each position of a stream; plain maximum likelihood has none (NaN) after an unseen history."""
    if smoothing == "map-kn":
        return domain_model(text, bigram).score_stream(stream)
    levels = count_ngrams(text, 3)
    size = np.int64(len(text.vocabulary))
    words = stream.astype(np.int64)
    out = np.full(words.size, np.nan)
    bigrams = levels[1].prefix.astype(np.int64) * size + levels[1].word
    trigrams = bigrams[levels[2].prefix] * size + levels[2].word if len(levels) > 2 else bigrams[:0]
    first = np.append(True, words[:-1] == 0)
    for keys, counts, span in ((bigrams, levels[1].count, 1), (trigrams, levels[-1].count, 2)):
        at = np.flatnonzero((first if span == 1 else ~first) & (words >= 0))
        at = at[at >= span]
        history = words[at - 1] if span == 1 else words[at - 2] * size + words[at - 1]
        known = (history >= 0) & (words[at - 1] >= 0)
        at, history = at[known], history[known]
        total = _counts_of(keys // size, counts, history)
        joint = _counts_of(keys, counts, history * size + words[at])
        seen = total > 0
        with np.errstate(divide="ignore"):
            out[at[seen]] = np.log(joint[seen] / total[seen])
    return out


def _counts_of(keys: Offsets, counts: Ints, wanted: Offsets) -> Floats:
    """Sum of the counts of each wanted key; the keys are sorted and may repeat."""
    if not keys.size:
        return np.zeros(wanted.size)
    cumulative = np.concatenate(([0.0], np.cumsum(counts, dtype=np.float64)))
    low, high = np.searchsorted(keys, wanted, "left"), np.searchsorted(keys, wanted, "right")
    return cumulative[high] - cumulative[low]


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
