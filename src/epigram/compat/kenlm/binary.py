"""Reads KenLM binary files (version 5): header, vocabulary, and n-grams as a back-off model.

A header of test values, settings and counts is followed by the hashes of the words, by the n-grams, as hash tables
(:mod:`epigram.compat.kenlm.probing`) or as a trie (:mod:`epigram.compat.kenlm.trie`), and by the words themselves,
unless the file was built without vocabulary. Numbers are little-endian, weights log10 in float32.
"""

from __future__ import annotations

import struct
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from epigram.errors import ModelFileError
from epigram.lm.ngram.arpa import LOG10, with_every_word
from epigram.lm.ngram.backoff import BackoffModel
from epigram.lm.vocabulary import END, START, UNKNOWN, Vocabulary
from epigram.protocols import Floats, Ints
from epigram.storage import ModelFile
from epigram.storage.file import blaming

MAGIC = b"mmap lm http://kheafield.com/code format version 5\n"
_TESTS = MAGIC.ljust(56, b"\0") + struct.pack("<3f3IQ", 0.0, 1.0, -0.5, 1, 2**32 - 1, 0, 1)
_SETTINGS = struct.Struct("<B3xfIB3xI")
PROBING, REST_PROBING, TRIE, QUANTISED, ARRAY, QUANTISED_ARRAY = range(6)
MISSING_UNKNOWN = -100.0
"""log10 probability that KenLM gives ``<unk>`` where the ARPA file had none."""


class Head(NamedTuple):
    """Fields of the header; ``start`` is the offset of its end."""

    order: int
    multiplier: float
    kind: int
    has_words: bool
    counts: list[int]
    start: int


class NGramLevel(NamedTuple):
    """The n-grams of one order: KenLM's word ids, oldest first, and log10 weights as stored."""

    grams: Ints
    logp: Floats
    bow: Floats


def read_model(content: bytes, path: str | PathLike[str] | None = None) -> ModelFile:
    """Convert the content of a KenLM binary to a model file."""
    with blaming(path):
        return read_binary(content).to_model_file()


def read_binary(content: bytes) -> BackoffModel:
    """Read the back-off model of a KenLM binary."""
    head = read_head(content)
    if not head.has_words:
        raise ModelFileError(
            "a KenLM binary without its vocabulary (built with -v); use the ARPA file it was built from"
        )
    if head.kind in (PROBING, REST_PROBING):
        from epigram.compat.kenlm.probing import read_levels
    else:
        from epigram.compat.kenlm.trie import read_levels
    with np.errstate(invalid="ignore"):  # weights that are no numbers are refused below
        levels, end = read_levels(content, head)
    return _model(_words(content, end, len(levels[0].grams)), levels)


def read_head(content: bytes) -> Head:
    """Read and check the header."""
    if content[: len(MAGIC)] != MAGIC:
        raise ModelFileError(
            "a KenLM binary of another version, or unfinished; use the ARPA file it was built from"
        )
    if len(content) < len(_TESTS) + _SETTINGS.size:
        raise ModelFileError(f"truncated KenLM binary: {len(content):,} bytes")
    if content[: len(_TESTS)] != _TESTS:
        raise ModelFileError(
            "a KenLM binary of another kind of machine: its test values differ; use the ARPA file it was built from"
        )
    order, multiplier, kind, has_words, version = _SETTINGS.unpack_from(content, len(_TESTS))
    if kind > QUANTISED_ARRAY or version != (kind >= TRIE):
        raise ModelFileError(
            f"a KenLM binary of unknown kind {kind}, version {version}; use the ARPA file it was built from"
        )
    if order < 2 or not 1.0 <= multiplier < 1e6:
        raise ModelFileError(f"corrupt KenLM binary: order {order}, space multiplier {multiplier:g}")
    at = len(_TESTS) + _SETTINGS.size
    counts = numbers(content, "<u8", order, at).tolist()
    if max(counts) > len(content) * 8:
        raise ModelFileError(f"truncated KenLM binary: {max(counts):,} n-grams in {len(content):,} bytes")
    return Head(order, multiplier, kind, bool(has_words), counts, -(-(at + 8 * order) // 8) * 8)


def numbers(content: bytes, kind: npt.DTypeLike, n: int, at: int) -> npt.NDArray[Any]:
    """Return ``n`` numbers at an offset of the file."""
    end = at + n * np.dtype(kind).itemsize
    if end > len(content):
        raise ModelFileError(
            f"truncated KenLM binary: found {len(content):,} bytes, expected more than {end:,}"
        )
    return np.frombuffer(content, kind, n, at)


def _words(content: bytes, at: int, n: int) -> list[str]:
    """Return the words at the end of the file, separated by zeros; the first is ``<unk>``."""
    names = content[at:].split(b"\0")
    if names.pop() or len(names) != n or names[0] != UNKNOWN.encode():
        raise ModelFileError(f"corrupt KenLM binary: expected {n:,} words at its end")
    words = [name.decode() for name in names]
    if len(set(words)) != n:
        raise ModelFileError("corrupt KenLM binary: it has one word twice")
    return words


def _model(words: list[str], levels: list[NGramLevel]) -> BackoffModel:
    """Build a back-off model without n-grams across sentence boundaries."""
    kept = words
    if levels[0].logp[0] == MISSING_UNKNOWN and not any((level.grams == 0).any() for level in levels[1:]):
        kept = words[1:]
    vocabulary = Vocabulary(kept)
    starts, ends = (np.array([word == mark for word in words]) for mark in (START, END))
    grams, logps, contexts, bows = [], [], [], []
    for n, (rows, logp, bow) in enumerate(levels, start=1):
        if np.isnan(logp).any() or not np.isfinite(bow).all():
            raise ModelFileError("corrupt KenLM binary: a weight that is not a number")
        ids = vocabulary.ids(words)[rows].astype(np.int32)
        inside = ~starts[rows[:, 1:]].any(axis=1) & ~ends[rows[:, :-1]].any(axis=1) & (ids >= 0).all(axis=1)
        is_gram = inside & ~starts[rows[:, -1]]
        is_context = inside & ~ends[rows[:, -1]] & (bow != 0.0)
        grams.append(ids[is_gram])
        logps.append(np.minimum(logp[is_gram], 0.0) * LOG10)
        if n < len(levels):
            contexts.append(ids[is_context])
            bows.append(bow[is_context] * LOG10)
    return BackoffModel.from_ngrams(
        vocabulary, *with_every_word(grams, logps, len(vocabulary)), contexts, bows
    )
