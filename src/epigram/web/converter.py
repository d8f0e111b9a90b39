"""Japanese converters as a page reads them: quantised, with tables of texts."""

from __future__ import annotations

import numpy as np

from epigram.ime import signs
from epigram.ime.kana import romaji_table
from epigram.ime.numbers import COUNTED, FORMS
from epigram.ime.storage import from_model_file, to_model_file
from epigram.ime.typing.candidates import emoji
from epigram.ime.typing.layouts import KEYS
from epigram.storage import ModelFile


def as_read(file: ModelFile) -> ModelFile:
    """Quantise a converter, and add texts of numbers, signs, letters, romaji and emoji."""
    made = to_model_file(from_model_file(file), quantise=True)
    made.header["texts"] = {
        "letters": sorted(signs.LETTERS.items(), key=lambda row: -len(row[0])),
        "signs": list(signs.SIGNS.items()),
        "counted": signs.counted_rows(),
        "forms": FORMS,
        "logps": {
            "counted": COUNTED,
            "sign": signs.SIGN,
            "next_sign": signs.NEXT_SIGN,
            "spelled": signs.SPELLED,
            "letter": signs.LETTER,
        },
        "romaji": romaji_table(),
        "keys": KEYS,
        "emoji": emoji(),
    }
    return made


def by_bytes(file: ModelFile) -> ModelFile:
    """Store wide integers as all first bytes, then all second ones: gzip packs these better.

    Examples
    --------
    >>> by_bytes(ModelFile("ime", {}, {"a": np.array([1, 256], np.uint16)})).tensors["a"].tolist()
    [[1, 0], [0, 1]]
    """
    wide = {name: a for name, a in file.tensors.items() if a.dtype.kind == "u" and a.dtype.itemsize > 1}
    planes = {
        name: np.ascontiguousarray(a.reshape(-1, 1).view(np.uint8).T)
        for name, a in wide.items()
        if a.ndim == 1
    }
    header = {**file.header, "planes": list(planes)}
    return ModelFile(file.family, header, {**file.tensors, **planes}, file.unbounded)
