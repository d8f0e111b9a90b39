r"""Reads CRFsuite's text format: one item per line, label and attributes separated by tabs.

The value of an attribute follows the last colon that is not escaped and is 1 without one; in a name ``\:`` is a colon
and ``\\`` a backslash. The label is empty or missing if it is unknown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from os import PathLike

from epigram.errors import InputError
from epigram.files import read_lines

_FIELD = re.compile(r"((?:[^:\\]|\\.)*)(?::(.*))?\Z", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Items:
    """Labels and features of the sequences of a file, for :class:`~epigram.tagging.CRFTagger`."""

    labels: list[list[str]]
    features: list[list[dict[str, float]]] = field(repr=False)


def read_items(path: str | PathLike[str]) -> Items:
    r"""Read a file, compressed by gzip or not; ``-`` is standard input.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "x.txt"
    >>> _ = file.write_text("DT\tw=the\tcap:2\nNN\tw=a\\:b\n\nNN\tw=cat\n")
    >>> items = read_items(file)
    >>> items.labels, items.features[0]
    ([['DT', 'NN'], ['NN']], [{'w=the': 1.0, 'cap': 2.0}, {'w=a:b': 1.0}])
    """
    labels: list[list[str]] = []
    features: list[list[dict[str, float]]] = []
    inside = False
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            inside = False
            continue
        if not inside:
            labels.append([])
            features.append([])
            inside = True
        label, *cells = line.split("\t")
        item: dict[str, float] = {}
        for cell in cells:
            if not cell:
                continue
            name, value = _field(cell, path, number)
            item[name] = item.get(name, 0.0) + value
        labels[-1].append(label)
        features[-1].append(item)
    if not labels:
        raise InputError("holds no items", path=path)
    return Items(labels, features)


def _field(cell: str, path: str | PathLike[str], line: int) -> tuple[str, float]:
    """Return an attribute and its value."""
    found = _FIELD.match(cell)
    if found is None:
        raise InputError(
            f"the attribute {cell!r} ends in the middle of an escape; write \\\\ for a backslash",
            path=path,
            line=line,
        )
    name, value = _ESCAPED.sub(r"\1", found[1]), found[2]
    if value is None:
        return name, 1.0
    try:
        return name, float(value)
    except ValueError:
        raise InputError(
            f"the value {value!r} of attribute {name!r} is no number; write \\: for a colon in a name",
            path=path,
            line=line,
        ) from None
