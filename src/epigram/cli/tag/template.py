"""``epigram tag template``: prints or checks a feature template."""

from __future__ import annotations

import warnings

from epigram.cli import console
from epigram.errors import DataWarning


def command(
    name: str | None = None,
) -> None:
    """Print a template, or the names of the built-in ones.

    Parameters
    ----------
    name [NAME] : Template: chunking, ner, pos, or a file to check.
    """
    from epigram.features.template import BUILT_IN, Template

    if name is None:
        print("\n".join(BUILT_IN))
        return
    text = Template.load(name).text
    for number, line in enumerate(text.splitlines(), 1):
        if not line.lstrip().startswith("#") and len(line.split("match:")[0].split()) > 1:
            warnings.warn(
                f"{name}:{number}: blanks, and what follows them, are part of the attribute; write comments "
                "on lines of their own that begin with #",
                DataWarning,
                stacklevel=2,
            )
    print(console.echoed(text), end="")
