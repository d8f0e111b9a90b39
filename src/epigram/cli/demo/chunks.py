"""Print sentences with their chunks in colour: the words on one line, the chunk types under them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rich.text import Text

COLOURS = {
    "NP": "cyan",
    "VP": "green",
    "PP": "yellow",
    "SBAR": "magenta",
    "ADVP": "bright_blue",
    "ADJP": "bright_magenta",
    "PRT": "bright_yellow",
    "INTJ": "white",
}


class Chunk(NamedTuple):
    """A run of words with one type; type "" is outside of all chunks."""

    type: str
    start: int
    end: int


def chunks(tags: Sequence[str]) -> list[Chunk]:
    """The chunks of IOB2 tags, and the runs outside of them.

    Examples
    --------
    >>> [tuple(chunk) for chunk in chunks(["B-NP", "I-NP", "B-NP", "O", "O"])]
    [('NP', 0, 2), ('NP', 2, 3), ('', 3, 4), ('', 4, 5)]
    """
    found: list[Chunk] = []
    for k, tag in enumerate(tags):
        kind = tag[2:]
        if tag.startswith("I-") and found and found[-1].type == kind:
            found[-1] = found[-1]._replace(end=k + 1)
        else:
            found.append(Chunk(kind, k, k + 1))
    return found


def colour(kind: str) -> str:
    """The colour of a chunk type."""
    return COLOURS.get(kind, "white")


def draw(words: Sequence[str], tags: Sequence[str], gold: Sequence[str], width: int) -> Iterator[Text]:
    """Pairs of lines, words above chunk types, folded between chunks; what is not gold is marked in red."""
    from rich.text import Text

    right = set(chunks(gold))
    above, below = Text(), Text()
    for chunk in chunks(tags):
        text = " ".join(words[chunk.start : chunk.end])
        label = chunk.type if chunk in right else f"{chunk.type or 'O'} ✗"
        size = max(len(text), len(label)) + 2
        if len(above) + size > width and len(above):
            yield from (above, below)
            above, below = Text(), Text()
        shade = colour(chunk.type)
        above.append(f" {text}".ljust(size), style=f"black on {shade}" if chunk.type else "dim")
        below.append(f" {label}".ljust(size), style=shade if chunk in right else "bold red")
        above.append(" ")
        below.append(" ")
    yield from (above, below)
