r"""Reads and writes column files: CoNLL, CoNLL-U, plain text, ``word/tag`` text.

:class:`Columns` holds each distinct string of a column once, and an int32 id per token: from the bytes of a file no
Python object is made per token.

``conll``: a token a line, cells separated by runs of spaces and tabs or by one given character, blank lines
between sentences. ``conllu``: tabs, comment lines, an ID first; lines with IDs such as ``a-b`` and ``a.b`` are
skipped. ``text``: a sentence a line, words separated by white space. ``slash``: the same with ``word/tag``, split at
the last slash. UTF-8 with ``\n`` or ``\r\n``; gzip is unpacked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from os import PathLike
from typing import Any

import numpy as np

from epigram._core import bindings
from epigram._core.arrays import offsets
from epigram.errors import InputError
from epigram.features.columns import Column, Columns, Lines
from epigram.files import JSON_START, check_sentences, decode, read_bytes

FORMATS = ("conll", "conllu", "text", "slash")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
CONLLU_WORD, CONLLU_TAG = 1, 3
CONLLU_LINE = re.compile(r"\d+([-.]\d+)?(\t[^\t]*){9}")
LOOKS_LIKE_CONLLU = "this looks like CoNLL-U: --format conllu reads it"
HEAD = 1 << 16
FEW_LINES = 20
TAB = "\t"


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
    is_guess = format == "auto"
    format = by_name(path) if is_guess else format
    if format not in FORMATS:
        raise ValueError(f"format {format!r} is not one of auto, {', '.join(FORMATS)}")
    if separator is not None and (len(separator) != 1 or not separator.isascii() or separator in "\r\n"):
        raise ValueError(f"separator is one ASCII character or None, not {separator!r}")
    decode(raw, path)
    raw = raw.removeprefix(BYTE_ORDER_MARK)
    prefixes = [comments] if isinstance(comments, str) else list(comments)
    if format == "text":
        check_sentences(raw, path)
    if format in ("text", "slash"):
        return _parse_words(raw, path, format == "slash", prefixes)
    if separator is None and JSON_START.match(raw):
        raise InputError(
            "this is JSON; write a token a line with its label, blank lines between sentences, or only the text",
            path=path,
        )
    if format == "conllu":
        return _parse_cells(raw, path, "\t", prefixes or ["#"], has_ids=True)
    columns = _parse_cells(raw, path, separator, prefixes, has_ids=False)
    if is_guess and columns.n_columns == 10 and (hint := likely_format(raw)) == LOOKS_LIKE_CONLLU:
        raise InputError(f"{hint}, and --format conll as columns without a meaning", path=path)
    return columns


def by_name(path: str) -> str:
    """Return the format that ``auto`` chooses for a file name."""
    return "conllu" if path.removesuffix(".gz").endswith((".conllu", ".conllup")) else "conll"


def _parse_cells(raw: bytes, path: str, separator: str | None, prefixes: list[str], has_ids: bool) -> Columns:
    encoded = [prefix.encode() for prefix in prefixes if prefix]
    comments = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    comment_ptr = offsets([len(prefix) for prefix in encoded])
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
        bindings.columns_find_cells(
            content,
            byte,
            has_ids,
            comments,
            comment_ptr,
            n_columns,
            starts,
            ends,
            line_ends,
            sentence_ptr,
            found,
        )
        n_tokens, n_sentences, bad_line, n_cells = found.tolist()
        if n_columns or not bad_line or n_cells < 0:
            break
        n_columns = n_cells
    if bad_line and n_cells < 0:
        first = _line(raw, bad_line).partition("\t")[0]
        raise InputError(
            "not CoNLL-U: a line begins with the number of its word and a tab, "
            f"not with {first[:40]!r}; a tagger reads text with --format text, and writes CoNLL-U if trained from it",
            path=path,
            line=bad_line,
        )
    if bad_line:
        hint = "" if has_ids or separator else likely_format(raw)
        hint = hint or ("" if encoded else _comment_hint(raw, bad_line))
        hint = f"; {hint}" if hint else ""
        raise InputError(f"expected {n_columns} columns, found {n_cells}{hint}", path=path, line=bad_line)
    if not n_tokens:
        raise _no_tokens(raw, path)
    return Columns.from_cells(
        raw,
        starts[:, :n_tokens],
        ends[:, :n_tokens],
        sentence_ptr[: n_sentences + 1].copy(),
        path,
        Lines(raw, line_ends[:n_tokens], has_ids),
    )


def _comment_hint(raw: bytes, line: int) -> str:
    """A ragged line that begins with ``#`` is most likely a comment."""
    if _line(raw, line).startswith("#"):
        return "if lines that begin with '#' are comments, say so (--comments '#')"
    return ""


def _line(raw: bytes, number: int) -> str:
    """A line by its number, from 1."""
    return raw.split(b"\n", number)[number - 1].decode().removesuffix("\r")


def _no_tokens(raw: bytes, path: str) -> InputError:
    what = "every line is a comment or is skipped" if raw.strip() else "the file is empty or blank"
    return InputError(f"no tokens: {what}", path=path)


def head_lines(raw: bytes) -> list[str]:
    """The lines at the beginning of a file that are not blank: enough to guess what it is."""
    head, _, rest = raw[:HEAD].rpartition(b"\n") if len(raw) > HEAD else (raw, b"", b"")
    lines = (head or rest).decode("utf-8-sig", "replace").split("\n")
    return [line.removesuffix("\r") for line in lines if line.strip(" \t\r")]


def cells_of(line: str) -> list[str]:
    """The cells of a line between spaces and tabs, as the reader finds them."""
    return [cell for cell in line.replace("\t", " ").split(" ") if cell]


def likely_format(raw: bytes) -> str:
    """Describe the likely format of a file that has no columns, with advice; or ""."""
    lines = head_lines(raw)
    rows = [line for line in lines if not line.startswith("#")] or [""]
    if CONLLU_LINE.fullmatch(rows[0]):
        return LOOKS_LIKE_CONLLU
    if rows[0].startswith(("{", "[{")):
        return "this looks like JSON; write a token a line with its label, blank lines between sentences"
    if rows[0].startswith("__label__"):
        return "this looks like fastText's format, a label for each text; a tagger needs a token a line with its label"
    for mark, written in (("\t", r"$'\t'"), (",", "','"), (";", "';'"), ("|", "'|'")):
        number, share = _most_common(line.count(mark) for line in lines)
        if number and share > 0.9:
            return f"if cells are separated by {'tabs' if mark == TAB else mark} alone: --separator {written}"
    widths = [len(cells_of(line)) for line in lines]
    share, widest = _most_common(widths)[1], max(widths, default=0)
    is_varied = share <= 0.5 and (len(set(widths)) > 2 or widest > 12)
    if is_varied or (len(lines) <= FEW_LINES and share < 0.8 and widest > 4):
        return (
            "this looks like plain text; a training file has a token a line with its label, for example 'The DT', "
            "and blank lines between sentences"
        )
    return ""


def _most_common(numbers: Iterable[int]) -> tuple[int, float]:
    """The most frequent number and its share."""
    counts = Counter(numbers)
    (number, n), *_ = counts.most_common(1) or [(0, 0)]
    return number, n / max(1, counts.total())


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
    bindings.columns_find_words(
        np.frombuffer(raw, dtype=np.uint8),
        comment,
        n_columns,
        capacity,
        starts,
        ends,
        sentence_ptr,
        found,
    )
    n_tokens, n_sentences, bad_line = found.tolist()
    if bad_line:
        raise InputError(
            "expected word/tag, found a word without a slash; plain text is --format text",
            path=path,
            line=bad_line,
        )
    if not n_tokens:
        raise _no_tokens(raw, path)
    return Columns.from_cells(
        raw, starts[:, :n_tokens], ends[:, :n_tokens], sentence_ptr[: n_sentences + 1].copy(), path
    )


def add_columns(
    columns: Columns, predicted: Sequence[Sequence[str]], separator: str | None = None
) -> Iterable[str]:
    r"""Return the input with one more cell per predicted column at the end of each line.

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


def fill_columns(columns: Columns, cells: Mapping[int, Sequence[str]]) -> Iterator[str]:
    r"""Write the CoNLL-U file of a corpus again, with other cells in some columns.

    ``cells`` has a string per token for each of these columns.

    Comments, ranges and empty nodes stay as they are; the file ends with a blank line.

    Examples
    --------
    >>> corpus = parse_columns(b"# x\n1\tThe\t_\n2\tcat\t_\n", "tiny", "conllu")
    >>> "".join(fill_columns(corpus, {2: ["DT", "NN"]}))
    '# x\n1\tThe\tDT\n2\tcat\tNN\n\n'
    """
    if columns.lines is None:
        raise ValueError("only what was read from a file is written again.")
    raw, at = columns.lines.raw, 0
    for t, end in enumerate(columns.lines.ends.tolist()):
        start = max(raw.rfind(b"\n", at, end) + 1, at)
        row = raw[start:end].decode().split("\t")
        for k, column in cells.items():
            row[k] = column[t]
        yield raw[at:start].decode() + "\t".join(row)
        at = end
    rest = raw[at:].decode()
    newline = "\r\n" if rest.startswith("\r\n") else "\n"
    yield rest if rest.endswith(2 * newline) else rest.rstrip("\r\n") + 2 * newline


def _first_separator(columns: Columns) -> str:
    """The white space between the first two cells of the corpus, else a tab."""
    assert columns.lines is not None
    first_line = columns.lines.raw[: columns.lines.ends[0]].rsplit(b"\n", 1)[-1]
    return next((chr(byte) for byte in first_line if byte in b" \t"), "\t")


@dataclass(frozen=True, slots=True)
class ColumnSpec:
    """Settings with which a training file was read.

    Attributes
    ----------
    format : as for :func:`epigram.features.formats.read_columns`.
    separator : character between cells, one of ASCII; white space unless given.
    comments : beginning of lines to skip; may be given several times.
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
        """Read the settings from the header of a model file."""
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
        """Return the settings with label and observation columns filled in by file format."""
        conllu = (by_name(path) if self.format == "auto" else self.format) == "conllu"
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
            hint = "" if columns.lines is None or self.separator else likely_format(columns.lines.raw)
            hint = f"; {hint}" if hint else ""
            raise InputError(f"one column only, no labels: words and labels need one each{hint}", path=path)
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
        n, whole, observed = columns.n_columns, self.n_columns, self.observed
        if n == whole and observed is not None:
            return _pick(columns, observed), columns.split(self.label_column)[1]
        if n == 1 or (whole is not None and n == whole - 1 and n == len(observed or ())):
            raise InputError(
                f"{_count(n)}: no labels; words and labels need one each"
                if whole is None
                else f"{_count(n)}: no labels; expected {whole} columns as in training",
                path=columns.path,
            )
        rest, labels = columns.split(self.label_column)
        if whole is None or observed is None or rest.n_columns == len(observed):
            return rest, labels
        raise InputError(f"expected {whole} columns as in training, found {n}", path=columns.path)

    def observations(self, columns: Columns) -> Columns:
        """Return the observed columns of a file with or without labels or other columns."""
        n, whole, observed = columns.n_columns, self.n_columns, self.observed
        if whole is None or observed is None:
            return columns
        if n == whole:
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


def _count(n: int) -> str:
    return f"{n} column" + "s" * (n != 1)


def _pick(columns: Columns, chosen: Sequence[int]) -> Columns:
    """Some columns, in the order given."""
    for k in chosen:
        if k >= columns.n_columns:
            raise InputError(
                f"there is no column {k}: {columns.path or 'the input'} has {columns.n_columns}, counted from 0"
            )
    picked = [columns.columns[k] for k in chosen]
    return Columns(columns.sentence_ptr, picked, columns.path, columns.lines)
