"""Help texts, the OpenAPI document and generated pages are those that were reviewed; tools/snapshots.py writes them."""

from __future__ import annotations

import pytest

from tools.reference import FOLDER as PAGES
from tools.reference import reference
from tools.schemas import schemas
from tools.snapshots import TESTS, help_of, help_text, openapi

FOLDER = TESTS / "cli" / "snapshots"
NAMES = sorted(path.stem for path in FOLDER.iterdir())


@pytest.mark.parametrize("name", NAMES)
def test_help_is_as_reviewed(name: str) -> None:
    found = help_text() if name == "epigram" else help_of(name)
    assert found.splitlines() == (FOLDER / f"{name}.txt").read_text("utf-8").splitlines()


def test_every_command_has_a_snapshot() -> None:
    from epigram.cli import COMMANDS

    assert sorted(["epigram", *COMMANDS]) == NAMES


def test_the_openapi_document_is_as_reviewed() -> None:
    pytest.importorskip("starlette")
    stored = (TESTS / "serve" / "snapshots" / "openapi.json").read_text("utf-8")
    assert openapi().splitlines() == stored.splitlines()


def test_generated_pages_are_as_reviewed() -> None:
    found = reference()
    assert sorted(found) == sorted(PAGES.iterdir())
    for path, content in found.items():
        assert content.splitlines() == path.read_text("utf-8").splitlines(), path.name


def test_the_schemas_of_the_javascript_runtime_are_those_of_python() -> None:
    assert schemas() == (TESTS.parent / "js" / "generated" / "schemas.mjs").read_text("utf-8")
