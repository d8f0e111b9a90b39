"""Supply chain: lock files with hashes, actions by commit, build requirements within bounds."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

HOME = Path(__file__).parents[1]
SETTINGS = tomllib.loads((HOME / "pyproject.toml").read_text())
PROJECT = SETTINGS["project"]
EXTRAS = PROJECT["optional-dependencies"]
WORKFLOWS = sorted((HOME / ".github" / "workflows").glob("*.yml"))


def _asked(extra: str) -> list[Requirement]:
    """The requirements of an extra, those of its own extras in place of them."""
    found = []
    for requirement in map(Requirement, EXTRAS[extra]):
        if requirement.name == PROJECT["name"]:
            found += [inner for name in sorted(requirement.extras) for inner in _asked(name)]
        else:
            found.append(requirement)
    return found


def _locked(name: str) -> dict[str, list[str]]:
    """The versions of each package in a lock file, all of which have hashes."""
    versions: dict[str, list[str]] = {}
    text = re.sub(r"^#.*\n", "", (HOME / name).read_text(), flags=re.MULTILINE)
    for line in text.replace("\\\n", " ").splitlines():
        package, *hashes = line.split(" --hash=sha256:")
        assert hashes, f"{package}: make lock"
        assert all(re.fullmatch("[0-9a-f]{64} *", one) for one in hashes), f"{package}: make lock"
        requirement = Requirement(package.split(" --hash")[0])
        versions.setdefault(requirement.name, []).append(str(requirement.specifier).removeprefix("=="))
    return versions


@pytest.mark.parametrize(
    ("name", "extra"),
    [("requirements.lock", extra) for extra in ("test", "docs", "rivals")]
    + [("requirements-serve.lock", "serve")],
)
def test_every_requirement_is_locked(name: str, extra: str) -> None:
    asked = [*map(Requirement, PROJECT["dependencies"]), *_asked(extra)]
    locked = _locked(name)
    for one in asked:
        versions = locked.get(canonicalize_name(one.name))
        assert versions, f"{one} is not in {name}: make lock"
        assert all(one.specifier.contains(version) for version in versions), f"{one}: make lock"


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-serve.lock"])
def test_lock_files_name_no_server(name: str) -> None:
    assert not re.search("://|--index-url|--find-links", (HOME / name).read_text())


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_pin_actions_by_commit_and_limit_permissions(path: Path) -> None:
    text = path.read_text()
    assert "\npermissions:\n  contents: read\n" in text
    actions = re.findall(r"uses: (.*)", text)
    assert actions
    for action in actions:
        assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action


def test_every_python_that_is_promised_is_tested() -> None:
    promised = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    tested = re.search(r"python: \[(.*)\]", (HOME / ".github/workflows/test.yml").read_text())
    assert tested
    assert [one.strip(' "') for one in tested[1].split(",")] == promised
    assert promised[0] == PROJECT["requires-python"].removeprefix(">=")


def test_build_requirements_have_an_upper_bound() -> None:
    for requirement in map(Requirement, SETTINGS["build-system"]["requires"]):
        assert any(one.operator == "<" for one in requirement.specifier), requirement
