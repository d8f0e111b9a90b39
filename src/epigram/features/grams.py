"""n-grams of words and characters of raw text, as rows of a sparse matrix.

Every text is one row with the values 1 or 1 + log count, divided by the l2 norm over all n-grams of the text, known or
not, so that a model needs no table of document frequencies. ``_core/grams.h`` defines words and fingerprints.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from epigram._core import bindings
from epigram.errors import InputError
from epigram.features.attributes import AttributeTable, Fingerprints, compacting
from epigram.protocols import Floats, Ints, Offsets

LONGEST = 200_000
"""Characters at the head of a text that are looked at; those that follow change no answer."""
BATCH = 1 << 20
"""Characters of texts that are passed to C together."""
FORMS = ("", "NFC", "NFKC")
Bytes = npt.NDArray[np.uint8]


class Rows(NamedTuple):
    """A sparse matrix by rows."""

    ptr: Offsets
    ids: Ints
    values: npt.NDArray[np.float32]
    n_columns: int

    def take(self, rows: Offsets) -> Rows:
        """Some rows, in the order given."""
        lengths = np.diff(self.ptr)[rows]
        ptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        at = np.repeat(self.ptr[:-1][rows] - ptr[:-1], lengths) + np.arange(ptr[-1])
        return Rows(ptr, self.ids[at], self.values[at], self.n_columns)

    def renumber(self, new_ids: Ints, n_columns: int) -> Rows:
        """Column ``i`` becomes ``new_ids[i]``, or leaves the matrix where that is negative."""
        ids = new_ids[self.ids]
        known = ids >= 0
        ptr = np.concatenate([[0], np.cumsum(known)]).astype(np.int64)[self.ptr]
        return Rows(ptr, ids[known], self.values[known], n_columns)


@dataclass(frozen=True)
class GramSpec:
    """Which n-grams of a text are looked at, and how they count.

    Parameters
    ----------
    words : word n-grams of 1 to so many words (at most 3), the borders of the text among them; 0 for none.
    chars : shortest and longest character n-grams (at most 6), or None.
    across : character n-grams run across words; otherwise inside of one word and the blanks around it.
    lowercase : whether capitals are made small.
    normalise : ``NFC``, ``NFKC`` or empty: Unicode normalisation.
    log_counts : values are 1 + log count; otherwise 1.
    apart : n-grams of words and of characters are normed by themselves, so that both have the same weight.

    Examples
    --------
    >>> list_grams("A rose!", GramSpec(words=2))  # the first 'a' is border and word, the last '!' word and border
    ['a', 'a', 'a rose', 'rose', 'rose!', '!', '!']
    """

    words: int = 2
    chars: tuple[int, int] | None = None
    across: bool = True
    lowercase: bool = True
    normalise: str = "NFC"
    log_counts: bool = False
    apart: bool = False

    def __post_init__(self) -> None:
        least, most = self.chars or (1, 1)
        if not (0 <= self.words <= 3 and 1 <= least <= most <= 6 and (self.words or self.chars)):
            raise InputError(
                f"n-grams are of 1 to 3 words and of 1 to 6 characters, not {self.words!r} and {self.chars!r}"
            )
        if self.normalise not in FORMS:
            raise InputError(f"normalise must be one of {FORMS}, not {self.normalise!r}")

    @property
    def orders(self) -> int:
        """The number of n-gram lengths: the most n-grams that a character begins."""
        return self.words + (self.chars[1] - self.chars[0] + 1 if self.chars else 0)

    def prepare(self, text: str) -> str:
        """A text in the normal form and case of the model."""
        if self.normalise and not text.isascii():
            text = unicodedata.normalize(self.normalise, text)  # type: ignore[arg-type]
        return text.lower() if self.lowercase else text

    def encode(self, texts: Sequence[str]) -> tuple[Bytes, Offsets]:
        """Prepared texts as UTF-8, end to end with a blank after each, and where each begins."""
        cut = [text if len(text) <= LONGEST else text[:LONGEST] for text in texts]
        joined = "\0".join(cut)
        if joined.count("\0") != len(cut) - 1:
            joined = "\0".join(text.replace("\0", " ") for text in cut)
        content = np.frombuffer(self.prepare(joined + "\0").encode("utf-8", "replace"), dtype=np.uint8)
        ends = np.flatnonzero(content == 0) + 1
        return content, np.concatenate([[0], ends]).astype(np.int64)

    def scratch(self, text_ptr: Offsets) -> Any:
        """Working memory for texts of these sizes."""
        n_points = int(np.diff(text_ptr).max(initial=0)) + 2
        n_keys = n_points * self.orders
        n_slots = max(64, 1 << (2 * n_keys - 1).bit_length())
        least, most = self.chars or (0, 0)
        return bindings.Grams(
            self.words, least, most, int(self.across), int(self.log_counts), int(self.apart),
            np.empty(n_points, np.uint32), np.empty(n_points + 1, np.int64), np.empty(3 * n_points, np.uint64),
            np.empty(n_keys, np.uint64), np.empty(n_keys, np.int32), np.empty(n_slots, np.uint64),
            np.empty(n_slots, np.int32),
        )  # fmt: skip


def batches(texts: Sequence[str], most: int = BATCH) -> Iterator[Sequence[str]]:
    """Consecutive texts of about so many characters together."""
    begin, size = 0, 0
    for k, text in enumerate(texts):
        size += len(text) + 1
        if size >= most:
            yield texts[begin : k + 1]
            begin, size = k + 1, 0
    if begin < len(texts):
        yield texts[begin:]


def list_grams(text: str, spec: GramSpec) -> list[str]:
    """The n-grams of a text as strings, one for every occurrence."""
    _, begins, ends, _, content = locate_grams(text, spec)
    return [bytes(content[a:b]).decode() for a, b in zip(begins.tolist(), ends.tolist(), strict=True)]


def locate_grams(text: str, spec: GramSpec) -> tuple[Fingerprints, Offsets, Offsets, Floats, Bytes]:
    """Fingerprint, begin, end and share of value of every n-gram; the bytes of the text."""
    content, ptr = spec.encode([text])
    content = content[:-1]
    room = (len(content) + 2) * spec.orders
    keys, shares = np.empty(room, np.uint64), np.empty(room)
    begins, ends = np.empty(room, np.int64), np.empty(room, np.int64)
    n = bindings.grams_locate(spec.scratch(ptr), content, keys, begins, ends, shares)
    return keys[:n], begins[:n], ends[:n], shares[:n], content


def learn_grams(
    texts: Sequence[str], spec: GramSpec, min_count: int = 2, most: int = 1 << 21
) -> tuple[AttributeTable, Rows]:
    """N-grams of at least ``min_count`` texts, the most frequent first, and the texts as rows."""
    table = AttributeTable()
    n_bits = min(1 << 23, max(1024, sum(map(len, texts)) * spec.orders // 16))
    bits = np.zeros(n_bits, dtype=np.uint64)
    for batch in batches(texts):
        content, ptr = spec.encode(batch)
        keys, out_ptr = np.empty((len(content) + 2 * len(ptr)) * spec.orders, np.uint64), np.zeros_like(ptr)
        bindings.grams_list(spec.scratch(ptr), content, ptr, keys, out_ptr)
        keys = keys[: out_ptr[-1]]
        n = bindings.grams_met_before(keys, bits) if min_count > 1 else len(keys)
        table.intern_more(keys[:n])
    rows = encode_grams(texts, spec, table)
    counts = np.bincount(rows.ids, minlength=len(table))
    order = np.argsort(-counts, kind="stable")
    kept = order[counts[order] >= min_count][:most]
    new_ids = compacting(kept, len(table))
    table.renumber(new_ids)
    return table, rows.renumber(new_ids, len(kept))


def encode_grams(texts: Sequence[str], spec: GramSpec, table: AttributeTable) -> Rows:
    """Texts as rows of the n-grams of a table."""
    found: list[tuple[Offsets, Ints, npt.NDArray[np.float32]]] = []
    for batch in batches(texts):
        content, ptr = spec.encode(batch)
        room = (len(content) + 2 * len(ptr)) * spec.orders
        ids, values, out_ptr = np.empty(room, np.int32), np.empty(room, np.float32), np.zeros_like(ptr)
        bindings.grams_encode(spec.scratch(ptr), content, ptr, table.slots.ravel(), ids, values, out_ptr)
        found.append((np.diff(out_ptr), ids[: out_ptr[-1]].copy(), values[: out_ptr[-1]].copy()))
    lengths = [part[0] for part in found] or [np.empty(0, np.int64)]
    ptr = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64)
    ids = np.concatenate([np.empty(0, np.int32), *(part[1] for part in found)])
    values = np.concatenate([np.empty(0, np.float32), *(part[2] for part in found)])
    return Rows(ptr, ids, values, len(table))
