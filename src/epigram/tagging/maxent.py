"""MaxentClassifier: multinomial logistic regression, as chains of length 1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from epigram._core.arrays import offsets
from epigram.chain.estimator import ChainEstimator, Names, naming_parameters
from epigram.chain.model import ChainModel
from epigram.chain.problem import Samples, Shape, class_weights
from epigram.errors import InputError, each
from epigram.estimator import check_fitted, checked_weights, product
from epigram.features.attributes import AttributeTable, Strings, fingerprints
from epigram.features.feature_dicts import encode_features
from epigram.features.sequences import Sequences
from epigram.protocols import Floats, Ints, Penalty, Solver, is_plain
from epigram.solvers.history import Listener
from epigram.solvers.quasi_newton import LBFGS, OWLQN
from epigram.tagging.matrices import (
    checked_classes,
    checked_matrix,
    checked_sample_weight,
    is_matrix,
    refuse_no_class,
    sparse_rows,
)

BIAS = "(bias)"
COLUMNS_KEPT = 1 << 20
"""A file that promises more has its columns looked up when it is asked, not when it is opened."""


@naming_parameters
@dataclass(eq=False, repr=False, kw_only=True)
class MaxentClassifier(ChainEstimator):
    """Maximum entropy classifier with an l1, l2 or elastic-net penalty.

    Takes a matrix (dense or scipy sparse), or a list of samples each given as a dict or a list of features.

    Parameters
    ----------
    l1, l2 : strengths of ``l1 * sum |w|`` and ``l2 * sum w^2``; the objective is a sum over samples.
    penalty : an object in place of l1 and l2, as for :class:`~epigram.tagging.crf.CRFTagger`.
    solver : an object or a name, as for :class:`~epigram.tagging.crf.CRFTagger`; by default OWL-QN, or L-BFGS where
        l1 is 0.
    pairs : ``"all"`` gives every feature a weight with every class, ``"seen"`` only with those it was seen with.
    class_weight : dict or ``"balanced"``.
    threads, random_state : as for :class:`~epigram.tagging.crf.CRFTagger`.

    Attributes
    ----------
    classes_ : the classes, sorted.
    coef_, intercept_ : weights as scikit-learn has them (one row per class); for matrices only.
    history_ : one dict an iteration: objective, nonzero, seconds.

    Examples
    --------
    >>> X = [{"free": 2.0, "money": 1.0}, {"meeting": 1.0}, {"money": 3.0}, {"lunch": 1.0, "meeting": 1.0}]
    >>> classifier = MaxentClassifier(l1=0.1).fit(X, ["spam", "ham", "spam", "ham"])
    >>> classifier.predict([{"money": 1.0}]).tolist()
    ['spam']
    """

    kind = "maxent"
    l1: float = 1.0
    l2: float = 0.0
    penalty: Penalty | None = None
    solver: str | Solver | None = None
    pairs: str = "all"
    class_weight: Mapping[Any, float] | str | None = None
    threads: int = 1
    random_state: int | None = 0

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_columns"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if hasattr(self, "model_") and getattr(self, "n_features_in_", 0) <= COLUMNS_KEPT:
            self._columns = self._find_columns()

    def fit(
        self,
        X: Any,
        y: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None = None,
        callback: Listener | None = None,
    ) -> Self:
        """Train on samples and their classes."""
        self._fit(X, y, sample_weight, None, callback)
        self.n_iter_ = self.fit_["iterations"]
        return self

    def _usual_solver(self, penalty: Penalty) -> Solver:
        l1, l2 = getattr(penalty, "l1", None), getattr(penalty, "l2", None)
        if not is_plain(penalty) or (l1 is None and l2 is None):
            return super()._usual_solver(penalty)
        return OWLQN(tolerance=1e-6) if l1 or not l2 else LBFGS(tolerance=1e-6)

    def _samples(
        self, X: Any, y: npt.ArrayLike, names: Names, sample_weight: npt.ArrayLike | None
    ) -> Samples:
        table, index, classes = names
        sequences, y = self._read(X, y, table, grow=True, reset=not index)
        found = np.unique(y if classes is None else np.concatenate([y, np.asarray(classes)]))
        for name in found.tolist():
            index.setdefault(name, len(index))
        everyone = np.array(list(index), dtype=found.dtype if found.dtype.kind not in "US" else None)
        labels = np.array([index[name] for name in y.tolist()], dtype=np.int32)
        weights = None
        if sample_weight is not None:
            weights = checked_weights(checked_sample_weight(sample_weight, len(labels)), len(labels))
        weights = product(weights, class_weights(self.class_weight, labels, everyone))
        return Samples(sequences, labels, table, everyone, Shape(self.pairs, has_transitions=False), weights)

    def _keep(self, samples: Samples, model: ChainModel, report: dict[str, Any]) -> None:
        super()._keep(samples, model, report)
        self.__dict__.pop("_columns", None)
        self._keep_columns()

    def _keep_columns(self) -> None:
        """Find the columns once, unless they are so many that a file could have made them up."""
        if getattr(self, "n_features_in_", 0) <= COLUMNS_KEPT:
            self._columns = self._find_columns()

    def _find_columns(self) -> Ints | None:
        """Return the attribute of each training column; None after training on named features."""
        n = getattr(self, "n_features_in_", None)
        return None if n is None else self.model_.table.look_up(fingerprints(_column_names(n)))

    def _known_columns(self) -> Ints | None:
        """The same, kept where it can be, so that predicting hashes no names."""
        return self._columns if hasattr(self, "_columns") else self._find_columns()

    def _read(
        self, X: Any, y: npt.ArrayLike | None, table: AttributeTable, grow: bool, reset: bool = True
    ) -> tuple[Sequences, npt.NDArray[Any]]:
        """Samples as chains of length 1 with a bias each, and the classes."""
        if grow and y is None:
            raise InputError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        refuse_no_class(y)
        if is_matrix(X):
            X, y = checked_matrix(self, X, y, reset=reset and grow)
            columns = None if grow else self._known_columns()
            if grow:
                names = _column_names(X.shape[1])
                columns = table.intern(fingerprints(names), Strings(names))
            elif columns is None:
                raise InputError(
                    "this model was trained on features by name; give dicts or lists of features"
                )
            sequences = _of_matrix(X, columns)
        else:
            if grow and reset:
                self.__dict__.pop("n_features_in_", None)
                self.__dict__.pop("_columns", None)
            sequences = encode_features(([sample] for sample in _samples(X)), table, grow)
        if y is not None:
            y = checked_classes(y, sequences.n_sentences)
        if grow:
            table.intern(fingerprints([BIAS]), Strings([BIAS]))
        bias = int(table.look_up(fingerprints([BIAS]))[0])
        return (_with_bias(sequences, bias) if bias >= 0 else sequences), np.asarray(y)

    def predict_proba(self, X: Any) -> Floats:
        """p(class) of each sample, classes in the order of ``classes_``."""
        check_fitted(self, "model_")
        sequences, _ = self._read(X, None, self.model_.table, grow=False)
        nodes, _, _ = self.model_.marginals(sequences)
        return nodes

    def predict_log_proba(self, X: Any) -> Floats:
        """log p(class) of each sample."""
        return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most probable class of each sample."""
        check_fitted(self, "model_")
        best: npt.NDArray[Any] = self.classes_[np.argmax(self.predict_proba(X), axis=1)]
        return best

    def score(self, X: Any, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> float:
        """Accuracy."""
        right = self.predict(X) == np.asarray(y)
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        return float(np.average(right, weights=weights))

    @property
    def coef_(self) -> Floats:
        """Weights, one row per class, one column per column of the training matrix."""
        weights, columns = self._dense_weights(), self._known_columns()
        if columns is None:
            raise AttributeError("coef_ is there where the model was trained on a matrix")
        out = np.zeros((len(self.classes_), len(columns)))
        known = columns >= 0
        out[:, known] = weights[:, columns[known]]
        return out

    @property
    def intercept_(self) -> Floats:
        """Weight of the bias, one per class."""
        bias = int(self.model_.table.look_up(fingerprints([BIAS]))[0])
        return self._dense_weights()[:, bias] if bias >= 0 else np.zeros(len(self.classes_))

    def _dense_weights(self) -> Floats:
        check_fitted(self, "model_")
        weights = self.model_.weights
        out = np.zeros((len(self.classes_), len(self.model_.table)))
        out[weights.labels, weights.attributes] = weights.values
        return out

    def extra_header(self) -> dict[str, Any]:
        return {
            "classes": self.classes_.tolist(),
            "class_kind": self.classes_.dtype.str,
            "n_features_in": getattr(self, "n_features_in_", None),
        }

    def restore(self, model: ChainModel, header: dict[str, Any]) -> None:
        super().restore(model, header)
        kind = header["class_kind"]
        self.classes_ = np.array(header["classes"], dtype=object if kind == "|O" else kind)
        if header["n_features_in"] is not None:
            self.n_features_in_ = header["n_features_in"]
            self._keep_columns()

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier"
        tags.classifier_tags = ClassifierTags()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags


def _samples(X: Any) -> Iterator[Any]:
    """The samples, each a dict or a list of features; a text is refused, with what to do."""
    for k, sample in enumerate(each(X, "X", "samples")):
        if isinstance(sample, str | bytes):
            raise InputError(
                f"sample {k} is a text, {sample[:40]!r}; give a list of its words (text.split()), a dict of features, "
                "or the matrix of a vectoriser such as scikit-learn's CountVectorizer"
            )
        yield sample


def _column_names(n: int) -> list[str]:
    return [f"x{j}" for j in range(n)]


def _of_matrix(X: Any, ids: Ints) -> Sequences:
    """Rows of a matrix as chains of length 1; columns without an attribute are left out."""
    ptr, columns, values = sparse_rows(X)
    attributes = ids[columns]
    known = (attributes >= 0) & (values != 0.0)
    ptr = offsets(known)[ptr]
    return Sequences.of(np.arange(len(ptr)), ptr, attributes[known], values[known])


def _with_bias(sequences: Sequences, bias: int) -> Sequences:
    """Every token gets one more attribute, of value 1."""
    ends = sequences.attribute_ptr[1:]
    whole = len(sequences.values) == len(sequences.attributes)
    values = sequences.values if whole else np.ones(len(sequences.attributes))
    return Sequences.of(
        sequences.sentence_ptr,
        sequences.attribute_ptr + np.arange(sequences.n_tokens + 1),
        np.insert(sequences.attributes, ends, bias),
        np.insert(values, ends, 1.0),
    )
