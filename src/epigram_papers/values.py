"""How a value of a table is written, the same in every format; and names that can stand in an address."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from epigram_papers.report import Table, Value

MISSING = "–"
_NUMBER = re.compile(r"[<>≤≥≈~±]?\s*[-+−]?[\d.,]")


def show(value: Value, spec: str | None = None) -> str:
    """A value for people; ``spec`` is a format spec for numbers, None to choose one.

    Examples
    --------
    >>> [show(v) for v in (None, 12345, 93.6412, 12345.6, 0.00001234, float("nan"), "n/a")]
    ['–', '12,345', '93.64', '12,346', '1.23e-05', 'not a number', 'n/a']
    >>> show(93.6412, ".1f")
    '93.6'
    """
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if math.isnan(value):
        return "not a number"
    if math.isinf(value):
        return "infinite" if value > 0 else "minus infinite"
    text = _number(value) if spec is None else format(value, spec)
    return text if "e" in text else text.replace("-", "−")


def cells(table: Table) -> list[list[str]]:
    """The rows of a table as they are shown."""
    specs: list[str | None] = [None] * len(table.columns) if table.formats is None else [*table.formats]
    return [[_shown(value, spec) for value, spec in zip(row, specs, strict=True)] for row in table.rows]


def is_numeric(values: Iterable[Value]) -> bool:
    """True where a column holds numbers, some of them perhaps missing or written out."""
    given = [value for value in values if value is not None]
    numbers = [isinstance(value, int | float) or bool(_NUMBER.match(value)) for value in given]
    return bool(given) and 2 * sum(numbers) > len(numbers)


def slug(text: str) -> str:
    """Lower-case words with hyphens.

    >>> slug("Table 1: F-score (CoNLL-2000)")
    'table-1-f-score-conll-2000'
    """
    return "-".join(re.findall(r"[a-z0-9]+", text.lower()))


def _shown(value: Value, spec: str | None) -> str:
    try:
        return show(value, spec)
    except ValueError as error:
        raise ValueError(f"format {spec!r} does not fit {value!r}: {error}") from error


def _number(value: float) -> str:
    size = abs(value)
    if isinstance(value, int) or value == 0:
        return f"{value:,}"
    if size < 1e-3 or size >= 1e9:
        return f"{value:.2e}"
    return f"{value:,.0f}" if size >= 1000 else f"{value:.4g}"
