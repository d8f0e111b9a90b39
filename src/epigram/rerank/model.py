"""Reranker: Score(W) = lambda_0 f_0(W) + sum of lambda_d f_d(W). Gao et al. 2006, (2), (3).

``fit`` collects features, pairs every candidate with its list's oracle, lets a learner draw its path of
models, and chooses the step with the fewest errors on the development lists. Settings of the learner that have no
value are chosen on these lists, too (paths.py). Without development lists the last tenth of the lists is held out
where there is something to choose; without that either, the model is the last step.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, fields, replace
from os import PathLike
from typing import Any, Literal, TypeAlias

import numpy as np

from epigram.checkpoint import here
from epigram.errors import InputError, each
from epigram.estimator import check_fitted
from epigram.files import refuse_file_names
from epigram.protocols import Floats, Offsets
from epigram.rerank.explain import Explanation, explain
from epigram.rerank.features import FeatureSpace
from epigram.rerank.learners import Lasso, Perceptron, Softmax
from epigram.rerank.metrics import base_choice, error_rate, errors_of
from epigram.rerank.nbest import MEASURES, NBest
from epigram.rerank.paths import Curves, RerankProblem, Trial, best_step, long_enough, tune
from epigram.rerank.stagewise import FSLR, BLasso, Boosting, FBoosting, Learner, WeightPath
from epigram.storage.settings import StoredEstimator

FEWEST_LISTS = 10
"""With fewer lists none is held out."""
LEARNERS: dict[str, type[Any]] = {
    "blasso": BLasso,
    "boosting": Boosting,
    "fslr": FSLR,
    "f-boosting": FBoosting,
    "softmax": Softmax,
    "perceptron": Perceptron,
    "lasso": Lasso,
}
"""Names of the learners, for the command line and the model file."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a fit, passed to its callback; a callback that returns True stops the fit.

    ``steps`` is the length of the path where it was given; ``trial`` says which settings are being tried.
    """

    step: int
    steps: int | None
    loss: float
    l1_norm: float
    nonzero: int
    dev_rate: float | None
    best_step: int
    trial: str = ""


ProgressCallback: TypeAlias = Callable[[Progress], bool | None]


class _Fitted(StoredEstimator):
    """The state of a :class:`Reranker` beside its parameters."""

    _family = "reranker"
    space_: FeatureSpace
    path_: WeightPath
    curves_: Curves
    step_: int
    weights_: Floats
    base_weight_: float
    dev_length_: float | None
    learner_: Learner
    trials_: list[Trial]
    n_held_out_: int
    least_lead_: float = 0.0


@dataclass(eq=False, repr=False)
class Reranker(_Fitted):
    """Choose the best candidate of n-best lists by base score, n-grams and named features.

    Parameters
    ----------
    learner : BLasso (default), Boosting, FSLR, FBoosting, Softmax, Perceptron or Lasso. Its settings that are None
        are chosen on held-out lists.
    ngrams : length of the longest word n-gram that is a feature.
    min_count : least number of occurrences of an n-gram in the training candidates.
    headwords : content words; pairs of neighbouring ones become features.
    headword_tags : tags of content words, for candidates with ``tags``.
    chars : length of the longest character n-gram that is a feature; 0 for none.
    measure : error rate that training lowers, of characters or words. The oracle, the choice of the step and ``score``
        count it.
    risk : power of a candidate's extra errors by which it weighs in the loss; 0 is the paper's.
    patience : steps without a better result on held-out lists after which training stops. None: a path of given
        length is walked to its end, another one until it is half as long again as its best step.
    held_out : share of the lists, the last ones, that settings are chosen on without held-out lists. ``fit`` sets them
        apart where there is something to choose; 0, or fewer than 10 lists: none, usual values are taken.
    least_lead : lead over the first candidate that another one needs; ``"dev"`` chooses it on held-out lists.

    Attributes
    ----------
    learner_, trials_, n_held_out_ : the learner with the values chosen, all that was tried, lists set apart.
    space_, path_, curves_ : features, steps taken, and loss, L1 norm, non-zeros, dev errors along them.
    step_, weights_, base_weight_ : the chosen step, its weights, and lambda_0.
    least_lead_ : the lead that a candidate needs.

    Examples
    --------
    >>> lists = [{"reference": "a b", "candidates": [{"text": "a c", "score": -1.0},
    ...          {"text": "a b", "score": -1.5}]}] * 3
    >>> model = Reranker(BLasso(steps=5)).fit(lists)
    >>> model.predict(lists).tolist(), model.error_rate(lists)
    ([1, 1, 1], 0.0)
    """

    learner: Learner | None = None
    ngrams: int = 2
    min_count: int = 2
    headwords: Collection[str] | None = None
    headword_tags: Collection[str] | None = None
    chars: int = 0
    measure: Literal["cer", "wer"] = "cer"
    risk: float = 0.0
    patience: int | None = None
    held_out: float = 0.1
    least_lead: float | Literal["dev"] = 0.0

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for a pickle: a fitted model is pickled as its file."""
        if hasattr(self, "weights_") and type(self.learner or BLasso()) in LEARNERS.values():
            return {**self.get_params(deep=False), "file": self.to_bytes()}
        return self.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        fitted = self.from_bytes(state.pop("file")).__dict__ if "file" in state else {}
        self.__dict__.update(fitted | state)

    def fit(
        self,
        lists: Any,
        y: None = None,
        *,
        dev: Any = None,
        callback: ProgressCallback | None = None,
    ) -> Reranker:
        """Train on lists with references or errors; ``dev`` lists choose the step and open settings."""
        learner = BLasso() if self.learner is None else self.learner
        return self._fit(lists, dev, callback, learner, None)

    def resume(
        self,
        lists: Any,
        *,
        steps: int | None = None,
        dev: Any = None,
        callback: ProgressCallback | None = None,
    ) -> Reranker:
        """Continue the path of the last fit (or of a loaded model) up to ``steps`` steps in all.

        The lists must be those of the fit: as many as it held out are held out again.
        """
        check_fitted(self, "path_")
        return self._fit(lists, dev, callback, replace(self.learner_, steps=steps), self.space_)  # type: ignore[type-var]

    def _fit(
        self,
        lists: Any,
        dev: Any,
        callback: ProgressCallback | None,
        learner: Learner,
        known: FeatureSpace | None,
    ) -> Reranker:
        self._check(learner)
        train = as_nbest(lists, "training")
        dev = None if dev is None else as_nbest(dev, "development")
        if dev is None:
            n = self._n_to_hold_out(len(train), learner) if known is None else self.n_held_out_
            self.n_held_out_ = n
            train, dev = (
                train.take(range(len(train) - n)),
                train.take(range(len(train) - n, len(train))) if n else None,
            )
        else:
            self.n_held_out_ = 0
        space = FeatureSpace.collect(
            train, self.ngrams, self.min_count, self.headwords, self.headword_tags, self.chars, known
        )
        problem = RerankProblem(
            train, dev, space=space, measure=self.measure, risk=self.risk,
            base_weight=None if known is None else self.base_weight_,
        )  # fmt: skip
        self.dev_length_ = None if dev is None else float(dev.lengths(self.measure).sum())
        ending = _Stop(self.patience, self.dev_length_, callback)
        if known is not None:
            start = problem.loss(learner).value(np.zeros(space.n_weights))
            before = self.curves_.losses[0]
            if not np.isclose(start, before, rtol=1e-6):
                raise InputError(
                    f"the lists are not those of the training (loss {start:.6g} without weights, {before:.6g} then); "
                    "give the same lists, or train a new model"
                )
            path = replace(self.path_, features=space.numbers_of(known)[self.path_.features])
            walk = problem.walk(learner if dev else learner.with_usual(), path, ending.stop_for(learner))
        elif dev is None:
            learner = learner.with_usual()
            walk, self.trials_ = problem.walk(learner, None, ending.stop_for(learner)), []
        else:
            walk, self.trials_ = tune(
                learner,
                lambda tried: problem.walk(tried, None, ending.stop_for(tried)),
                lambda: ending.stopped,
            )
        self.space_, self.base_weight_ = space, walk.base_weight
        self.path_, self.curves_, self.learner_ = walk.path, walk.curves, walk.learner
        self.go_to(walk.step)
        if isinstance(self.least_lead, str):
            self.least_lead_ = 0.0 if dev is None else self._choose_lead(dev)
        else:
            self.least_lead_ = float(self.least_lead)
        return self

    def _choose_lead(self, dev: NBest) -> float:
        """Smallest lead with which held-out lists have the fewest errors.

        Between the leads of two lists nothing changes: the middle is taken.
        """
        _, _, lead = self._winners(dev, scores := self.scores(dev))
        gained = errors_of(dev, base_choice(dev), self.measure) - errors_of(
            dev, dev.choose(scores), self.measure
        )
        order = np.argsort(lead, kind="stable")
        order = order[lead[order] > 0]
        leads = np.concatenate([[0.0], lead[order]])
        errors = np.concatenate(
            [[0.0], np.cumsum(gained[order])]
        )  # of leaving the first so many as they were
        last = np.append(leads[1:] > leads[:-1], True)  # equals stay together
        at = int(np.flatnonzero(last)[np.argmin(errors[last])])
        if at == 0:
            return 0.0
        return float(leads[at] if at + 1 == len(leads) else (leads[at] + leads[at + 1]) / 2)

    def _winners(self, nbest: NBest, scores: Floats) -> tuple[Offsets, Offsets, Floats]:
        """Best candidate by score, best by base score, and the lead of the former over the latter."""
        best, base = nbest.choose(scores), base_choice(nbest)
        starts = nbest.list_ptr[:-1]
        return best, base, scores[starts + best] - scores[starts + base]

    def _n_to_hold_out(self, n_lists: int, learner: Learner) -> int:
        """Number of lists to hold out: none if all settings are given or the lists are too few."""
        if not (learner.open_settings or self.least_lead == "dev") or n_lists < FEWEST_LISTS:
            return 0
        return min(round(self.held_out * n_lists), n_lists - 1)

    def _check(self, learner: Learner) -> None:
        for name, is_right, wanted in (
            ("measure", self.measure in MEASURES, f"one of {', '.join(MEASURES)}"),
            ("ngrams", self.ngrams >= 1, "at least 1"),
            ("min_count", self.min_count >= 1, "at least 1"),
            ("chars", self.chars >= 0, "at least 0"),
            ("risk", 0 <= self.risk < np.inf, "a finite number >= 0"),
            ("held_out", 0 <= self.held_out < 1, "a share of the lists, 0 <= held_out < 1"),
            ("least_lead", _is_lead(self.least_lead), "a finite number >= 0 or 'dev'"),
        ):
            if not is_right:
                raise ValueError(f"{name} must be {wanted}, not {getattr(self, name)!r}.")
        if not isinstance(learner, Learner):
            raise TypeError(f"learner must be one like BLasso(), not {learner!r}.")

    def at(self, step: int) -> Reranker:
        """Return a copy with the weights after ``step`` steps of the path (0: the base model)."""
        check_fitted(self, "path_")
        other = type(self)(**self.get_params(deep=False))
        other.__dict__.update(self.__dict__)
        other.go_to(step)
        return other

    def go_to(self, step: int) -> None:
        """Set the weights to those after ``step`` steps of the path."""
        self.weights_ = self.path_.weights(self.space_.n_weights, step)
        self.step_ = step

    def scores(self, lists: Any) -> Floats:
        """Return equation (2) for every candidate of all lists, end to end."""
        check_fitted(self, "weights_")
        return self.space_.score(as_nbest(lists, "input"), self.weights_, self.base_weight_)

    def predict(self, lists: Any) -> Offsets:
        """Return the index of the best candidate within each list."""
        nbest = as_nbest(lists, "input")
        best, base, lead = self._winners(nbest, self.scores(nbest))
        return np.where(lead > self.least_lead_, best, base)

    def rank(self, lists: Any) -> list[Offsets]:
        """Return the ranked indices of the candidates of each list; ties keep their order."""
        nbest = as_nbest(lists, "input")
        left = np.ones(nbest.n_candidates, bool)
        left[nbest.list_ptr[:-1] + self.predict(nbest)] = False
        order = np.lexsort((-self.scores(nbest), left, nbest.list_of))
        starts = nbest.list_ptr[:-1]
        return [
            part - start for part, start in zip(np.split(order, nbest.list_ptr[1:-1]), starts, strict=True)
        ]

    def score(self, lists: Any, y: None = None) -> float:
        """Return minus the error rate in percent of characters or words (``measure``).

        Higher is better, as GridSearchCV and cross_val_score of scikit-learn expect.
        """
        return -self.error_rate(lists)

    def error_rate(self, lists: Any) -> float:
        """Return the error rate in percent, of characters or words by ``measure``: lower is better."""
        nbest = as_nbest(lists, "input")
        return error_rate(nbest, self.predict(nbest), self.measure)

    def explain(self, lists: Any, index: int = 0) -> Explanation:
        """Return the weights that lifted the winner of list ``index`` over the base model's choice."""
        check_fitted(self, "weights_")
        return explain(as_nbest(lists, "input"), index, self.space_, self.weights_, self.base_weight_)


def _is_lead(value: Any) -> bool:
    return value == "dev" or (isinstance(value, int | float) and 0 <= value < np.inf)


class _Stop:
    """Decides by patience, path length and callback whether a path ends."""

    def __init__(
        self, patience: int | None, dev_length: float | None, callback: ProgressCallback | None
    ) -> None:
        self.patience, self.dev_length, self.callback = patience, dev_length, callback
        self.stopped = False

    def stop_for(self, learner: Learner) -> Callable[[Curves], bool]:
        """Make the stop function of the path of one learner."""
        trial = ", ".join(
            f"{name} {value:g}" for name in learner.ladders if (value := getattr(learner, name)) is not None
        )

        def stop(curves: Curves) -> bool:
            step, best = len(curves.losses) - 1, best_step(curves)
            if self.callback is not None:
                rate = 100.0 * float(curves.dev_errors[-1]) / self.dev_length if self.dev_length else None
                now = Progress(
                    step, learner.steps, float(curves.losses[-1]), float(curves.l1_norms[-1]),
                    int(curves.nonzeros[-1]), rate, best, trial,
                )  # fmt: skip
                self.stopped = bool(self.callback(now)) or self.stopped
            if self.dev_length is None:
                return self.stopped
            waited = step - best
            if long_enough(learner, curves) if self.patience is None else waited >= self.patience:
                here().ended = True
                return True
            return self.stopped

        return stop


def as_nbest(lists: Any, role: str) -> NBest:
    """Convert an NBest, several NBest (as scikit-learn splits them) or dictionaries to NBest.

    A path object is read (:func:`epigram.rerank.read_nbest`).
    """
    if isinstance(lists, PathLike):
        from epigram.rerank.formats import read_nbest

        lists = read_nbest(lists)
    if not isinstance(lists, NBest):
        lists = list(each(lists, f"{role} lists", "lists"))
        refuse_file_names(lists)
        whole = lists and all(isinstance(part, NBest) for part in lists)
        lists = NBest.joined(lists) if whole else NBest.from_lists(lists)
    if not len(lists):
        raise InputError(f"no {role} lists")
    return lists  # type: ignore[no-any-return]


def make_learner(name: str, **settings: float | None) -> Any:
    """Make a learner by name; settings that are None are chosen later, unknown ones are refused.

    Examples
    --------
    >>> make_learner("boosting", smoothing=1e-3, eps=None)
    Boosting(steps=None, smoothing=0.001, shrinkage=None)
    """
    if name not in LEARNERS:
        raise InputError(f"unknown learner {name!r}; use one of {', '.join(LEARNERS)}")
    given = {setting: value for setting, value in settings.items() if value is not None}
    known = [field.name for field in fields(LEARNERS[name])]
    for setting in given:
        if setting not in known:
            raise InputError(
                f"{setting} has no meaning for {name}, which has {', '.join(known)}; leave it out"
            )
    try:
        return LEARNERS[name](**given)
    except ValueError as error:
        raise InputError(str(error)) from None
