"""``CRF`` with sklearn-crfsuite's parameters and attributes, trained and decoded by our core."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from epigram.compat.crfsuite_dump import ParsedDump
from epigram.compat.crfsuite_log import TrainLogParser
from epigram.compat.pycrfsuite import Tagger, Trainer
from epigram.compat.sklearn_crfsuite.metrics import flatten
from epigram.protocols import Estimator

NAMES = {  # of parameters that CRFsuite calls otherwise
    "feature.minfreq": "min_freq",
    "feature.possible_states": "all_possible_states",
    "feature.possible_transitions": "all_possible_transitions",
    "calibration.eta": "calibration_eta",
    "calibration.rate": "calibration_rate",
    "calibration.samples": "calibration_samples",
    "calibration.candidates": "calibration_candidates",
    "calibration.max_trials": "calibration_max_trials",
    "type": "pa_type",
}
SAME = (
    "c1", "c2", "max_iterations", "num_memories", "epsilon", "period", "delta", "linesearch", "max_linesearch", "c",
    "error_sensitive", "averaging", "variance", "gamma",
)  # fmt: skip


class CRF(Estimator):
    """A linear-chain CRF with CRFsuite's algorithms, for sequences of feature dicts.

    Parameters
    ----------
    algorithm : ``lbfgs`` (the default), ``l2sgd``, ``ap``, ``pa`` or ``arow``.
    min_freq, all_possible_states, all_possible_transitions : which features get a weight.
    c1, c2, max_iterations, num_memories, epsilon, period, delta, linesearch, max_linesearch, calibration_eta,
    calibration_rate, calibration_samples, calibration_candidates, calibration_max_trials, pa_type, c, error_sensitive,
    averaging, variance, gamma : settings of the algorithm; CRFsuite's defaults where they are None.
    verbose : print the log.
    model_filename : where the model file goes; by default it is kept in memory.
    keep_tempfiles : taken for compatibility; there are none.
    trainer_cls : a subclass of :class:`epigram.compat.pycrfsuite.Trainer`.

    Examples
    --------
    >>> X, y = [[{"w": "a"}, {"w": "cat"}], [{"w": "the"}, {"w": "dog"}]], [["DT", "NN"], ["DT", "NN"]]
    >>> crf = CRF(c1=0.01, c2=0.01, max_iterations=50).fit(X, y)
    >>> crf.predict_single([{"w": "the"}, {"w": "cat"}]), crf.classes_
    (['DT', 'NN'], ['DT', 'NN'])
    """

    def __init__(
        self,
        algorithm: str | None = None,
        min_freq: float | None = None,
        all_possible_states: bool | None = None,
        all_possible_transitions: bool | None = None,
        c1: float | None = None,
        c2: float | None = None,
        max_iterations: int | None = None,
        num_memories: int | None = None,
        epsilon: float | None = None,
        period: int | None = None,
        delta: float | None = None,
        linesearch: str | None = None,
        max_linesearch: int | None = None,
        calibration_eta: float | None = None,
        calibration_rate: float | None = None,
        calibration_samples: float | None = None,
        calibration_candidates: int | None = None,
        calibration_max_trials: int | None = None,
        pa_type: int | None = None,
        c: float | None = None,
        error_sensitive: bool | None = None,
        averaging: bool | None = None,
        variance: float | None = None,
        gamma: float | None = None,
        verbose: bool = False,
        model_filename: str | None = None,
        keep_tempfiles: bool = False,
        trainer_cls: type[Trainer] | None = None,
    ) -> None:
        self.algorithm = algorithm
        self.min_freq = min_freq
        self.all_possible_states = all_possible_states
        self.all_possible_transitions = all_possible_transitions
        self.c1 = c1
        self.c2 = c2
        self.max_iterations = max_iterations
        self.num_memories = num_memories
        self.epsilon = epsilon
        self.period = period
        self.delta = delta
        self.linesearch = linesearch
        self.max_linesearch = max_linesearch
        self.calibration_eta = calibration_eta
        self.calibration_rate = calibration_rate
        self.calibration_samples = calibration_samples
        self.calibration_candidates = calibration_candidates
        self.calibration_max_trials = calibration_max_trials
        self.pa_type = pa_type
        self.c = c
        self.error_sensitive = error_sensitive
        self.averaging = averaging
        self.variance = variance
        self.gamma = gamma
        self.verbose = verbose
        self.model_filename = model_filename
        self.keep_tempfiles = keep_tempfiles
        self.trainer_cls = trainer_cls

    def fit(self, X: Any, y: Any, X_dev: Any = None, y_dev: Any = None) -> Self:
        """Train; with held-out sequences, ``training_log_`` says how they did after each iteration."""
        if (X_dev is None) != (y_dev is None):
            raise ValueError("Pass both X_dev and y_dev to use the holdout data")
        settings = {theirs: getattr(self, ours) for theirs, ours in NAMES.items()}
        settings |= {name: getattr(self, name) for name in SAME}
        trainer = (self.trainer_cls or Trainer)(
            algorithm=self.algorithm,
            params={name: value for name, value in settings.items() if value is not None},
            verbose=self.verbose,
        )
        for xseq, yseq in zip(X, y, strict=True):
            trainer.append(xseq, yseq)
        for xseq, yseq in zip(X_dev or (), y_dev or (), strict=True):
            trainer.append(xseq, yseq, 1)
        holdout = -1 if X_dev is None else 1
        if self.model_filename is not None:
            trainer.train(self.model_filename, holdout=holdout)
            self._content = Path(self.model_filename).read_bytes()
        else:
            with tempfile.TemporaryDirectory() as folder:
                trainer.train(str(Path(folder) / "model"), holdout=holdout)
                self._content = (Path(folder) / "model").read_bytes()
        self.training_log_: TrainLogParser | None = trainer.logparser
        self._tagger: Tagger | None = None
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Labels of each sequence: an array of lists."""
        return _as_objects([self.predict_single(xseq) for xseq in X])

    def predict_single(self, xseq: Any) -> list[str]:
        """Labels of one sequence."""
        return self._opened().tag(xseq)

    def predict_marginals(self, X: Any) -> npt.NDArray[Any]:
        """Probability of every label at every position, as dicts: an array of lists."""
        return _as_objects([self.predict_marginals_single(xseq) for xseq in X])

    def predict_marginals_single(self, xseq: Any) -> list[dict[str, float]]:
        """Probability of every label at every position of one sequence."""
        tagger = self._opened()
        tagger.set(xseq)
        labels = tagger.labels()
        return [dict(zip(labels, row, strict=True)) for row in tagger.marginals().tolist()]

    def score(self, X: Any, y: Any) -> float:
        """Share of the items with the right label."""
        pairs = list(zip(flatten(y), flatten(self.predict(X)), strict=True))
        return sum(gold == found for gold, found in pairs) / max(len(pairs), 1)

    @property
    def tagger_(self) -> Tagger | None:
        """The model as a :class:`epigram.compat.pycrfsuite.Tagger`; None before ``fit``, as what follows."""
        if not hasattr(self, "_content"):
            if self.model_filename is None or not Path(self.model_filename).exists():
                return None
            self._content = Path(self.model_filename).read_bytes()
        if getattr(self, "_tagger", None) is None:
            self._tagger = Tagger()
            self._tagger.open_inmemory(self._content)
        return self._tagger

    @property
    def classes_(self) -> list[str] | None:
        """The labels."""
        return None if self.tagger_ is None else self.tagger_.labels()

    @property
    def size_(self) -> int | None:
        """Bytes of the model file."""
        return None if self.tagger_ is None else len(self._content)

    @property
    def num_attributes_(self) -> int | None:
        """How many attributes have weights."""
        info = self._info
        return None if info is None else len(info.attributes)

    @property
    def attributes_(self) -> list[str] | None:
        """The attributes that have weights."""
        info = self._info
        return None if info is None else list(info.attributes)

    @property
    def state_features_(self) -> dict[tuple[str, str], float] | None:
        """Weights: ``{(attribute, label): weight}``."""
        info = self._info
        return None if info is None else info.state_features

    @property
    def transition_features_(self) -> dict[tuple[str, str], float] | None:
        """Weights: ``{(label, next label): weight}``."""
        info = self._info
        return None if info is None else info.transitions

    @property
    def _info(self) -> ParsedDump | None:
        return None if self.tagger_ is None else self.tagger_.info()

    def _opened(self) -> Tagger:
        if self.tagger_ is None:
            raise ValueError("This CRF is not fitted yet; call fit first")
        return self.tagger_

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_tagger"}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.dict = True
        tags.target_tags.required = True
        return tags


def _as_objects(rows: Sequence[Any]) -> npt.NDArray[Any]:
    """A vector of lists, also where all have the same length."""
    found = np.empty(len(rows), dtype=object)
    found[:] = rows
    return found
