"""Words and texts as arrays of a model file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from epigram.lm.corpus import BOUNDARY, Corpus, Vocabulary
from epigram.lm.pieces import Pieces
from epigram.storage.arrays import PACKED, Array, Schema, damaged, pack_integers, strings
from epigram.storage.file import pack_strings, unpack_strings

_WORDS = strings("words", "words") | {"words.pieces": Array(np.uint8, ("words.pieces",), optional=True)}
_TEXT = {"text": Array(PACKED, ("text",), below="ids", optional=True)}
"""The arrays of :func:`pack_words` and :func:`pack_text`; ``ids`` is one more than there are words."""


def pack_words(vocabulary: Vocabulary) -> dict[str, Any]:
    """The words of a vocabulary in the order of their ids, and how text is cut where that is not at blanks."""
    content, lengths = pack_strings(vocabulary.words)
    packed = {"words.bytes": content, "words.lengths": lengths}
    if vocabulary.pieces is not None:
        packed["words.pieces"] = np.frombuffer(vocabulary.pieces.to_bytes(), dtype=np.uint8)
    return packed


def unpack_words(tensors: Mapping[str, Any]) -> Vocabulary:
    """What :func:`pack_words` made."""
    content = Schema({}, _WORDS).read_arrays(tensors)
    words = unpack_strings(content["words.bytes"], content["words.lengths"])
    pieces = None
    if "words.pieces" in content:
        pieces = Pieces.from_bytes(content["words.pieces"].tobytes())
    vocabulary = Vocabulary(words, pieces)
    if vocabulary.words != words:
        damaged("its vocabulary does not begin with </s>, or has a word twice")
    return vocabulary


def pack_text(corpus: Corpus) -> dict[str, Any]:
    """The ids of a text, boundaries included; one more than the id, as -1 is a word outside the vocabulary."""
    return {"text": pack_integers(corpus.stream() + 1)}


def unpack_text(tensors: Mapping[str, Any], vocabulary: Vocabulary) -> Corpus | None:
    """What :func:`pack_text` made; None in a file without text."""
    content = Schema({}, _TEXT).read_arrays(tensors, ids=len(vocabulary) + 1)
    if "text" not in content:
        return None
    stream = (content["text"] - 1).astype(np.int32)
    if stream.size == 0 or stream[0] != BOUNDARY or stream[-1] != BOUNDARY:
        damaged("its text does not begin and end with the boundary of a sentence")
    return Corpus.of_stream(stream, vocabulary)
