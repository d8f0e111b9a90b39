"""Language models in the model file, family ``lm``: from the kind of model to the module that reads it.

Every kind keeps its vocabulary (:func:`~epigram.lm.corpus.pack_words`). Its training text, in ids, is kept only
where that is asked for: training goes on from it exactly (``partial_fit``), but whoever has the file can read it. What
else a kind keeps is written down in its own ``storage`` module, which offers ``from_model_file`` and ``describe``;
models write themselves (:meth:`~epigram.lm.base.LanguageModel.save`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

from epigram.errors import ModelFileError
from epigram.lm.base import LanguageModel
from epigram.lm.corpus import UNKNOWN, Vocabulary, unpack_words
from epigram.solvers.proximal import FISTA, StochasticProximal
from epigram.storage import ModelFile, Section
from epigram.storage.schema import Maybe, Schema, check_settings, damaged

FAMILY = "lm"
READERS = {
    "backoff": "epigram.lm.ngram.storage",
    "loglinear": "epigram.lm.loglinear.storage",
    "factored": "epigram.lm.factored.storage",
    "mixture": "epigram.lm.mixture",
    "cached": "epigram.lm.mixture",
    "document": "epigram.lm.document.storage",
}
IN_PLACE = "mapped."
"""Prefix of arrays that a file that is not compressed holds as scoring uses them."""
HEADER = {"settings": {"model": str, "bits": Maybe(int)}, "fit": Maybe(dict)}
"""What the header of every kind of language model holds."""


def from_model_file(file: ModelFile) -> LanguageModel:
    """The fitted model of a file."""
    model: LanguageModel = _reader(file).from_model_file(file)
    return model


def describe(file: ModelFile) -> list[Section]:
    """What a model holds, as tables."""
    sections: list[Section] = _reader(file).describe(file)
    unknown = "have a probability (open)" if _is_open(file.header, file.tensors) else "have none (closed)"
    sections.append(Section("vocabulary", ("unknown words",), [(unknown,)]))
    stored = next((array for name, array in file.tensors.items() if name.endswith("words.pieces")), None)
    if stored is None:
        return sections
    from epigram.lm.tokenizer import Pieces

    return [
        Section("text is cut into", ("pieces",), [(Pieces.from_bytes(stored.tobytes()).kind,)]),
        *sections,
    ]


def _is_open(header: dict[str, Any], tensors: Mapping[str, Any], prefix: str = "") -> bool:
    """Whether a model, or a part of a mixture, has a probability for unknown words."""
    if parts := header.get("parts"):
        return any(_is_open(part, tensors, f"{prefix}{k}.") for k, part in enumerate(parts))
    words = {name.removeprefix(prefix): array for name, array in tensors.items() if name.startswith(prefix)}
    return "unknown" in header.get("fit", {}) or UNKNOWN in unpack_words(words)


def check_unknown(fit: dict[str, Any], vocabulary: Vocabulary) -> None:
    """Refuse a file whose probability of an added ``<unk>`` is none, or that has ``<unk>`` among its words as well."""
    if "unknown" in fit and (not 0.0 < fit["unknown"] < 1.0 or UNKNOWN in vocabulary):
        damaged(f"the probability of an unknown word is {fit['unknown']}, or <unk> is a word of the text")


def weights(file: ModelFile) -> tuple[tuple[str, ...], Iterator[tuple[Any, ...]]]:
    """Every weight, or every n-gram, of a model."""
    found: tuple[tuple[str, ...], Iterator[tuple[Any, ...]]] = _reader(file).weights(file)
    return found


def _reader(file: ModelFile) -> ModuleType:
    Schema(HEADER).check_header(file.header)
    check_settings(file.header)
    kind = file.header["settings"]["model"]
    if kind not in READERS:
        raise ModelFileError(f"unknown kind of language model {kind!r}; upgrade epigram to read it")
    return import_module(READERS[kind])


SOLVERS: dict[str, Any] = {"fista": FISTA, "stochastic": StochasticProximal}


def solver_to_settings(solver: object) -> dict[str, Any]:
    """A solver with settings of its own, for the header of a model file: name and settings.

    Examples
    --------
    >>> again = with_solver(solver_to_settings(StochasticProximal(passes=3)))["solver"]
    >>> type(again).__name__, again.passes
    ('StochasticProximal', 3)
    """
    name = next((name for name, kind in SOLVERS.items() if type(solver) is kind), None)
    return {} if name is None else {"solver": name, "solver_settings": vars(solver)}


def with_solver(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings of a model file with the solver that :func:`solver_to_settings` wrote."""
    if "solver_settings" not in settings:
        return settings
    return {**settings, "solver": SOLVERS[settings["solver"]](**settings["solver_settings"])}


def settings_of(model: Any) -> dict[str, Any]:
    """Constructor arguments that a JSON header can hold."""
    plain = (bool, int, float, str, type(None))
    params: dict[str, Any] = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    own = solver_to_settings(params.get("solver"))
    return {**{name: value for name, value in params.items() if isinstance(value, plain)}, **own}
