"""The reranker: Score(W) = lambda_0 f_0(W) + sum of lambda_d f_d(W), equations 2 and 3 of Gao et al. 2006.

``fit`` collects features, pairs every candidate with its list's oracle, lets a learner draw its path of
models, and chooses the step with the fewest errors on the development lists (the last step where there are
none).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from epigram.errors import InputError
from epigram.protocols import Floats, Offsets
from epigram.rerank import list_kernels as kernels
from epigram.rerank.explain import Explanation, explain
from epigram.rerank.features import FeatureSpace
from epigram.rerank.learners import Learner
from epigram.rerank.losses import ExponentialLoss, PairLoss
from epigram.rerank.metrics import error_rate
from epigram.rerank.nbest import MEASURES, NBest
from epigram.rerank.pairs import Pairs
from epigram.rerank.tracking import Curves, Tracker
from epigram.solvers.stagewise import BLasso, WeightPath


@dataclass(frozen=True, slots=True)
class Progress:
    """What a fit tells its callback after each chunk of steps; a callback that returns True stops the fit."""

    step: int
    steps: int
    loss: float
    l1_norm: float
    nonzero: int
    dev_rate: float | None
    best_step: int


ProgressCallback: TypeAlias = Callable[[Progress], bool | None]


class Reranker(BaseEstimator):  # type: ignore[misc]
    """Chooses the best candidate of n-best lists by base score, n-grams and named features.

    Parameters
    ----------
    learner : BLasso (default), Boosting, FSLR, FBoosting, Softmax, Perceptron or Lasso.
    ngrams : longest word n-gram counted as a feature.
    min_count : occurrences in the training candidates an n-gram needs.
    headwords : content words; pairs of neighbouring ones become features.
    headword_tags : the same by the candidates' ``tags``.
    chars : longest character n-gram of the text counted as a feature; 0 for none.
    measure : ``cer`` or ``wer``: what the oracle, early stopping and ``score`` count.
    risk : a rival weighs (its errors - the oracle's) ** risk in the exponential loss; 0 is the paper's.
    patience : stop after so many steps without a new best on dev; None walks the whole path.

    Attributes
    ----------
    space_, path_, curves_ : features, steps taken, and loss, L1 norm, non-zeros, dev errors along them.
    step_, weights_, base_weight_ : the chosen step, its weights, and lambda_0.

    Examples
    --------
    >>> lists = [{"reference": "a b", "candidates": [{"text": "a c", "score": -1.0},
    ...          {"text": "a b", "score": -1.5}]}] * 3
    >>> model = Reranker(BLasso(steps=5)).fit(lists)
    >>> model.predict(lists).tolist(), model.score(lists)
    ([1, 1, 1], 0.0)
    """

    space_: FeatureSpace
    path_: WeightPath
    curves_: Curves
    step_: int
    weights_: Floats
    base_weight_: float
    dev_length_: float | None

    def __init__(
        self,
        learner: Learner | None = None,
        ngrams: int = 2,
        min_count: int = 2,
        headwords: Collection[str] | None = None,
        headword_tags: Collection[str] | None = None,
        chars: int = 0,
        measure: str = "cer",
        risk: float = 0.0,
        patience: int | None = None,
    ) -> None:
        self.learner = learner
        self.ngrams = ngrams
        self.min_count = min_count
        self.headwords = headwords
        self.headword_tags = headword_tags
        self.chars = chars
        self.measure = measure
        self.risk = risk
        self.patience = patience

    def fit(
        self,
        lists: Any,
        y: None = None,
        *,
        dev: Any = None,
        callback: ProgressCallback | None = None,
    ) -> Reranker:
        """Learn from lists with references (or errors); ``dev`` lists choose the step."""
        return self._fit(lists, dev, callback, None)

    def resume(
        self,
        lists: Any,
        *,
        steps: int,
        dev: Any = None,
        callback: ProgressCallback | None = None,
    ) -> Reranker:
        """Go on where the path of the last fit (or of a loaded model) ends, up to ``steps`` steps in all."""
        check_is_fitted(self, "path_")
        self.learner = replace(self._learner, steps=steps)  # type: ignore[type-var]
        return self._fit(lists, dev, callback, self.space_)

    @property
    def _learner(self) -> Learner:
        return BLasso() if self.learner is None else self.learner

    def _fit(
        self,
        lists: Any,
        dev: Any,
        callback: ProgressCallback | None,
        known: FeatureSpace | None,
    ) -> Reranker:
        self._check()
        train = as_nbest(lists, "training")
        dev = None if dev is None else as_nbest(dev, "development")
        space = FeatureSpace.collect(
            train, self.ngrams, self.min_count, self.headwords, self.headword_tags, self.chars, known
        )
        path = WeightPath.empty() if known is None else self._renumbered(known, space)
        make_loss: type[PairLoss] = getattr(self._learner, "loss", ExponentialLoss)
        loss = make_loss(
            Pairs.of(train, space, self.measure, self.risk), None if known is None else self.base_weight_
        )
        start_loss = loss.value_and_gradient(np.zeros(space.n_weights), np.empty(space.n_weights))
        self.space_, self.base_weight_ = space, loss.base_weight
        tracker = Tracker(space, loss.base_weight, start_loss, dev, self.measure)
        tracker.follow(path)
        pieces = [path]
        dev_length = None if dev is None else float(dev.lengths(self.measure).sum())
        for chunk in self._learner.walk(loss, path):
            pieces.append(chunk)
            tracker.follow(chunk)
            if self._stops(tracker, dev_length, callback):
                break
        self.path_ = WeightPath.joined(pieces)
        self.curves_ = tracker.curves
        self.dev_length_ = dev_length
        self._choose(best_step(self.curves_))
        return self

    def _stops(self, tracker: Tracker, dev_length: float | None, callback: ProgressCallback | None) -> bool:
        """Ask patience and the callback."""
        curves = tracker.curves
        step, best = len(curves.losses) - 1, best_step(curves)
        stop = dev_length is not None and self.patience is not None and step - best >= self.patience
        if callback is not None:
            rate = None if not dev_length else 100.0 * float(curves.dev_errors[-1]) / dev_length
            told = Progress(
                step, self._learner.steps, float(curves.losses[-1]), float(curves.l1_norms[-1]),
                int(curves.nonzeros[-1]), rate, best,
            )  # fmt: skip
            stop = bool(callback(told)) or stop
        return stop

    def _renumbered(self, known: FeatureSpace, space: FeatureSpace) -> WeightPath:
        """The path so far in the numbers of a new space, which holds all known features."""
        return replace(self.path_, features=space.numbers_of(known)[self.path_.features])

    def _check(self) -> None:
        if self.measure not in MEASURES:
            raise ValueError(f"measure must be one of {', '.join(MEASURES)}, not {self.measure!r}.")
        for name in ("ngrams", "min_count"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)!r}.")
        if self.chars < 0:
            raise ValueError(f"chars must be at least 0, not {self.chars!r}.")
        if not (np.isfinite(self.risk) and self.risk >= 0):
            raise ValueError(f"risk must be a finite number >= 0, not {self.risk!r}.")
        if not hasattr(self._learner, "walk"):
            raise TypeError(f"learner must be one like BLasso(), not {self.learner!r}.")

    def _choose(self, step: int) -> None:
        self.weights_ = self.path_.weights(self.space_.n_weights, step)
        self.step_ = step

    def at(self, step: int) -> Reranker:
        """The same reranker as it was after ``step`` steps of its path (0: the base model)."""
        check_is_fitted(self, "path_")
        other = type(self)(**self.get_params(deep=False))
        other.__dict__.update(self.__dict__)
        other._choose(step)
        return other

    def scores(self, lists: Any) -> Floats:
        """Equation (2) for every candidate of all lists, end to end."""
        check_is_fitted(self, "weights_")
        return self.space_.score(as_nbest(lists, "input"), self.weights_, self.base_weight_)

    def predict(self, lists: Any) -> Offsets:
        """Index of the best candidate within each list."""
        nbest = as_nbest(lists, "input")
        out = np.empty(len(nbest), np.int64)
        kernels.best_of_lists(nbest.list_ptr, self.scores(nbest), out)
        return out

    def rank(self, lists: Any) -> list[Offsets]:
        """Indices of the candidates of each list, best first; equals keep their order."""
        nbest = as_nbest(lists, "input")
        order = np.lexsort((-self.scores(nbest), nbest.list_of))
        starts = nbest.list_ptr[:-1]
        return [
            part - start for part, start in zip(np.split(order, nbest.list_ptr[1:-1]), starts, strict=True)
        ]

    def score(self, lists: Any, y: None = None) -> float:
        """Error rate in percent, character or word by ``measure``: lower is better."""
        nbest = as_nbest(lists, "input")
        return error_rate(nbest, self.predict(nbest), self.measure)

    def explain(self, lists: Any, index: int = 0) -> Explanation:
        """Which weights lifted the winner of list ``index`` over the base model's choice."""
        check_is_fitted(self, "weights_")
        return explain(as_nbest(lists, "input"), index, self.space_, self.weights_, self.base_weight_)

    def save(self, path: str | PathLike[str]) -> None:
        """Write a model file with the path in it."""
        from epigram.rerank.storage import to_model_file

        to_model_file(self).save(path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Reranker:
        """Read a model file."""
        from epigram.rerank.storage import from_model_file
        from epigram.storage import ModelFile

        return from_model_file(ModelFile.load(path, family="reranker"))


def best_step(curves: Curves) -> int:
    """The first step with the fewest dev errors; without dev lists the last."""
    if np.isnan(curves.dev_errors[0]):
        return len(curves.losses) - 1
    return int(np.argmin(curves.dev_errors))


def as_nbest(lists: Any, role: str) -> NBest:
    """NBest as it is; anything else as lists of dictionaries."""
    nbest = lists if isinstance(lists, NBest) else NBest.from_lists(lists)
    if not len(nbest):
        raise InputError(f"no {role} lists")
    return nbest
