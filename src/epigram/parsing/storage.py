"""Reads and writes parser model files (family ``parser``).

Arc features are stored by the strings of their cells; their keys are computed on loading. The model of relations is
stored as that of a tagger, with the prefix ``label_`` before the names of its arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

import epigram.chain.storage as taggers
from epigram._core.arrays import offsets
from epigram.estimator import check_fitted
from epigram.features.lexicon import WordTable
from epigram.parsing.arc_model import ArcModel, Pruner
from epigram.parsing.arc_templates import WAYS, ArcTemplate
from epigram.parsing.tree_tagger import TreeTagger
from epigram.parsing.treebank import OBSERVED
from epigram.storage import ModelFile, Section, pack_strings, unpack_strings
from epigram.storage.schema import Array, Maybe, Schema, check_settings, damaged

FAMILY = "parser"
COUNTS = ("sentences", "words", "sentences_made_projective", "arcs_lifted")
"""Of the sentences that a parser has learnt from, which an update adds to."""
PREFIX, PRUNER = "label_", "pruner_"
SCHEMA = Schema(
    {
        "template": str,
        "label_header": dict,
        "settings": {"decoding": str, "threads": int, "observed": Maybe(str)},
        "fit": {name: Maybe(int) for name in COUNTS},
        "history": [dict],
        "classes": Maybe(str),
        "pruner": Maybe(str),
        "prune": Maybe(float),
    },
    {
        "strings": Array(np.uint8, ("bytes",)),
        "string_lengths": Array(np.int64, ("strings",), total="bytes"),
        "line_counts": Array(np.int64, ("lines",), total="features"),
        "cells": Array(np.int32, ("cells",)),
        "weights": Array(np.float32, ("features",), most=1e8),
        "classes": Array(np.uint8, ("class_bytes",), optional=True),
    },
)
"""Header and arrays of a parser, besides those of its tagger of relations."""


def to_model_file(parser: Any) -> ModelFile:
    """Convert a fitted parser to a model file."""
    check_fitted(parser, "arcs_")
    arcs: ArcModel = parser.arcs_
    labels = taggers.to_model_file(parser.labels_)
    tensors: dict[str, Any] = {
        **_tensors(arcs),
        **{PREFIX + name: tensor for name, tensor in labels.tensors.items() if "squares" not in name},
    }
    header: dict[str, Any] = {
        "template": arcs.template.text,
        "labels": labels.header["labels"],
        "label_header": {name: value for name, value in labels.header.items() if name != "history"},
        "settings": taggers.plain(parser.get_params(deep=False)),
        "fit": parser.fit_,
        "history": taggers.without_times(parser.history_),
    }
    if arcs.classes is not None:
        header["classes"] = arcs.classes.name
        tensors["classes"] = np.frombuffer(arcs.classes.to_bytes(), dtype=np.uint8)
    if arcs.pruner is not None:
        header |= {"pruner": arcs.pruner.model.template.text, "prune": arcs.pruner.share}
        tensors |= {PRUNER + name: tensor for name, tensor in _tensors(arcs.pruner.model).items()}
    return ModelFile(FAMILY, header, {name: tensor for name, tensor in tensors.items() if tensor.size})


def _tensors(arcs: ArcModel) -> dict[str, Any]:
    """Return the arrays of an arc model."""
    content, lengths = pack_strings(arcs.strings)
    order = np.argsort(arcs.owners, kind="stable")
    within = [arcs.cells[arcs.ptr[k] : arcs.ptr[k + 1]] for k in order.tolist()]
    cells = np.concatenate([np.empty(0, dtype=np.int32), *within])
    return {
        "strings": content,
        "string_lengths": lengths.astype(np.uint16),
        "line_counts": np.bincount(arcs.owners, minlength=len(arcs.template.lines)).astype(np.int32),
        "cells": cells.astype(np.uint16 if len(arcs.strings) < 1 << 16 else np.int32),
        "weights": arcs.weights[order],
    }


def _arcs(file: ModelFile) -> ArcModel:
    """Read the arc model of a file and its pruner."""
    arcs = _features(file.header["template"], file.tensors, "")
    name, text = file.header.get("classes"), file.header.get("pruner")
    if name is not None:
        arcs = replace(arcs, classes=WordTable.from_bytes(name, file.tensors["classes"].tobytes()))
    if text is None:
        return arcs
    share, model = file.header["prune"], _features(text, file.tensors, PRUNER)
    if (
        model.template.part_lines
        or model.template.n_columns > arcs.template.n_columns
        or not 0.0 < share < 1.0
    ):
        damaged("the pruner is not a first-order model with a share between 0 and 1")
    return replace(arcs, pruner=Pruner(model, share))


def _features(text: str, tensors: Mapping[str, Any], prefix: str) -> ArcModel:
    """Read an arc model; refuse indices out of range, because C does not check them."""
    template = ArcTemplate.parse(text)
    t = SCHEMA.read_arrays(tensors, prefix, lines=len(template.lines))
    strings, cells, weights = unpack_strings(t["strings"], t["string_lengths"]), t["cells"], t["weights"]
    owners = np.repeat(np.arange(len(template.lines), dtype=np.int32), t["line_counts"])
    sizes = np.array([len(line) for line in template.lines], dtype=np.int64)[owners]
    ptr = offsets(sizes)
    if len(cells) != ptr[-1]:
        damaged(f"array 'cells' should hold {ptr[-1]:,} integers but has {len(cells):,}")
    limit = np.where(template.way_cells(owners, ptr), len(WAYS), len(strings))
    if (cells >= limit).any():
        damaged("array 'cells' has an index beyond the strings")
    return ArcModel(template, owners, ptr, cells, tuple(strings), weights)


def _labels(file: ModelFile) -> TreeTagger:
    header = {**file.header["label_header"], "history": []}
    tensors = {
        name.removeprefix(PREFIX): tensor for name, tensor in file.tensors.items() if name.startswith(PREFIX)
    }
    return taggers.restore(TreeTagger(), ModelFile(taggers.FAMILY, header, tensors))


def from_model_file(file: ModelFile) -> Any:
    """Read the parser of a model file."""
    from epigram.parsing.parser import DECODINGS, DependencyParser

    parser = DependencyParser()
    SCHEMA.check_header(file.header)
    check_settings(file.header)
    # older files have no setting "observed"
    settings = {"observed": ",".join(OBSERVED), **file.header["settings"]}
    if settings["decoding"] not in DECODINGS:
        damaged(f"its settings have decoding={settings['decoding']!r}")
    known = parser.get_params(deep=False)
    parser.set_params(**{name: taggers.setting(value) for name, value in settings.items() if name in known})
    parser.arcs_, parser.labels_ = _arcs(file), _labels(file)
    parser.history_ = file.header["history"]
    parser.fit_ = {**dict.fromkeys(COUNTS, 0), **file.header["fit"]}
    parser.n_features_ = file.header["fit"].get("features", 0)
    parser.classes_ = parser.labels_.classes_
    return parser


def describe(file: ModelFile) -> list[Section]:
    """Describe a model: its size, the strongest features of arcs and relations."""
    parser = from_model_file(file)
    arcs: ArcModel = parser.arcs_
    top = np.argsort(-np.abs(arcs.weights), kind="stable")[:20].tolist()
    strongest = zip(arcs.names(top), arcs.weights[top].tolist(), strict=True)
    size = (
        len(parser.classes_),
        arcs.n_weights,
        parser.fit_.get("label_weights"),
        parser.fit_.get("features"),
    )
    return [
        Section("size", ("relations", "arc weights", "relation weights", "possible weights"), [size]),
        Section("strongest features of arcs", ("feature", "weight"), list(strongest)),
        *taggers.describe(taggers.to_model_file(parser.labels_))[1:],
    ]


def weights(file: ModelFile) -> tuple[tuple[str, ...], Iterator[tuple[Any, ...]]]:
    """List every weight: of arcs (without labels), the pruner, and relations as in a tagger."""
    parser = from_model_file(file)
    columns, rest = taggers.weights(taggers.to_model_file(parser.labels_))

    def rows() -> Iterator[tuple[Any, ...]]:
        arcs: ArcModel = parser.arcs_
        models = [("", arcs)] if arcs.pruner is None else [("", arcs), ("pruner ", arcs.pruner.model)]
        for prefix, own in models:
            for name, weight in zip(own.names(range(len(own))), own.weights.tolist(), strict=True):
                yield prefix + name, "", "", weight
        yield from rest

    return columns, rows()
