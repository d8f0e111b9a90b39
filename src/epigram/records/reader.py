"""RecordReader: the documents of many files, one after the other, in constant memory.

Malformed records are counted and reported by file and line: the first few by a warning each, then in sum. They are left
out, or yielded with their ``error``.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from os import PathLike
from typing import Any

from epigram.errors import DataWarning, InputError
from epigram.files import CONLLU_START, refuse_binary
from epigram.records.fields import Fields
from epigram.records.formats import SAMPLE, Document, Format, recognise
from epigram.records.streams import iterate_lines, unpacked_name

SHOWN = 5
"""Malformed records that are reported one by one."""
BOM = b"\xef\xbb\xbf"
Paths = str | PathLike[str] | Iterable[str | PathLike[str]]


class RecordReader:
    """Reads documents from files.

    Parameters
    ----------
    paths : file or files; ``-`` is standard input.
    fields : fields of text and label; what is not given is recognised in each file.
    format : ``text``, ``fasttext``, ``json``, ``csv``, ``tsv`` or ``parquet``; by default by name and content.
    labelled : whether labels are wanted: a label field is recognised, and tables in files that are not called so.
    strict : raise an InputError at the first malformed record.
    keep_malformed : yield malformed records too, with ``error`` set and an empty text.
    shown : malformed records that are reported one by one; with 0 none is reported.

    Attributes
    ----------
    n_documents, n_malformed, n_texts : counts so far; texts are documents that are not blank.
    format : the :class:`Format` of the file being read.
    formats : those of all files so far, by path.
    """

    def __init__(
        self,
        paths: Paths,
        fields: Fields = Fields(),  # noqa: B008 - it is frozen
        format: str | None = None,
        labelled: bool = False,
        strict: bool = False,
        keep_malformed: bool = False,
        shown: int = SHOWN,
    ) -> None:
        single = isinstance(paths, str | PathLike)
        self.paths = [str(path) for path in ([paths] if single else paths)]  # type: ignore[union-attr]
        self.fields, self.labelled, self.strict, self.keep_malformed = (
            fields,
            labelled,
            strict,
            keep_malformed,
        )
        self.n_documents = self.n_malformed = self.n_texts = 0
        self.format: Format | None = None
        self.formats: dict[str, Format] = {}
        self._given, self._shown = format, shown

    def __iter__(self) -> Iterator[Document]:
        for path in self.paths:
            yield from self.documents(path)
        if self.n_malformed > self._shown > 0:
            said = (
                f"{self.n_malformed:,} malformed records in all, of {self.n_documents + self.n_malformed:,}"
            )
            warnings.warn(DataWarning(said), stacklevel=2)
        if self.n_malformed and not self.n_documents:
            raise InputError(f"no document could be read, {self.n_malformed:,} malformed; see the warnings")

    def refuse_blank(self) -> None:
        """Refuse files, read to their end, that had no text."""
        if not self.n_texts:
            raise InputError(f"no text: {', '.join(self.paths[:3])}: empty or blank")

    def documents(self, path: str) -> Iterator[Document]:
        """The documents of one file."""
        if self._given == "parquet" or (self._given is None and unpacked_name(path).endswith(".parquet")):
            from epigram.records.parquet import ParquetFormat, iterate_rows

            self.format = made = ParquetFormat.of(path, self.fields, self.labelled)
            numbered: Iterator[tuple[int, Any]] = iterate_rows(path)
            reads = made.parse
        else:
            lines = iterate_lines(path)
            head = list(islice(lines, SAMPLE))
            self.format = recognise_head(path, head, self._given, self.fields, self.labelled)
            numbered = iter(self.format.records(chain(head, lines)))
            if self.format.header is not None:
                next(numbered)
            reads = self.format.parse
        self.formats[path] = self.format
        for number, record in numbered:
            try:
                text, labels = reads(record)
            except InputError as error:
                self._report(str(error), path, number)
                if self.keep_malformed:
                    yield Document("", (), record, path, number, str(error))
                continue
            self.n_documents += 1
            self.n_texts += not (not text or text.isspace())
            yield Document(text, labels, record, path, number)

    def _report(self, said: str, path: str, line: int) -> None:
        self.n_malformed += 1
        if self.strict:
            raise InputError(said, path=path, line=line)
        if self.n_malformed <= self._shown:
            warnings.warn(DataWarning(f"{path}:{line}: left out: {said}"), stacklevel=3)


def recognise_head(
    path: str, head: list[bytes], given: str | None, fields: Fields, labelled: bool = False
) -> Format:
    """The format of a file, from its first lines; binary files are refused."""
    refuse_binary(b"".join(head), path)
    if head:
        head[0] = head[0].removeprefix(BOM)
    if given is None and CONLLU_START.match(b"".join(head)):
        raise InputError("CoNLL-U, but documents are expected, one a line", path=path)
    try:
        return recognise(path, [line.rstrip(b"\r\n") for line in head], given, fields, labelled)
    except InputError as error:
        raise InputError(str(error), path=path) from None


def recognise_file(path: str) -> Format | None:
    """The format of a file of records, by name or first lines; None for plain text."""
    if unpacked_name(path).endswith(".parquet"):
        from epigram.records.parquet import ParquetFormat

        return ParquetFormat.of(path, Fields(), False)
    if not os.path.isfile(path):
        return None
    head = list(islice(iterate_lines(path), SAMPLE))
    try:
        format = recognise_head(path, head, None, Fields())
    except InputError:
        return None  # the reader of plain text says what it is
    return None if format.name == "text" else format


def read_documents(
    paths: Paths,
    text: str | None = None,
    label: str | None = None,
    format: str | None = None,
    strict: bool = False,
) -> Iterator[Document]:
    """Documents of files of any format, one at a time.

    Parameters
    ----------
    text, label : fields by name, or by number in tables without a header; recognised where not given.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.jsonl"
    >>> _ = path.write_text('{"id": 1, "text": "a rose"}\\n{"id": 2, "text": "is a rose"}\\n')
    >>> [document.text for document in read_documents(path)]
    ['a rose', 'is a rose']
    """
    fields = Fields((text,) if text else (), label)
    return iter(RecordReader(paths, fields, format, label is not None, strict))
