"""Models with document features in model files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from epigram.errors import InputError
from epigram.lm import storage
from epigram.lm.document.features import DocumentFeatures
from epigram.lm.document.model import DocumentLM, PastWeights
from epigram.lm.factored.loss import PARTS
from epigram.lm.factored.model import ClassFactoredLM
from epigram.lm.storage import pack_parts, parts_of
from epigram.storage import ModelFile, Section
from epigram.storage.quantise import narrow
from epigram.storage.schema import Array, Schema, damaged

if TYPE_CHECKING:
    from epigram.protocols import Floats

LARGEST = 20.0
"""Largest weight: beyond it, scores of rare words would overflow."""
SCHEMA = Schema(
    {"settings": {"horizons": [float], "window": int, "prior": float}},
    {
        "counts": Array(np.int64, ("words",), below=2.0**40),
        "class.past": Array(np.float64, ("1+classes", "class features")),
        "word.past": Array(np.float64, ("1+classes", "word features")),
    },
)


def to_model_file(model: DocumentLM, bits: int, fit: dict[str, Any], text: bool, compress: bool) -> ModelFile:
    """The model as header and arrays; those of the class-factored model have the prefix ``0.``."""
    recent = model.recent
    settings = {
        "model": "document",
        "horizons": list(recent.horizons),
        "window": recent.window,
        "prior": recent.prior,
        "bits": bits,
    }
    file = pack_parts([model.model], settings, bits, fit, text, compress)
    past = {f"{part}.past": _rows(model.weights[part]) for part in PARTS}
    tensors = {**file.tensors, "counts": narrow(recent.counts), **past}
    return ModelFile(file.family, file.header, tensors, file.unbounded)


def _rows(weights: PastWeights) -> Floats:
    return np.concatenate((weights.shared[None], weights.own))


def from_model_file(file: ModelFile) -> DocumentLM:
    """The fitted model of a file."""
    model = storage.from_model_file(parts_of(file)[0])
    if not isinstance(model, ClassFactoredLM):
        damaged("the model below the document features is not class-factored")
    settings, classes = file.header["settings"], model.classes_
    SCHEMA.check_header(file.header)
    n_horizons = len(settings["horizons"])
    found = SCHEMA.read(
        file,
        words=len(model.known_vocabulary_),
        classes=classes.n_classes,
        **{"class features": n_horizons, "word features": n_horizons + 1},
    )
    try:
        recent = DocumentFeatures(
            classes,
            found["counts"],
            tuple(map(float, settings["horizons"])),
            settings["window"],
            float(settings["prior"]),
        )
    except InputError as wrong:
        damaged(str(wrong))
    weights = {}
    for part in PARTS:
        rows = found[f"{part}.past"]
        if np.abs(rows).max(initial=0.0) > LARGEST:
            damaged(f"a document weight of the {part} part is too large")
        weights[part] = PastWeights(rows[0], rows[1:])
    return DocumentLM(model, recent, weights)


def describe(file: ModelFile) -> list[Section]:
    """The weights that all classes share, then the contents of the class-factored model."""
    model, rows = from_model_file(file), []
    names = [f"share at horizon {horizon:g}" for horizon in model.recent.horizons] + ["seen before"]
    for part in PARTS:
        rows += [(part, name, w) for name, w in zip(names, model.weights[part].shared.tolist(), strict=False)]
    before = Section("the text before", ("part", "feature", "shared weight"), rows)
    return [before, *storage.describe(parts_of(file)[0])]


def weights(file: ModelFile) -> storage.Rows:
    """The weights of the class-factored model."""
    return storage.weights(parts_of(file)[0])
