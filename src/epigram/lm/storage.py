"""Writes and reads language model files of all kinds.

Every kind keeps its vocabulary. Its training text, in ids, is kept only where that is asked for: training goes on from
it exactly (``partial_fit``), but whoever has the file can read it. The ``storage`` module of a kind offers
``to_model_file``, ``from_model_file``, ``describe`` and ``weights``. The file of a model that is made of others (a
mixture, a cache) holds theirs: the arrays of part k have the prefix ``k.``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from epigram.errors import InputError, ModelFileError
from epigram.lm.base import LanguageModel
from epigram.lm.corpus import Corpus
from epigram.lm.tokenizer import Tokenizer
from epigram.lm.vocabulary import BOUNDARY, UNKNOWN, Vocabulary
from epigram.protocols import Solver
from epigram.solvers.proximal import FISTA, StochasticProximal
from epigram.storage import ModelFile, Section
from epigram.storage.file import pack_strings, unpack_strings
from epigram.storage.quantise import narrow
from epigram.storage.schema import Array, Maybe, Schema, check_settings, damaged, strings

FAMILY = "lm"
READERS = {
    "backoff": "epigram.lm.ngram.storage",
    "loglinear": "epigram.lm.loglinear.storage",
    "factored": "epigram.lm.factored.storage",
    "mixture": "epigram.lm.mixture",
    "cached": "epigram.lm.mixture",
    "document": "epigram.lm.document.storage",
}
"""The storage module of a kind."""
IN_PLACE = "mapped."
"""Prefix of arrays that a file that is not compressed holds as scoring uses them."""
HEADER = {"settings": {"model": str, "bits": Maybe(int)}, "fit": Maybe(dict)}
"""The header of every kind of language model."""
SOLVERS: dict[str, Any] = {"fista": FISTA, "stochastic": StochasticProximal}
_WORDS = strings("words", "words") | {"words.pieces": Array(np.uint8, ("words.pieces",), optional=True)}
_TEXT = {"text": Array(np.int64, ("text",), below="ids", optional=True)}

Rows = tuple[tuple[str, ...], Iterator[tuple[Any, ...]]]
"""Names of columns, and rows."""


def to_model_file(
    model: LanguageModel, bits: int, fit: dict[str, Any], text: bool, compress: bool
) -> ModelFile:
    """A fitted model as header and arrays."""
    if model.kind not in READERS:
        raise InputError(f"a {type(model).__name__} has no model file; merge it to a back-off model first.")
    file: ModelFile = import_module(READERS[model.kind]).to_model_file(model, bits, fit, text, compress)
    return file


def from_model_file(file: ModelFile) -> LanguageModel:
    """The fitted model of a file."""
    model: LanguageModel = _reader(file).from_model_file(file)
    return model


def describe(file: ModelFile) -> list[Section]:
    """The contents of a model as tables."""
    sections: list[Section] = _reader(file).describe(file)
    unknown = "have a probability (open)" if _is_open(file.header, file.tensors) else "have none (closed)"
    sections.append(Section("vocabulary", ("unknown words",), [(unknown,)]))
    stored = next((array for name, array in file.tensors.items() if name.endswith("words.pieces")), None)
    if stored is None:
        return sections
    kind = Tokenizer.from_bytes(stored.tobytes()).kind
    return [Section("text is cut into", ("pieces",), [(kind,)]), *sections]


def weights(file: ModelFile) -> Rows:
    """Every weight, or every n-gram, of a model."""
    found: Rows = _reader(file).weights(file)
    return found


def _reader(file: ModelFile) -> ModuleType:
    Schema(HEADER).check_header(file.header)
    check_settings(file.header)
    kind = file.header["settings"]["model"]
    if kind not in READERS:
        raise ModelFileError(f"unknown kind of language model {kind!r}; upgrade epigram to read it")
    return import_module(READERS[kind])


def _is_open(header: dict[str, Any], tensors: Mapping[str, Any], prefix: str = "") -> bool:
    """Whether a model, or a part of a mixture, has a probability for unknown words."""
    if parts := header.get("parts"):
        return any(_is_open(part, tensors, f"{prefix}{k}.") for k, part in enumerate(parts))
    return "unknown" in header.get("fit", {}) or UNKNOWN in unpack_words(_under(prefix, tensors))


def check_unknown(fit: dict[str, Any], vocabulary: Vocabulary) -> None:
    """Refuse a bad probability of an added ``<unk>``, or one beside an ``<unk>`` of the text."""
    if "unknown" in fit and (not 0.0 < fit["unknown"] < 1.0 or UNKNOWN in vocabulary):
        damaged(f"the probability of an unknown word is {fit['unknown']}, or <unk> is a word of the text")


def pack_words(vocabulary: Vocabulary) -> dict[str, Any]:
    """The words of a vocabulary in the order of their ids, and their tokenizer."""
    content, lengths = pack_strings(vocabulary.words)
    packed = {"words.bytes": content, "words.lengths": lengths}
    if vocabulary.tokenizer is not None:
        packed["words.pieces"] = np.frombuffer(vocabulary.tokenizer.to_bytes(), dtype=np.uint8)
    return packed


def unpack_words(tensors: Mapping[str, Any]) -> Vocabulary:
    """The vocabulary that :func:`pack_words` packed."""
    content = Schema({}, _WORDS).read_arrays(tensors)
    words = unpack_strings(content["words.bytes"], content["words.lengths"])
    stored = content.get("words.pieces")
    vocabulary = Vocabulary(words, None if stored is None else Tokenizer.from_bytes(stored.tobytes()))
    if vocabulary.words != words:
        damaged("its vocabulary does not begin with </s>, or has a word twice")
    return vocabulary


def pack_text(corpus: Corpus) -> dict[str, Any]:
    """The ids of a text with boundaries, plus one (-1 is a word outside the vocabulary)."""
    return {"text": narrow(corpus.stream() + 1)}


def unpack_text(tensors: Mapping[str, Any], vocabulary: Vocabulary) -> Corpus | None:
    """The text that :func:`pack_text` packed; None in a file without text."""
    content = Schema({}, _TEXT).read_arrays(tensors, ids=len(vocabulary) + 1)
    if "text" not in content:
        return None
    stream = (content["text"] - 1).astype(np.int32)
    if stream.size == 0 or stream[0] != BOUNDARY or stream[-1] != BOUNDARY:
        damaged("its text does not begin and end with the boundary of a sentence")
    return Corpus.of_stream(stream, vocabulary)


def pack_parts(
    models: Sequence[LanguageModel],
    settings: dict[str, Any],
    bits: int,
    fit: dict[str, Any],
    text: bool,
    compress: bool,
) -> ModelFile:
    """One file that holds those of the parts; the arrays of part k have the prefix ``k.``."""
    files = [model.to_model_file(bits, None, text, compress) for model in models]
    tensors = {f"{k}.{name}": array for k, file in enumerate(files) for name, array in file.tensors.items()}
    unbounded = [f"{k}.{name}" for k, file in enumerate(files) for name in file.unbounded]
    header = {"settings": settings, "fit": fit, "parts": [file.header for file in files]}
    return ModelFile(FAMILY, header, tensors, unbounded)


def parts_of(file: ModelFile) -> list[ModelFile]:
    """The files that :func:`pack_parts` put into one."""
    headers = file.header["parts"]
    if not isinstance(headers, list) or not headers or len(headers) > len(file.tensors):
        raise ModelFileError("corrupt file: the parts of a mixture are missing")
    parts = []
    for k, header in enumerate(headers):
        if not isinstance(header, dict) or not isinstance(header.get("settings"), dict):
            raise ModelFileError(f"corrupt file: part {k} of a mixture has no settings")
        own = _under(f"{k}.", file.tensors)
        parts.append(ModelFile(FAMILY, header, own, list(own)))
    return parts


def _under(prefix: str, tensors: Mapping[str, Any]) -> dict[str, Any]:
    return {name.removeprefix(prefix): array for name, array in tensors.items() if name.startswith(prefix)}


def with_solver(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings of a model file with the solver that :func:`settings_of` wrote."""
    if "solver_settings" not in settings:
        return settings
    return {**settings, "solver": SOLVERS[settings["solver"]](**settings["solver_settings"])}


def settings_of(model: Any) -> dict[str, Any]:
    """Constructor arguments for a JSON header; a solver object is its name and settings.

    Examples
    --------
    >>> from epigram import LogLinearLM
    >>> settings = settings_of(LogLinearLM(solver=StochasticProximal(passes=3)))
    >>> settings["solver"], with_solver(settings)["solver"].passes
    ('stochastic', 3)
    """
    plain = (bool, int, float, str, type(None))
    params: dict[str, Any] = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    settings = {name: value for name, value in params.items() if isinstance(value, plain)}
    solver: Solver | None = params.get("solver")
    name = next((name for name, kind in SOLVERS.items() if type(solver) is kind), None)
    return settings if name is None else {**settings, "solver": name, "solver_settings": vars(solver)}
