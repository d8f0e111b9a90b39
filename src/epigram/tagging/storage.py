"""Taggers in model files: family ``tagger``.

Only non-zero weights are stored: (attribute, label, weight) triples, the transitions that are not zero, the names
of the attributes, and the template. Fingerprints are computed again from the names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any, TypeVar

import numpy as np

from epigram.errors import ModelFileError
from epigram.storage import ModelFile, Section, pack_strings, unpack_strings
from epigram.tagging.attributes import AttributeTable, fingerprints
from epigram.tagging.model import ChainModel
from epigram.tagging.template import BUILT_IN, Template

FAMILY = "tagger"
KINDS = {
    "crf": ("epigram.tagging.crf", "CRFTagger"),
    "maxent": ("epigram.tagging.maxent", "MaxentClassifier"),
    "history": ("epigram.tagging.history", "MaxentTagger"),
}
T = TypeVar("T")


def model_tensors(model: ChainModel) -> dict[str, Any]:
    """The arrays of a chain model."""
    attributes, labels, weights = model.layout.states(model.w)
    order = np.lexsort((labels, attributes))
    edges = model.layout.edges(model.w)
    names, lengths = pack_strings(model.table.names(range(len(model.table))))
    square = model.layout.transitions(model.w)
    before, after = np.nonzero(square)
    forbidden = np.argwhere(~model.allowed_transitions).astype(np.int32)
    small = np.uint8 if len(model.labels) < 256 else np.uint16
    tensors: dict[str, Any] = {
        "names": names,
        "name_lengths": lengths.astype(np.uint16 if lengths.max(initial=0) < 65536 else np.uint32),
        "state_counts": np.bincount(attributes, minlength=len(model.table)).astype(np.uint16),
        "state_labels": labels[order].astype(small),
        "state_weights": weights[order].astype(np.float32),
        "transition_pairs": np.stack([before, after], axis=1).astype(np.uint16),
        "transition_weights": square[before, after].astype(np.float32),
        "forbidden": forbidden,
        "forbidden_ends": np.empty(0, dtype=np.uint8)
        if model.ends is None
        else (~model.ends).astype(np.uint8),
        "edge_attributes": edges[0],
        "edge_pairs": np.stack([edges[1], edges[2]], axis=1).astype(np.uint16),
        "edge_weights": edges[3].astype(np.float32),
    }
    if model.squares is not None:
        learnt = model.layout.transitions(model.squares)
        tensors |= {
            "state_squares": _small(model.layout.states(model.w, model.squares)[2][order]),
            "transition_squares": _small(learnt[before, after]),
            "edge_squares": _small(model.layout.edges(model.w, model.squares)[3]),
        }
    return {name: tensor for name, tensor in tensors.items() if tensor.size}


def chain_model(file: ModelFile) -> ChainModel:
    """The chain model of a file."""
    header, t = file.header, file.tensors
    try:
        labels = list(header["labels"])
        L = len(labels)

        def get(name: str, kind: Any, shape: tuple[int, ...] = (0,)) -> Any:
            return t[name].astype(kind) if name in t else np.empty(shape, dtype=kind)

        names = unpack_strings(get("names", np.uint8), get("name_lengths", np.uint32))
        counts = get("state_counts", np.int64)
        attributes = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
        states = (attributes, get("state_labels", np.int32), get("state_weights", np.float64))
        pairs, weights = get("transition_pairs", np.int64, (0, 2)), get("transition_weights", np.float64)
        square = np.zeros((L, L))
        square[pairs[:, 0], pairs[:, 1]] = weights
        allowed = np.ones((L, L), dtype=bool)
        forbidden = get("forbidden", np.int64, (0, 2))
        allowed[forbidden[:, 0], forbidden[:, 1]] = False
        ends = get("forbidden_ends", np.uint8, (2, L)) == 0 if "forbidden_ends" in t else None
        edge_pairs = get("edge_pairs", np.int32, (0, 2))
        edges = (
            get("edge_attributes", np.int32),
            edge_pairs[:, 0],
            edge_pairs[:, 1],
            get("edge_weights", np.float64),
        )
        chained = bool(header["has_transitions"])
        squares = None
        if "state_squares" in t or "transition_squares" in t:
            among = np.zeros((L, L))
            among[pairs[:, 0], pairs[:, 1]] = get("transition_squares", np.float64) ** 2
            squares = get("state_squares", np.float64) ** 2, among, get("edge_squares", np.float64) ** 2
            if (len(squares[0]), len(squares[2])) != (len(states[0]), len(edge_pairs)):
                raise ValueError("squares and weights of different lengths")
        _check_ids(L, len(names), len(counts), states, edges, chained, ends)
        template = header["template"]
        return ChainModel.of_weights(
            labels,
            None if template is None else Template.parse(template),
            AttributeTable(fingerprints(names), names),
            states,
            square,
            edges,
            chained,
            allowed,
            ends,
            squares,
        )
    except (KeyError, IndexError, ValueError, TypeError) as error:
        raise ModelFileError(f"damaged tagger model ({error!r})") from error


def _small(squares: Any) -> Any:
    """Their roots as 16-bit numbers: rates need no more."""
    return np.minimum(np.sqrt(squares), np.finfo(np.float16).max).astype(np.float16)


def _check_ids(
    n_labels: int,
    n_names: int,
    n_counts: int,
    states: tuple[Any, Any, Any],
    edges: tuple[Any, Any, Any, Any],
    has_transitions: bool,
    ends: Any,
) -> None:
    """Kernels trust ids, so a file must not name labels or attributes it does not have."""
    if n_labels < 1 or n_counts not in (0, n_names) or len({len(part) for part in states}) > 1:
        raise ValueError("states and names of different lengths")
    if len({len(part) for part in edges}) > 1 or (len(edges[0]) and not has_transitions):
        raise ValueError("edges of different lengths")
    if ends is not None and ends.shape != (2, n_labels):
        raise ValueError("constraints of another number of labels")
    limits = [(states[1], n_labels), (edges[0], n_names), (edges[1], n_labels), (edges[2], n_labels)]
    for ids, limit in limits:
        if len(ids) and (ids.min() < 0 or ids.max() >= limit):
            raise ValueError(f"id {int(ids.max())}, of {limit}")


def kind_of(estimator: object) -> str:
    """The name under which a file remembers an estimator's class."""
    for kind, (_, name) in KINDS.items():
        if any(base.__name__ == name for base in type(estimator).__mro__):
            return kind
    raise TypeError(f"{type(estimator).__name__} is not a tagger of epigram.")


def to_model_file(estimator: Any) -> ModelFile:
    """A fitted estimator as a model file."""
    model: ChainModel = estimator._check()
    header = {
        "kind": kind_of(estimator),
        "labels": list(model.labels),
        "template": None if model.template is None else model.template.text,
        "has_transitions": bool(model.layout.arrays.has_transitions),
        "settings": _plain(estimator.get_params(deep=False)),
        "fit": getattr(estimator, "fit_", {}),
        "history": getattr(estimator, "history_", []),
    }
    return ModelFile(FAMILY, {**header, **estimator._extra_header()}, model_tensors(model))


def from_model_file(file: ModelFile) -> Any:
    """The estimator a file holds."""
    from importlib import import_module

    kind = file.header.get("kind")
    if kind not in KINDS:
        raise ModelFileError(f"unknown kind of tagger {kind!r}; upgrade epigram to read it")
    home, name = KINDS[kind]
    estimator = getattr(import_module(home), name)()
    try:
        estimator._restore(chain_model(file), file.header)
    except KeyError as missing:
        raise ModelFileError(f"damaged tagger model: it has no {missing}") from missing
    return estimator


def load_as(kind: type[T], path: str | PathLike[str] | None = None, content: bytes | None = None) -> T:
    """The estimator of a file or its content, which must be of this class."""
    file = ModelFile.load(path, FAMILY) if path is not None else ModelFile.from_bytes(content or b"", FAMILY)
    estimator = from_model_file(file)
    if not isinstance(estimator, kind):
        raise ModelFileError(f"holds a {type(estimator).__name__}, not a {kind.__name__}", path=path)
    return estimator


def describe(file: ModelFile) -> list[Section]:
    """Size, sparsity, strongest features per label, strongest transitions."""
    model = chain_model(file)
    attributes, labels, weights = model.layout.states(model.w)
    square = model.layout.transitions(model.w)
    fit = file.header.get("fit", {})
    features = fit.get("features")
    active = len(weights) + int(np.count_nonzero(square)) + len(model.layout.edges(model.w)[3])
    sections = [
        Section(
            "size",
            ("labels", "attributes", "active weights", "possible weights", "share active"),
            [
                (
                    len(model.labels),
                    len(model.table),
                    active,
                    features,
                    active / features if features else None,
                )
            ],
        )
    ]
    rows: list[tuple[Any, ...]] = []
    for j, label in enumerate(model.labels):
        mine = np.flatnonzero(labels == j)
        top = mine[np.argsort(-weights[mine], kind="stable")[:5]]
        names = model.table.names(attributes[top].tolist())
        rows += [(label, name, float(weights[k])) for name, k in zip(names, top, strict=True)]
    sections.append(Section("strongest features", ("label", "feature", "weight"), rows))
    before, after = np.nonzero(square)
    order = np.argsort(-np.abs(square[before, after]), kind="stable")[:15]
    sections.append(
        Section(
            "strongest transitions",
            ("before", "label", "weight"),
            [
                (
                    model.labels[before[k]],
                    model.labels[after[k]],
                    float(square[before[k], after[k]]),
                )
                for k in order
            ],
        )
    )
    return sections


def _plain(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings as JSON can hold them; :func:`setting` reads them back."""
    return {name: _written(value) for name, value in settings.items()}


def _written(value: Any) -> Any:
    """A solver becomes its name and its own settings; a mapping its items; a template its name."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str | int | float | bool | None):
        return value
    if isinstance(value, Template):
        return value.path if value.path in BUILT_IN else value.text
    if hasattr(value, "solve"):
        return {"name": type(value).__name__, **_plain(vars(value))}
    if isinstance(value, Mapping):
        return {"items": [[_written(key), _written(item)] for key, item in value.items()]}
    if isinstance(value, Iterable):
        return [_written(item) for item in value]
    return str(value)


def setting(written: Any) -> Any:
    """The inverse of what the header of a model file holds; a solver of another program becomes None."""
    if isinstance(written, list):
        return [tuple(item) if isinstance(item, list) else item for item in written]
    if not isinstance(written, dict):
        return written
    if "items" in written:
        return dict(written["items"])
    from epigram import solvers

    known = getattr(solvers, written["name"]) if written.get("name") in dir(solvers) else None
    try:
        return known and known(**{name: value for name, value in written.items() if name != "name"})
    except TypeError:
        return None
