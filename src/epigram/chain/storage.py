"""Reads and writes the model files of chain estimators: family ``tagger``.

Only non-zero weights are stored: (attribute, label, weight) triples, the transitions that are not zero, the names
of the attributes, and the template. Fingerprints are computed again from the names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from inspect import signature
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from epigram.chain.constraints import allowed_transitions
from epigram.chain.layout import ChainWeights
from epigram.chain.model import ChainModel
from epigram.chain.seen_pairs import unique_triples
from epigram.errors import InputError, ModelFileError
from epigram.features.attributes import AttributeTable, PackedNames
from epigram.features.lexicon import WordTable
from epigram.features.template import BUILT_IN, Template
from epigram.protocols import Floats, Penalty
from epigram.storage import ModelFile, Section, pack_strings, string_offsets
from epigram.storage.compress import compress, decompress
from epigram.storage.schema import Array, Maybe, Schema, check_settings, damaged

if TYPE_CHECKING:
    from epigram.chain.estimator import ChainEstimator

FAMILY = "tagger"
E = TypeVar("E", bound="ChainEstimator")


def model_tensors(model: ChainModel, exact: bool = False) -> dict[str, Any]:
    """The arrays of a chain model; weights in single precision unless ``exact``."""
    number = np.float64 if exact else np.float32
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
        "state_weights": _rounded(weights.values[order], number),
        "transition_pairs": np.stack([before, after], axis=1).astype(np.uint16),
        "transition_weights": _rounded(weights.transitions[before, after], number),
        "forbidden": np.argwhere(~model.layout.allowed_transitions).astype(np.int32),
        "forbidden_ends": np.empty(0, dtype=np.uint8)
        if model.ends is None
        else (~model.ends).astype(np.uint8),
        "edge_attributes": weights.edge_attributes,
        "edge_pairs": np.stack([weights.before, weights.after], axis=1).astype(np.uint16),
        "edge_weights": weights.edge_values.astype(number),
        "triples": weights.triples.astype(small),
        "triple_weights": weights.triple_values.astype(number),
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


LARGEST_WEIGHT, MOST_TRANSITION = 1e8, 300.0
"""Of a weight, and of those of transitions, whose exponentials are multiplied; less than -300 counts as that."""
SCHEMA = Schema(
    {
        "kind": str,
        "labels": [str],
        "label_type": Maybe(str),
        "template": (str, None),
        "has_transitions": bool,
        "settings": {
            "pairs": Maybe(str),
            "penalty": Maybe((None, dict)),
            "solver": Maybe((None, str, dict)),
            "class_weight": Maybe((None, str, {"items": [list]})),
        },
        "fit": dict,
        "history": [dict],
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
        "state_weights": Array(np.float64, ("states",), most=LARGEST_WEIGHT),
        "state_squares": Array(np.float64, ("states",), optional=True),
        "transition_pairs": Array(np.int64, ("transitions", 2), below="labels"),
        "transition_weights": Array(np.float64, ("transitions",), below=MOST_TRANSITION, most=LARGEST_WEIGHT),
        "transition_squares": Array(np.float64, ("transitions",), optional=True),
        "forbidden": Array(np.int64, ("forbidden", 2), below="labels"),
        "forbidden_ends": Array(np.uint8, (2, "labels"), optional=True),
        "edge_attributes": Array(np.int32, ("edges",), below="names"),
        "edge_pairs": Array(np.int32, ("edges", 2), below="labels"),
        "edge_weights": Array(np.float64, ("edges",), below=MOST_TRANSITION, most=LARGEST_WEIGHT),
        "edge_squares": Array(np.float64, ("edges",), optional=True),
        "triples": Array(np.int32, ("triples", 3), below="labels"),
        "triple_weights": Array(np.float64, ("triples",), below=MOST_TRANSITION, most=LARGEST_WEIGHT),
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
    check_labels(labels, n_bytes)
    t = SCHEMA.read(file, labels=L)
    chained = file.header["has_transitions"]
    if not chained and any(t[f"{kind}_weights"].size for kind in ("transition", "edge", "triple")):
        damaged("weights of transitions in a model without transitions")
    names = PackedNames(t["names"], string_offsets(t["names"], t["name_lengths"]))
    weights = ChainWeights(
        np.repeat(np.arange(len(names.ptr) - 1, dtype=np.int32), t["state_counts"]),
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
    lexicons = {
        name: WordTable.from_bytes(name, file.tensors[f"lexicon_{k}"].tobytes())
        for k, name in enumerate(file.header.get("lexicons", []))
    }
    return ChainModel.of_weights(
        labels,
        _template(file.header["template"], lexicons),
        AttributeTable(names.fingerprints(), names),
        weights,
        chained,
        allowed,
        t["forbidden_ends"] == 0 if "forbidden_ends" in t else None,
        squares,
        _longest(file.header),
    )


def _template(text: str | None, lexicons: dict[str, WordTable]) -> Template | None:
    """Parse the template of a model file, refusing unsafe patterns."""
    try:
        return None if text is None else Template.parse(text, lexicons=lexicons)
    except InputError as error:
        raise ModelFileError(f"its template cannot be used: {error}") from None


def check_labels(labels: list[str], n_bytes: int) -> None:
    """Refuse repeated labels, or more labels than the file's weights can justify."""
    L = len(labels)
    if not 0 < len(set(labels)) == L:
        damaged(f"{L} labels, {len(set(labels))} of them distinct")
    if MOST_LABEL_PAIRS + PAIRS_PER_BYTE * n_bytes < L * L:
        damaged(f"{L:,} labels, too many for its {n_bytes:,} bytes of weights")


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


def _lexicons(model: ChainModel) -> list[WordTable]:
    """The word lists that the model's template asks: a model file has them in it."""
    return [] if model.template is None else list(model.template.lexicons.values())


def _small(squares: Any) -> Any:
    """Their roots as 16-bit numbers: rates need no more."""
    return np.minimum(np.sqrt(squares), np.finfo(np.float16).max).astype(np.float16)


def _rounded(weights: Floats, number: npt.DTypeLike) -> npt.NDArray[Any]:
    """Round weights to a type; overflow becomes infinite, which the file writer refuses."""
    with np.errstate(over="ignore"):
        return weights.astype(number)


def to_model_file(estimator: Any) -> ModelFile:
    """Return a fitted estimator as a model file."""
    model: ChainModel = estimator.fitted_model()
    header = {
        **model_header(model, estimator.kind),
        "settings": plain(estimator.get_params(deep=False)),
        "fit": getattr(estimator, "fit_", {}),
        "history": without_times(getattr(estimator, "history_", [])),
    }
    kind = type(next(iter(getattr(estimator, "classes_", model.labels)))).__name__
    if kind != "str" and "class_kind" not in estimator.extra_header():
        header["label_type"] = kind
    if estimator.columns_ is not None:
        header["columns"] = estimator.columns_.as_dict()
    return ModelFile(FAMILY, {**header, **estimator.extra_header()}, model_tensors(model))


def model_file(model: ChainModel) -> ModelFile:
    """Return the file of a CRFTagger with a chain model, such as one read from another program."""
    return ModelFile(FAMILY, model_header(model, "crf"), model_tensors(model))


def model_header(model: ChainModel, kind: str) -> dict[str, Any]:
    """The fields of the header that a chain model is read with."""
    header: dict[str, Any] = {
        "kind": kind,
        "labels": list(model.labels),
        "template": None if model.template is None else model.template.text,
        "has_transitions": bool(model.layout.has_transitions),
        "settings": {},
        "fit": {},
        "history": [],
    }
    if model.layout.types is not None:
        header["longest"] = model.layout.types.longest
    if lexicons := _lexicons(model):
        header["lexicons"] = [lexicon.name for lexicon in lexicons]
    return header


def pack_model(model: ChainModel) -> tuple[dict[str, Any], Any, Any]:
    """Return the state of a pickle: header and compressed arrays, weights in full."""
    header = model_header(model, "crf" if model.layout.types is None else "segment")
    tensors = model_tensors(model, exact=True)
    return header, *(compress(tensors) or (tensors, None))


def unpack_model(header: dict[str, Any], packed: Any, layout: Any) -> ChainModel:
    """Undo :func:`pack_model`."""
    tensors = packed if layout is None else decompress(packed, layout)
    return chain_model(ModelFile(FAMILY, header, tensors))


def without_times(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Seconds are left out of files: the same training gives the same bytes."""
    return [{name: value for name, value in entry.items() if name != "seconds"} for entry in history]


def restore(estimator: E, file: ModelFile) -> E:
    """Make a new estimator the one that a file holds."""
    if file.header.get("kind") != estimator.kind:
        damaged(f"a model of kind {file.header.get('kind')!r} instead of {estimator.kind!r}")
    model = chain_model(file)
    _check_settings(file.header, model)
    estimator.restore(model, file.header)
    if len(set(estimator.classes_.tolist())) != len(model.labels):
        damaged("its classes are not its labels")
    return estimator


def _check_settings(header: dict[str, Any], model: ChainModel) -> None:
    """Refuse settings with which training could not be continued."""
    settings, template, layout = header["settings"], model.template, model.layout
    if len(layout.triples):
        settings["order"] = 2  # a pool of such models does not say so
    if template is not None and header["kind"] in ("crf", "segment"):
        asked = layout.has_transitions == template.has_transitions
        if not asked or (len(layout.edge_pair) and not template.edges):
            damaged("transitions other than its template asks for")
    if template is None:
        settings["template"] = None  # features of the user's own: a name would be read as a file's
    check_settings(header)
    if settings.get("order", 1) not in (1, 2):
        damaged(f"'order' cannot be {settings['order']!r}")
    check_setting("beam", header.get("beam", 1))
    if settings.get("pairs", "all") not in ("seen", "all"):
        damaged(f"'pairs' cannot be {settings['pairs']!r}")
    for name, word in (("l1", "auto"), ("class_weight", "balanced")):
        if isinstance(settings.get(name), str) and settings[name] != word:
            damaged(f"{name!r} cannot be {settings[name]!r}")
    allowed_transitions(setting(settings.get("constrain")), header["labels"])


def check_setting(name: str, asked: int) -> None:
    """Refuse a number of threads or hypotheses that nobody asks for."""
    if not 1 <= asked <= MOST_ASKED:
        damaged(f"its settings have {name}={asked}")


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
    return sections


def weights(file: ModelFile) -> tuple[tuple[str, ...], Iterator[tuple[Any, ...]]]:
    """List every weight: attribute (or none), label before (or none), and label."""
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

    return ("attribute", "before", "label", "weight"), rows()


def plain(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings as JSON can hold them; :func:`setting` reads them back."""
    return {name: _written(value) for name, value in settings.items()}


def _written(value: Any) -> Any:
    """Return a setting as JSON: solvers and penalties by name, mappings as items."""
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
    """Read a setting from a header; an unknown solver or penalty becomes None."""
    if isinstance(written, list):
        return [tuple(item) if isinstance(item, list) else item for item in written]
    if not isinstance(written, dict):
        return written
    if "items" in written:
        return dict(written["items"])
    import epigram

    name = written.get("name", "")
    kind = getattr(epigram, name) if name in dir(epigram) else None
    if not isinstance(kind, type) or not (hasattr(kind, "solve") or issubclass(kind, Penalty)):
        return None
    own = {
        key: np.array(value) if isinstance(value, list) else value
        for key, value in written.items()
        if key != "name"
    }
    try:
        return kind(**own)
    except TypeError:
        return None
