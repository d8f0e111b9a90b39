"""Journals of corrections: how one is made, read and written to again."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path

from epigram.datasets.sample import BACKGROUND
from epigram.errors import DataWarning
from epigram.ime.build import build
from epigram.ime.corrections import Journal, Lesson
from epigram.ime.decoder import Decoder
from epigram.ime.lexicon.dictionary_formats import Entry


@cache
def decoder() -> Decoder:
    """The converter whose words are corrected."""
    return build(BACKGROUND[:6]).decoder


def make(folder: Path) -> list[Path]:
    """Write a journal of words and corrections, and one that is truncated."""
    path = folder / "corrections.jsonl"
    lessons = [Lesson("はし", "橋", {"橋/はし": 0.5}, [("はし", "端", -9.5)], "この"), Lesson("あめ", "飴")]
    Journal(decoder(), lessons, [Entry("はし", "箸")]).save(path)
    truncated = folder / "truncated.jsonl"
    truncated.write_bytes(path.read_bytes()[:-5])
    return [path, truncated]


def use(path: Path) -> None:
    """Read a journal, convert with it, add a correction, undo it, and read again."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        journal = Journal.load(decoder(), path)
        decoder().k_best("はしをわたる", 3)
        journal.append(Lesson("はし", "橋"))
        journal.save(path)
        journal.pop()
        journal.save(path)
        Journal.load(decoder(), path)
