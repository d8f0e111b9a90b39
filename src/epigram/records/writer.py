"""RecordWriter: documents to a file, in the format and with the fields that they came with."""

from __future__ import annotations

import os
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from epigram.errors import InputError
from epigram.records.formats import Document, Format, Table
from epigram.records.streams import pack

BATCH = 4 << 20
"""Bytes that are written, and compressed, together."""
EMPTY: Mapping[str, Any] = {}


class RecordWriter:
    """Writes records to ``path`` unchanged, or with more fields.

    The content goes to ``path`` + ``.epigram-partial`` until :meth:`close` renames it. :meth:`flush` returns a
    size at which the file is whole; a writer that is given this ``size`` continues there.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from epigram.records import RecordReader
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.jsonl").write_text('{"text": "a rose"}\\n')
    >>> reader, writer = RecordReader(folder / "a.jsonl"), RecordWriter(folder / "b.jsonl", ["score"])
    >>> for document in reader:
    ...     writer.write(document, reader.format, {"score": 0.5})
    >>> writer.close()
    >>> (folder / "b.jsonl").read_text()
    '{"text": "a rose", "score": 0.5}\\n'
    """

    def __init__(self, path: str | PathLike[str], added: list[str] | None = None, size: int = 0) -> None:
        self.path, self._added = str(path), added or []
        self.partial = Path(f"{self.path}.epigram-partial")
        self._rows: list[dict[str, Any]] = []
        self._table: Any = None
        self._is_table_of_rows = self.path.endswith(".parquet")
        self._waiting: list[bytes] = []
        self._n_waiting = 0
        self._begun = size > 0
        self.checked: dict[str, list[str]] = {}
        """Names of the fields of files that records were taken from, kept by those who check them."""
        self._file = None if self._is_table_of_rows else self.partial.open("r+b" if size else "wb")
        if self._file is not None and size:
            self._file.truncate(size)
            self._file.seek(size)

    def write(self, document: Document, format: Format | None, values: Mapping[str, Any] = EMPTY) -> None:
        """Write the record of a document, with ``values`` added under their names."""
        format = format or Format()
        if self._is_table_of_rows:
            self._rows.append({**document.raw, **values})
            if self._table is None:
                from epigram.records.parquet import RowWriter

                self._table = RowWriter(str(self.partial), document.path, values)
            if len(self._rows) >= self._table.n_rows:
                self._table.write(self._rows)
                self._rows = []
            return
        if not self._begun and isinstance(format, Table) and format.header is not None:
            names = {name: name for name in self._added}
            self._put(format.add(format.header, names) if names else format.header)
        self._begun = True
        self._put(format.add(document.raw, values) if values else document.raw)

    def _put(self, record: bytes) -> None:
        self._waiting += (record, b"\n")
        self._n_waiting += len(record) + 1
        if self._n_waiting >= BATCH:
            self._pack()

    def _pack(self) -> None:
        if self._file is not None and self._waiting:
            self._file.write(pack(self.path, b"".join(self._waiting)))
        self._waiting, self._n_waiting = [], 0

    def flush(self) -> int:
        """Write what waits, and return the size of the file; 0 for Parquet, which cannot go on."""
        if self._file is None:
            return 0
        self._pack()
        self._file.flush()
        return self._file.tell()

    def discard(self) -> None:
        """Remove what was written."""
        if self._file is not None:
            self._file.close()
        self.partial.unlink(missing_ok=True)

    def close(self) -> None:
        """Write what waits, and give the file its name."""
        if self._table is not None:
            self._table.write(self._rows)
            self._table.close()
        elif self._file is None:
            raise InputError("no row is within bounds; an empty Parquet file has no columns", path=self.path)
        else:
            self.flush()
            os.fsync(self._file.fileno())
            self._file.close()
        os.replace(self.partial, self.path)
