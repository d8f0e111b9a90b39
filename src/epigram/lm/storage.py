"""Language models in the model file, family ``lm``: from the kind of model to the module that reads it.

Every kind keeps its vocabulary. Its training text, in ids, is kept only where that is asked for: training goes on from
it exactly (``partial_fit``), but whoever has the file can read it. What else a kind keeps is written down in its
own ``storage`` module, which offers ``from_model_file`` and ``describe``; models write themselves
(:meth:`~epigram.lm.base.LanguageModel.save`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from epigram.errors import ModelFileError
from epigram.lm.base import LanguageModel
from epigram.lm.corpus import Corpus
from epigram.lm.vocabulary import BOUNDARY, Vocabulary
from epigram.storage import ModelFile, Section, pack_strings, unpack_strings
from epigram.storage.packing import pack_integers, unpack_integers

FAMILY = "lm"
READERS = {
    "backoff": "epigram.lm.ngram.storage",
    "loglinear": "epigram.lm.loglinear.storage",
    "factored": "epigram.lm.factored.storage",
    "mixture": "epigram.lm.mixed.storage",
    "cached": "epigram.lm.mixed.storage",
}


def from_model_file(file: ModelFile) -> LanguageModel:
    """The fitted model of a file."""
    model: LanguageModel = _reader(file).from_model_file(file)
    return model


def describe(file: ModelFile) -> list[Section]:
    """What a model holds, as tables."""
    sections: list[Section] = _reader(file).describe(file)
    return sections


def weights(file: ModelFile) -> tuple[tuple[str, ...], Iterator[tuple[Any, ...]]]:
    """Every weight, or every n-gram, of a model."""
    found: tuple[tuple[str, ...], Iterator[tuple[Any, ...]]] = _reader(file).weights(file)
    return found


def _reader(file: ModelFile) -> ModuleType:
    kind = file.header["settings"]["model"]
    if kind not in READERS:
        raise ModelFileError(f"unknown kind of language model {kind!r}; upgrade epigram to read it")
    return import_module(READERS[kind])


def settings_of(model: Any) -> dict[str, Any]:
    """Constructor arguments that a JSON header can hold."""
    from epigram.lm.loglinear.problem import solver_to_settings

    plain = (bool, int, float, str, type(None))
    params: dict[str, Any] = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    own = solver_to_settings(params.get("solver"))
    return {**{name: value for name, value in params.items() if isinstance(value, plain)}, **own}


def pack_words(vocabulary: Vocabulary) -> dict[str, Any]:
    """The words of a vocabulary in the order of their ids."""
    content, lengths = pack_strings(vocabulary.words)
    return {"words.bytes": content, "words.lengths": lengths}


def unpack_words(tensors: Mapping[str, Any]) -> Vocabulary:
    """What :func:`pack_words` made."""
    return Vocabulary(unpack_strings(tensors["words.bytes"], tensors["words.lengths"]))


def pack_text(corpus: Corpus) -> dict[str, Any]:
    """The ids of a text, boundaries included; one more than the id, as -1 is a word outside the vocabulary."""
    return {"text": pack_integers(corpus.stream() + 1)}


def unpack_text(tensors: Mapping[str, Any], vocabulary: Vocabulary) -> Corpus | None:
    """What :func:`pack_text` made; None in a file without text."""
    if "text" not in tensors:
        return None
    stream = (unpack_integers(tensors["text"]) - 1).astype(np.int32)
    if stream.size == 0 or stream[0] != BOUNDARY or stream[-1] != BOUNDARY or stream.max() >= len(vocabulary):
        raise ModelFileError("damaged model file (its text does not fit its vocabulary)")
    return Corpus.of_stream(stream, vocabulary)
