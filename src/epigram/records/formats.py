"""Formats of documents: parse a record to text and labels, add values to a record.

A record is the bytes of its file, without the end of its line, so that what is passed through stays as it is.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from epigram.errors import InputError
from epigram.files import parse_json
from epigram.records.fields import LABELS, TEXTS, Fields
from epigram.records.streams import unpacked_name

PREFIX = "__label__"
ENDINGS = {
    ".jsonl": "json", ".ndjson": "json", ".json": "json", ".csv": "csv", ".tsv": "tsv", ".tab": "tsv",
    ".parquet": "parquet",
}  # fmt: skip
SAMPLE = 200
"""Records at the head of a file that are looked at to recognise its format and its fields."""


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
        self.header: bytes | None = None

    def parse(self, record: bytes) -> tuple[str, tuple[str, ...]]:
        """Text and labels of a record; an InputError where it is malformed."""
        return _decode(record), ()

    def add(self, record: bytes, values: Mapping[str, Any]) -> bytes:
        """A record with more fields: of plain text, cells before it."""
        return b"\t".join([*(str(value).encode() for value in values.values()), record])

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
        """The cells of a record."""
        try:
            return next(csv.reader(io.StringIO(_decode(record), newline=""), delimiter=self.mark), [])
        except csv.Error as error:
            raise InputError(f"broken table row ({error})") from None

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
        parts: list[bytes] = []
        start, quotes = 0, 0
        for number, line in enumerate(lines, 1):
            if not parts:
                start, quotes = number, 0
                if line.count(b'"') % 2 and not self._is_open(line):  # 5" of an inch
                    yield number, line.rstrip(b"\r\n")
                    continue
            parts.append(line)
            quotes += line.count(b'"')
            if quotes % 2 == 0:
                yield start, b"".join(parts).rstrip(b"\r\n")
                parts.clear()
        if parts:
            yield start, b"".join(parts).rstrip(b"\r\n")

    def _is_open(self, line: bytes) -> bool:
        """Whether a line ends inside a quoted cell."""
        text = io.StringIO(line.decode("utf-8", "replace"), newline="")
        try:
            list(csv.reader(text, delimiter=self.mark, strict=True))
        except csv.Error as error:
            return "end of data" in str(error)
        return False


class TabTable(Table):
    """Cells with tabs between them; quotes mean nothing, a record is a line."""

    name, mark = "tsv", "\t"

    def cells(self, record: bytes) -> list[str]:
        return _decode(record).split("\t")

    def add(self, record: bytes, values: Mapping[str, Any]) -> bytes:
        return b"\t".join([record, *(str(value).replace("\t", " ").encode() for value in values.values())])

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
    return JsonLines(_json_fields(lines, fields, labelled)) if kind is JsonLines else kind(fields)


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


def _json_fields(lines: Sequence[bytes], fields: Fields, labelled: bool) -> Fields:
    found: list[dict[str, Any]] = []
    for line in lines:
        try:
            value = parse_json(line.decode("utf-8", "replace"))
        except InputError:
            continue
        if isinstance(value, dict):
            found.append(value)
    names = list(dict.fromkeys(name for value in found for name in value))
    plain = [name for name in names if not any(isinstance(value.get(name), dict) for value in found)]
    return fields.chosen(plain, [[value.get(name, "") for name in plain] for value in found], labelled)


def _table(kind: type[Table], lines: Sequence[bytes], fields: Fields, labelled: bool) -> Table:
    reader = kind()
    rows = [reader.cells(record) for _, record in reader.records(line + b"\n" for line in lines)]
    first = rows[0] if rows else []
    numbers = [str(k + 1) for k in range(len(first))]
    header = fields.header
    if header is None:
        wanted = {*fields.text, fields.label} - {None}
        known = {*TEXTS, *LABELS, "id", "idx", "index"}
        header = wanted <= set(first) if wanted else any(cell.strip().lower() in known for cell in first)
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
