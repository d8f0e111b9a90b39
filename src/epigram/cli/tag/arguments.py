"""Arguments that the commands of ``epigram tag`` share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from epigram.tagging.column_tagger import ColumnTagger


def load_tagger(path: Path) -> ColumnTagger:
    from epigram.tagging.column_tagger import ColumnTagger

    return ColumnTagger.load(path)
