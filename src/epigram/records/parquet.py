"""Parquet files by pyarrow, an extra: rows as dictionaries, read and written in batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from epigram.errors import InputError, install
from epigram.records.fields import Fields
from epigram.records.formats import SAMPLE, Format, as_labels

ROWS = 1 << 12


class ParquetFormat(Format):
    """Rows of a Parquet file."""

    name = "parquet"

    @classmethod
    def of(cls, path: str, fields: Fields, labelled: bool) -> ParquetFormat:
        """The format of a file, its fields recognised."""
        with _open(path) as file:
            names = file.schema_arrow.names
            head = next(file.iter_batches(SAMPLE), None)
            rows = [] if head is None else [list(row.values()) for row in head.to_pylist()]
        made = cls(fields.chosen(names, rows, labelled))
        made.names = list(names)
        return made

    def parse(self, record: Any) -> tuple[str, tuple[str, ...]]:
        texts = [record[name] for name in self.fields.text]
        if not all(isinstance(text, str) for text in texts):
            raise InputError(f"the field {self.fields.text[0]!r} is not a text")
        return " ".join(texts), as_labels(record[self.fields.label] if self.fields.label else None)

    def add(self, record: Any, values: Mapping[str, Any]) -> Any:
        return {**record, **values}


def iterate_rows(path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Rows of a file with their numbers, from 1."""
    number = 0
    with _open(path) as file:
        for batch in file.iter_batches(ROWS):
            for row in batch.to_pylist():
                number += 1
                yield number, row


class RowWriter:
    """Writes rows with the columns of a source file and those of further values."""

    n_rows = ROWS

    def __init__(self, path: str, source: str, values: Mapping[str, Any]) -> None:
        import pyarrow
        import pyarrow.parquet

        with _open(source) as file:
            schema = file.schema_arrow
        for name, value in values.items():
            kind = pyarrow.string() if isinstance(value, str) else pyarrow.float64()
            schema = schema.append(pyarrow.field(name, kind))
        self._schema, self._arrow = schema, pyarrow
        self._writer = pyarrow.parquet.ParquetWriter(path, schema)

    def write(self, rows: list[dict[str, Any]]) -> None:
        """Write a group of rows."""
        self._writer.write_table(self._arrow.Table.from_pylist(rows, self._schema))

    def close(self) -> None:
        """End the file."""
        self._writer.close()


def _open(path: str) -> Any:
    try:
        import pyarrow.parquet
    except ImportError:
        raise InputError(f"Parquet files need pyarrow: {install('parquet')}", path=path) from None
    try:
        return pyarrow.parquet.ParquetFile(path)
    except (OSError, pyarrow.ArrowInvalid) as error:
        raise InputError(f"cannot read as Parquet: {error}", path=path) from error
