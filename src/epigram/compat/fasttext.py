"""Reads and runs fastText's supervised models (``.bin``, ``.ftz``).

Rows of words, word n-grams and subwords are averaged; the output layer gives softmax, one-against-rest or hierarchical
softmax probabilities. fastText adds 1e-5 inside every logarithm (``std_log``), and so do we: same probabilities.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram.errors import ModelFileError
from epigram.files import read_bytes

MAGIC, VERSIONS = 793712314, (11, 12)
HIERARCHICAL, NEGATIVE, SOFTMAX, ONE_VS_ALL = 1, 2, 3, 4
SUPERVISED = 3
END = "</s>"
TINY = 1e-5
CENTROIDS = 256
ROOT = 1e15
"""The count of nodes of the Huffman tree that are not made yet."""
MOST = 1e6
"""The largest weight: products of two and sums over a row stay finite in 32 bits."""
SIGMOIDS = 1.0 / (1.0 + np.exp(-(np.arange(513) * 16.0 / 512.0 - 8.0)))
"""fastText's table of sigmoids between -8 and 8."""
_BLANKS = re.compile(rb"[ \n\r\t\v\f\0]+")
Matrix = npt.NDArray[np.float32]


class FastTextModel:
    """A supervised model of fastText.

    Attributes
    ----------
    labels : names with their ``__label__``, in the order of the file.
    words : the vocabulary and the rows of its words.
    """

    def __init__(self, content: bytes, path: str | PathLike[str] | None = None) -> None:
        reader = _Reader(content, path)
        magic, version = reader.numbers("<i4", 2).tolist()
        if magic != MAGIC or version not in VERSIONS:
            raise ModelFileError("not a model of fastText, version 11 or 12", path=path)
        args = reader.numbers("<i4", 12).tolist()
        reader.numbers("<f8", 1)
        self.dim, self.n_grams, self.loss, kind, self.bucket, self.least, self.most = (
            args[k] for k in (0, 5, 6, 7, 8, 9, 10)
        )
        if kind != SUPERVISED:
            raise ModelFileError("holds word vectors, not a classifier (fasttext supervised)", path=path)
        if self.loss not in (HIERARCHICAL, NEGATIVE, SOFTMAX, ONE_VS_ALL) or self.bucket < 0:
            reader.fail()
        if self.bucket == 0:  # no n-grams at all
            self.n_grams = self.most = 0
        if version == 11:
            self.most = 0
        size, n_words, n_labels = reader.numbers("<i4", 3).tolist()
        _, n_pruned = reader.numbers("<i8", 2).tolist()
        if n_words + n_labels != size or n_labels < 1 or min(size, n_words) < 0:
            reader.fail()
        entries = [reader.entry() for _ in range(size)]
        self.words = {word: k for k, (word, _, is_label) in enumerate(entries) if not is_label}
        self.labels = [word.decode("utf-8", "replace") for word, _, is_label in entries if is_label]
        self._counts = [count for _, count, is_label in entries if is_label]
        if len(self.labels) != n_labels:
            reader.fail()
        if max(self._counts) >= ROOT or min(self._counts) < 0:
            reader.fail()
        self.n_words, self._n_pruned = n_words, n_pruned
        pairs = reader.numbers("<i4", 2 * max(0, n_pruned)).reshape(-1, 2).tolist()
        self._pruned: dict[int, int] = dict(pairs)
        quantised = bool(reader.numbers("u1", 1)[0])
        self.input = reader.quantised() if quantised else reader.dense()
        quantised &= bool(reader.numbers("u1", 1)[0])
        self.output = reader.quantised() if quantised else reader.dense()
        if self.input.shape[1:] != (self.dim,) or self.output.shape != (n_labels, self.dim):
            reader.fail()
        self._tree = _huffman(self._counts) if self.loss == HIERARCHICAL else []

    def predict(self, text: str | Sequence[str], k: int = 1, threshold: float = 0.0) -> tuple[Any, Any]:
        """Labels and probabilities of one text, most probable first, or lists of them."""
        if not isinstance(text, str):
            found = [self.predict(one, k, threshold) for one in text]
            return [labels for labels, _ in found], [p for _, p in found]
        if "\n" in text:
            raise ValueError("predict processes one line at a time (remove '\\n')")
        p = self.probabilities(text)
        order = np.argsort(-p, kind="stable")[: len(p) if k < 0 else k]
        order = order[p[order] - TINY >= threshold - (0.0 if self._tree else 1e-9)]
        return tuple(self.labels[j] for j in order.tolist()), p[order]

    def probabilities(self, text: str) -> npt.NDArray[np.float64]:
        """Probability of every label, in the order of ``labels``; zeros without a known word."""
        ids = list(self.rows(text.encode("utf-8", "surrogateescape") + b"\n"))
        if not ids:
            return np.zeros(len(self.labels))
        if max(ids) >= len(self.input):
            raise ModelFileError("corrupt fastText model: a row beyond its matrix")
        hidden = self.input[ids].sum(axis=0, dtype=np.float32) * np.float32(1.0 / len(ids))
        scores = (self.output @ hidden).astype(np.float64)
        if self.loss == HIERARCHICAL:
            return np.exp(self._descend(1.0 / (1.0 + np.exp(-scores))))
        if self.loss in (NEGATIVE, ONE_VS_ALL):
            at = np.clip((scores + 8.0) * 32.0, 0, 512).astype(np.int64)
            return np.where(scores < -8.0, 0.0, np.where(scores > 8.0, 1.0, SIGMOIDS[at])) + TINY
        e = np.exp(scores - scores.max())
        return np.asarray(e / e.sum() + TINY)

    def _descend(self, right: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """log p of the leaves of the Huffman tree; ``right`` has p of each right child."""
        n = len(self.labels)
        log_p = np.zeros(2 * n - 1)
        for node in range(2 * n - 2, n - 1, -1):
            for child, p in zip(self._tree[node - n], (1.0 - right[node - n], right[node - n]), strict=True):
                log_p[child] = log_p[node] + math.log(p + TINY)
        return log_p[:n]

    def rows(self, line: bytes) -> Iterator[int]:
        """Rows of the input matrix for a line: words and their subwords, then word n-grams."""
        hashes: list[int] = []
        words = [word for word in _BLANKS.split(line) if word]
        for word in [*words, END.encode()]:
            id_ = self.words.get(word)
            if word.startswith(b"__label__") and id_ is None:
                continue
            hashes.append(_hash(word))
            if id_ is not None:
                yield id_
            if self.most > 0 and word != END.encode():
                yield from self._subwords(b"<" + word + b">")
            if word == END.encode():
                break
        for i, first in enumerate(hashes):
            h = _signed(first)
            for other in hashes[i + 1 : i + self.n_grams]:
                h = (h * 116049371 + _signed(other)) & 0xFFFFFFFFFFFFFFFF
                yield from self._bucket(h % self.bucket)

    def _subwords(self, word: bytes) -> Iterator[int]:
        begins = [k for k, byte in enumerate(word) if byte & 0xC0 != 0x80] + [len(word)]
        n = len(begins) - 1
        for i in range(n):
            for length in range(max(1, self.least), min(self.most, n - i) + 1):
                if length == 1 and (i == 0 or i == n - 1):
                    continue
                yield from self._bucket(_hash(word[begins[i] : begins[i + length]]) % self.bucket)

    def _bucket(self, id_: int) -> Iterator[int]:
        if self._n_pruned > 0:
            id_ = self._pruned.get(id_, -1)
        if self._n_pruned != 0 and id_ >= 0:
            yield self.n_words + id_


def load_model(path: str | PathLike[str]) -> FastTextModel:
    """Read a ``.bin`` or ``.ftz`` file of ``fasttext supervised``."""
    return FastTextModel(read_bytes(path), path)


class _Reader:
    """Numbers of a file, one after the other; an end that comes too early is an error."""

    def __init__(self, content: bytes, path: str | PathLike[str] | None) -> None:
        self.content, self.path, self.at = content, path, 0

    def fail(self) -> None:
        raise ModelFileError("corrupt fastText model: its sizes do not fit together", path=self.path)

    def numbers(self, dtype: str, n: int) -> npt.NDArray[Any]:
        size = np.dtype(dtype).itemsize * n
        if n < 0 or self.at + size > len(self.content):
            raise ModelFileError("corrupt fastText model: ends too early", path=self.path)
        self.at += size
        return np.frombuffer(self.content, dtype, n, self.at - size)

    def entry(self) -> tuple[bytes, int, bool]:
        """A word or label, its count, and whether it is a label."""
        end = self.content.find(b"\0", self.at)
        if end < 0:
            self.fail()
        word, self.at = self.content[self.at : end], end + 1
        return word, int(self.numbers("<i8", 1)[0]), bool(self.numbers("i1", 1)[0])

    def dense(self) -> Matrix:
        m, n = self.numbers("<i8", 2).tolist()
        if not 0 <= min(m, n) <= max(m, n) <= len(self.content):
            self.fail()
        return self.weights(m * n).reshape(m, n)

    def weights(self, n: int) -> Matrix:
        """Numbers of a matrix: finite, and so small that no sum of them overflows."""
        found = self.numbers("<f4", n)
        if not (np.abs(found) <= MOST).all():
            raise ModelFileError(f"corrupt fastText model: a weight is not within {MOST:g}", path=self.path)
        return found

    def quantised(self) -> Matrix:
        """A matrix of product-quantised rows, unpacked."""
        with_norms = bool(self.numbers("u1", 1)[0])
        m, n = self.numbers("<i8", 2).tolist()
        codes = self.numbers("u1", int(self.numbers("<i4", 1)[0]))
        rows = self._decode(codes, m, n)
        if with_norms:
            codes = self.numbers("u1", m)
            rows = rows * self._decode(codes, m, 1)
        return rows

    def _decode(self, codes: npt.NDArray[np.uint8], m: int, n: int) -> Matrix:
        dim, parts, width, last = self.numbers("<i4", 4).tolist()
        centroids = self.weights(dim * CENTROIDS)
        if dim != n or len(codes) != m * parts or width * (parts - 1) + last != n or min(width, last) < 1:
            self.fail()
        codes = codes.reshape(m, parts)
        found = []
        for part in range(parts):
            size = last if part == parts - 1 else width
            begin = part * CENTROIDS * width
            found.append(centroids[begin : begin + CENTROIDS * size].reshape(CENTROIDS, size)[codes[:, part]])
        return np.concatenate(found, axis=1)


def _hash(word: bytes) -> int:
    """FNV-1a of signed bytes, as fastText computes it."""
    h = 2166136261
    for byte in word:
        h = ((h ^ (byte if byte < 128 else byte | 0xFFFFFF00)) * 16777619) & 0xFFFFFFFF
    return h


def _signed(h: int) -> int:
    """A 32-bit number as signed, in 64 bits."""
    return h if h < 1 << 31 else (h - (1 << 32)) & 0xFFFFFFFFFFFFFFFF


def _huffman(counts: Sequence[int]) -> list[tuple[int, int]]:
    """Left and right child of each inner node, the root last; nodes 0 to n - 1 are leaves."""
    n = len(counts)
    sizes = [float(count) for count in counts] + [ROOT] * (n - 1)
    children, leaf, node = [], n - 1, n
    for i in range(n, 2 * n - 1):
        pair = []
        for _ in range(2):
            if leaf >= 0 and (sizes[leaf] < sizes[node]):
                pair.append(leaf)
                leaf -= 1
            else:
                pair.append(node)
                node += 1
        children.append((pair[0], pair[1]))
        sizes[i] = sizes[pair[0]] + sizes[pair[1]]
    return children
