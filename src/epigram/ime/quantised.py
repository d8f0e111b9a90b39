"""8-bit forms of the trigram tables in files, and of the characters in memory.

Log-probabilities of bigrams and trigrams and back-off weights are codes of a codebook, one per order; those of
unigrams, which separate homophones, are stored in half precision. Links of n-grams and back-off contexts are recomputed
when the file is read, and the search uses the expanded tables. A gain is an upper bound of what a context can gain,
so it is rounded up, which keeps the search exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram._core import bindings
from epigram._core.arrays import offsets
from epigram.ime.scorer import NOTHING, Scorer, Singles, Trie
from epigram.ime.word_classes import ClassNumbers
from epigram.lm.ngram.backoff import BackoffModel, linked, nodes_of_pairs
from epigram.lm.vocabulary import BOUNDARY, Vocabulary
from epigram.protocols import Ints, Offsets
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


@dataclass(frozen=True)
class CodedCharacters:
    """Back-off model of characters, log-probabilities and back-off weights as codes of books."""

    words: list[str] = field(repr=False)
    contexts: Offsets = field(repr=False)
    pair_ptr: Ints = field(repr=False)
    pair_word: npt.NDArray[np.uint16] = field(repr=False)
    pair_code: npt.NDArray[np.uint8] = field(repr=False)
    pair_next: Ints = field(repr=False)
    node_parent: Ints = field(repr=False)
    node_code: npt.NDArray[np.uint8] = field(repr=False)
    logp: Singles = field(repr=False)
    bow: Singles = field(repr=False)
    first: int

    @classmethod
    def of(cls, found: Contents, points: list[str], targets: Ints) -> CodedCharacters:
        """Link the arrays of a file; ``targets`` are the last characters of its n-grams."""
        contexts, ptr = found["characters.contexts"], offsets(found["characters.counts"])
        trie = np.concatenate(([-1], contexts)), ptr, targets
        node_of = nodes_of_pairs(len(points) + 1, *trie)
        links = linked(ptr, targets, node_of)
        return cls(
            points,
            contexts,
            ptr.astype(np.int32),
            targets.astype(np.uint16),
            found["characters.logp.codes"],
            links.pair_next,
            links.node_parent,
            np.concatenate((np.zeros(1, np.uint8), found["characters.bow.codes"])),
            found["characters.logp.books"][0],
            found["characters.bow.books"][0],
            max(int(node_of[BOUNDARY]), 0),
        )

    @cached_property
    def core(self) -> Any:
        """Arrays as a C structure."""
        return bindings.CodedCharacters(
            self.pair_ptr, self.pair_word, self.pair_code, self.pair_next, self.node_parent, self.node_code, self.logp,
            self.bow,
        )  # fmt: skip

    def expanded(self) -> BackoffModel:
        """Return the same model in double precision, to adapt or to save it."""
        return BackoffModel(
            Vocabulary(self.words),
            np.concatenate(([-1], self.contexts)),
            self.pair_ptr.astype(np.int64),
            self.pair_word.astype(np.int32),
            self.logp[self.pair_code].astype(np.float64),
            np.concatenate(([0.0], self.bow[self.node_code[1:]].astype(np.float64))),
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "core"}
