"""Labelled and unlabelled attachment scores (CoNLL 2018 rules).

Every word counts, punctuation too; subtypes of relations (after the colon) do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from epigram.protocols import Ints, Offsets

LENGTHS = (10, 20, 30, 40, 60)


@dataclass(frozen=True, slots=True)
class Attachment:
    """UAS, LAS, and LAS with subtypes of relations (``exact``), as shares of the words."""

    words: int
    uas: float
    las: float
    exact: float


@dataclass(frozen=True, slots=True)
class ParseReport:
    """The scores of all words, by relation (recall), and by the length of sentences."""

    overall: Attachment
    by_relation: dict[str, Attachment]
    by_length: dict[str, Attachment]

    def as_dict(self) -> dict[str, Any]:
        """Convert to plain types for JSON."""

        def record(scores: Attachment) -> dict[str, Any]:
            return {name: getattr(scores, name) for name in Attachment.__slots__}

        return {
            **record(self.overall),
            "by_relation": {name: record(scores) for name, scores in self.by_relation.items()},
            "by_length": {name: record(scores) for name, scores in self.by_length.items()},
        }


def evaluate_trees(
    sentence_ptr: Offsets,
    heads: tuple[Ints, Ints],
    relations: tuple[Sequence[str], Sequence[str]],
) -> ParseReport:
    """Compare gold (first) and predicted (second) heads and relations.

    Examples
    --------
    >>> ptr, heads = np.array([0, 2]), np.array([2, 0])
    >>> report = evaluate_trees(ptr, (heads, heads), (["nsubj:pass", "root"], ["nsubj", "dep"]))
    >>> report.overall.uas, report.overall.las, report.overall.exact
    (1.0, 0.5, 0.0)
    """
    gold, found = (np.array(names, dtype=object) for names in relations)
    bare_gold, bare_found = (
        np.array([name.partition(":")[0] for name in names], dtype=object) for names in relations
    )
    right = heads[0] == heads[1]
    with_relation, exact = right & (bare_gold == bare_found), right & (gold == found)

    def scores(chosen: Any) -> Attachment:
        n = int(np.count_nonzero(chosen))
        shares = (float(part[chosen].mean()) if n else 0.0 for part in (right, with_relation, exact))
        return Attachment(n, *shares)

    lengths = np.repeat(np.diff(sentence_ptr), np.diff(sentence_ptr))
    bounds = [(low + 1, high) for low, high in zip((0, *LENGTHS), (*LENGTHS, 10**9), strict=True)]
    by_length = {
        f"{low}-{high}" if high < 10**9 else f"{low}+": scores((lengths >= low) & (lengths <= high))
        for low, high in bounds
    }
    return ParseReport(
        scores(np.ones(len(right), dtype=bool)),
        {name: scores(bare_gold == name) for name in sorted(set(bare_gold.tolist()))},
        {name: own for name, own in by_length.items() if own.words},
    )
