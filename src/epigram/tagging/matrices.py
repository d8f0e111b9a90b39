"""Input checks for scikit-learn style matrices and class vectors.

Where scikit-learn is loaded, its own checks are used, so that a pipeline says what it always says; otherwise the few
here, so that nothing needs it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram._core.arrays import offsets
from epigram.errors import InputError
from epigram.protocols import Floats, Ints, Offsets


def is_matrix(X: Any) -> bool:
    """A matrix, or something to be refused as one; lists of dicts or of feature lists are not."""
    if hasattr(X, "shape") or hasattr(X, "dtype") or not isinstance(X, Sequence):
        return hasattr(X, "__array__") or hasattr(X, "tocsr") or hasattr(X, "dtype")
    first = X[0] if len(X) else None
    if isinstance(first, Mapping):
        return False
    return not (isinstance(first, Sequence) and all(isinstance(item, str) for item in first))


def checked_matrix(estimator: Any, X: Any, y: Any, reset: bool) -> tuple[Any, Any]:
    """Return a finite float64 matrix (dense or CSR) and the classes as a vector."""
    if "sklearn" in sys.modules:
        from sklearn.utils.validation import validate_data

        how = {"accept_sparse": "csr", "dtype": np.float64, "reset": reset}
        return (
            (validate_data(estimator, X, **how), None) if y is None else validate_data(estimator, X, y, **how)
        )
    matrix = X.tocsr().astype(np.float64) if hasattr(X, "tocsr") else np.asarray(X, dtype=np.float64)
    if len(matrix.shape) != 2 or 0 in matrix.shape:
        raise InputError(f"expected rows of numbers, found an array of shape {matrix.shape}")
    numbers = matrix.data if hasattr(matrix, "indptr") else matrix
    if not np.isfinite(numbers).all():
        raise InputError("the matrix has NaN or infinity in it")
    if reset:
        estimator.n_features_in_ = int(matrix.shape[1])
    elif matrix.shape[1] != estimator.n_features_in_:
        raise InputError(
            f"X has {matrix.shape[1]} columns, but the model was trained on {estimator.n_features_in_}"
        )
    return matrix, None if y is None else checked_classes(y, matrix.shape[0])


def refuse_no_class(y: Any) -> None:
    """Refuse a class that is None, and several classes of one sample."""
    objects = isinstance(y, np.ndarray) and y.dtype == object
    for k, own in enumerate(y if objects or isinstance(y, list | tuple) else ()):
        if own is None:
            raise InputError(
                f"y[{k}] is None; every sample needs a class: leave this sample out, or name a class"
            )
        if isinstance(own, set | frozenset) or (isinstance(own, list | tuple) and len(own) != 1):
            raise InputError(
                f"y[{k}] is {own!r}; a sample has one class. For several, train a classifier a label, as "
                "scikit-learn's OneVsRestClassifier does"
            )


def checked_classes(y: Any, n_samples: int) -> npt.NDArray[Any]:
    """One class per sample."""
    if "sklearn" in sys.modules:
        from sklearn.utils.multiclass import check_classification_targets
        from sklearn.utils.validation import column_or_1d

        classes = np.asarray(column_or_1d(y, warn=True))
        check_classification_targets(classes)
    else:
        classes = np.asarray(y)
        if classes.ndim != 1:
            raise InputError(f"expected one class per sample, found an array of shape {classes.shape}")
        if classes.dtype.kind == "f" and not (classes == np.floor(classes)).all():
            raise InputError(
                "classes must be names or whole numbers; these look like the targets of a regression"
            )
    if len(classes) != n_samples:
        raise InputError(f"{len(classes)} classes for {n_samples} samples")
    return classes


def checked_sample_weight(given: npt.ArrayLike, n_samples: int) -> Floats:
    """One weight per sample."""
    if "sklearn" in sys.modules:
        from sklearn.utils.validation import _check_sample_weight

        return np.asarray(_check_sample_weight(given, np.empty((n_samples, 1)), dtype=np.float64))
    return np.broadcast_to(np.asarray(given, dtype=np.float64), (n_samples,)).copy()


def sparse_rows(X: Any) -> tuple[Offsets, Ints, Floats]:
    """Return row offsets, columns and values of the non-zero entries."""
    if hasattr(X, "tocsr"):
        rows = X.tocsr()
        return rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data
    at = np.nonzero(X)
    ptr = offsets(np.bincount(at[0], minlength=X.shape[0]))
    return ptr, at[1].astype(np.int32), X[at]
