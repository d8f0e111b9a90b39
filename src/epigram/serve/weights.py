"""All weights of a model as rows that can be searched and sorted: those of ``epigram inspect --weights``."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from epigram.storage.file import weights

MOST_ROWS = 2_000_000
_NUMBERS = ("weight", "backoff")


class WeightTable:
    """Rows of names with one weight each, the largest first."""

    def __init__(self, path: Path) -> None:
        columns, rows = weights(path)
        named = [k for k, name in enumerate(columns) if name not in _NUMBERS]
        weight = columns.index("weight")
        self.columns = (*(columns[k] for k in named), "weight")
        self._rows: list[tuple[str, ...]] = []
        found: list[float] = []
        for row in rows:
            self._rows.append(tuple(str(row[k]) for k in named))
            found.append(row[weight])
        self._weights = np.array(found, dtype=np.float64)
        self._order = np.argsort(-np.abs(self._weights), kind="stable")[:MOST_ROWS]

    @cached_property
    def _lower(self) -> list[str]:
        return [" ".join(row).lower() for row in self._rows]

    def page(self, text: str, order: str, first: int, count: int) -> tuple[int, list[list[Any]]]:
        """How many rows hold the text, and some of them: by size, from the largest, or from the smallest."""
        wanted = self._order
        if text:
            needle = text.lower()
            wanted = np.array([k for k in wanted.tolist() if needle in self._lower[k]], np.int64)
        if order != "size":
            sign = -1.0 if order == "largest" else 1.0
            wanted = wanted[np.argsort(sign * self._weights[wanted], kind="stable")]
        rows = [[*self._rows[k], float(self._weights[k])] for k in wanted[first : first + count].tolist()]
        return len(wanted), rows
