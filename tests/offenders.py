"""The list of places that break a rule of the source tree until they are rewritten; the list only shrinks.

python tests/offenders.py     deletes the lines that are no longer needed
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

LIST = Path(__file__).with_name("offenders.txt")
RULES = ("test_prose", "test_layout")
"""Test modules; each has a dict RULES from a rule's name to a function that finds what breaks it."""


def listed(rule: str) -> set[str]:
    """What may break a rule for now."""
    rows = (line.split(maxsplit=1) for line in LIST.read_text("utf-8").splitlines())
    return {row[1] for row in rows if row[0] == rule}


def compare(rule: str, found: set[str]) -> None:
    """Fail on a new offender, and on a listed one that is none."""
    known = listed(rule)
    assert sorted(found - known) == [], f"break the rule {rule!r}"
    assert sorted(known - found) == [], f"no longer break {rule!r}: run python tests/offenders.py"


def main(moved: bool) -> None:
    """Rewrite the list without lines that are not needed; after a move, with those that are found."""
    rows = []
    for name in RULES:
        for rule, find in import_module(name).RULES.items():
            rows += [f"{rule} {one}" for one in sorted(find() if moved else find() & listed(rule))]
    LIST.write_text("".join(f"{row}\n" for row in rows), "utf-8")


if __name__ == "__main__":
    main("--moved" in sys.argv)
