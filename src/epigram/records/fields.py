"""Fields of text and labels, given or recognised from the first records of a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from epigram.errors import InputError

TEXTS = (
    "text", "content", "raw_content", "sentence", "document", "body", "review", "comment", "tweet", "message",
    "question", "utterance", "query", "title", "headline", "description", "abstract", "source",
)  # fmt: skip
LABELS = (
    "labels", "label", "class", "category", "categories", "target", "sentiment", "topic", "topics", "intent", "tag",
    "polarity", "language", "lang", "rating", "stars", "y",
)  # fmt: skip
TOGETHER = {"title", "headline", "description", "body", "content", "abstract", "text"}
"""Fields of one document that are joined where several of them are there."""
WORDS = 2.0
"""Words that the values of a column have on average if it is text."""


@dataclass(frozen=True)
class Fields:
    """The fields of a record: those joined to its text, and the one of its labels.

    Names of JSON keys or columns; columns without a header have their numbers, from 1. ``text`` empty and ``label``
    None stand for what is not known yet, :meth:`chosen` fills them in.
    """

    text: tuple[str, ...] = ()
    label: str | None = None
    header: bool | None = None

    def chosen(self, names: Sequence[str], rows: Sequence[Sequence[Any]], labelled: bool) -> Fields:
        """These fields, with those filled in that names, or failing that contents, recognise.

        Examples
        --------
        >>> Fields().chosen(["id", "title", "stars"], [], labelled=True)
        Fields(text=('title',), label='stars', header=None)
        >>> Fields().chosen(["1", "2"], [["3", "so it goes on"], ["4", "a rose"], ["3", "a b c"]], True)
        Fields(text=('2',), label='1', header=None)
        """
        for name in (*self.text, *([self.label] if self.label else [])):
            if name not in names:
                raise InputError(f"no field {name!r}; the fields are {', '.join(names)}")
        by_name = {name.lower(): name for name in reversed(names)}
        label, text = self.label, self.text
        if label is None and labelled:
            label = next(
                (by_name[name] for name in LABELS if name in by_name and by_name[name] not in text), None
            )
        if not text:
            known = [by_name[name] for name in TEXTS if name in by_name and by_name[name] != label]
            joined = [name for name in names if name in known and name.lower() in TOGETHER]
            text = tuple(joined if known and known[0] in joined and "text" not in by_name else known[:1])
        contents = {name: [str(row[k]) for row in rows if k < len(row)] for k, name in enumerate(names)}
        if label is None and labelled:
            label = _least_varied({name: cells for name, cells in contents.items() if name not in text})
        if not text:
            text = _wordy({name: cells for name, cells in contents.items() if name != label})
        return replace(self, text=text, label=label)


def _least_varied(columns: Mapping[str, Sequence[str]]) -> str | None:
    """The column with the fewest different values, the shortest of those with as few."""
    if not columns:
        return None
    return min(columns, key=lambda name: (len(set(columns[name])), sum(map(len, columns[name]))))


def _wordy(columns: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The columns of several words, or else the longest."""
    means = {name: sum(len(c.split()) for c in cells) / max(1, len(cells)) for name, cells in columns.items()}
    found = tuple(name for name, mean in means.items() if mean >= WORDS)
    longest = sorted(columns, key=lambda name: -sum(map(len, columns[name])))
    return found or tuple(longest[:1])
