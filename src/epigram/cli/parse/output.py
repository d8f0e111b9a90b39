"""Formats the output of parsers: CoNLL-U, n-best, JSON lines and drawings."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from epigram.errors import InputError, reason
from epigram.parsing.drawing import svg_picture, terminal_picture
from epigram.parsing.treebank import Treebank
from epigram.protocols import Ints


class Parsed(NamedTuple):
    """Heads and labels of all words; ``column`` is the column of a tree tagger, or None."""

    heads: Ints
    labels: list[str]
    column: str | None


def sentences(bank: Treebank, parsed: Parsed) -> Iterator[tuple[list[str], list[int], list[str]]]:
    """Words, heads and labels, sentence by sentence."""
    form = bank.column("form")
    words, heads = [form.strings[k] for k in form.ids.tolist()], parsed.heads.tolist()
    for a, b in pairwise(bank.sentence_ptr.tolist()):
        yield words[a:b], heads[a:b], parsed.labels[a:b]


def json_lines(bank: Treebank, parsed: Parsed) -> Iterator[str]:
    """One object a sentence."""
    name = parsed.column or "relations"
    for words, heads, labels in sentences(bank, parsed):
        yield json.dumps({"words": words, "heads": heads, name: labels}, ensure_ascii=False) + "\n"


def nbest_lines(parser: Any, bank: Treebank, k: int, keep: bool = False) -> Iterator[str]:
    """One object a sentence, with its k best trees; of those that ``keep`` what the input has."""
    form = bank.column("form")
    words = [form.strings[i] for i in form.ids.tolist()]
    found = parser.predict_nbest(bank, k, *(bank.given() if keep else ()))
    for (a, b), trees in zip(pairwise(bank.sentence_ptr.tolist()), found, strict=True):
        best = [
            {"probability": p, "heads": [h for h, _ in tree], "relations": [name for _, name in tree]}
            for tree, p in trees
        ]
        yield json.dumps({"words": words[a:b], "nbest": best}, ensure_ascii=False) + "\n"


def pictures(bank: Treebank, parsed: Parsed) -> Iterator[str]:
    """Every tree drawn with lines."""
    for words, heads, labels in sentences(bank, parsed):
        yield terminal_picture(words, heads, labels) + "\n\n"


def write_svg(bank: Treebank, parsed: Parsed, folder: Path) -> None:
    """Every tree as a file of a folder."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for number, own in enumerate(sentences(bank, parsed), 1):
            (folder / f"{number}.svg").write_text(svg_picture(*own), "utf-8")
    except OSError as error:
        raise InputError(f"cannot write: {reason(error)}", path=folder) from error
