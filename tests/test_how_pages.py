"""The pages on how it works name the file that holds each part of a paper; the files are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "how").glob("*-*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_files_of_a_page_exist(page: Path) -> None:
    table = page.read_text("utf-8").partition("## Where each part is")[2]
    named = re.findall(r"`([\w/]+(?:\.\w+|/))`", table)
    assert len(named) >= 8
    missing = [
        name for name in named if not any((ROOT / home / name).exists() for home in ("src/epigram", "."))
    ]
    assert missing == []


def test_every_paper_has_a_page() -> None:
    assert len(PAGES) == 3
