"""requirements.lock has every package that pyproject.toml asks for, in a version that it allows."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

HOME = Path(__file__).parents[1]
PROJECT = tomllib.loads((HOME / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]


def _asked(extra: str) -> list[Requirement]:
    """The requirements of an extra, those of its own extras in place of them."""
    found = []
    for requirement in map(Requirement, EXTRAS[extra]):
        if requirement.name == PROJECT["name"]:
            found += [inner for name in sorted(requirement.extras) for inner in _asked(name)]
        else:
            found.append(requirement)
    return found


def _locked() -> dict[str, list[str]]:
    """The versions of each package."""
    versions: dict[str, list[str]] = {}
    for line in (HOME / "requirements.lock").read_text().splitlines():
        if not line.startswith("#"):
            requirement = Requirement(line)
            versions.setdefault(requirement.name, []).append(str(requirement.specifier).removeprefix("=="))
    return versions


@pytest.mark.parametrize("extra", ["test", "docs", "rivals"])
def test_every_requirement_is_locked(extra: str) -> None:
    asked = [*map(Requirement, PROJECT["dependencies"]), *_asked(extra)]
    locked = _locked()
    for one in asked:
        assert locked.get(one.name), f"{one} is not in requirements.lock: make lock"
        assert all(one.specifier.contains(version) for version in locked[one.name]), f"{one}: make lock"
