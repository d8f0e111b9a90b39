"""Language models in the model file, family ``lm``: from the kind of model to the module that reads it.

Every kind keeps its vocabulary (:func:`~epigram.lm.corpus.pack_words`). Its training text, in ids, is kept only
where that is asked for: training goes on from it exactly (``partial_fit``), but whoever has the file can read it. What
else a kind keeps is written down in its own ``storage`` module, which offers ``from_model_file`` and ``describe``;
models write themselves (:meth:`~epigram.lm.base.LanguageModel.save`).
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

from epigram.errors import ModelFileError
from epigram.lm.base import LanguageModel
from epigram.storage import ModelFile, Section
from epigram.storage.arrays import Maybe, Schema

FAMILY = "lm"
READERS = {
    "backoff": "epigram.lm.ngram.storage",
    "loglinear": "epigram.lm.loglinear.storage",
    "factored": "epigram.lm.factored.storage",
    "mixture": "epigram.lm.mixed.mixture",
    "cached": "epigram.lm.mixed.mixture",
    "document": "epigram.lm.document.storage",
}
HEADER = {"settings": {"model": str, "bits": Maybe(int)}, "fit": Maybe(dict)}
"""What the header of every kind of language model holds."""


def from_model_file(file: ModelFile) -> LanguageModel:
    """The fitted model of a file."""
    model: LanguageModel = _reader(file).from_model_file(file)
    return model


def describe(file: ModelFile) -> list[Section]:
    """What a model holds, as tables."""
    sections: list[Section] = _reader(file).describe(file)
    stored = next((array for name, array in file.tensors.items() if name.endswith("words.pieces")), None)
    if stored is None:
        return sections
    from epigram.lm.pieces import Pieces

    return [
        Section("text is cut into", ("pieces",), [(Pieces.from_bytes(stored.tobytes()).kind,)]),
        *sections,
    ]


def weights(file: ModelFile) -> tuple[tuple[str, ...], Iterator[tuple[Any, ...]]]:
    """Every weight, or every n-gram, of a model."""
    found: tuple[tuple[str, ...], Iterator[tuple[Any, ...]]] = _reader(file).weights(file)
    return found


def _reader(file: ModelFile) -> ModuleType:
    Schema(HEADER).check_header(file.header)
    kind = file.header["settings"]["model"]
    if kind not in READERS:
        raise ModelFileError(f"unknown kind of language model {kind!r}; upgrade epigram to read it")
    return import_module(READERS[kind])
