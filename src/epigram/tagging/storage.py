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
import numpy.typing as npt

from epigram.errors import ModelFileError
from epigram.protocols import Floats, Penalty
from epigram.storage import ModelFile, Section, load, pack_strings, unpack_strings
from epigram.storage.arrays import Array, Maybe, Schema, damaged
from epigram.storage.file import loads
from epigram.tagging.attributes import AttributeTable, fingerprints
from epigram.tagging.corpus import unique_triples
from epigram.tagging.layout import ChainWeights
from epigram.tagging.lexicon import Lexicon
from epigram.tagging.model import ChainModel
from epigram.tagging.template import BUILT_IN, Template

FAMILY = "tagger"
SECOND_LOOK = "second_look"
"""The field of the header of a tagger that has one (:mod:`epigram.tagging.second_look`)."""
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
        "state_weights": _single(weights.values[order]),
        "transition_pairs": np.stack([before, after], axis=1).astype(np.uint16),
        "transition_weights": _single(weights.transitions[before, after]),
        "forbidden": np.argwhere(~model.layout.allowed_transitions).astype(np.int32),
        "forbidden_ends": np.empty(0, dtype=np.uint8)
        if model.ends is None
        else (~model.ends).astype(np.uint8),
        "edge_attributes": weights.edge_attributes,
        "edge_pairs": np.stack([weights.before, weights.after], axis=1).astype(np.uint16),
        "edge_weights": weights.edge_values.astype(np.float32),
        "triples": weights.triples.astype(small),
        "triple_weights": weights.triple_values.astype(np.float32),
    }
    for k, lexicon in enumerate(_lexicons(model)):
        tensors[f"lexicon_{k}"] = np.frombuffer(lexicon.to_bytes(), dtype=np.uint8)
    if model.squares is not None:
        learnt = model.layout.weights(model.w, model.squares)
        tensors |= {
            "state_squares": _small(learnt.values[order]),
            "transition_squares": _small(learnt.transitions[before, after]),
            "edge_squares": _small(learnt.edge_values),
            "triple_squares": _small(learnt.triple_values),
        }
    return {name: tensor for name, tensor in tensors.items() if tensor.size}


SCHEMA = Schema(
    {
        "kind": str,
        "labels": [str],
        "template": (str, None),
        "has_transitions": bool,
        "settings": {
            "threads": Maybe(int),
            "beam": Maybe(int),
            "min_count": Maybe((int, None)),
            "patience": Maybe((int, None)),
        },
        "fit": dict,
        "history": list,
        "columns": Maybe(
            {
                "format": Maybe(str),
                "separator": Maybe((str, None)),
                "comments": Maybe([str]),
                "label_column": Maybe(int),
                "observed": Maybe(([int], None)),
                "n_columns": Maybe((int, None)),
            }
        ),
        "beam": Maybe(int),
        "longest": Maybe(int),
        "lexicons": Maybe([str]),
        "classes": Maybe(list),
        "class_kind": Maybe(str),
        "n_features_in": Maybe((int, None)),
    },
    {
        "names": Array(np.uint8, ("name_bytes",)),
        "name_lengths": Array(np.int64, ("names",), total="name_bytes"),
        "state_counts": Array(np.int64, ("names",), total="states"),
        "state_labels": Array(np.int32, ("states",), below="labels"),
        "state_weights": Array(np.float64, ("states",)),
        "state_squares": Array(np.float64, ("states",), optional=True),
        "transition_pairs": Array(np.int64, ("transitions", 2), below="labels"),
        "transition_weights": Array(np.float64, ("transitions",)),
        "transition_squares": Array(np.float64, ("transitions",), optional=True),
        "forbidden": Array(np.int64, ("forbidden", 2), below="labels"),
        "forbidden_ends": Array(np.uint8, (2, "labels"), optional=True),
        "edge_attributes": Array(np.int32, ("edges",), below="names"),
        "edge_pairs": Array(np.int32, ("edges", 2), below="labels"),
        "edge_weights": Array(np.float64, ("edges",)),
        "edge_squares": Array(np.float64, ("edges",), optional=True),
        "triples": Array(np.int32, ("triples", 3), below="labels"),
        "triple_weights": Array(np.float64, ("triples",)),
        "triple_squares": Array(np.float64, ("triples",), optional=True),
    },
)
MOST_LABEL_PAIRS, PAIRS_PER_BYTE = 1 << 22, 16
MOST_ASKED = 4096
"""A model has a matrix of pairs of labels: so many, and so many more for each byte of its arrays."""


def chain_model(file: ModelFile) -> ChainModel:
    """The chain model of a file."""
    SCHEMA.check_header(file.header)
    labels = file.header["labels"]
    L, n_bytes = len(labels), sum(array.nbytes for array in file.tensors.values())
    if not 0 < len(set(labels)) == L:
        damaged(f"{L} labels, {len(set(labels))} of them distinct")
    if MOST_LABEL_PAIRS + PAIRS_PER_BYTE * n_bytes < L * L:
        damaged(f"{L:,} labels, too many for its {n_bytes:,} bytes of weights")
    t = SCHEMA.read(file, labels=L)
    chained = file.header["has_transitions"]
    if (t["edge_weights"].size or t["triple_weights"].size) and not chained:
        damaged("weights of transitions in a model without transitions")
    names = unpack_strings(t["names"], t["name_lengths"])
    weights = ChainWeights(
        np.repeat(np.arange(len(names), dtype=np.int32), t["state_counts"]),
        t["state_labels"],
        t["state_weights"],
        _square(L, t["transition_pairs"], t["transition_weights"]),
        t["edge_attributes"],
        t["edge_pairs"][:, 0].copy(),
        t["edge_pairs"][:, 1].copy(),
        t["edge_weights"],
        t["triples"],
        t["triple_weights"],
    )
    if len(weights.triples) != len(unique_triples(weights.triples, L)):
        damaged("a label triple with two weights")
    if len(weights.triples) and file.header["kind"] != "crf":
        damaged("label triples in a model that has none")
    squares = None
    if "state_squares" in t or "transition_squares" in t:
        squares = weights._replace(
            values=t.get("state_squares", np.zeros(weights.values.size)) ** 2,
            transitions=_square(L, t["transition_pairs"], t.get("transition_squares", 0.0)) ** 2,
            edge_values=t.get("edge_squares", np.zeros(weights.edge_values.size)) ** 2,
            triple_values=t.get("triple_squares", np.zeros(weights.triple_values.size)) ** 2,
        )
    allowed = np.ones((L, L), dtype=bool)
    allowed[t["forbidden"][:, 0], t["forbidden"][:, 1]] = False
    template = file.header["template"]
    lexicons = {
        name: Lexicon.from_bytes(name, file.tensors[f"lexicon_{k}"].tobytes())
        for k, name in enumerate(file.header.get("lexicons", []))
    }
    return ChainModel.of_weights(
        labels,
        None if template is None else Template.parse(template, lexicons=lexicons),
        AttributeTable(fingerprints(names), names),
        weights,
        chained,
        allowed,
        t["forbidden_ends"] == 0 if "forbidden_ends" in t else None,
        squares,
        _longest(file.header),
    )


def _square(n_labels: int, pairs: Any, values: Any) -> Any:
    """The matrix that has these values at these pairs of labels."""
    out = np.zeros((n_labels, n_labels))
    out[pairs[:, 0], pairs[:, 1]] = values
    return out


def _longest(header: dict[str, Any]) -> int:
    """The most tokens of a segment; 0 for chains."""
    longest: int = header.get("longest", 0)
    if not 0 <= longest < 1 << 20:
        damaged(f"segments of {longest} tokens")
    if (longest > 0) != (header["kind"] == "segment") or (longest and header["template"] is None):
        damaged("segments in a model that has none")
    return longest


def _lexicons(model: ChainModel) -> list[Lexicon]:
    """The word lists that the model's template asks: a model file has them in it."""
    return [] if model.template is None else list(model.template.lexicons.values())


def _small(squares: Any) -> Any:
    """Their roots as 16-bit numbers: rates need no more."""
    return np.minimum(np.sqrt(squares), np.finfo(np.float16).max).astype(np.float16)


def _single(weights: Floats) -> npt.NDArray[np.float32]:
    """As float32; what is too large for it becomes infinite, which no model file takes."""
    with np.errstate(over="ignore"):
        return weights.astype(np.float32)


def kind_of(estimator: object) -> str:
    """The name under which a file remembers an estimator's class."""
    for kind, (_, name) in KINDS.items():
        if any(base.__name__ == name for base in type(estimator).__mro__):
            return kind
    raise TypeError(f"{type(estimator).__name__} is not a tagger of epigram.")


def to_model_file(estimator: Any) -> ModelFile:
    """A fitted estimator as a model file; a second look stands beside the arrays of its tagger."""
    if hasattr(estimator, "look_"):
        file = to_model_file(estimator.tagger_)
        header, tensors = estimator.look_.pack()
        settings = {name: getattr(estimator, name) for name in ("folds", "min_count")}
        file.header[SECOND_LOOK] = {**header, "settings": settings, "fit": estimator.fit_}
        file.tensors |= {name: tensor for name, tensor in tensors.items() if tensor.size}
        return file
    model: ChainModel = estimator.fitted_model()
    header = {
        "kind": kind_of(estimator),
        "labels": list(model.labels),
        "template": None if model.template is None else model.template.text,
        "has_transitions": bool(model.layout.has_transitions),
        "settings": plain(estimator.get_params(deep=False)),
        "fit": getattr(estimator, "fit_", {}),
        "history": without_times(getattr(estimator, "history_", [])),
    }
    if model.layout.types is not None:
        header["longest"] = model.layout.types.longest
    if lexicons := _lexicons(model):
        header["lexicons"] = [lexicon.name for lexicon in lexicons]
    if estimator.columns_ is not None:
        header["columns"] = estimator.columns_.as_dict()
    return ModelFile(FAMILY, {**header, **estimator.extra_header()}, model_tensors(model))


def without_times(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Seconds are left out of files: the same training gives the same bytes."""
    return [{name: value for name, value in entry.items() if name != "seconds"} for entry in history]


def from_model_file(file: ModelFile) -> Any:
    """The estimator a file holds."""
    from importlib import import_module

    kind = file.header.get("kind")
    if kind not in KINDS:
        raise ModelFileError(f"unknown kind of tagger {kind!r}; upgrade epigram to read it")
    home, name = KINDS[kind]
    estimator = getattr(import_module(home), name)()
    model = chain_model(file)
    for where in (file.header, file.header["settings"]):
        for name in ("threads", "beam"):
            check_setting(name, where.get(name, 1))
    estimator.restore(model, file.header)
    return estimator if SECOND_LOOK not in file.header else _with_second_look(estimator, file)


def _with_second_look(tagger: Any, file: ModelFile) -> Any:
    """The tagger with the second look that its file has."""
    from epigram.tagging.reranked import RerankedTagger
    from epigram.tagging.second_look import second_look_of

    look, header = second_look_of(file), file.header[SECOND_LOOK]
    assert look is not None
    if file.header["kind"] not in ("crf", "segment") or file.header["template"] is None:
        damaged("a second look at labellings that it cannot have")
    known = {
        name: value for name, value in header.get("settings", {}).items() if name in ("folds", "min_count")
    }
    estimator = RerankedTagger(tagger, k=look.k, reach=look.reach, **known)
    estimator.tagger_, estimator.look_, estimator.fit_ = tagger, look, header.get("fit", {})
    estimator.classes_, estimator.columns_ = tagger.classes_, tagger.columns_
    return estimator


def check_setting(name: str, asked: int) -> None:
    """Refuse a number of threads or hypotheses that nobody asks for."""
    if not 1 <= asked <= MOST_ASKED:
        damaged(f"its settings have {name}={asked}")


def load_as(kind: type[T], path: str | PathLike[str] | None = None, content: bytes | None = None) -> T:
    """The estimator of a file or its content, which must be of this class."""
    estimator = load(path, FAMILY) if path is not None else loads(content or b"", FAMILY)
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
    if len(weights.triples):
        order = np.argsort(-np.abs(weights.triple_values), kind="stable")[:15]
        rows = [
            (*(model.labels[j] for j in weights.triples[k].tolist()), float(weights.triple_values[k]))
            for k in order
        ]
        sections.append(Section("strongest label triples", ("two before", "before", "label", "weight"), rows))
    if SECOND_LOOK in file.header:
        sections.append(_second_look(file))
    return sections


def _second_look(file: ModelFile) -> Section:
    """The strongest weights of features of whole labellings."""
    from epigram.tagging.second_look import second_look_of

    look = second_look_of(file)
    assert look is not None
    strongest = sorted(look.weights.items(), key=lambda item: -abs(item[1]))[:20]
    rows: list[tuple[Any, ...]] = [("log p by the tagger", look.base_weight), *strongest]
    title = f"second look at {look.k} labellings: {len(look.weights)} weights"
    return Section(title, ("feature", "weight"), rows)


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
        for (h, i, j), w in zip(found.triples.tolist(), found.triple_values.tolist(), strict=True):
            yield "", f"{labels[h]} {labels[i]}", labels[j], w
        if SECOND_LOOK in file.header:
            from epigram.tagging.second_look import second_look_of

            look = second_look_of(file)
            for name, w in [] if look is None else look.weights.items():
                kind, _, feature = name.partition(" ")
                yield feature, "", kind, w

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
    home = next((home for home in (solvers, penalties) if name in home.__all__), None)
    own = {
        key: np.array(value) if isinstance(value, list) else value
        for key, value in written.items()
        if key != "name"
    }
    try:
        made = None if home is None else getattr(home, name)(**own)
    except TypeError:
        return None
    return made if hasattr(made, "solve") or isinstance(made, Penalty) else None
