"""Taggers are written to model files and read from them: family ``tagger``.

Only non-zero weights are stored: (attribute, label, weight) triples, the transitions that are not zero, the names
of the attributes, and the template. Fingerprints are computed again from the names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from inspect import signature
from os import PathLike
from typing import Any, TypeVar

import numpy as np

from epigram.errors import ModelFileError
from epigram.protocols import Penalty
from epigram.storage import ModelFile, Section, pack_strings, unpack_strings
from epigram.tagging.attributes import AttributeTable, fingerprints
from epigram.tagging.layout import ChainWeights
from epigram.tagging.lexicon import Lexicon
from epigram.tagging.model import ChainModel
from epigram.tagging.template import BUILT_IN, Template

FAMILY = "tagger"
KINDS = {
    "tree": ("epigram.parsing.tagger", "TreeTagger"),
    "segment": ("epigram.tagging.segment", "SegmentTagger"),
    "crf": ("epigram.tagging.crf", "CRFTagger"),
    "maxent": ("epigram.tagging.maxent", "MaxentClassifier"),
    "history": ("epigram.tagging.history", "MaxentTagger"),
}
T = TypeVar("T")


def model_tensors(model: ChainModel) -> dict[str, Any]:
    """The arrays of a chain model."""
    weights = model.weights
    order = np.lexsort((weights.labels, weights.attributes))
    names, lengths = pack_strings(model.table.names(range(len(model.table))))
    before, after = np.nonzero(weights.transitions)
    small = np.uint8 if len(model.labels) < 256 else np.uint16
    tensors: dict[str, Any] = {
        "names": names,
        "name_lengths": lengths.astype(np.uint16 if lengths.max(initial=0) < 65536 else np.uint32),
        "state_counts": np.bincount(weights.attributes, minlength=len(model.table)).astype(np.uint16),
        "state_labels": weights.labels[order].astype(small),
        "state_weights": weights.values[order].astype(np.float32),
        "transition_pairs": np.stack([before, after], axis=1).astype(np.uint16),
        "transition_weights": weights.transitions[before, after].astype(np.float32),
        "forbidden": np.argwhere(~model.layout.allowed_transitions).astype(np.int32),
        "forbidden_ends": np.empty(0, dtype=np.uint8)
        if model.ends is None
        else (~model.ends).astype(np.uint8),
        "edge_attributes": weights.edge_attributes,
        "edge_pairs": np.stack([weights.before, weights.after], axis=1).astype(np.uint16),
        "edge_weights": weights.edge_values.astype(np.float32),
    }
    for k, lexicon in enumerate(_lexicons(model)):
        tensors[f"lexicon_{k}"] = np.frombuffer(lexicon.to_bytes(), dtype=np.uint8)
    if model.squares is not None:
        learnt = model.layout.weights(model.w, model.squares)
        tensors |= {
            "state_squares": _small(learnt.values[order]),
            "transition_squares": _small(learnt.transitions[before, after]),
            "edge_squares": _small(learnt.edge_values),
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

        def square(name: str, kind: Any = np.float64) -> Any:
            out = np.zeros((L, L))
            pairs = get("transition_pairs", np.int64, (0, 2))
            out[pairs[:, 0], pairs[:, 1]] = get(name, kind)
            return out

        names = unpack_strings(get("names", np.uint8), get("name_lengths", np.uint32))
        counts = get("state_counts", np.int64)
        edge_pairs = get("edge_pairs", np.int32, (0, 2))
        weights = ChainWeights(
            np.repeat(np.arange(len(counts), dtype=np.int32), counts),
            get("state_labels", np.int32),
            get("state_weights", np.float64),
            square("transition_weights"),
            get("edge_attributes", np.int32),
            edge_pairs[:, 0].copy(),
            edge_pairs[:, 1].copy(),
            get("edge_weights", np.float64),
        )
        squares = None
        if "state_squares" in t or "transition_squares" in t:
            squares = weights._replace(
                values=get("state_squares", np.float64) ** 2,
                transitions=square("transition_squares") ** 2,
                edge_values=get("edge_squares", np.float64) ** 2,
            )
        allowed = np.ones((L, L), dtype=bool)
        forbidden = get("forbidden", np.int64, (0, 2))
        allowed[forbidden[:, 0], forbidden[:, 1]] = False
        ends = get("forbidden_ends", np.uint8, (2, L)) == 0 if "forbidden_ends" in t else None
        if L < 1 or len(counts) not in (0, len(names)):
            raise ValueError("states and names of different lengths")
        if ends is not None and ends.shape != (2, L):
            raise ValueError("constraints of another number of labels")
        chained = bool(header["has_transitions"])
        for part in (weights, *(() if squares is None else (squares,))):
            _check_ids(part, L, len(names), chained)
        template = header["template"]
        lexicons = {
            name: Lexicon.from_bytes(name, t[f"lexicon_{k}"].tobytes())
            for k, name in enumerate(header.get("lexicons", []))
        }
        return ChainModel.of_weights(
            labels,
            None if template is None else Template.parse(template, lexicons=lexicons),
            AttributeTable(fingerprints(names), names),
            weights,
            chained,
            allowed,
            ends,
            squares,
            _longest(header),
        )
    except (KeyError, IndexError, ValueError, TypeError) as error:
        raise ModelFileError(f"damaged tagger model ({error!r})") from error


def _longest(header: dict[str, Any]) -> int:
    """The most tokens of a segment; 0 for chains."""
    longest = header.get("longest", 0)
    if not isinstance(longest, int) or not 0 <= longest < 1 << 20:
        raise ValueError(f"segments of {longest!r} tokens")
    return longest


def _lexicons(model: ChainModel) -> list[Lexicon]:
    """The word lists that the model's template asks: a model file has them in it."""
    return [] if model.template is None else list(model.template.lexicons.values())


def _small(squares: Any) -> Any:
    """Their roots as 16-bit numbers: rates need no more."""
    return np.minimum(np.sqrt(squares), np.finfo(np.float16).max).astype(np.float16)


def _check_ids(weights: ChainWeights, n_labels: int, n_names: int, has_transitions: bool) -> None:
    """Kernels trust ids, so a file must not name labels or attributes it does not have."""
    states = weights.attributes, weights.labels, weights.values
    edges = weights.edge_attributes, weights.before, weights.after, weights.edge_values
    if len({len(part) for part in states}) > 1:
        raise ValueError("states of different lengths")
    if len({len(part) for part in edges}) > 1 or (len(edges[0]) and not has_transitions):
        raise ValueError("edges of different lengths")
    for ids, limit in (
        (weights.labels, n_labels),
        (weights.edge_attributes, n_names),
        (weights.before, n_labels),
        (weights.after, n_labels),
    ):
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
        "has_transitions": bool(model.layout.has_transitions),
        "settings": plain(estimator.get_params(deep=False)),
        "fit": getattr(estimator, "fit_", {}),
        "history": getattr(estimator, "history_", []),
    }
    if model.layout.types is not None:
        header["longest"] = model.layout.types.longest
    if lexicons := _lexicons(model):
        header["lexicons"] = [lexicon.name for lexicon in lexicons]
    if estimator.columns_ is not None:
        header["columns"] = estimator.columns_.as_dict()
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
    weights, square = model.weights, model.weights.transitions
    fit = file.header.get("fit", {})
    features = fit.get("features")
    active = weights.n_nonzero
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
        mine = np.flatnonzero(weights.labels == j)
        top = mine[np.argsort(-weights.values[mine], kind="stable")[:5]]
        names = model.table.names(weights.attributes[top].tolist())
        rows += [(label, name, float(weights.values[k])) for name, k in zip(names, top, strict=True)]
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


def weights(file: ModelFile) -> tuple[tuple[str, ...], Iterator[tuple[Any, ...]]]:
    """Every weight: its attribute (none for a transition), the label before (none for a token's), and the label."""
    model = chain_model(file)

    def rows() -> Iterator[tuple[Any, ...]]:
        names, labels = model.table.names(range(len(model.table))), model.labels
        found = model.weights
        for a, j, w in zip(
            found.attributes.tolist(), found.labels.tolist(), found.values.tolist(), strict=True
        ):
            yield names[a], "", labels[j], w
        for i, j in np.argwhere(found.transitions).tolist():
            yield "", labels[i], labels[j], float(found.transitions[i, j])
        edges = (found.edge_attributes, found.before, found.after, found.edge_values)
        for a, i, j, w in zip(*(part.tolist() for part in edges), strict=True):
            yield names[a], labels[i], labels[j], w

    return ("attribute", "before", "label", "weight"), rows()


def plain(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings as JSON can hold them; :func:`setting` reads them back."""
    return {name: _written(value) for name, value in settings.items()}


def _written(value: Any) -> Any:
    """A solver or a penalty becomes its name and its own settings; a mapping its items; a template its name."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str | int | float | bool | None):
        return value
    if isinstance(value, Template):
        return value.path if value.path in BUILT_IN else value.text
    if hasattr(value, "solve") or isinstance(value, Penalty):
        known = signature(type(value)).parameters
        own = {name: getattr(value, name) for name in known if hasattr(value, name)}
        return {"name": type(value).__name__, **plain(own)}
    if isinstance(value, Mapping):
        return {"items": [[_written(key), _written(item)] for key, item in value.items()]}
    if isinstance(value, Iterable):
        return [_written(item) for item in value]
    return str(value)


def setting(written: Any) -> Any:
    """The inverse of what the header of a model file holds; a solver or penalty of another program becomes None."""
    if isinstance(written, list):
        return [tuple(item) if isinstance(item, list) else item for item in written]
    if not isinstance(written, dict):
        return written
    if "items" in written:
        return dict(written["items"])
    from epigram import penalties, solvers

    name = written.get("name", "")
    home = next((home for home in (solvers, penalties) if name in dir(home)), None)
    own = {
        key: np.array(value) if isinstance(value, list) else value
        for key, value in written.items()
        if key != "name"
    }
    try:
        return None if home is None else getattr(home, name)(**own)
    except TypeError:
        return None
