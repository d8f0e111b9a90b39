"""Builds lexicon, trigram model and unknown-word model from text and word lists.

The model is P(w | u v) = (1 - BIGRAM) P3(w | u v) + BIGRAM P2(w | v), both modified Kneser-Ney; the share of bigrams
improves text of other domains and was chosen on held-out text. Kneser-Ney gives words of the lists that the text lacks
equal shares of the discounts. If a list has costs and parts of speech, the shares follow these
(:func:`prior_of_words`), and backing off ends in classes of words (:mod:`epigram.ime.word_classes`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from epigram.checkpoint import piece
from epigram.errors import InputError, each
from epigram.ime.decoder import Decoder
from epigram.ime.kana import is_katakana, plain_token, refuse_foreign, split_token
from epigram.ime.lexicon.lexicon import Lexicon
from epigram.ime.lexicon.unknown_words import UnknownWords
from epigram.ime.lexicon.wordlist import WordList
from epigram.ime.mixture import BIGRAM, share_with_bigrams
from epigram.ime.numbers import NumberForms
from epigram.ime.scorer import Scorer
from epigram.ime.word_classes import ClassNumbers, LexicalClasses, shift_lower
from epigram.lm.corpus import Corpus
from epigram.lm.ngram.backoff import BackoffModel
from epigram.lm.ngram.kneser_ney import KneserNeyLM
from epigram.lm.ngram.storage import ARRAYS_IN_PLACE
from epigram.lm.vocabulary import BOUNDARY, UNSEEN, Vocabulary
from epigram.protocols import Floats
from epigram.storage.schema import Schema

if TYPE_CHECKING:
    from epigram.ime.rescoring import Rescorer


STEP = 1000.0
"""Width of the cells of costs."""
CELLS = 22
LEAN = 50.0
"""Words of the class (or of all words) that are added to a cell as smoothing."""


BRACKETS = frozenset("()（）[]［］{}｛｝〔〕【】<>＜＞《》〈〉")


@dataclass(frozen=True)
class SizeLimits:
    """SizeLimits that make a converter smaller.

    ``prune`` and ``prune_bigrams`` drop trigrams and bigrams that occur at most so often, ``max_words`` keeps the most
    frequent words of the lexicon, ``rescorer`` multiplies the least counts of the rescorer's n-grams and pairs.
    """

    prune: int = 0
    prune_bigrams: int = 0
    max_words: int | None = None
    rescorer: float = 1.0


FULL = SizeLimits()


@dataclass(frozen=True)
class Background:
    """Decoder built from text and word lists, its language model, and the sizes of the text."""

    decoder: Decoder
    model: BackoffModel
    n_sentences: int
    n_tokens: int
    rescorer: Rescorer | None = None


def build(
    texts: Iterable[str | Sequence[str] | PathLike[str]] | PathLike[str] | Corpus,
    words: Iterable[str] = (),
    *,
    modified: bool = True,
    limits: SizeLimits = FULL,
    bigram: float = BIGRAM,
    rescore: bool = False,
) -> Background:
    """Build from sentences, files (paths) or a corpus, and more tokens for the lexicon.

    ``limits`` make the result smaller; ``bigram`` is the share of the bigram model; ``rescore`` adds a model of
    characters.
    """
    text = with_plain_tokens(texts if isinstance(texts, Corpus) else read_corpus(texts))
    words = words if isinstance(words, WordList) else WordList.of(words)
    made = assemble(text, most_frequent(text, words)[: limits.max_words], words, limits, modified, bigram)
    return replace(made, rescorer=learn_rescorer(text, limits.rescorer)) if rescore else made


def learn_rescorer(text: Corpus, scale: float) -> Rescorer:
    """Learn the model of characters and pairs."""
    from epigram.ime.rescoring import Rescorer, surfaces_of

    return Rescorer.learn(text, surfaces_of(text), scale)


def assemble(
    text: Corpus,
    tokens: Iterable[str],
    words: WordList,
    limits: SizeLimits,
    modified: bool = True,
    bigram: float = BIGRAM,
) -> Background:
    """Build a decoder of these tokens; ``words`` are their costs and parts of speech."""
    lexicon = Lexicon.of(tokens)
    vocabulary = lexicon.vocabulary()
    corpus = text.with_vocabulary(vocabulary)
    model = _trigrams(corpus, modified, limits, bigram)
    counts = corpus.counts
    counts[BOUNDARY] = 0
    surfaces = lexicon.surfaces()
    classes = None
    if any(words.parts):
        classes = _learn_classes(model, counts, surfaces, vocabulary, words)
    of_surface: dict[str, int] = {}
    for surface, count in zip(surfaces, counts.tolist(), strict=True):
        of_surface[surface] = of_surface.get(surface, 0) + count
    unknown = UnknownWords.estimate(
        {surface: count for surface, count in of_surface.items() if count}, of_surface
    )
    of_word = (classes or LexicalClasses.none(len(lexicon))).of_word
    unknown = replace(unknown, katakana_class=class_of_katakana(surfaces, counts, of_word))
    seen = np.flatnonzero(counts[1:]) + 1
    readings = lexicon.readings()
    numbers = NumberForms.learn(
        (surfaces[word], readings[word], int(counts[word]), int(of_word[word])) for word in seen.tolist()
    )
    decoder = Decoder(lexicon, Scorer.of(model, classes), unknown, numbers)
    return Background(decoder, model, corpus.n_sentences, corpus.n_tokens)


def most_frequent(text: Corpus, words: WordList) -> list[str]:
    """Tokens of a text and a list that can be typed, the most frequent first.

    Words of the text are ordered by their count, others by the Good-Turing rate of their part of speech and cost
    (:func:`prior_of_words`). A word whose surface has brackets among other characters is a remark of the text's
    editor; a reading beyond U+FFFF is no kana and would double the size of all readings.

    Examples
    --------
    >>> text = Corpus.of(["橋/はし を 飴(はたあめ)/あめ", "橋/はし"])
    >>> most_frequent(text, WordList.of(["箸/はし", "😀"]))
    ['橋/はし', 'を', '箸/はし']
    """
    listed = dict(zip(map(plain_token, words.tokens), range(len(words)), strict=True))
    kept = [
        (token, count)
        for token, count in zip(text.vocabulary.words[1:], text.counts[1:].tolist(), strict=True)
        if _can_be_typed(token) and (token in listed or not _has_remark(token))
    ]
    known = {token for token, _ in kept}
    kept += [(token, 0) for token in listed if token not in known and _can_be_typed(token)]
    tokens = [token for token, _ in kept]
    counts = np.array([count for _, count in kept])
    where = np.array([listed.get(token, -1) for token in tokens])
    costs = np.append(words.costs, np.nan)[where]
    numbers = {part: number for number, part in enumerate(dict.fromkeys([*words.parts, ""]))}
    parts = np.array([numbers[part] for part in [*words.parts, ""]], np.uint16)[where]
    rate = prior_of_words(counts, costs, parts)
    order = np.lexsort((np.where(np.isnan(costs), np.inf, costs), -rate, -counts))
    return [tokens[k] for k in order.tolist()]


def _can_be_typed(token: str) -> bool:
    """Whether all characters of the reading are of the Basic Multilingual Plane."""
    return max(split_token(token)[1], default="") <= "\uffff"


def _has_remark(token: str) -> bool:
    """Whether a surface has a bracket beside other characters."""
    surface = split_token(token)[0]
    return len(surface) > 1 and any(char in BRACKETS for char in surface)


def _trigrams(corpus: Corpus, modified: bool, limits: SizeLimits, bigram: float) -> BackoffModel:
    """Train the trigram model, with a checkpoint."""
    names = ("node_pair", "pair_ptr", "pair_word", "pair_logp", "node_bow")
    with piece(f"trigrams of {corpus.n_tokens} tokens") as kept:
        if kept.result is not None:
            found = Schema({}, {name: ARRAYS_IN_PLACE[name] for name in names}).read_arrays(kept.result)
            return BackoffModel(corpus.vocabulary, **found)
        prune = [0, limits.prune_bigrams, max(limits.prune, limits.prune_bigrams)]
        closed = KneserNeyLM(order=3, modified=modified, prune=prune, open_vocabulary=False)
        model = with_all_contexts(closed.fit(corpus).backoff_)
        share_with_bigrams(model, bigram)
        kept.finish({name: getattr(model, name).copy() for name in names} if kept.tape else {})
        return model


def with_all_contexts(model: BackoffModel) -> BackoffModel:
    """Add contexts without words, so that every bigram leads to one, as the search demands.

    Examples
    --------
    >>> from epigram.lm.ngram.kneser_ney import KneserNeyLM
    >>> closed = KneserNeyLM(order=3, prune=[0, 1, 1], open_vocabulary=False)
    >>> pruned = closed.fit(["a b", "a b c"]).backoff_
    >>> model = with_all_contexts(pruned)
    >>> pruned.node_pair.size, model.node_pair.size
    (4, 5)
    >>> bool(np.allclose(model.distribution("b"), pruned.distribution("b")))
    True
    """
    n_words = len(model.vocabulary_)
    single = int(np.searchsorted(model.node_pair[1:], n_words))
    known = model.node_pair[1 : 1 + single]
    bigrams = slice(int(model.pair_ptr[1]), int(model.pair_ptr[1 + single]))
    missing = np.setdiff1d(model.pair_word[bigrams], known)
    if not missing.size:
        return model
    at = 1 + np.searchsorted(known, missing)
    return BackoffModel(
        model.vocabulary_,
        np.insert(model.node_pair, at, missing),
        np.insert(model.pair_ptr, at, model.pair_ptr[at]),
        model.pair_word,
        model.pair_logp,
        np.insert(model.node_bow, at, 0.0),
    )


def _learn_classes(
    model: BackoffModel,
    counts: npt.NDArray[np.integer],
    surfaces: list[str],
    vocabulary: Vocabulary,
    words: WordList,
) -> LexicalClasses:
    """Learn classes from the parts of speech of a list, and set the shares of unseen words."""
    ids = vocabulary.ids([plain_token(token) for token in words.tokens])
    of_list = np.flatnonzero(ids >= 0)[::-1]  # of several entries the first
    costs, parts = np.full(len(vocabulary), np.nan), [""] * len(vocabulary)
    costs[ids[of_list]] = words.costs[of_list]
    for k, id in zip(of_list.tolist(), ids[of_list].tolist(), strict=True):
        parts[id] = words.parts[k]
    named = LexicalClasses.learn(model, surfaces, parts)
    share_by_prior(model, prior_of_words(counts, costs, named.of_word))
    return named


def class_of_katakana(surfaces: list[str], counts: npt.NDArray[np.integer], of_word: ClassNumbers) -> int:
    """Class of most katakana words that the text has once or twice; 0 if there are none.

    Examples
    --------
    >>> class_of_katakana(["", "ペン", "ネコ", "カ"], np.array([0, 1, 2, 9]), np.array([0, 4, 4, 1], np.uint16))
    4
    """
    rare = np.flatnonzero((counts > 0) & (counts <= 2))
    of_katakana = [int(of_word[word]) for word in rare.tolist() if is_katakana(surfaces[word])]
    return max(sorted(set(of_katakana)), key=of_katakana.count, default=0)


def prior_of_words(counts: npt.NDArray[np.integer], costs: Floats, of_word: ClassNumbers) -> Floats:
    """Share of each word in the mass that discounting leaves to unigrams, by Good-Turing.

    Words are grouped by class and cost. The share of a word is the rate, in its group, of words that the text has once
    to words that it has once or never. Small groups are smoothed by their class, classes by all words. Shares sum to 1.

    Examples
    --------
    >>> counts = np.array([9, 1, 0, 0])
    >>> q = prior_of_words(counts, np.array([0.0, 500.0, 900.0, 8000.0]), np.ones(4, np.uint16))
    >>> bool(q[2] > q[3]), round(float(q.sum()), 9)
    (True, 1.0)
    """
    cell = np.where(np.isnan(costs), CELLS - 1, np.clip(costs // STEP, 0, CELLS - 2)).astype(np.int64)
    place = of_word.astype(np.int64) * CELLS + cell
    size = (int(of_word.max()) + 1) * CELLS
    once, never = (np.bincount(place[counts == k], minlength=size).reshape(-1, CELLS) for k in (1, 0))
    overall = (once.sum() + 1) / (once.sum() + never.sum() + 1)
    of_class = _rate(once.sum(axis=1), never.sum(axis=1), overall)
    of_cell = _rate(once, never, of_class[:, None])
    share = of_cell.ravel()[place]
    return np.asarray(share / share.sum())


def _rate(once: Any, never: Any, larger: Floats | float) -> Floats:
    out: Floats = (once + LEAN * larger) / (once + never + LEAN)
    return out


def share_by_prior(model: BackoffModel, prior: Floats) -> None:
    """Divide by ``prior`` the mass that unigrams share equally; updates n-grams in place.

    Examples
    --------
    >>> from epigram.lm.ngram.kneser_ney import KneserNeyLM
    >>> from epigram.lm.corpus import Corpus
    >>> from epigram.lm.vocabulary import Vocabulary
    >>> text = Corpus.of(["a b a"], Vocabulary(["a", "b", "c", "d"]))
    >>> model = KneserNeyLM(order=2, open_vocabulary=False).fit(text).backoff_
    >>> share_by_prior(model, np.array([0.0, 0.0, 0.0, 0.9, 0.1]))
    >>> p = model.distribution("a")
    >>> round(float(p[3] / p[4]), 6), round(float(p.sum()), 9)
    (9.0, 1.0)
    """
    n_words = len(model.vocabulary_)
    root = np.exp(model.pair_logp[:n_words])
    least = root.min()
    change = least * (n_words * prior - 1)
    shift_lower(model, change, None, np.zeros(n_words, np.uint16))
    model.pair_logp[:n_words] = np.log(root + change)
    model.root_changed()


def read_corpus(texts: Iterable[str | Sequence[str] | PathLike[str]] | PathLike[str]) -> Corpus:
    """Read files (path objects) and sentences (strings or lists of tokens) as one corpus."""
    given = (
        [texts] if isinstance(texts, PathLike) else list(each(texts, "texts", "sentences or path objects"))
    )
    files = [text for text in given if isinstance(text, PathLike)]
    sentences = [text for text in given if not isinstance(text, PathLike)]
    parts = [Corpus.read(file) for file in files]
    for file, part in zip(files, parts, strict=True):
        refuse_foreign(part.vocabulary.words, file)
    parts += [Corpus.of(sentences)] if sentences else []
    if not parts:
        raise InputError("no text to build from; give files or sentences of surface/reading tokens")
    return joined(parts)


def with_plain_tokens(corpus: Corpus) -> Corpus:
    """Normalise tokens as the lexicon does, so that ``は/は`` and ``は`` are one word.

    Examples
    --------
    >>> text = with_plain_tokens(Corpus.of(["は/は は"]))
    >>> text.vocabulary.words, text.ids.tolist()
    (['</s>', 'は'], [1, 1])
    """
    words = [plain_token(word) for word in corpus.vocabulary.words]
    if words == corpus.vocabulary.words:
        return corpus
    vocabulary = Vocabulary(words)
    return Corpus(
        np.append(vocabulary.ids(words), np.int32(UNSEEN))[corpus.ids], corpus.sentence_ptr, vocabulary
    )


def joined(parts: Sequence[Corpus]) -> Corpus:
    """Concatenate corpora."""
    if len(parts) == 1:
        return parts[0]
    vocabulary = Vocabulary(word for part in parts for word in part.vocabulary.words[1:])
    parts = [part.with_vocabulary(vocabulary) for part in parts]
    starts = np.cumsum([0, *(part.n_tokens for part in parts[:-1])])
    pointers = [part.sentence_ptr[1:] + start for part, start in zip(parts, starts, strict=True)]
    return Corpus(
        np.concatenate([part.ids for part in parts]),
        np.concatenate((np.zeros(1, np.int64), *pointers)),
        vocabulary,
    )
