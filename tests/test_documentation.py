"""The pages of the documentation: links and anchors resolve, options that they name exist, words are those we use."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from test_prose import PHRASES

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(
    [*DOCS.rglob("*.md"), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md"))]
)
WRITTEN = [page for page in PAGES if page.parent.name != "reference" and page.name != "results.md"]
ELSEWHERE = {"migration.md", "results.md"}  # name old options; hold what a program wrote
FOREIGN = set(
    """
    --ap --block --compare --data --discount_fallback --files --growth --jobs --kills --max-turns --no-deps --nthreads
    --only --pipepart --quick --recend --rerank --richer --rival --rm --scheduler-file --sshlogin --whole
    """.split()  # noqa: SIM905
)
"""Options of other programs, of `python -m experiments` and of the programs in `benchmarks/` and `tests/`."""
OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s#]*)(#[^)\s]*)?\)")


def text_of(page: Path) -> str:
    return page.read_text("utf-8")


@cache
def anchors(page: Path) -> frozenset[str]:
    """Anchors of the headings of a page, as GitHub and MyST make them."""
    titles = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", text_of(page), flags=re.M | re.S), re.M)
    return frozenset(re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_and_anchors_resolve(page: Path) -> None:
    broken = []
    for name, anchor in LINK.findall(text_of(page)):
        target = page if not name else (page.parent / name).resolve()
        if name.startswith("gallery/"):  # written by Sphinx
            continue
        if not target.exists() or (target.suffix == ".md" and anchor and anchor[1:] not in anchors(target)):
            broken.append(name + anchor)
    assert broken == []


@cache
def options() -> frozenset[str]:
    """Options of all commands, by the reviewed help texts, and those of `epigram` itself."""
    folder = ROOT / "tests" / "cli" / "snapshots"
    return frozenset(option for file in folder.iterdir() for option in OPTION.findall(text_of(file)))


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_options_exist(page: Path) -> None:
    if page.name in ELSEWHERE:
        return
    assert sorted(set(OPTION.findall(text_of(page))) - options() - FOREIGN) == []


def exists(dotted: str) -> bool:
    """Whether a dotted name is that of a module, or of something in one."""
    parts = dotted.split(".")
    for k in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:k]))
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("epigram"):
                continue
            return True  # a module that needs an optional package
        for name in parts[k:]:
            found = getattr(found, name, None)
        return found is not None
    return False


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_names_of_modules_and_imports_exist(page: Path) -> None:
    if page.name in ELSEWHERE:
        return
    text = text_of(page)
    names = set(re.findall(r"(?<![\w./-])epigram(?:\.(?!mjs\b)\w+)+", text))
    for module, imported in re.findall(r"^(?:>>> )? *from (epigram[\w.]*) import ([\w, ]+)", text, re.M):
        names |= {f"{module}.{name}" for name in re.split(r"[, ]+", imported.strip())}
    assert sorted(name for name in names if not exists(name)) == []


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_words_are_those_of_the_glossary(page: Path) -> None:
    prose = re.sub(r"`[^`]*`|^    .*$|^```.*?^```", "", text_of(page), flags=re.M | re.S)
    if page.name not in ELSEWHERE:
        assert PHRASES.findall(prose) == []


def test_changelog_entries_are_one_short_line() -> None:
    lines = text_of(ROOT / "CHANGELOG.md").splitlines()
    entries = [line for line in lines if line and not line.startswith("#")]
    assert [line for line in entries if not line.startswith("- ") or len(line) > 160] == []
    assert {line for line in lines if line.startswith("### ")} <= {
        "### Added",
        "### Changed",
        "### Fixed",
        "### Removed",
    }
