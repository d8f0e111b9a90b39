"""Base class of estimators, with the parameter methods of scikit-learn.

An :class:`Estimator` works with ``clone``, ``GridSearchCV`` and ``cross_val_score`` where scikit-learn is installed,
and imports it only then.
"""

from __future__ import annotations

import inspect
import sys
from functools import cache
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from epigram.errors import EpigramError
from epigram.protocols import Floats


class NotFittedError(EpigramError, ValueError, AttributeError):
    """Raised when an estimator is used before ``fit``."""


class Estimator:
    """Base class whose parameters are the arguments of ``__init__``, kept as attributes.

    Examples
    --------
    >>> class Model(Estimator):
    ...     def __init__(self, order=3, solver=None):
    ...         self.order, self.solver = order, solver
    >>> Model(order=5)
    Model(order=5)
    >>> Model().set_params(order=4).get_params()
    {'order': 4, 'solver': None}
    """

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        """Parameters by name, sorted, with their defaults."""
        parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
        return {p.name: p.default for p in sorted(parameters, key=lambda p: p.name)}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; with ``deep`` also parameters of parameters, as ``name__inner``."""
        found: dict[str, Any] = {}
        for name in self._defaults():
            value = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                found |= {f"{name}__{inner}": of for inner, of in value.get_params().items()}
            found[name] = value
        return found

    def set_params(self, **parameters: Any) -> Self:
        """Change parameters; ``name__inner`` changes a parameter of a parameter."""
        known = self._defaults()
        inner: dict[str, dict[str, Any]] = {}
        for key, value in parameters.items():
            name, _, rest = key.partition("__")
            if name not in known:
                raise ValueError(
                    f"Invalid parameter {name!r} for estimator {self}. Valid parameters are: {list(known)!r}."
                )
            if rest:
                inner.setdefault(name, {})[rest] = value
            else:
                setattr(self, name, value)
        for name, values in inner.items():
            getattr(self, name).set_params(**values)
        return self

    def __repr__(self) -> str:
        given = [
            f"{name}={getattr(self, name)!r}"
            for name, default in self._defaults().items()
            if not _same(getattr(self, name, default), default)
        ]
        return f"{type(self).__name__}({', '.join(given)})"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import Tags, TargetTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            transformer_tags=None,
            regressor_tags=None,
            classifier_tags=None,
        )


def check_fitted(estimator: object, attribute: str) -> None:
    """Raise :class:`NotFittedError` where the attribute that ``fit`` sets is missing."""
    if not hasattr(estimator, attribute):
        name = type(estimator).__name__
        raise _error_class("sklearn.exceptions" in sys.modules)(
            f"This {name} instance is not fitted yet. Call 'fit' with appropriate arguments before using it."
        )


@cache
def _error_class(with_sklearn: bool) -> type[NotFittedError]:
    """The error class; where scikit-learn is loaded, a subclass of its error too."""
    if not with_sklearn:
        return NotFittedError
    from sklearn.exceptions import NotFittedError as Theirs

    return type("NotFittedError", (NotFittedError, Theirs), {"__doc__": NotFittedError.__doc__})


def _same(value: object, default: object) -> bool:
    """Whether a parameter has its default value; arrays and NaN compare by value."""
    if value is default:
        return True
    try:
        return bool(np.all(value == default)) or repr(value) == repr(default)
    except (TypeError, ValueError):
        return repr(value) == repr(default)


def checked_weights(given: npt.ArrayLike | None, n: int) -> Floats | None:
    """``sample_weight`` of n samples: finite, not negative, not all zero."""
    if given is None:
        return None
    weights = np.asarray(given, dtype=np.float64)
    if weights.shape != (n,):
        raise ValueError(f"sample_weight has shape {weights.shape}, not ({n},).")
    if not np.isfinite(weights).all() or (weights < 0.0).any():
        raise ValueError("sample_weight must be finite and not negative.")
    if n and not weights.any():
        raise ValueError("sample_weight is zero for every sample.")
    return weights


def product(one: Floats | None, other: Floats | None) -> Floats | None:
    """Weights times weights, where None stands for ones."""
    if one is None or other is None:
        return other if one is None else one
    return one * other
