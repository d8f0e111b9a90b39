"""Reads and writes pipeline model files (family ``pipeline``): all parts in one file.

Each part is stored as the model file of its family, with its name before the names of its arrays. Weights are rounded
to half precision.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import epigram.chain.storage as chains
import epigram.parsing.storage as parsers
from epigram.estimator import check_fitted
from epigram.pipeline.analysis import TAGS
from epigram.pipeline.splitter import LABELS, Splitter
from epigram.pipeline.stages import Stage
from epigram.storage import ModelFile, Section
from epigram.storage.schema import Maybe, Schema, check_settings, damaged
from epigram.tagging import storage as taggers
from epigram.tagging.crf import CRFTagger

FAMILY = "pipeline"
TOKENS, TREES = "tokens", "trees"
WRITABLE = {"words": ("script",), "lemmas": ("lemma",)}
SCHEMA = Schema(
    {
        "parts": [{"name": str, "reads": [str], "writes": [str], "header": dict}],
        "settings": {
            "parts": Maybe(([str], None)),
            "threads": int,
            "folds": int,
            **{f"{name}_l1": float for name in ("token", "tag", "lemma", "tree")},
            **{f"{name}_passes": int for name in ("token", "tag", "lemma")},
        },
        "keeps_blanks": Maybe(bool),
        "fit": {"sentences": int, "tokens": int, "words": int, "documents": int},
        "card": Maybe(dict),
    },
)


def to_model_file(pipeline: Any) -> ModelFile:
    """Return a fitted pipeline as a model file."""
    check_fitted(pipeline, "stages_")
    parts: list[tuple[str, tuple[str, ...], tuple[str, ...], ModelFile]] = []
    if pipeline.splitter_ is not None:
        parts.append((TOKENS, (), (), taggers.to_model_file(pipeline.splitter_.tagger)))
    parts += [(s.name, s.reads, s.writes, taggers.to_model_file(s.tagger)) for s in pipeline.stages_]
    if pipeline.parser_ is not None:
        parts.append((TREES, (), (), parsers.to_model_file(pipeline.parser_)))
    header: dict[str, Any] = {
        "parts": [
            {
                "name": name,
                "reads": list(reads),
                "writes": list(writes),
                "header": _without_history(file.header),
            }
            for name, reads, writes, file in parts
        ],
        "settings": chains.plain(pipeline.get_params(deep=False)),
        "keeps_blanks": pipeline.splitter_ is None or pipeline.splitter_.keeps_blanks,
        "fit": pipeline.fit_,
    }
    if pipeline.card_:
        header["card"] = pipeline.card_
    tensors = {
        f"{name}.{key}": _halved(key, tensor)
        for name, _, _, file in parts
        for key, tensor in file.tensors.items()
        if "squares" not in key
    }
    return ModelFile(FAMILY, header, tensors)


def _without_history(header: dict[str, Any]) -> dict[str, Any]:
    return {**header, "history": []}


def _halved(name: str, tensor: Any) -> Any:
    """Round weights to half precision where they are in its range."""
    if not name.endswith("weights") or tensor.dtype.kind != "f" or np.abs(tensor).max(initial=0.0) > 6e4:
        return tensor
    return tensor.astype(np.float16)


def from_model_file(file: ModelFile) -> Any:
    """Read the pipeline of a model file."""
    from epigram.pipeline.pipeline import Pipeline

    SCHEMA.check_header(file.header)
    check_settings(file.header)
    pipeline = Pipeline()
    known = pipeline.get_params(deep=False)
    pipeline.set_params(**{name: value for name, value in file.header["settings"].items() if name in known})
    pipeline.splitter_, pipeline.stages_, pipeline.parser_ = None, [], None
    pipeline.fit_ = file.header["fit"]
    pipeline.card_ = file.header.get("card")
    known_columns = {"form"}
    for name, part, own in _parts(file):
        if name == TREES:
            pipeline.parser_ = parsers.from_model_file(own)
            _check_columns(pipeline.parser_.observed.split(","), known_columns)
            continue
        tagger = taggers.from_model_file(own)
        if not isinstance(tagger, CRFTagger) or tagger.fitted_model().template is None:
            damaged(f"part {name!r} is no tagger of columns")
        if name == TOKENS:
            if not set(tagger.fitted_model().labels) <= set(LABELS):
                damaged("the tokenizer has other labels")
            pipeline.splitter_ = Splitter(tagger, file.header.get("keeps_blanks", True))
            continue
        reads, writes = tuple(part["reads"]), tuple(part["writes"])
        if name != "words":
            _check_columns(reads, known_columns)
        if writes != WRITABLE.get(name, writes) or (name not in WRITABLE and not set(writes) <= set(TAGS)):
            damaged(f"part {name!r} writes {', '.join(writes)}")
        known_columns |= set(writes)
        stage = Stage(name, reads, writes, tagger)
        width = 3 if name == "lemmas" else len(reads)
        template = tagger.fitted_model().template
        if template is not None and template.n_columns > width:
            damaged(f"part {name!r} reads more columns than it names")
        pipeline.stages_.append(stage)
    return pipeline


def _check_columns(reads: Any, known: set[str]) -> None:
    if not reads or not set(reads) <= known:
        damaged(f"a part reads {', '.join(reads)}, which no part before it writes")


def _parts(file: ModelFile) -> Iterator[tuple[str, dict[str, Any], ModelFile]]:
    """Yield the parts of a file as model files."""
    names = [part["name"] for part in file.header["parts"]]
    if len(set(names)) < len(names):
        damaged("two parts of the same name")
    for name, part in zip(names, file.header["parts"], strict=True):
        family = parsers.FAMILY if name == TREES else chains.FAMILY
        prefix = f"{name}."
        tensors = {
            key.removeprefix(prefix): tensor for key, tensor in file.tensors.items() if key.startswith(prefix)
        }
        yield name, part, ModelFile(family, part["header"], tensors, unbounded=tensors)


def describe(file: ModelFile) -> list[Section]:
    """Describe a pipeline: its parts, what they read and write, and their sizes."""
    rows = []
    for name, part, own in _parts(file):
        family = parsers if name == TREES else taggers
        size = family.describe(own)[0].records()[0]
        active = size.get("active weights", size.get("arc weights"))
        reads = own.header["settings"].get("observed") if name == TREES else ", ".join(part["reads"])
        rows.append((name, reads or "characters", ", ".join(part["writes"]) or name, active))
    card = [(name, str(value)) for name, value in file.header.get("card", {}).items()]
    sections = [Section("parts", ("part", "reads", "writes", "weights"), rows)]
    return [Section("card", ("name", "value"), card), *sections] if card else sections


def weights(file: ModelFile) -> tuple[tuple[str, ...], Iterator[tuple[Any, ...]]]:
    """List every weight, the part before the feature."""

    def rows() -> Iterator[tuple[Any, ...]]:
        for name, _, own in _parts(file):
            for feature, before, label, weight in (parsers if name == TREES else taggers).weights(own)[1]:
                yield f"{name} {feature}", before, label, weight

    return ("feature", "before", "label", "weight"), rows()
