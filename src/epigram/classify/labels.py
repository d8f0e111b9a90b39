"""Labels of training texts as columns of targets.

A text has one label, a set of labels, or a row of a matrix of 0 and 1.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram.errors import DataWarning, InputError
from epigram.protocols import Floats

Collections = (list, tuple, set, frozenset)


@dataclass
class LabelColumns:
    """Targets, a column per label (one column for two classes).

    Attributes
    ----------
    classes : the labels, sorted.
    several : whether a text may have any number of labels.
    matrix : whether the labels came as a matrix of 0 and 1, which predictions are then too.
    numbers : a class number per text: the first of its labels, len(classes) for none.
    """

    targets: npt.NDArray[np.bool_] = field(repr=False)
    classes: npt.NDArray[Any]
    several: bool
    matrix: bool
    numbers: npt.NDArray[np.int64] = field(repr=False)


def label_columns(
    y: Iterable[Any], n: int, several: bool | None = None, known: Sequence[Any] = ()
) -> LabelColumns:
    """Columns of targets for the labels of ``n`` texts, and for those ``known`` already.

    Examples
    --------
    >>> label_columns(["b", "a"], 2).targets.tolist(), label_columns([["a", "b"], []], 2).targets.tolist()
    ([[True], [False]], [[True, True], [False, False]])
    """
    if isinstance(y, np.ndarray) and y.ndim == 2:
        return _from_matrix(y, n, len(known) or y.shape[1])
    labels = list(y)
    if len(labels) != n:
        raise InputError(f"{n:,} texts and {len(labels):,} labels; every text needs its own")
    if not n:
        raise InputError("no texts to train on")
    wanted = any(isinstance(label, Collections) for label in labels) if several is None else several
    sets = [set(label) if isinstance(label, Collections) else {label} for label in labels]
    for i, names in enumerate(sets):
        if any(name is None or name != name for name in names):
            raise InputError(f"text {i + 1} has the label {next(iter(names))}; leave it out or name a label")
        if not wanted and len(names) != 1:
            raise InputError(f"text {i + 1} has {len(names)} labels; give several=True")
    found = sorted_labels([*sets, known])
    if len(found) < 2 and not (wanted and found):
        raise InputError(
            f"labels of at least two kinds are needed, found {', '.join(map(str, found)) or 'none'}"
        )
    number = {name: k for k, name in enumerate(found)}
    targets = np.zeros((n, len(found)), dtype=np.bool_)
    for i, names in enumerate(sets):
        targets[i, [number[name] for name in names]] = True
    numbers = np.array([min((number[name] for name in names), default=len(found)) for names in sets])
    once = [str(found[k]) for k in np.flatnonzero(targets.sum(axis=0) == 1).tolist() if found[k] not in known]
    if once:
        said = f"{len(once)} labels occur in one training text only, such as {once[0]!r}"
        warnings.warn(DataWarning(said), stacklevel=4)
    if len(found) == 2 and not wanted:
        targets = np.ascontiguousarray(targets[:, 1:])
    return LabelColumns(targets, np.array(found), wanted, False, numbers)


def _from_matrix(y: npt.NDArray[Any], n: int, n_labels: int) -> LabelColumns:
    if y.shape != (n, n_labels) or not n_labels or not np.isin(y, (0, 1)).all():
        said = (
            f"a matrix of labels has {n_labels} columns, a row per text and cells 0 or 1, not the shape {y.shape} "
            f"for {n:,} texts"
        )
        raise InputError(said)
    targets = np.ascontiguousarray(y.astype(np.bool_))
    numbers = np.where(targets.any(axis=1), targets.argmax(axis=1), y.shape[1])
    return LabelColumns(targets, np.arange(y.shape[1]), True, True, numbers)


def sorted_labels(sets: Iterable[Iterable[Any]]) -> list[Any]:
    """The different labels in order; those of unlike types are refused."""
    found = {name for names in sets for name in names}
    try:
        return sorted(found)
    except TypeError:
        kinds = ", ".join(sorted({type(name).__name__ for name in found}))
        raise InputError(f"labels of types that have no order: {kinds}; make them all strings") from None


def weights_of_texts(
    columns: LabelColumns, class_weight: Mapping[Any, float] | str | None, given: npt.ArrayLike | None
) -> Floats | None:
    """Weight of each text: ``sample_weight`` times the weight of its class."""
    n = len(columns.targets)
    weights = None if given is None else np.array(given, dtype=np.float64)
    if weights is not None and (
        weights.shape != (n,) or not (weights >= 0).all() or not 0 < weights.sum() < np.inf
    ):
        raise InputError("sample_weight needs one number of at least 0 for every text, not all of them 0")
    if class_weight is None:
        return weights
    counts = np.bincount(columns.numbers, minlength=len(columns.classes))
    if class_weight == "balanced":
        per_class = counts.sum() / (len(counts) * np.maximum(counts, 1))
    elif isinstance(class_weight, Mapping):
        per_class = np.array([float(class_weight.get(name, 1.0)) for name in columns.classes.tolist()])
    else:
        raise InputError(f"class_weight must be None, 'balanced' or a dict, not {class_weight!r}")
    own = per_class[np.minimum(columns.numbers, len(per_class) - 1)]
    return np.asarray(own if weights is None else own * weights)


def checked_texts(X: Any) -> list[str]:
    """A list of texts; anything else is refused with what to do."""
    if isinstance(X, str | bytes):
        raise InputError("X is one text; give a list of texts: [text]")
    texts: Sequence[Any] = X.tolist() if isinstance(X, np.ndarray) and X.ndim == 1 else list(X)
    for k, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"text {k + 1} is a {type(text).__name__}, not a string")
    return list(texts)
