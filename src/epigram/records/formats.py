"""Formats of documents: parse a record to text and labels, add values to a record.

A record is the bytes of its file, without the end of its line, so that what is passed through stays as it is.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar, NamedTuple

from epigram.errors import InputError
from epigram.files import most_bytes, parse_json
from epigram.records.fields import LABELS, TEXTS, Fields
from epigram.records.streams import unpacked_name

PREFIX = "__label__"
ENDINGS = {
    ".jsonl": "json", ".ndjson": "json", ".json": "json", ".csv": "csv", ".tsv": "tsv", ".tab": "tsv",
    ".parquet": "parquet",
}  # fmt: skip
SAMPLE = 200
"""Records at the head of a file that are looked at to recognise its format and its fields."""
csv.field_size_limit((1 << 31) - 1)
_TO_QUOTE = re.compile(rb'[^"]*+(?:""[^"]*+)*+"')


class Document(NamedTuple):
    """One document; ``raw`` is its record, a line of a file or a row of a Parquet file.

    ``error`` says what is wrong with a malformed record, whose text is empty.
    """

    text: str
    labels: tuple[str, ...]
    raw: Any
    path: str
    line: int
    error: str | None = None


class Format:
    """Plain text, one document a line."""

    name: ClassVar[str] = "text"

    def __init__(self, fields: Fields = Fields()) -> None:  # noqa: B008 - it is frozen
        self.fields = fields
        self.names: list[str] = []
        self.header: bytes | None = None

    def parse(self, record: bytes) -> tuple[str, tuple[str, ...]]:
        """Text and labels of a record; an InputError where it is malformed."""
        return _decode(record), ()

    def add(self, record: bytes, values: Mapping[str, Any]) -> bytes:
        """A record with more fields: of plain text, cells before it."""
        return b"\t".join([*(_cell(value).encode() for value in values.values()), record])

    def records(self, lines: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
        """Records and the number of the line on which each begins."""
        return enumerate((line.rstrip(b"\r\n") for line in lines), 1)


class LabelledText(Format):
    """fastText's lines: labels as words with ``__label__`` before them, then the text."""

    name = "fasttext"

    def parse(self, record: bytes) -> tuple[str, tuple[str, ...]]:
        words, labels = _decode(record).lstrip(), []
        while words.startswith(PREFIX):
            label, _, words = words.partition(" ") if " " in words else (words, "", "")
            labels.append(label[len(PREFIX) :])
            words = words.lstrip()
        return words, tuple(labels)


class JsonLines(Format):
    """An object per line; a list of labels is several labels."""

    name = "json"

    def parse(self, record: bytes) -> tuple[str, tuple[str, ...]]:
        value = parse_json(_decode(record))
        if not isinstance(value, dict):
            raise InputError("not a JSON object")
        label = value.get(self.fields.label) if self.fields.label is not None else None
        found = [value.get(name) for name in self.fields.text]
        texts = [text for text in found if isinstance(text, str)]
        if not texts and None not in found:
            raise InputError(f"the field {self.fields.text[0]!r} is not a text")
        if not texts:
            raise InputError(
                f"no field {self.fields.text[0]!r}; the fields are {', '.join(list(value)[:20])}"
            )
        return " ".join(texts), as_labels(label)

    def add(self, record: bytes, values: Mapping[str, Any]) -> bytes:
        body = record.rstrip()[:-1].rstrip()
        more = json.dumps(dict(values), ensure_ascii=False)[1:].encode()
        return body + (b"" if body.endswith(b"{") else b", ") + more


class Table(Format):
    """Cells with commas between them, quoted or not; a record may have several lines."""

    name, mark = "csv", ","

    def __init__(self, fields: Fields = Fields(), names: Sequence[str] = ()) -> None:  # noqa: B008
        super().__init__(fields)
        self.names = list(names)
        self._texts = [self.names.index(name) for name in fields.text if name in self.names]
        self._label = self.names.index(fields.label) if fields.label in self.names else None

    def cells(self, record: bytes) -> list[str]:
        """The cells of a record; text after a closing quote belongs to its cell."""
        text = _decode(record)
        for strict in (True, False):
            try:
                return next(csv.reader(io.StringIO(text, newline=""), delimiter=self.mark, strict=strict), [])
            except csv.Error as error:
                if "end of data" in str(error):
                    raise InputError("a quoted cell that does not end") from None
                if not strict:
                    raise InputError(f"broken table row ({error})") from None
        return []

    def parse(self, record: bytes) -> tuple[str, tuple[str, ...]]:
        cells = self.cells(record)
        if len(cells) != len(self.names):
            raise InputError(f"expected {len(self.names)} cells, found {len(cells)}")
        label = cells[self._label] if self._label is not None else ""
        return " ".join([cells[k] for k in self._texts]), (label,) if label else ()

    def add(self, record: bytes, values: Mapping[str, Any]) -> bytes:
        out = io.StringIO()
        csv.writer(out, delimiter=self.mark, lineterminator="").writerow(values.values())
        return record + self.mark.encode() + out.getvalue().encode()

    def records(self, lines: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
        """Records; a line with an open quote that nothing closes is a record."""
        source, waiting = enumerate(lines, 1), deque[tuple[int, bytes]]()
        limit = most_bytes(0)
        while (item := waiting.popleft() if waiting else next(source, None)) is not None:
            taken, size, state = [item], len(item[1]), self._is_open(item[1], False)
            while state and size <= limit:
                more = waiting.popleft() if waiting else next(source, None)
                if more is None:
                    break
                taken.append(more)
                size += len(more[1])
                state = self._is_open(more[1], True)
            if state is not False and len(taken) > 1:
                waiting.extendleft(reversed(taken[1:]))
                del taken[1:]
            yield item[0], b"".join([line for _, line in taken]).rstrip(b"\r\n")

    def _is_open(self, line: bytes, inside: bool) -> bool | None:
        """Whether a line ends in a quoted cell; None where text follows a closing quote."""
        at = 0
        while inside or (at := self._opening(line, at)):
            closing = _TO_QUOTE.match(line, at)
            if closing is None:
                return True
            at, inside = closing.end(), False
            if line[at : at + 1] not in (self.mark.encode(), b"\n", b"\r", b""):
                return None
        return False

    def _opening(self, line: bytes, at: int) -> int:
        """The offset after the next quote that opens a cell, 0 where there is none."""
        if at == 0 and line.startswith(b'"'):
            return 1
        found = line.find(self.mark.encode() + b'"', at)
        return 0 if found < 0 else found + 2


class TabTable(Table):
    """Cells with tabs between them; quotes mean nothing, a record is a line."""

    name, mark = "tsv", "\t"

    def cells(self, record: bytes) -> list[str]:
        return _decode(record).split("\t")

    def add(self, record: bytes, values: Mapping[str, Any]) -> bytes:
        return b"\t".join([record, *(_cell(value).replace("\t", " ").encode() for value in values.values())])

    def records(self, lines: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
        return Format.records(self, lines)


FORMATS: dict[str, type[Format]] = {
    kind.name: kind for kind in (Format, LabelledText, JsonLines, Table, TabTable)
}


def recognise(path: str, head: Sequence[bytes], given: str | None, fields: Fields, labelled: bool) -> Format:
    """The format of a file, by its name or first lines, with its fields.

    Examples
    --------
    >>> recognise("x.txt", [b'{"text": "a rose", "label": 1}'], None, Fields(), True).fields
    Fields(text=('text',), label='label', header=None)
    """
    name = given or next((ENDINGS[end] for end in ENDINGS if unpacked_name(path).endswith(end)), None)
    lines = [line for line in head if line.strip()]
    if name is None:
        name = _kind(lines, labelled or bool(fields.text))
    kind = FORMATS[name]
    if issubclass(kind, Table):
        return _table(kind, lines, fields, labelled)
    return _json(lines, fields, labelled) if kind is JsonLines else kind(fields)


def _kind(lines: Sequence[bytes], wants_fields: bool) -> str:
    """The format of lines in a file whose name does not tell it."""
    first = lines[0].lstrip(b"\xef\xbb\xbf \t") if lines else b""
    if first.startswith(PREFIX.encode()):
        return "fasttext"
    if re.match(rb'\{\s*"(?:[^"\\]|\\.)*"\s*:', first):
        return "json"
    tabs = {line.count(b"\t") for line in lines}
    if wants_fields and len(tabs) == 1 and tabs != {0}:
        return "tsv"
    try:
        widths = {len(row) for row in csv.reader(line.decode("utf-8", "replace") for line in lines)}
    except csv.Error:
        return "text"
    return "csv" if wants_fields and len(widths) == 1 and widths != {1} and len(lines) > 1 else "text"


def _json(lines: Sequence[bytes], fields: Fields, labelled: bool) -> JsonLines:
    found: list[dict[str, Any]] = []
    for line in lines:
        with suppress(InputError):
            value = parse_json(line.decode("utf-8", "replace"))
            found += [value] if isinstance(value, dict) else []
    names = list(dict.fromkeys(name for value in found for name in value))
    plain = [name for name in names if not any(isinstance(value.get(name), dict) for value in found)]
    rows = [[value.get(name, "") for name in plain] for value in found]
    made = JsonLines(fields.chosen(plain, rows, labelled) if found else fields)
    if found and not made.fields.text:
        raise InputError(f"no field of text; name it with --field; the fields are {', '.join(names[:20])}")
    made.names = names
    return made


def _table(kind: type[Table], lines: Sequence[bytes], fields: Fields, labelled: bool) -> Table:
    reader, rows = kind(), []
    for _, record in reader.records(line + b"\n" for line in lines):
        with suppress(InputError):  # reported when it is read
            rows.append(reader.cells(record))
    first = rows[0] if rows else []
    numbers = [str(k + 1) for k in range(len(first))]
    header = fields.header
    if header is None:
        wanted = {*fields.text, fields.label} - {None}
        known = {*TEXTS, *LABELS, "id", "idx", "index"}
        named = any(cell.strip().lower() in known for cell in first)
        header = (bool(wanted) and wanted <= set(first)) or (named and not wanted & set(numbers))
        if not wanted and not header and labelled and len(rows) > 20:
            header = _is_apart(first, rows[1:], fields.chosen(numbers, rows[1:], True).label)
    names = first if header else numbers
    made = kind(fields.chosen(names, rows[1:] if header else rows, labelled), names)
    made.header = lines[0] if header else None
    return made


def _is_apart(first: Sequence[str], rows: Sequence[Sequence[str]], label: str | None) -> bool:
    """Whether the first row is a header: its label occurs in no row below, its cells are short."""
    column = int(label or 1) - 1
    below = [row[column] for row in rows if column < len(row)]
    short = all(cell.strip() and len(cell.split()) <= 3 and not cell.strip().isdecimal() for cell in first)
    return short and first[column] not in below and len(set(below)) * 4 <= len(below)


def _cell(value: Any) -> str:
    return "" if value is None else str(value)


def as_labels(value: Any) -> tuple[str, ...]:
    """Labels of a JSON value or a cell: none, one, or a list of them."""
    if value is None or value == "":
        return ()
    if isinstance(value, list):
        return tuple(str(label) for label in value)
    return (str(value),)


def _decode(record: bytes) -> str:
    try:
        return record.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"invalid UTF-8 (byte 0x{record[error.start]:02x})") from None
