"""Word lists for templates: word classes, gazetteers and discretised word vectors.

Each is a file that is read once, and becomes a table from a string to the values that a template sees:

- ``class:FILE``, lines of ``class<TAB>word<TAB>count`` as ``epigram lm classes`` writes them, or Brown clusters
  (``paths``). Where a class has several names with a space between, as for classes of several sizes, each is one
  value, ``1:12`` and ``2:85``; ``class:FILE#2`` is the second alone.
- ``in:FILE``, lines of ``type<TAB>phrase`` or ``phrase``. The longest phrases of a sentence are looked for from left to
  right; the only token of one is ``S-type``, the tokens of a longer one are ``B-type``, ``I-type`` and ``E-type``.
- ``vector:FILE``, lines of a word and its numbers, separated by spaces (the text format of word2vec, GloVe and
  fastText). A number above the mean of the positive ones of its dimension is the value ``3+``, one below the mean of
  the negative ones ``3-``, any other none (Guo, Che, Wang and Liu 2014, section 3.2).

A word that the file has not is looked for with ``#`` for its digits, then in lower case, then in both.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from os import PathLike
from pathlib import Path

import numpy as np
import numpy.typing as npt

from epigram.errors import InputError
from epigram.files import read_lines
from epigram.protocols import Ints, Offsets

KINDS = ("class", "in", "vector")
UNNAMED = "phrase"
MOST_BYTES = 1 << 28  # of a word list in a model file, unpacked
Table = dict[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class WordTable:
    """A table from strings to values; ``name`` is its name in templates, ``class:FILE``.

    Examples
    --------
    >>> lexicon = WordTable("class:mine", {"the": ("12",), "il-#": ("7",)})
    >>> lexicon("The"), lexicon("IL-2"), lexicon("cat")
    (('12',), ('7',), ())
    """

    name: str
    table: Table = field(repr=False)

    @classmethod
    def read(cls, name: str, folder: Path | None = None) -> WordTable:
        """The file of ``kind:FILE``, which may lie beside the template or in the current folder."""
        kind, _, rest = name.partition(":")
        file, _, size = rest.partition("#") if kind == "class" else (rest, "", "")
        if not file or (size and not size.isdecimal()):
            raise ValueError(f"{kind} needs a file, as in {kind}:words.txt, not {name!r}")
        beside = None if folder is None else folder / file
        path = beside if beside is not None and beside.exists() else Path(file)
        if not path.exists():
            raise InputError(f"no such file, which the template asks for as {name}", path=path)
        table = READERS[kind](path)
        return cls(name, _one_size(table, int(size), path) if size else table)

    def __call__(self, cell: str) -> tuple[str, ...]:
        """The values of a string; none where it is unknown."""
        table = self.table
        if cell in table:
            return table[cell]
        digits = re.sub(r"\d", "#", cell)
        for form in (digits, cell.lower(), digits.lower()):
            if form in table:
                return table[form]
        return ()

    @property
    def matches_spans(self) -> bool:
        """Whether its entries are phrases of several tokens: a gazetteer."""
        return self.name.startswith("in:")

    def to_bytes(self) -> bytes:
        """All of it, packed, as a model file keeps it."""
        lines = (
            f"{key}\t{' '.join(values)}\n"
            for key, values in self.table.items()
            if not set(key) & {"\t", "\n"}
        )
        return zlib.compress("".join(lines).encode(), 9)

    @classmethod
    def from_bytes(cls, name: str, content: bytes) -> WordTable:
        """The inverse of :meth:`to_bytes`; a ValueError where the content is corrupt."""
        try:
            unpacked = zlib.decompressobj()
            text = unpacked.decompress(content, MOST_BYTES).decode()
            if not unpacked.eof:
                raise ValueError(f"cut off, or more than {MOST_BYTES:,} bytes")
            rows = (line.split("\t") for line in text.split("\n")[:-1])
            return cls(name, {key: tuple(values.split()) for key, values in rows})
        except (zlib.error, ValueError) as error:
            raise ValueError(f"corrupt word list {name!r}: {error}") from None


def match_spans(
    gazetteer: WordTable, sentence_ptr: Offsets, ids: Ints, forms: Sequence[str | None]
) -> tuple[Ints, list[str]]:
    """Return the longest phrases of each sentence, left to right, as a column.

    Parameters
    ----------
    sentence_ptr, ids : the sentences, and the number of each token's string.
    forms : each distinct string as it is looked for; None for one that matches nothing.

    Examples
    --------
    >>> gazetteer = WordTable("in:x", {"new york": ("city",), "new york times": ("paper",)})
    >>> words = ["new", "york", "times", "is"]
    >>> found, strings = match_spans(gazetteer, np.array([0, 4, 6]), np.array([0, 1, 2, 3, 0, 1]), words)
    >>> [strings[k] for k in found.tolist()]
    ['B-paper', 'I-paper', 'E-paper', '', 'B-city', 'E-city']
    """
    by_first: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for phrase, types in gazetteer.table.items():
        words = tuple(phrase.split(" "))
        by_first.setdefault(words[0], []).append((words, types[0]))
    for phrases in by_first.values():
        phrases.sort(key=lambda entry: -len(entry[0]))
    numbers: dict[str, int] = {"": 0}
    out = np.zeros(len(ids), dtype=np.int32)
    begins = np.array([form in by_first for form in forms], dtype=bool)
    starts = np.flatnonzero(begins[ids]) if len(forms) else np.empty(0, dtype=np.int64)
    ends = sentence_ptr[np.searchsorted(sentence_ptr, starts, side="right")]
    free = 0
    for at, end in zip(starts.tolist(), ends.tolist(), strict=True):
        if at < free:
            continue
        for words, kind in by_first[forms[ids[at]] or ""]:
            n = len(words)
            if at + n <= end and all(forms[ids[at + k]] == words[k] for k in range(n)):
                places = "S" if n == 1 else "B" + "I" * (n - 2) + "E"
                for k, place in enumerate(places):
                    out[at + k] = numbers.setdefault(f"{place}-{kind}", len(numbers))
                free = at + n
                break
    return out, list(numbers)


def mapped_phrases(gazetteer: WordTable, apply: Callable[[str], tuple[str, ...]]) -> WordTable:
    """Return the gazetteer with a function applied to every word."""
    table: Table = {}
    for phrase, types in gazetteer.table.items():
        words = [apply(word) for word in phrase.split(" ")]
        if all(len(values) == 1 for values in words):
            table.setdefault(" ".join(values[0] for values in words), types)
    return WordTable(gazetteer.name, table)


def _read_classes(path: Path) -> Table:
    """``class<TAB>word[<TAB>count]`` lines; a class of several names is one of several sizes."""
    table: Table = {}
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        cells = line.split("\t")
        names = cells[0].split()
        if not 2 <= len(cells) <= 3 or not names or not cells[1]:
            raise InputError(
                f"expected class<TAB>word<TAB>count (the count may be left out), found {line!r}",
                path=path,
                line=number,
            )
        table[cells[1]] = (
            (names[0],) if len(names) == 1 else tuple(f"{k}:{n}" for k, n in enumerate(names, 1))
        )
    return _checked(table, path, "class<TAB>word")


def _one_size(table: Table, size: int, path: Path) -> Table:
    """Of classes of several sizes, one."""
    most = max(map(len, table.values()))
    if not 1 <= size <= most:
        raise InputError(f"classes of {most} sizes; there is no #{size}", path=path)
    return {word: (values[size - 1].partition(":")[2] or values[0],) for word, values in table.items()}


def _read_phrases(path: Path) -> Table:
    """``type<TAB>phrase`` or ``phrase`` lines; the first type of a phrase counts."""
    table: Table = {}
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        *types, phrase = line.split("\t")
        if len(types) > 1 or not phrase.strip() or not all(kind.strip() for kind in types):
            raise InputError(f"expected phrase or type<TAB>phrase, found {line!r}", path=path, line=number)
        kind = "_".join(types[0].split()) if types else UNNAMED
        table.setdefault(" ".join(phrase.split()), (kind,))
    return _checked(table, path, "phrase or type<TAB>phrase")


def _read_vectors(path: Path) -> Table:
    """Read ``word number number ...`` lines and discretise them; a size line is skipped."""
    words: list[str] = []
    rows: list[npt.NDArray[np.float64]] = []
    for number, line in enumerate(read_lines(path), start=1):
        cells = line.rstrip().split(" ")
        if number == 1 and len(cells) == 2 and all(cell.isdecimal() for cell in cells):
            continue
        try:
            row = np.array(cells[1:], dtype=np.float64)
        except ValueError:
            row = np.empty(0)
        if not len(row) or not np.isfinite(row).all() or (rows and len(row) != len(rows[0])):
            wanted = f"{len(rows[0])} numbers" if rows else "numbers"
            raise InputError(f"expected a word and {wanted}, found {line[:60]!r}", path=path, line=number)
        words.append(cells[0])
        rows.append(row)
    if not rows:
        raise InputError("no words; expected lines of a word and its numbers", path=path)
    return dict(zip(words, symbols(np.array(rows)), strict=True))


def symbols(vectors: npt.NDArray[np.float64]) -> list[tuple[str, ...]]:
    """Each vector as the dimensions in which it stands out, ``3+`` or ``3-``.

    Examples
    --------
    >>> symbols(np.array([[3.0, -1.0], [1.0, -3.0], [-1.0, 0.0]]))
    [('0+',), ('1-',), ('0-',)]
    """
    up, down = np.maximum(vectors, 0.0), np.minimum(vectors, 0.0)
    high = up.sum(axis=0) / np.maximum((vectors > 0).sum(axis=0), 1)
    low = down.sum(axis=0) / np.maximum((vectors < 0).sum(axis=0), 1)
    signs = np.where((vectors >= high) & (vectors > 0), 1, np.where((vectors <= low) & (vectors < 0), -1, 0))
    found, dimensions = np.nonzero(signs)
    names = [f"{d}{'+' if s > 0 else '-'}" for d, s in zip(dimensions, signs[found, dimensions], strict=True)]
    bounds = np.searchsorted(found, np.arange(len(vectors) + 1)).tolist()
    return [tuple(names[a:b]) for a, b in pairwise(bounds)]


def _checked(table: Table, path: str | PathLike[str], expected: str) -> Table:
    if not table:
        raise InputError(f"no entries; expected lines of {expected}", path=path)
    return table


READERS: dict[str, Callable[[Path], Table]] = {
    "class": _read_classes,
    "in": _read_phrases,
    "vector": _read_vectors,
}
