"""Build a decoder from text and word lists: the lexicon, a trigram model of the words, and unknown words.

The model is P(w | u v) = (1 - BIGRAM) P3(w | u v) + BIGRAM P2(w | v), both modified Kneser-Ney: chosen on held-out
text, it writes text of other domains better and of its own no worse. Words of the lists that the text never has
get from Kneser-Ney the share of the discounts that every word has; where a list has costs and parts of speech, that
share follows them (epigram.ime.prior), and backing off ends in classes of words (epigram.ime.trigram).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from epigram.errors import InputError
from epigram.ime.decoder import Decoder
from epigram.ime.lexicon import Lexicon, UnknownWords
from epigram.ime.mixture import BIGRAM, share_with_bigrams
from epigram.ime.numbers_and_signs import NumberForms
from epigram.ime.prior import prior_of_words, share_by_prior
from epigram.ime.text import plain_token
from epigram.ime.trigram import Scorer, WordClasses
from epigram.ime.wordlist import WordList
from epigram.lm.corpus import UNSEEN, Corpus, Vocabulary
from epigram.lm.ngram.kneser_ney import KneserNeyLM
from epigram.lm.ngram.model import BackoffModel
from epigram.resuming import piece

if TYPE_CHECKING:
    from epigram.ime.second_look import SecondLook


@dataclass(frozen=True)
class Background:
    """What a text and word lists give: the decoder, and the language model it searches with."""

    decoder: Decoder
    model: BackoffModel
    n_sentences: int
    n_tokens: int
    second_look: SecondLook | None = None


def build(
    texts: Sequence[str | PathLike[str]] | Corpus,
    words: Iterable[str] = (),
    *,
    modified: bool = True,
    prune: int = 0,
    bigram: float = BIGRAM,
    second_look: bool = False,
) -> Background:
    """From sentences (strings of tokens), files (paths) or a corpus, and more tokens for the lexicon.

    ``prune`` drops trigrams seen at most so often; ``bigram`` is the share of the bigram model; ``second_look`` adds
    a model of characters.
    """
    corpus = with_plain_tokens(texts if isinstance(texts, Corpus) else read_corpus(texts))
    words = words if isinstance(words, WordList) else WordList.of(words)
    lexicon = Lexicon.of([*corpus.vocabulary.words[1:], *words])
    vocabulary = lexicon.vocabulary()
    corpus = corpus.with_vocabulary(vocabulary)
    model = _trigrams(corpus, modified, prune, bigram)
    counts = np.bincount(corpus.ids, minlength=len(lexicon))
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
    of_word = (classes or WordClasses.none(len(lexicon))).of_word
    seen = np.flatnonzero(counts[1:]) + 1
    readings = lexicon.readings()
    numbers = NumberForms.learn(
        (surfaces[word], readings[word], int(counts[word]), int(of_word[word])) for word in seen.tolist()
    )
    decoder = Decoder(lexicon, Scorer.of(model, classes), unknown, numbers)
    look = None
    if second_look:
        from epigram.ime.second_look import SecondLook

        look = SecondLook.learn(corpus, surfaces)
    return Background(decoder, model, corpus.n_sentences, corpus.n_tokens, look)


def _trigrams(corpus: Corpus, modified: bool, prune: int, bigram: float) -> BackoffModel:
    """The language model, which takes the longest to make."""
    with piece(f"trigrams of {corpus.n_tokens} tokens") as kept:
        if kept.result is not None:
            return BackoffModel(corpus.vocabulary, **kept.result)
        model = KneserNeyLM(order=3, modified=modified, prune=prune).fit(corpus).backoff_
        share_with_bigrams(model, bigram)
        names = ("node_pair", "pair_ptr", "pair_word", "pair_logp", "node_bow")
        kept.finish({name: getattr(model, name).copy() for name in names} if kept.tape else {})
        return model


def _learn_classes(
    model: BackoffModel,
    counts: npt.NDArray[np.integer],
    surfaces: list[str],
    vocabulary: Vocabulary,
    words: WordList,
) -> WordClasses:
    """Classes by the parts of speech of a list; what unseen words share is dealt out by class and cost."""
    ids = vocabulary.ids([plain_token(token) for token in words.tokens])
    costs, parts = np.full(len(vocabulary), np.nan), [""] * len(vocabulary)
    costs[ids[::-1]] = words.costs[::-1]  # of several entries the first
    for id, part in zip(ids[::-1].tolist(), reversed(words.parts), strict=True):
        parts[id] = part
    named = WordClasses.learn(model, surfaces, parts)
    share_by_prior(model, prior_of_words(counts, costs, named.of_word))
    return named


def read_corpus(texts: Sequence[str | PathLike[str]]) -> Corpus:
    """Files (path objects) and sentences (strings) as one corpus."""
    files = [text for text in texts if isinstance(text, PathLike)]
    sentences = [text for text in texts if isinstance(text, str)]
    parts = [Corpus.read(file) for file in files] + ([Corpus.of(sentences)] if sentences else [])
    if not parts:
        raise InputError("no text to build from; give files or sentences of surface/reading tokens")
    return joined(parts)


def with_plain_tokens(corpus: Corpus) -> Corpus:
    """Return the same text with every token as the lexicon writes it, so that ``は/は`` and ``は`` are one word.

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
    """Several corpora, one after the other."""
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
