"""The language model of a converter in a small file: numbers in eight bits, and no array that follows from others.

Log-probabilities of bigrams and trigrams and back-off weights are codes of a codebook, one for each length; those of
single words, which tell homophones apart, stay as they are. Where an n-gram leads and what a context backs off to is
found again when the file is read; all is expanded then, and searched as ever. A gain bounds what a context can win, so
it is rounded up: the search stays exact.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram._core.native import offsets
from epigram.ime.trigram import NOTHING, ClassNumbers, Scorer, Singles, Trie
from epigram.lm.ngram.model import linked, nodes_of_pairs
from epigram.storage.arrays import PACKED, Array, Contents, codebook, pack_integers

CODES = 256
Bytes = npt.NDArray[np.uint8]
LOWEST = np.float32(-1e9)
"""Numbers below stand for something else, no gain or no chance, and keep their value."""
ARRAYS = {
    "lm.contexts": Array(PACKED, ("contexts",), steps=True, below="words+longer"),
    "lm.counts": Array(PACKED, ("contexts+1",), total="words+longer"),
    "lm.targets": Array(np.int32, ("longer",), below="words"),
    "lm.root": Array(np.float32, ("words",), infinite="-"),
    "lm.logp.codes": Array(np.uint8, ("longer",)),
    "lm.logp.books": Array(np.float32, (2, CODES), infinite="-"),
    "lm.bow.codes": Array(np.uint8, ("contexts",)),
    "lm.bow.books": Array(np.float32, (2, CODES), infinite="-"),
    "lm.gain.codes": Array(np.uint8, ("contexts",)),
    "lm.gain.books": Array(np.float32, (2, CODES)),
}


def pack(scorer: Scorer) -> dict[str, npt.NDArray[Any]]:
    """The arrays that a file holds of a model."""
    trie, n_words = scorer.trie, scorer.n_words
    of_pairs, of_contexts = _levels(trie, n_words)
    root = scorer.tables.pair_logp[:n_words]
    logp, logp_books = _coded(scorer.tables.pair_logp[n_words:], of_pairs)
    bow, bow_books = _coded(scorer.tables.node_bow[scorer.n_classes :], of_contexts)
    out: dict[str, npt.NDArray[Any]] = {
        "lm.contexts": pack_integers(np.diff(trie.node_pair[1:], prepend=0)),
        "lm.counts": pack_integers(np.diff(trie.pair_ptr)),
        "lm.targets": trie.pair_word[n_words:],
        "lm.root": root,
        "lm.logp.codes": logp,
        "lm.logp.books": logp_books,
        "lm.bow.codes": bow,
        "lm.bow.books": bow_books,
    }
    rounded = np.append(root, _decoded(logp, logp_books, of_pairs)), _decoded(bow, bow_books, of_contexts)
    again = _laid_out(trie, *rounded, None, scorer.word_class, scorer.class_logp, scorer.class_names)
    gain, gain_books = _coded(again.gain[scorer.n_classes :], of_contexts, up=True)
    return {**out, "lm.gain.codes": gain, "lm.gain.books": gain_books}


def unpack(found: Contents, word_class: ClassNumbers, class_logp: Singles, class_names: list[str]) -> Scorer:
    """The model of the arrays of a file."""
    n_words = word_class.size
    trie = Trie(
        np.concatenate(([-1], found["lm.contexts"])),
        offsets(found["lm.counts"]),
        np.concatenate((np.arange(n_words, dtype=np.int32), found["lm.targets"])),
    )
    of_pairs, of_contexts = _levels(trie, n_words)
    logp, bow, gain = (
        _decoded(found[f"lm.{name}.codes"], found[f"lm.{name}.books"], ends)
        for name, ends in (("logp", of_pairs), ("bow", of_contexts), ("gain", of_contexts))
    )
    logp = np.append(found["lm.root"], logp)
    return _laid_out(trie, logp, bow, gain, word_class, class_logp, class_names)


def _laid_out(
    trie: Trie,
    logp: Singles,
    bow: Singles,
    gain: Singles | None,
    word_class: ClassNumbers,
    class_logp: Singles,
    class_names: list[str],
) -> Scorer:
    """The model with its links; ``bow`` and ``gain`` are of contexts, and the root, which is none, is put before."""
    links = linked(trie.pair_ptr, trie.pair_word, nodes_of_pairs(word_class.size, *trie))
    gains = None if gain is None else np.insert(gain, 0, NOTHING)
    bows = np.insert(bow, 0, 0.0)
    return Scorer.laid_out(trie, links, logp, bows, word_class, class_logp, class_names, gains)


def _levels(trie: Trie, n_words: int) -> tuple[list[int], list[int]]:
    """Where bigrams and trigrams end, behind the single words, and where contexts of one and two words do."""
    single = int(np.searchsorted(trie.node_pair[1:], n_words))
    bigrams = int(trie.pair_ptr[1 + single]) - n_words
    return [bigrams, trie.pair_word.size - n_words], [single, trie.node_pair.size - 1]


def _coded(values: Singles, ends: list[int], up: bool = False) -> tuple[Bytes, Singles]:
    """Codes, and a codebook for each level: of the nearest value, or (``up``) of the next that is not smaller."""
    codes, books = np.empty(values.size, np.uint8), np.zeros((len(ends), CODES), np.float32)
    for level, (first, last) in enumerate(pairwise([0, *ends])):
        numbers = values[first:last]
        if not numbers.size:
            continue
        low = np.unique(numbers[numbers < LOWEST])
        high = codebook(numbers[numbers >= LOWEST].astype(np.float64), CODES - low.size)
        book: Singles = np.append(low, high.astype(np.float32))
        if up:
            book[-1] = numbers.max()
        books[level, : book.size] = book
        borders = book[:-1] if up else (book[1:] + book[:-1]) / 2
        codes[first:last] = np.searchsorted(borders, numbers)
    return codes, books


def _decoded(codes: Bytes, books: Singles, ends: list[int]) -> Singles:
    """The numbers that codes stand for."""
    parts = [books[level][codes[first:last]] for level, (first, last) in enumerate(pairwise([0, *ends]))]
    return np.concatenate(parts)
