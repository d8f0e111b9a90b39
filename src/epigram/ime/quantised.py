"""8-bit file form of the trigram tables.

Log-probabilities of bigrams and trigrams and back-off weights are codes of a codebook, one per order; those of
unigrams, which separate homophones, are stored in half precision. Links of n-grams and back-off contexts are recomputed
when the file is read, and the search uses the expanded tables. A gain is an upper bound of what a context can gain,
so it is rounded up, which keeps the search exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from epigram._core.arrays import offsets
from epigram.ime.scorer import NOTHING, Scorer, Singles, Trie
from epigram.ime.word_classes import ClassNumbers
from epigram.lm.ngram.backoff import linked, nodes_of_pairs
from epigram.protocols import Ints
from epigram.storage.quantise import CODES, coded, decoded, differences, narrow, sum_groups
from epigram.storage.schema import Array, Contents, damaged

ARRAYS = {
    "lm.contexts": Array(np.int64, ("contexts",), steps=True, below="words+longer"),
    "lm.counts": Array(np.int64, ("contexts+1",), total="words+longer"),
    "lm.targets": Array(np.int32, ("longer",), below="words", optional=True),
    "lm.steps": Array(np.int64, ("longer",), below="words", optional=True),
    "lm.root": Array(np.float32, ("words",), infinite="-"),
    "lm.logp.codes": Array(np.uint8, ("longer",)),
    "lm.logp.books": Array(np.float32, (2, CODES), infinite="-"),
    "lm.bow.codes": Array(np.uint8, ("contexts",)),
    "lm.bow.books": Array(np.float32, (2, CODES), infinite="-"),
    "lm.gain.codes": Array(np.uint8, ("contexts",)),
    "lm.gain.books": Array(np.float32, (2, CODES)),
}


def pack(scorer: Scorer) -> dict[str, npt.NDArray[Any]]:
    """Convert a model to the arrays of a file."""
    trie, n_words = scorer.trie, scorer.n_words
    nodes = np.repeat(np.arange(trie.node_pair.size - 1), np.diff(trie.pair_ptr)[1:])
    of_pairs, of_contexts = _levels(trie, n_words)
    with np.errstate(over="ignore"):  # what has no chance gets none
        root = scorer.tables.pair_logp[:n_words].astype(np.float16)
    logp, logp_books = coded(scorer.tables.pair_logp[n_words:], of_pairs)
    bow, bow_books = coded(scorer.tables.node_bow[scorer.n_classes :], of_contexts)
    out: dict[str, npt.NDArray[Any]] = {
        "lm.contexts": narrow(np.diff(trie.node_pair[1:], prepend=0)),
        "lm.counts": narrow(np.diff(trie.pair_ptr)),
        "lm.steps": narrow(differences(trie.pair_word[n_words:], nodes)),
        "lm.root": root,
        "lm.logp.codes": logp,
        "lm.logp.books": logp_books,
        "lm.bow.codes": bow,
        "lm.bow.books": bow_books,
    }
    rounded = (
        np.append(root.astype(np.float32), decoded(logp, logp_books, of_pairs)),
        decoded(bow, bow_books, of_contexts),
    )
    again = _laid_out(trie, *rounded, None, scorer.word_class, scorer.class_logp, scorer.class_names)
    gain, gain_books = coded(again.gain[scorer.n_classes :], of_contexts, up=True)
    return {**out, "lm.gain.codes": gain, "lm.gain.books": gain_books}


def unpack(found: Contents, word_class: ClassNumbers, class_logp: Singles, class_names: list[str]) -> Scorer:
    """Read a model from the arrays of a file."""
    n_words = word_class.size
    trie = Trie(
        np.concatenate(([-1], found["lm.contexts"])),
        offsets(found["lm.counts"]),
        np.concatenate((np.arange(n_words, dtype=np.int32), _targets(found, n_words))),
    )
    of_pairs, of_contexts = _levels(trie, n_words)
    logp, bow, gain = (
        decoded(found[f"lm.{name}.codes"], found[f"lm.{name}.books"], ends)
        for name, ends in (("logp", of_pairs), ("bow", of_contexts), ("gain", of_contexts))
    )
    logp = np.append(found["lm.root"], logp)
    return _laid_out(trie, logp, bow, gain, word_class, class_logp, class_names)


def _targets(found: Contents, n_words: int) -> Ints:
    """Last words of bigrams and trigrams; earlier versions of the format store them unpacked."""
    if "lm.targets" in found:
        return found["lm.targets"]
    sizes = found["lm.counts"][1:]
    out = sum_groups(found.pop("lm.steps"), sizes[sizes > 0])
    if out.max(initial=0) >= n_words:
        damaged("an n-gram ends in a word that the lexicon lacks")
    return out


def _laid_out(
    trie: Trie,
    logp: Singles,
    bow: Singles,
    gain: Singles | None,
    word_class: ClassNumbers,
    class_logp: Singles,
    class_names: list[str],
) -> Scorer:
    """Make the model with links; ``bow`` and ``gain`` are those of contexts without the root."""
    links = linked(trie.pair_ptr, trie.pair_word, nodes_of_pairs(word_class.size, *trie))
    gains = None if gain is None else np.insert(gain, 0, NOTHING)
    bows = np.insert(bow, 0, 0.0)
    return Scorer.laid_out(trie, links, logp, bows, word_class, class_logp, class_names, gains)


def _levels(trie: Trie, n_words: int) -> tuple[list[int], list[int]]:
    """End offsets of bigrams and trigrams, and of contexts of one and two words."""
    single = int(np.searchsorted(trie.node_pair[1:], n_words))
    bigrams = int(trie.pair_ptr[1 + single]) - n_words
    return [bigrams, trie.pair_word.size - n_words], [single, trie.node_pair.size - 1]
