"""CRFsuite's text format."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epigram.compat.crfsuite.items import read_items
from epigram.errors import InputError

NAMES = st.text(
    st.characters(
        exclude_characters="\0\t\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029", exclude_categories=["Cs"]
    ),
    min_size=1,
)


def written(name: str) -> str:
    return name.replace("\\", "\\\\").replace(":", "\\:")


def cell(name: str, value: float) -> str:
    return f"{written(name)}:{value}" if value != 1 else written(name)


@given(st.lists(st.dictionaries(NAMES, st.sampled_from([1.0, 2.5, -1.0])), min_size=1, max_size=3))
def test_what_is_written_is_read(items: list[dict[str, float]]) -> None:
    lines = ["\t".join(["L", *(cell(*one) for one in item.items())]) for item in items]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        path.write_bytes(("\n".join(lines) + "\n\n\n" + lines[0]).encode())
        found = read_items(path)
    assert found.features == [items, items[:1]]
    assert found.labels == [["L"] * len(items), ["L"]]


def test_mistakes_have_a_line(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("A\tw=1\nB\tw:x\n")
    with pytest.raises(InputError, match=r"x:2: the value 'x' of attribute 'w' is no number"):
        read_items(tmp_path / "x")
    (tmp_path / "x").write_text("\n\n")
    with pytest.raises(InputError, match="no items"):
        read_items(tmp_path / "x")
