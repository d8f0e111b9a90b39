"""CCNet's normalisation of text (Wenzek et al. 2020) as a table of characters.

In order: lower case, canonical decomposition without non-spacing marks, digits to 0, other punctuation to ASCII,
control characters left out, ends of lines among them. All steps but one look at one character, so that they are one
table; the capital sigma, whose lower case depends on its neighbours, is lowered by :func:`prepare`.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from epigram._core.arrays import offsets

SIGMA = "Σ"
Folds: TypeAlias = tuple[Any, Any, Any, Any]
"""Pages, the forms of the characters of a page, offsets of the forms, and their bytes."""
PUNCTUATION = {
    **dict.fromkeys("„”“«»」「《》", '"'),
    **dict.fromkeys("´’", "'"),
    **dict.fromkeys("∶：", ":"),
    **dict.fromkeys("–━►", "-"),
    **dict(zip("，。、？！（）；～〈〉【】％", ",.,?!();~<>[]%", strict=True)),
    "—": " - ",
    "．": ". ",
    "…": "...",
}
CONTROLS = {*map(chr, range(32)), *map(chr, range(127, 160))}
BLOCKS = (range(0x3400), range(0xA000, 0x20000), range(0x2F800, 0x2FA20), range(0xE0100, 0xE01F0))
"""Code points outside of which nothing changes: the rest are Han characters and what is not assigned."""
SURROGATES = range(0xD800, 0xE000)


def prepare(text: str) -> str:
    """Do what depends on neighbours: trim, and lower capital sigmas.

    Examples
    --------
    >>> prepare(" ΟΔΟΣ ")
    'οδος'
    """
    text = text.strip()
    return text.lower() if SIGMA in text else text


def normalise(text: str) -> str:
    """A normalised text, by the steps one after the other; the reference of the table.

    Examples
    --------
    >>> normalise(" Été 2019 — “Oui…”")
    'ete 0000  -  "oui..."'
    """
    decomposed = unicodedata.normalize("NFD", text.strip().lower())
    return "".join(
        PUNCTUATION.get(c, c) if not c.isdecimal() else "0"
        for c in decomposed
        if unicodedata.category(c) != "Mn" and c not in CONTROLS
    )


@cache
def table() -> Folds:
    """Pages, forms of characters, and the forms themselves, as C takes them."""
    points = [c for block in BLOCKS for c in block if c not in SURROGATES]
    lowered = "\n".join(map(chr, points)).replace("\n\n\n", "\n \n").lower()
    found = unicodedata.normalize("NFD", lowered).split("\n")
    numbers: dict[bytes, int] = {b"": 1}
    forms = np.zeros(0x110000, np.int32)
    for point, decomposed in zip(points, found, strict=True):
        form = "".join(
            [
                "0" if c.isdecimal() else PUNCTUATION.get(c, c)
                for c in decomposed
                if unicodedata.category(c) != "Mn" and c not in CONTROLS
            ]
        )
        if form != chr(point):
            forms[point] = numbers.setdefault(form.encode(), len(numbers) + 1)
    forms[[*map(ord, CONTROLS)]] = numbers[b""]
    rows = forms.reshape(-1, 256)
    used = rows.any(axis=1)
    pages = np.where(used, np.cumsum(used), 0).astype(np.int32)
    ptr = np.append(0, offsets([len(form) for form in numbers]))
    return (
        pages,
        np.vstack([np.zeros((1, 256), np.int32), rows[used]]).ravel(),
        ptr,
        np.frombuffer(b"".join(numbers) or b"\0", np.uint8),
    )


NOTHING = np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(1, np.int64), np.zeros(0, np.uint8)
"""The table of texts that stay as they are."""
