"""Text classifiers to and from model files: fingerprints as differences, weights as codes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np

from epigram.classify.estimator import TextClassifier
from epigram.classify.model import TextModel
from epigram.features.grams import FORMS, GramSpec
from epigram.storage import ModelFile, Section
from epigram.storage.quantise import narrow, pack_weights, unpack_weights
from epigram.storage.schema import Array, Maybe, Schema, check_settings, damaged
from epigram.storage.schema import weights as weight_arrays

LABEL_TYPES = {"U": str, "i": int, "f": float, "b": bool}
GRAMS = {
    "words": int, "chars": ([int], None), "across": bool, "lowercase": bool, "normalise": str, "log_counts": bool,
    "apart": Maybe(bool),
}  # fmt: skip
SCHEMA = Schema(
    {
        "settings": {}, "fit": {}, "grams": GRAMS, "labels": [(str, int, float, bool)], "label_kind": str,
        "several": bool, "matrix": Maybe(bool),
        "temperature": float, "bias": [float], "thresholds": {}, "strongest": Maybe([[[object]]]),
    },
    {
        "prints": Array(np.uint32, ("n",), steps=True),
        "row_sizes": Array(np.int64, ("n",), total="m"),
        "columns": Array(np.int32, ("m",), below="labels"),
        **weight_arrays("m"),
    },
)  # fmt: skip


def to_model_file(classifier: TextClassifier) -> ModelFile:
    """Convert a fitted classifier to header and arrays."""
    model = classifier.model_
    settings = classifier.get_params()
    if not isinstance(settings["class_weight"], str | None):
        settings["class_weight"] = [
            [name, float(weight)] for name, weight in settings["class_weight"].items()
        ]
    header = {
        "settings": settings,
        "fit": classifier.fit_,
        "grams": asdict(model.spec),
        "labels": classifier.classes_.tolist(),
        "label_kind": classifier.classes_.dtype.kind,
        "several": classifier.several_,
        "matrix": classifier.matrix_,
        "temperature": model.temperature,
        "bias": model.bias.tolist(),
        "thresholds": classifier.thresholds_,
        "strongest": classifier.strongest_,
    }
    arrays = {
        "prints": narrow(np.asarray(np.diff(model.prints.astype(np.int64), prepend=0), np.int64)),
        "row_sizes": narrow(np.diff(model.row_ptr)),
        "columns": narrow(model.columns),
        **pack_weights(model.weights.astype(np.float64), classifier.bits),
    }
    if len(model.bias) == 1:
        del arrays["row_sizes"], arrays["columns"]  # ones and zeros
    return ModelFile("classifier", header, arrays)


def from_model_file(file: ModelFile) -> TextClassifier:
    """The classifier of a file."""
    header = file.header
    SCHEMA.check_header(header)
    given = {
        name: value for name, value in header["settings"].items() if value is not None
    }  # the rest is chosen
    check_settings({"settings": given, "fit": header["fit"]})
    labels, kind = header["labels"], header["label_kind"]
    if kind not in LABEL_TYPES or not labels:
        damaged(f"labels of the kind {kind!r}")
    if len(set(labels)) < max(len(labels), 1 if header["several"] else 2):
        damaged("too few labels, or one of them twice")
    n_columns = len(header["bias"])
    if n_columns != (1 if len(labels) == 2 and not header["several"] else len(labels)):
        damaged(f"{n_columns} columns of scores for {len(labels)} labels")
    tensors = dict(file.tensors)
    if n_columns == 1 and "prints" in tensors:
        tensors["row_sizes"] = np.ones(len(tensors["prints"]), np.uint8)
        tensors["columns"] = np.zeros(len(tensors["prints"]), np.uint8)
    size = {"m": len(tensors["columns"]) if "columns" in tensors else 0}
    arrays = SCHEMA.read_arrays(tensors, "", labels=n_columns, **size)
    if (np.diff(arrays["prints"].astype(np.int64)) <= 0).any():
        damaged("fingerprints that do not rise")
    found = header["grams"]
    if found["normalise"] not in FORMS or (found["chars"] is not None and len(found["chars"]) != 2):
        damaged("n-grams of an unknown kind")
    spec = GramSpec(**{**found, "chars": None if found["chars"] is None else tuple(found["chars"])})
    temperature = float(header["temperature"])
    if not 0.0 < temperature < 1e6:
        damaged(f"the temperature {temperature}")
    classifier = TextClassifier(**_settings(header["settings"]))
    classifier.classes_ = np.array(labels, dtype=None if kind == "U" else LABEL_TYPES[kind])
    classifier.several_, classifier.thresholds_ = header["several"], header["thresholds"]
    classifier.matrix_ = bool(header.get("matrix", False))
    classifier.strongest_ = [[tuple(pair) for pair in column] for column in header.get("strongest", [])]
    classifier.fit_ = header["fit"]
    classifier.model_ = TextModel(
        spec, arrays["prints"], np.concatenate([[0], np.cumsum(arrays["row_sizes"])]).astype(np.int64),
        arrays["columns"], np.ascontiguousarray(unpack_weights(arrays), np.float32),
        np.array(header["bias"], dtype=np.float64), temperature, header["several"],
    )  # fmt: skip
    return classifier


def describe(file: ModelFile) -> list[Section]:
    """The strongest n-grams of each label."""
    classifier = from_model_file(file)
    return [
        Section(f"strongest n-grams of {name}", ("n-gram", "weight"), rows[:20])
        for name, rows in zip(column_names(classifier), classifier.strongest_, strict=False)
    ]


def weights(file: ModelFile) -> tuple[tuple[str, ...], Iterator[tuple[Any, ...]]]:
    """Every weight: the text of the n-gram where it is kept, else its fingerprint."""
    classifier = from_model_file(file)
    model, names = classifier.model_, column_names(classifier)

    def rows() -> Iterator[tuple[Any, ...]]:
        for r, print_ in enumerate(model.prints.tolist()):
            for j in range(int(model.row_ptr[r]), int(model.row_ptr[r + 1])):
                yield f"?{print_:08x}", names[int(model.columns[j])], float(model.weights[j])

    return ("attribute", "label", "weight"), rows()


def column_names(classifier: TextClassifier) -> list[str]:
    """The label of each column of scores."""
    names = [str(name) for name in classifier.classes_.tolist()]
    return names if len(classifier.model_.bias) > 1 or len(names) == 1 else names[1:]


def _settings(given: dict[str, Any]) -> dict[str, Any]:
    known = TextClassifier().get_params()
    settings = {name: value for name, value in given.items() if name in known}
    if isinstance(settings.get("chars"), list):
        settings["chars"] = tuple(settings["chars"])
    if isinstance(settings.get("class_weight"), list):
        settings["class_weight"] = dict(settings["class_weight"])
    return settings
