"""TextStream: texts to the word ids of a language model, one pass of C without the GIL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from epigram._core import bindings
from epigram._core.arrays import offsets
from epigram.errors import EpigramError
from epigram.filter import normalise
from epigram.filter.pieces import PieceModel
from epigram.lm.vocabulary import START, UNKNOWN, Vocabulary
from epigram.protocols import Ints, Offsets

BLANKS = dict.fromkeys([32, *range(9, 14)], 0)


class TextStream:
    """Cuts texts into words or pieces and looks them up.

    Parameters
    ----------
    vocabulary : that of the language model.
    pieces : a sentencepiece model; words stand between blanks without one.
    ccnet : normalise as CCNet does, which makes a line of each text.

    Examples
    --------
    >>> stream, ptr, unknown = TextStream(Vocabulary(["a", "b"]))(["a b\\nb", "", "c a"])
    >>> stream.tolist(), ptr.tolist(), unknown.tolist()
    ([1, 2, 0, 2, 0, -1, 1, 0], [0, 5, 5, 8], [0, 0, 1])
    """

    def __init__(self, vocabulary: Vocabulary, pieces: PieceModel | None = None, ccnet: bool = False) -> None:
        self.vocabulary, self.pieces, self.ccnet = vocabulary, pieces, ccnet
        n_slots = 1 << (2 * len(vocabulary)).bit_length()
        keys, ids = np.zeros(n_slots, np.uint64), np.full(n_slots, -1, np.int32)
        self._asked = bindings.Asked(np.zeros(1, np.int32), keys, ids, 0, vocabulary.id(UNKNOWN), 0.0)
        # A text cannot contain a word with blanks or an empty word; its place is kept.
        words = "\n".join(word.translate(BLANKS) or "\0" for word in (*vocabulary, START)).encode()
        bindings.kenlm_index_words(self._asked, words)
        folds = normalise.table() if ccnet else normalise.NOTHING
        self._core = pieces.core(vocabulary, folds) if pieces is not None else _words(folds)

    def __call__(self, texts: Sequence[str]) -> tuple[Ints, Offsets, Offsets]:
        """Ids with 0 after each line, offsets of the texts, unknown words of each."""
        if self.ccnet:
            texts = [normalise.prepare(text) for text in texts]
        encoded = [text.encode("utf-8", "replace") for text in texts]
        raw = b"".join(encoded)
        if self.pieces is None and b"\0" in raw:
            raw = raw.replace(b"\0", b" ")
        ptr, content = offsets([len(text) for text in encoded]), np.frombuffer(raw, np.uint8)
        room = len(raw) + 2 * len(texts) + 64
        while True:
            stream, stream_ptr = np.empty(room, np.int32), np.zeros(len(texts) + 1, np.int64)
            unknown = np.zeros(len(texts), np.int64)
            n = bindings.pieces_stream(self._core, self._asked, content, ptr, stream, stream_ptr, unknown)
            if n < 0:
                raise EpigramError("not enough memory for the pieces of a text")
            if n == len(texts):
                return stream[: stream_ptr[-1]], stream_ptr, unknown
            room *= 4


def _words(folds: normalise.Folds) -> Any:
    """Tables of words between blanks."""
    none, flags = np.zeros(0, np.int32), [False] * 8
    return bindings.Pieces(
        *folds, np.zeros(0, np.uint32), np.zeros(0, np.uint8), np.zeros(128, np.uint8), none, np.zeros(0, np.float32),
        np.zeros(0, np.uint8), none, np.zeros(256, np.int32), 0.0, 0.0, *flags,
    )  # fmt: skip
