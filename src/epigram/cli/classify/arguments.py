"""Arguments that the commands of ``epigram classify`` share, and reading of labelled texts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from epigram.errors import InputError

if TYPE_CHECKING:
    from epigram.records import Document, Fields

Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE...", help="Text, __label__, TSV, CSV, JSON lines or Parquet files; - is stdin."
    ),
]
LabelField = Annotated[
    str | None, typer.Option("--label", metavar="NAME", help="Field of the label [default: recognised].")
]
FileFormat = Annotated[
    Literal["text", "fasttext", "json", "csv", "tsv", "parquet"] | None,
    typer.Option("--format", help="Format of the files [default: by name and content]."),
]


def fields_of(text: str | None, label: str | None) -> Fields:
    """The fields that the options name."""
    from epigram.records import Fields

    return Fields(tuple(text.split(",")) if text else (), label)


def read_labelled(
    files: list[Path], text: str | None, label: str | None, format: str | None
) -> tuple[list[str], list[tuple[str, ...]]]:
    """Texts and labels of files."""
    from epigram.records import RecordReader

    reader = RecordReader([str(path) for path in files], fields_of(text, label), format, labelled=True)
    documents: list[Document] = list(reader)
    reader.refuse_blank()
    if not any(document.labels for document in documents):
        said = "no labels found; name their field with --label, or write __label__NAME before each text"
        raise InputError(said, path=files[0])
    return [document.text for document in documents], [document.labels for document in documents]


def load_classifier(path: Path) -> Any:
    """The text classifier of a file."""
    from epigram.storage import load

    return load(path, "classifier")
