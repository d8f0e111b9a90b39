"""Mixtures and models with a cache in the model file: the files of their parts side by side, in one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from epigram.errors import ModelFileError
from epigram.lm import storage
from epigram.lm.base import LanguageModel
from epigram.lm.mixed.cached import CachedLM
from epigram.lm.mixed.mixture import InterpolatedLM
from epigram.storage import ModelFile, Section


def to_model_file(
    models: Sequence[LanguageModel], settings: dict[str, Any], bits: int, fit: dict[str, Any], text: bool
) -> ModelFile:
    """The parts as one file; the arrays of part k have the prefix ``k.``."""
    files = [model.to_model_file(bits, None, text) for model in models]
    tensors = {f"{k}.{name}": array for k, file in enumerate(files) for name, array in file.tensors.items()}
    unbounded = [f"{k}.{name}" for k, file in enumerate(files) for name in file.unbounded]
    header = {"settings": settings, "fit": fit, "parts": [file.header for file in files]}
    return ModelFile(storage.FAMILY, header, tensors, unbounded)


def parts_of(file: ModelFile) -> list[ModelFile]:
    """The files that were put together."""
    headers = file.header["parts"]
    if not isinstance(headers, list) or not headers or len(headers) > len(file.tensors):
        raise ModelFileError("damaged: the parts of a mixture are missing")
    return [_part(file, k, header) for k, header in enumerate(headers)]


def _part(file: ModelFile, k: int, header: Any) -> ModelFile:
    if not isinstance(header, dict) or not isinstance(header.get("settings"), dict):
        raise ModelFileError(f"damaged: part {k} of a mixture has no settings")
    prefix = f"{k}."
    own = {
        name.removeprefix(prefix): array for name, array in file.tensors.items() if name.startswith(prefix)
    }
    return ModelFile(storage.FAMILY, header, own, own)


def from_model_file(file: ModelFile) -> LanguageModel:
    """The mixture, or the model with its cache."""
    settings = file.header["settings"]
    models = [storage.from_model_file(part) for part in parts_of(file)]
    try:
        if settings["model"] == "mixture":
            return InterpolatedLM(models, [float(weight) for weight in settings["weights"]])
        return CachedLM(models[0], int(settings["size"]), float(settings["weight"]))
    except (TypeError, ValueError) as wrong:
        raise ModelFileError(f"damaged: {wrong}") from wrong


def describe(file: ModelFile) -> list[Section]:
    """The shares, then what each part holds."""
    settings, parts = file.header["settings"], parts_of(file)
    kinds = [part.header["settings"].get("model", "?") for part in parts]
    if settings["model"] == "mixture":
        shares = list(zip(map(str, range(len(parts))), kinds, settings["weights"], strict=True))
    else:
        weight = settings["weight"]
        shares = [("0", kinds[0], 1 - weight), ("cache", f"{settings['size']} words", weight)]
    sections = [Section("shares", ("part", "kind", "share"), shares)]
    for k, part in enumerate(parts):
        sections += [
            Section(f"part {k}: {own.title}", own.columns, own.rows) for own in storage.describe(part)
        ]
    return sections


def weights(file: ModelFile) -> tuple[tuple[str, ...], Iterator[tuple[Any, ...]]]:
    """Every weight of every part, as JSON objects would name them: parts differ in their columns."""

    def rows() -> Iterator[tuple[Any, ...]]:
        for k, part in enumerate(parts_of(file)):
            columns, own = storage.weights(part)
            places = [columns.index(name) for name in ("attribute", "label", "weight")]
            for row in own:
                yield (k, *(row[place] for place in places))

    return ("model", "attribute", "label", "weight"), rows()
