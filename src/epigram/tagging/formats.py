r"""Sentences as columns of strings, from files and back: CoNLL columns, CoNLL-U, plain text, ``word/tag`` text.

:class:`Columns` holds each distinct string of a column once, and an int32 id per token: from the bytes of a file no
Python object is made per token.

``conll``: a token a line, cells separated by runs of spaces and tabs or by one given character, blank lines
between sentences. ``conllu``: tabs, comment lines, ``a-b`` and ``a.b`` ids skipped. ``text``: a sentence a
line, words separated by white space. ``slash``: the same with ``word/tag``, split at the last slash. UTF-8
with ``\n`` or ``\r\n``; gzip is unpacked.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram._core.native import family, gather
from epigram.errors import InputError
from epigram.protocols import Ints, Offsets, each
from epigram.text import counting_dict, decode, read_bytes

core = family("columns")
FORMATS = ("conll", "conllu", "text", "slash")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
CONLLU_WORD, CONLLU_TAG = 1, 3


@dataclass(frozen=True, slots=True)
class Column:
    """One column: ``strings[ids[t]]`` is the cell of token ``t``."""

    ids: Ints
    strings: list[str] = field(repr=False)

    def string(self, token: int) -> str:
        """The cell of a token."""
        return self.strings[int(self.ids[token])]


@dataclass(frozen=True, slots=True)
class Lines:
    """The bytes a corpus was read from, and where the line of each token ends: what a writer needs."""

    raw: bytes = field(repr=False)
    ends: Offsets


@dataclass(frozen=True, slots=True)
class Columns:
    """Sentences of tokens with one cell per column.

    Attributes
    ----------
    sentence_ptr
        Sentence ``s`` has the tokens ``sentence_ptr[s]`` up to, not including, ``sentence_ptr[s + 1]``.
    columns
        The columns from left to right.
    path, lines
        Where the corpus was read from, if it was.

    Examples
    --------
    >>> corpus = Columns.from_rows([[("The", "DT"), ("cat", "NN")], [("The", "DT")]])
    >>> corpus.n_sentences, corpus.n_tokens, corpus.n_columns
    (2, 3, 2)
    >>> corpus.columns[0].ids, corpus.columns[0].strings
    (array([0, 1, 0], dtype=int32), ['The', 'cat'])
    >>> list(corpus.rows())[1]
    [('The', 'DT')]
    """

    sentence_ptr: Offsets
    columns: list[Column]
    path: str | None = None
    lines: Lines | None = None

    @classmethod
    def from_rows(cls, sentences: Iterable[Iterable[str | Sequence[str]]]) -> Columns:
        """Sentences as lists of rows; a row is a tuple or list of strings, or one string for one column."""
        sentence_ptr = array("q", [0])
        numbering: list[defaultdict[str, int]] = []
        ids: list[array[int]] = []
        n_tokens = 0
        for s, sentence in enumerate(each(sentences, "X", "sentences")):
            rows = sentence if isinstance(sentence, list | tuple) else list(sentence)
            if len(numbering) == 1 and set(map(type, rows)) == {str}:  # the others' way, at once
                ids[0].extend(map(numbering[0].__getitem__, rows))
                n_tokens += len(rows)
                rows = ()
            for row in rows:
                cells = (row,) if isinstance(row, str) else tuple(row)
                if len(cells) != len(numbering):
                    if n_tokens:
                        raise InputError(
                            f"sentence {s}, token {n_tokens - sentence_ptr[-1]}: "
                            f"expected {len(numbering)} columns, found {len(cells)}"
                        )
                    numbering = [counting_dict() for _ in cells]
                    ids = [array("i") for _ in cells]
                for cell, numbers, out in zip(cells, numbering, ids, strict=True):
                    if not isinstance(cell, str):
                        raise InputError(
                            f"sentence {s}, token {n_tokens - sentence_ptr[-1]}: a cell is a string, "
                            f"not {cell!r} ({type(cell).__name__})"
                        )
                    out.append(numbers[cell])
                n_tokens += 1
            sentence_ptr.append(n_tokens)
        return cls(
            np.array(sentence_ptr, dtype=np.int64),
            [
                Column(np.array(out, dtype=np.int32), list(numbers))
                for out, numbers in zip(ids, numbering, strict=True)
            ],
        )

    @classmethod
    def from_cells(
        cls,
        raw: bytes,
        starts: npt.NDArray[np.int64],
        ends: npt.NDArray[np.int64],
        sentence_ptr: Offsets,
        path: str | None = None,
        lines: Lines | None = None,
    ) -> Columns:
        """Columns of byte slices ``raw[starts[c, t]:ends[c, t]]``."""
        return cls(
            sentence_ptr,
            [_factorise(raw, start, end) for start, end in zip(starts, ends, strict=True)],
            path,
            lines,
        )

    @property
    def n_sentences(self) -> int:
        """Number of sentences."""
        return len(self.sentence_ptr) - 1

    @property
    def n_tokens(self) -> int:
        """Number of tokens."""
        return int(self.sentence_ptr[-1])

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.columns)

    def sentence_of(self, token: int) -> tuple[int, int]:
        """First token of the sentence that holds ``token``, and first token after it."""
        s = int(np.searchsorted(self.sentence_ptr, token, side="right"))
        return int(self.sentence_ptr[s - 1]), int(self.sentence_ptr[s])

    def split(self, column: int) -> tuple[Columns, Column]:
        """The corpus without one column, and that column: observations and labels."""
        if not -self.n_columns <= column < self.n_columns:
            raise InputError(
                f"there is no column {column}: {self.path or 'the input'} has {self.n_columns}, "
                "counted from 0 or, with a minus, from the right"
            )
        column %= self.n_columns
        rest = self.columns[:column] + self.columns[column + 1 :]
        return Columns(self.sentence_ptr, rest, self.path, self.lines), self.columns[column]

    def take(self, sentences: npt.ArrayLike) -> Columns:
        """The named sentences, in the order given."""
        sentence_ptr, tokens = gather(self.sentence_ptr, np.asarray(sentences, dtype=np.int64))
        return Columns(
            sentence_ptr, [Column(column.ids[tokens], column.strings) for column in self.columns], self.path
        )

    def rows(self) -> Iterator[list[tuple[str, ...]]]:
        """Sentences as lists of tuples of strings."""
        cells = [[column.strings[i] for i in column.ids.tolist()] for column in self.columns]
        tokens = list(zip(*cells, strict=True))
        for begin, end in zip(self.sentence_ptr[:-1].tolist(), self.sentence_ptr[1:].tolist(), strict=True):
            yield tokens[begin:end]


def read_columns(
    path: str | PathLike[str],
    format: str = "auto",
    separator: str | None = None,
    comments: Iterable[str] = (),
) -> Columns:
    r"""Read a file of sentences.

    Parameters
    ----------
    path
        The file, gzip or not; ``-`` is standard input.
    format
        ``conll``, ``conllu``, ``text``, ``slash``, or ``auto``: ``conllu`` where the name says so, else
        ``conll``.
    separator
        One ASCII character between the cells of ``conll`` (cells may then be empty and hold spaces); by
        default any run of spaces and tabs.
    comments
        Lines that begin with one of these are not tokens: ``("# ", "-DOCSTART-")``. Empty by default for
        ``conll``, because ``#`` is a token of English; CoNLL-U has ``#``.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "tiny.txt"
    >>> _ = file.write_text("The DT\ncat NN\n\nHi UH\n")
    >>> list(read_columns(file).rows())
    [[('The', 'DT'), ('cat', 'NN')], [('Hi', 'UH')]]
    """
    return parse_columns(read_bytes(path), str(path), format, separator, comments)


def parse_columns(
    raw: bytes,
    path: str,
    format: str = "auto",
    separator: str | None = None,
    comments: Iterable[str] = (),
) -> Columns:
    """The same from bytes; ``path`` is for messages and for ``auto``."""
    format = _by_name(path) if format == "auto" else format
    if format not in FORMATS:
        raise ValueError(f"format {format!r} is not one of auto, {', '.join(FORMATS)}")
    if separator is not None and (len(separator) != 1 or not separator.isascii() or separator in "\r\n"):
        raise ValueError(f"separator is one ASCII character or None, not {separator!r}")
    decode(raw, path)
    raw = raw.removeprefix(BYTE_ORDER_MARK)
    prefixes = [comments] if isinstance(comments, str) else list(comments)
    if format in ("text", "slash"):
        return _parse_words(raw, path, format == "slash", prefixes)
    if format == "conllu":
        return _parse_cells(raw, path, "\t", prefixes or ["#"], skip_ranges=True)
    return _parse_cells(raw, path, separator, prefixes, skip_ranges=False)


def _by_name(path: str) -> str:
    """What ``auto`` stands for."""
    return "conllu" if path.removesuffix(".gz").endswith((".conllu", ".conllup")) else "conll"


def _parse_cells(
    raw: bytes, path: str, separator: str | None, prefixes: list[str], skip_ranges: bool
) -> Columns:
    encoded = [prefix.encode() for prefix in prefixes if prefix]
    comments = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    comment_ptr = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    content = np.frombuffer(raw, dtype=np.uint8)
    byte = 0 if separator is None else ord(separator)
    capacity = raw.count(b"\n") + 1
    line_ends = np.empty(capacity, dtype=np.int64)
    sentence_ptr = np.empty(capacity + 1, dtype=np.int64)
    found = np.zeros(4, dtype=np.int64)
    n_columns = 0
    while True:  # with 0 columns asked for, the first token's line is the "bad" one and tells their number
        starts = np.empty((n_columns, capacity), dtype=np.int64)
        ends = np.empty_like(starts)
        core.find_cells(
            len(raw),
            content,
            byte,
            skip_ranges,
            len(encoded),
            comments,
            comment_ptr,
            n_columns,
            capacity,
            starts,
            ends,
            line_ends,
            sentence_ptr,
            found,
        )
        n_tokens, n_sentences, bad_line, n_cells = found.tolist()
        if n_columns or not bad_line:
            break
        n_columns = n_cells
    if bad_line:
        hint = "" if encoded else _comment_hint(raw, bad_line)
        raise InputError(f"expected {n_columns} columns, found {n_cells}{hint}", path=path, line=bad_line)
    if not n_tokens:
        raise InputError("no tokens: the file is empty or blank", path=path)
    return Columns.from_cells(
        raw,
        starts[:, :n_tokens],
        ends[:, :n_tokens],
        sentence_ptr[: n_sentences + 1].copy(),
        path,
        Lines(raw, line_ends[:n_tokens]),
    )


def _comment_hint(raw: bytes, line: int) -> str:
    """A ragged line that begins with ``#`` is most likely a comment."""
    if raw.split(b"\n", line)[line - 1].startswith(b"#"):
        return "; if lines that begin with '#' are comments, say so (comments)"
    return ""


def _parse_words(raw: bytes, path: str, slash: bool, prefixes: list[str]) -> Columns:
    if len(prefixes) > 1:
        raise ValueError(f"text has one comment prefix at most, not {prefixes}")
    capacity = sum(raw.count(space) for space in (b" ", b"\t", b"\n", b"\r")) + 1
    n_columns, n_lines = 2 if slash else 1, raw.count(b"\n") + 1
    starts = np.empty((n_columns, capacity), dtype=np.int64)
    ends = np.empty_like(starts)
    sentence_ptr = np.empty(n_lines + 1, dtype=np.int64)
    found = np.zeros(3, dtype=np.int64)
    comment = np.frombuffer("".join(prefixes).encode(), dtype=np.uint8)
    core.find_words(
        len(raw),
        np.frombuffer(raw, dtype=np.uint8),
        len(comment),
        comment,
        n_columns,
        capacity,
        starts,
        ends,
        n_lines,
        sentence_ptr,
        found,
    )
    n_tokens, n_sentences, bad_line = found.tolist()
    if bad_line:
        raise InputError("expected word/tag, found a word without a slash", path=path, line=bad_line)
    if not n_tokens:
        raise InputError("no tokens: the file is empty or blank", path=path)
    return Columns.from_cells(
        raw, starts[:, :n_tokens], ends[:, :n_tokens], sentence_ptr[: n_sentences + 1].copy(), path
    )


def add_columns(
    columns: Columns, predicted: Sequence[Sequence[str]], separator: str | None = None
) -> Iterable[str]:
    r"""The input again with one more cell per column of ``predicted`` at the end of each token's line.

    Blank lines, comments and whatever else the file holds stay as they are. A corpus without lines (plain
    text, rows) is written a token a line, blank lines between sentences. The default separator is the first
    one found in the input, else a tab.

    Parameters
    ----------
    columns
        The corpus that was tagged.
    predicted
        Columns of strings, each with one string per token.
    separator
        What goes between cells.

    Yields
    ------
    str
        Pieces of text to be written one after another.

    Examples
    --------
    >>> corpus = parse_columns(b"# x\nThe DT\ncat NN\n", "tiny", comments="#")
    >>> "".join(add_columns(corpus, [["B", "I"]]))
    '# x\nThe DT B\ncat NN I\n'
    """
    cells = zip(*predicted, strict=True)
    if columns.lines is None:
        between = separator or "\t"
        for sentence in columns.rows():
            for row in sentence:
                yield between.join((*row, *next(cells))) + "\n"
            yield "\n"
        return
    raw, at = columns.lines.raw, 0
    between = separator or _first_separator(columns)
    for end, extra in zip(columns.lines.ends.tolist(), cells, strict=True):
        yield raw[at:end].decode()
        yield between + between.join(extra)
        at = end
    rest = raw[at:].decode()
    yield rest if rest else "\n"


def _first_separator(columns: Columns) -> str:
    """The white space between the first two cells of the corpus, else a tab."""
    assert columns.lines is not None
    first_line = columns.lines.raw[: columns.lines.ends[0]].rsplit(b"\n", 1)[-1]
    return next((chr(byte) for byte in first_line if byte in b" \t"), "\t")


@dataclass(frozen=True, slots=True)
class ColumnSpec:
    """How a training file was read.

    Attributes
    ----------
    format, separator, comments : as for :func:`epigram.tagging.formats.read_columns`.
    label_column : the column of labels, from the right where negative.
    observed : the columns a template sees, in its order; None for all but that of the labels.
    n_columns : how many the training file had; None where the model was not trained from a file.
    """

    format: str = "auto"
    separator: str | None = None
    comments: tuple[str, ...] = ()
    label_column: int = -1
    observed: tuple[int, ...] | None = None
    n_columns: int | None = None

    @classmethod
    def of_header(cls, header: dict[str, Any]) -> ColumnSpec:
        """What a model file says."""
        stored = header.get("columns", {})
        observed = stored.get("observed")
        return cls(
            stored.get("format", "auto"),
            stored.get("separator"),
            tuple(stored.get("comments", ())),
            stored.get("label_column", -1),
            None if observed is None else tuple(observed),
            stored.get("n_columns"),
        )

    def completed(
        self, columns: Columns, path: str, label_column: int | None, observed: Sequence[int] | None
    ) -> ColumnSpec:
        """The same with the columns of labels and observations asked for, or what is usual for the format of a file."""
        conllu = (_by_name(path) if self.format == "auto" else self.format) == "conllu"
        n = columns.n_columns
        label = (CONLLU_TAG if conllu else -1) if label_column is None else label_column
        columns.split(label)  # an error where there is no such column
        if observed is None:
            observed = (CONLLU_WORD,) if conllu else tuple(k for k in range(n) if k != label % n)
        for k in observed:
            if not 0 <= k < n:
                raise InputError(f"--columns: there is no column {k}; there are {n}, counted from 0")
            if k == label % n:
                raise InputError(f"--columns: column {k} holds the labels")
        if not observed:
            raise InputError("one column only: words and labels need one each", path=path)
        format = "conllu" if conllu else self.format
        return replace(self, format=format, label_column=label, observed=tuple(observed), n_columns=n)

    def as_dict(self) -> dict[str, Any]:
        """For the header of a model file."""
        return asdict(self)

    def parse(self, raw: bytes, path: str) -> Columns:
        """A file's columns."""
        try:
            return parse_columns(raw, path, self.format, self.separator, self.comments)
        except InputError:
            raise
        except ValueError as error:  # a setting that does not fit the format
            raise InputError(str(error)) from error

    def split(self, columns: Columns) -> tuple[Columns, Column]:
        """Observations and labels of a file that has both."""
        rest, labels = columns.split(self.label_column)
        if self.observed is None or columns.n_columns < (self.n_columns or 0):
            return rest, labels
        return _pick(columns, self.observed), labels

    def observations(self, columns: Columns) -> Columns:
        """Observations of a file as in training, or without the labels, or with nothing but observations."""
        n, whole, observed = columns.n_columns, self.n_columns, self.observed
        if whole is None or observed is None:
            return columns
        if n >= whole:
            return _pick(columns, observed)
        if n == whole - 1:
            label = self.label_column % whole
            return _pick(columns, tuple(k - (k > label) for k in observed))
        if n == len(observed):
            return columns
        raise InputError(
            f"expected {whole} columns as in training, or {whole - 1} without the labels, found {n}",
            path=columns.path,
        )


def _pick(columns: Columns, chosen: Sequence[int]) -> Columns:
    """Some columns, in the order given."""
    for k in chosen:
        if k >= columns.n_columns:
            raise InputError(
                f"there is no column {k}: {columns.path or 'the input'} has {columns.n_columns}, counted from 0"
            )
    picked = [columns.columns[k] for k in chosen]
    return Columns(columns.sentence_ptr, picked, columns.path, columns.lines)


def _factorise(raw: bytes, starts: Offsets, ends: Offsets) -> Column:
    n = len(starts)
    ids, begins, lengths = np.empty(n, np.int32), np.empty(n, np.int64), np.empty(n, np.int32)
    found = core.factorise(len(raw), np.frombuffer(raw, np.uint8), n, starts, ends, ids, begins, lengths)
    if found < 0:
        raise MemoryError(f"no memory for the distinct strings of {n} cells")
    strings = [
        raw[begin : begin + length].decode()
        for begin, length in zip(begins[:found].tolist(), lengths[:found].tolist(), strict=True)
    ]
    return Column(ids, strings)
