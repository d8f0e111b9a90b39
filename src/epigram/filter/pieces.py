"""Reads sentencepiece models: a small reader of their protocol buffers, unigram and BPE.

Fields that are read: of the model, pieces (1), training (2) and normalisation (3); of a piece, text, score and kind; of
the training, the kind of model (3) and whether unknown characters become bytes (35) and blanks stand behind words (24);
of the normalisation, the compiled rules (2) and its three switches (3, 4, 5).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from epigram._core import bindings
from epigram._core.arrays import offsets
from epigram.errors import InputError, ModelFileError, reason
from epigram.filter.normalise import Folds
from epigram.lm.vocabulary import Vocabulary

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
UNIGRAM, BPE = 1, 2
BLANK = "▁".encode()
UNKNOWN_COST = 10.0
"""Score of an unknown character below the lowest of a piece."""


@dataclass(frozen=True)
class PieceModel:
    """Pieces with scores and kinds, and the normalisation of a sentencepiece model."""

    texts: list[bytes]
    scores: Any
    kinds: Any
    is_bpe: bool
    has_bytes: bool
    blank_is_last: bool
    adds_blank: bool
    trims: bool
    escapes: bool
    map: Any
    forms: Any

    @classmethod
    def read(cls, path: str | PathLike[str]) -> PieceModel:
        """The model of a file."""
        try:
            return cls.from_bytes(Path(path).read_bytes())
        except OSError as error:
            raise InputError(f"cannot read: {reason(error)}", path=path) from error
        except ModelFileError as error:
            raise ModelFileError(str(error), path=path) from None

    @classmethod
    def from_bytes(cls, content: bytes) -> PieceModel:
        """The model of the content of a file.

        Examples
        --------
        >>> PieceModel.from_bytes(b"no model")
        Traceback (most recent call last):
            ...
        epigram.errors.ModelFileError: not a sentencepiece model: truncated or of another format
        """
        pieces: list[tuple[bytes, float, int]] = []
        training: dict[int, Any] = {}
        rules: dict[int, Any] = {}
        for number, value in _fields(content):
            if number == 1:
                one = dict(_fields(_bytes(value)))
                pieces.append((_bytes(one.get(1, b"")), _float(one.get(2, 0)), _int(one.get(3, NORMAL))))
            elif number == 2:
                training = dict(_fields(_bytes(value)))
            elif number == 3:
                rules = dict(_fields(_bytes(value)))
        texts, scores, kinds = ([*column] for column in zip(*(pieces or [(b"", 0.0, 1)]), strict=True))
        kind = _int(training.get(3, UNIGRAM))
        if not pieces or len(set(texts)) != len(texts) or b"" in texts:
            raise ModelFileError("not a sentencepiece model: no pieces, or one twice")
        if kind not in (UNIGRAM, BPE):
            raise ModelFileError("a sentencepiece model of words or characters; give one of unigrams or BPE")
        if not np.isfinite(scores).all() or not all(NORMAL <= k <= BYTE for k in kinds):
            raise ModelFileError("corrupt sentencepiece model: a score or kind of a piece")
        if kind == BPE and UNUSED in kinds:
            raise ModelFileError("a BPE model with unused pieces (a restricted vocabulary) cannot be read")
        map_, forms = _rules(_bytes(rules.get(2, b"")))
        return cls(
            texts, np.array(scores, np.float32), np.array(kinds, np.uint8), kind == BPE,
            bool(training.get(35)), bool(training.get(24)), bool(rules.get(3, 1)), bool(rules.get(4, 1)),
            bool(rules.get(5, 1)), map_, forms,
        )  # fmt: skip

    def plain(self) -> Any:
        """Whether ASCII characters before others stay as they are: no rule begins with them."""
        plain = np.full(128, not (self.kinds == USER_DEFINED).any(), np.uint8)
        if not self.map.size:
            return plain
        ascii_ = np.arange(128, dtype=np.int64)

        def child(nodes: Any, labels: Any) -> Any:
            """Places of the children of nodes, and whether they are there."""
            places = nodes ^ labels
            units = self.map[np.minimum(places, self.map.size - 1)].astype(np.int64)
            found = (places < self.map.size) & ((units & 0x800000FF) == labels)
            return places ^ ((units >> 10) << ((units & 512) >> 6)), units, found

        root = int(self.map[0])
        nodes, units, found = child((root >> 10) << ((root & 512) >> 6), ascii_)
        _, _, longer = child(nodes[:, None], ascii_[None, :])
        plain[found & ((units >> 8 & 1 > 0) | longer.any(axis=1))] = 0
        return plain

    def core(self, vocabulary: Vocabulary, folds: Folds) -> Any:
        """The tables as C takes them, with the word ids of a language model."""
        chosen = np.flatnonzero(np.isin(self.kinds, (NORMAL, USER_DEFINED, UNUSED)))
        order = sorted(chosen.tolist(), key=self.texts.__getitem__)
        spelled = [self.texts[k] for k in order]
        ptr, n_units = offsets([len(text) for text in spelled]), 1024
        raw = np.frombuffer(b"".join(spelled), np.uint8)
        while True:
            units = np.zeros(4 * n_units, np.int32)
            if bindings.pieces_index(raw, ptr, np.array(order, np.int32), units):
                break
            n_units *= 2
        names = [text.decode("utf-8", "replace") for text in self.texts]
        words = vocabulary.ids(names)
        ids = dict(zip(names, words.tolist(), strict=True))
        normal = self.scores[self.kinds == NORMAL]
        return bindings.Pieces(
            *folds, self.map, self.forms, self.plain(), units, self.scores, self.kinds, np.maximum(words, -1),
            np.array([ids.get(f"<0x{byte:02X}>", -1) for byte in range(256)], np.int32),
            float(normal.max(initial=0.0)), float(np.float32(normal.min(initial=0.0)) - np.float32(UNKNOWN_COST)),
            self.is_bpe, self.has_bytes, bool((self.kinds == USER_DEFINED).any()), self.trims, self.adds_blank,
            self.blank_is_last, self.escapes, not any(BLANK in text[1:] for text in spelled),
        )  # fmt: skip


def _fields(content: bytes) -> Iterator[tuple[int, Any]]:
    """Numbers and values of the fields of a message: integers, four or eight bytes, or bytes."""
    at, end = 0, len(content)
    wrong = ModelFileError("not a sentencepiece model: truncated or of another format")

    def varint() -> int:
        nonlocal at
        value = 0
        for shift in range(0, 70, 7):
            if at >= end:
                raise wrong
            byte = content[at]
            at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise wrong

    while at < end:
        key = varint()
        kind, number = key & 7, key >> 3
        if kind == 0:
            yield number, varint()
            continue
        size = varint() if kind == 2 else {1: 8, 5: 4}.get(kind, end + 1)
        if number == 0 or size > end - at:
            raise wrong
        yield number, content[at : at + size]
        at += size


def _bytes(value: Any) -> bytes:
    if not isinstance(value, bytes):
        raise ModelFileError("corrupt sentencepiece model: a number where text is expected")
    return value


def _float(value: Any) -> float:
    if value == 0:
        return 0.0
    if not isinstance(value, bytes) or len(value) != 4:
        raise ModelFileError("corrupt sentencepiece model: a score is no number")
    return float(struct.unpack("<f", value)[0])


def _int(value: Any) -> int:
    if not isinstance(value, int):
        raise ModelFileError("corrupt sentencepiece model: text where a number is expected")
    return value


def _rules(compiled: bytes) -> tuple[Any, Any]:
    """Double array and forms of compiled rules: a length, the units, then texts that zeros end."""
    if not compiled:
        return np.empty(0, np.uint32), np.zeros(1, np.uint8)
    size = int.from_bytes(compiled[:4], "little")
    if size % 4 or size > len(compiled) - 4 or len(compiled) < 4:
        raise ModelFileError("corrupt sentencepiece model: its normalisation is truncated")
    return np.frombuffer(compiled, "<u4", size // 4, 4).copy(), np.frombuffer(
        compiled[4 + size :] + b"\0", np.uint8
    ).copy()
