"""Base classes of the chain estimators: fit, partial_fit, score, save and load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import wraps
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self, TypeVar

import numpy as np
import numpy.typing as npt

from epigram._core.arrays import split_at
from epigram.chain.labels import LABEL_TYPES, LabelIndex, Labels, encode_labels, plain_labels, read_labels
from epigram.chain.model import ChainModel
from epigram.chain.problem import ChainProblem, Samples, Trained
from epigram.errors import InputError
from epigram.estimator import check_fitted, checked_weights
from epigram.features.attributes import AttributeTable
from epigram.features.columns import Column, Columns, as_columns
from epigram.features.encoding import encode_sentences
from epigram.features.formats import ColumnSpec, read_columns
from epigram.features.sequences import Sequences
from epigram.features.template import BUILT_IN, Template
from epigram.files import read_bytes
from epigram.penalties.separable import penalty_of
from epigram.protocols import Ints, Penalty, Solver
from epigram.solvers.history import Listener
from epigram.solvers.make import make
from epigram.storage.settings import StoredEstimator

if TYPE_CHECKING:
    from epigram.chain.explain import LabelExplanation
    from epigram.chain.online import Online


CRFSUITE_NAMES = {
    "c1": "l1",
    "c2": "l2",
    "algorithm": "solver, such as solver='lbfgs'",
    "max_iterations": "solver, such as solver=SGD(passes=30) or solver=OWLQN(max_iterations=100)",
    "min_freq": "min_count",
    "all_possible_states": "pairs='all'",
    "all_possible_transitions": "pairs='all'",
}
"""Parameters of sklearn-crfsuite, and the parameters that replace them."""
Kind = TypeVar("Kind", bound="StoredTagger")


def naming_parameters(kind: type[Kind]) -> type[Kind]:
    """Make a constructor refuse parameters of sklearn-crfsuite by naming the replacement."""
    init = kind.__init__

    @wraps(init)
    def checked(self: Any, *args: Any, **given: Any) -> None:
        for name in given:
            if name in CRFSUITE_NAMES:
                raise TypeError(
                    f"{type(self).__name__} has no parameter {name!r}; give {CRFSUITE_NAMES[name]}. "
                    "docs/switching.md shows how to run sklearn-crfsuite's CRF on epigram."
                )
        init(self, *args, **given)

    kind.__init__ = checked  # type: ignore[method-assign]
    return kind


class Names(NamedTuple):
    """Numbers of attributes and labels, which training extends, and labels that may come later."""

    table: AttributeTable
    labels: LabelIndex
    classes: Sequence[Any] | None = None


class StoredTagger(StoredEstimator):
    """An estimator of family ``tagger``."""

    _family = "tagger"


class ChainEstimator(StoredTagger):
    """An estimator with a chain model; fitted ones have model_, classes_, history_ and fit_.

    A kind of tagger says how it reads samples and, where it has one, what solver is usual; all else is here.
    """

    kind: ClassVar[str]
    """The field ``kind`` of the header of model files."""
    l1: float | str
    l2: float
    penalty: Penalty | None
    solver: str | Solver | None
    threads: int
    random_state: int | None
    min_count: int | None = None
    patience: int | None = None
    model_: ChainModel
    columns_: ColumnSpec | None = None
    """How the file was read that it was trained from, where it was; a model file remembers it."""
    _state: Trained | Online | None = None
    _goes_on = False  # while it learns from more samples

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes to pickle, without the state of partial_fit."""
        return {**self.__dict__, "_state": None}

    def problem(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> ChainProblem:
        """Return the training problem that ``fit`` minimises; see :class:`ChainProblem`."""
        samples = self._samples(X, y, Names(AttributeTable(), LabelIndex()), sample_weight)
        if self.min_count is not None:
            samples = samples.by_frequency(self.min_count)
        return ChainProblem.of(samples, self.threads)

    def _samples(self, X: Any, y: Any, names: Names, sample_weight: npt.ArrayLike | None) -> Samples:
        """Encode samples with the numbers of ``names``, which grow."""
        raise NotImplementedError

    def decode_ids(self, model: ChainModel, sequences: Sequences) -> Ints:
        """The best labels under a model."""
        return model.decode(sequences, None, self.threads)

    def _usual_solver(self, penalty: Penalty) -> Solver:
        """Return the solver for ``solver=None``."""
        return make(None, penalty, random_state=self.random_state, threads=self.threads)

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: npt.ArrayLike | None,
        dev: tuple[Any, Labels] | None,
        callback: Listener | None,
    ) -> Self:
        l1, path = self.l1, None
        if isinstance(l1, str):
            X, y, l1, path = self._chosen(X, y, dev)
        problem, penalty = self.problem(X, y, sample_weight), penalty_of(self.penalty, l1, self.l2)
        given = self._usual_solver(penalty) if self.solver is None else self.solver
        solver = make(given, penalty, random_state=self.random_state, threads=self.threads)
        scorer = None if dev is None else problem.scorer(*dev, self.decode_ids)
        trained = problem.train(solver, penalty, scorer, self.patience, callback)
        report = trained.report() if path is None else {**trained.report(), "l1": l1, "path": path}
        self._keep(problem.samples, problem.model(trained.result.w, trained.squares), report)
        self.history_, self._state = trained.history, trained
        return self

    def _chosen(
        self, X: Any, y: Any, dev: tuple[Any, Labels] | None
    ) -> tuple[Any, Any, float, list[dict[str, float]]]:
        """Return the samples, read once, with the chosen l1 strength and the path that led to it."""
        from epigram.chain.l1_path import choose_l1

        if (
            self.l1 != "auto"
            or self.l2
            or self.penalty is not None
            or not isinstance(self, SentenceEstimator)
        ):
            raise ValueError(
                f"l1 is a number, or 'auto' for sentences and without l2 and penalty, not {self.l1!r}."
            )
        if not isinstance(X, Columns):
            X = [list(sentence) for sentence in X]
        if not isinstance(y, Column):
            y = [list(sentence) for sentence in y]
        return X, y, *choose_l1(self, X, y, dev)

    @property
    def l1_in_use(self) -> float:
        """The number that ``l1`` is, or that ``"auto"`` has chosen."""
        return float(self.fit_["l1"] if isinstance(self.l1, str) else self.l1)

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Sequence[Any] | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> Self:
        """Train on more samples, which may have new labels and features.

        Earlier samples keep their influence: each weight has its own learning rate, which falls with what it has
        learnt, and the penalty is that for all samples so far, as in ``fit``. ``solver``, ``min_count`` and
        ``patience`` have no meaning here. See :mod:`epigram.chain.online`.
        """
        from epigram.chain.online import Online, rule_of

        if isinstance(self.l1, str) and "l1" not in getattr(self, "fit_", {}):
            raise InputError("l1='auto' is chosen by fit; call it before partial_fit, or give a number.")
        rule = rule_of(penalty_of(self.penalty, self.l1_in_use, self.l2))
        online = Online.of(self, self._state, rule)
        self._goes_on = hasattr(self, "model_")
        try:
            samples = self._samples(X, y, Names(online.table, online.index, classes), sample_weight)
        finally:
            self._goes_on = False
        chosen = {"l1": self.l1_in_use} if isinstance(self.l1, str) else {}
        self._keep(samples, online.learn(samples, rule), {**online.report(), **chosen})
        self.history_, self._state = [], online
        return self

    def _keep(self, samples: Samples, model: ChainModel, report: dict[str, Any]) -> None:
        """Become an estimator of this model."""
        self.model_, self.fit_ = model, report
        self.classes_ = samples.classes[np.argsort(samples.classes, kind="stable")]
        self.n_features_ = report["features"]

    def fitted_model(self) -> ChainModel:
        """The model; refuses where there is none yet."""
        check_fitted(self, "model_")
        return self.model_

    def extra_header(self) -> dict[str, Any]:
        """Return header fields of this class beside those of the chain model."""
        return {}

    def restore(self, model: ChainModel, header: dict[str, Any]) -> None:
        """Become the estimator a model file was made of."""
        from epigram.chain.storage import setting
        from epigram.storage.schema import damaged

        known = self.get_params(deep=False)
        settings = {name: setting(value) for name, value in header["settings"].items() if name in known}
        template = model.template
        if template is not None and (
            template.lexicons or settings.get("template") not in (*BUILT_IN, template.text)
        ):
            settings["template"] = template
        self.set_params(**settings)
        self.model_ = model
        read = LABEL_TYPES.get(header.get("label_type", "str")) or damaged("labels of an unknown type")
        try:
            self.classes_ = np.array([read(name) for name in model.labels], dtype=object)
        except (KeyError, ValueError):
            damaged(f"labels that are no {header['label_type']}")
        self.history_ = header["history"]
        self.fit_ = header["fit"]
        self.n_features_ = header["fit"].get("features", 0)
        self.columns_ = ColumnSpec.of_header(header) if "columns" in header else None
        self._state = None


@dataclass(eq=False, repr=False)
class SentenceEstimator(ChainEstimator):
    """An estimator whose samples are sentences, with the settings that all of them have."""

    template: str | PathLike[str] | Template | None = None
    _: KW_ONLY
    l1: float | Literal["auto"] = 1.0
    l2: float = 0.0
    penalty: Penalty | None = None
    solver: str | Solver | None = None
    min_count: int = 1
    class_weight: Mapping[str, float] | Literal["balanced"] | None = None
    patience: int | None = None
    threads: int = 1
    random_state: int | None = 0

    _takes_sets = False  # labels that are known in part

    def fit(
        self,
        X: Any,
        y: Labels | None = None,
        sample_weight: npt.ArrayLike | None = None,
        dev: tuple[Any, Labels] | None = None,
        callback: Listener | None = None,
    ) -> Self:
        """Train.

        Parameters
        ----------
        X : sentences, each a list of tokens; any iterable (generators are streamed), :class:`Columns`, or the
            :class:`~pathlib.Path` of a file of columns, which is read with its labels.
        y : a list of labels per sentence, or a :class:`Column`. Labels are strings, integers, floats or booleans, and
            ``predict`` returns them as they were given. For a :class:`CRFTagger` of first order a label may be
            a set or list of labels, any of which may be right, or None: nothing is known.
        sample_weight : one weight per sentence.
        dev : held-out sentences and labels; the weights with the best score on them are kept.
        callback : called with each entry of the history; returning True stops the training.
        """
        if isinstance(X, PathLike) and y is None:
            X, y, self.columns_ = read_labelled(X)
        return self._fit(X, y, sample_weight, dev, callback)

    def _read(self, X: Any, y: Labels, names: Names) -> Samples:
        """Sentences and their labels, with no weights yet and of no particular shape."""
        table, index, classes = names
        template = load_template(self.template)
        if template is not None and template.has_masks:
            X, template = self._learn_masks(X, template)
        sequences = encode_sentences(X, template, table, grow=True)
        labels = read_labels(y, sequences, index, () if classes is None else plain_labels(classes))
        if index.sets and not self._takes_sets:
            raise InputError(
                f"a {type(self).__name__} needs every label; CRFTagger learns from a part of them"
            )
        counts = {"sentences": sequences.n_sentences, "tokens": sequences.n_tokens}
        everyone = np.array(list(index), dtype=object)
        return Samples(sequences, labels, table, everyone, template=template, counts=counts, sets=index.sets)

    def _learn_masks(self, X: Any, template: Template) -> tuple[Any, Template]:
        """Return the sentences, and the template with the words of ``frequent`` and ``rare``."""
        if self._goes_on and self.fitted_model().template is not None:
            return X, self.model_.template or template
        columns = as_columns(X)
        return columns, template.learnt(columns)

    def score(self, X: Any, y: Labels, sample_weight: npt.ArrayLike | None = None) -> float:
        """Return the token accuracy; ``sample_weight`` is one weight per sentence."""
        sequences = self._encode(X)
        classes, ids = encode_labels(y, sequences)
        plain_labels([*self.classes_, *classes])
        predicted = self.classes_[self.decode_ids(self.model_, sequences)]
        weights = checked_weights(sample_weight, sequences.n_sentences)
        right = predicted == classes[ids]
        per_token = np.ones(len(right)) if weights is None else np.repeat(weights, sequences.word_lengths)
        return float(right @ per_token / per_token.sum()) if per_token.any() else 0.0

    def _encode(self, X: Any) -> Sequences:
        if isinstance(X, PathLike):
            X = read_observed(X, self.columns_)
        return self.fitted_model().encode(X)

    def named_labels(self, ids: Ints, sequences: Sequences) -> list[list[Any]]:
        """Labels as they were given, sentence by sentence."""
        flat = self.classes_[ids].tolist()
        return split_at(flat, sequences.word_ptr)

    def restore_labels(self, why: LabelExplanation) -> LabelExplanation:
        """An explanation with the labels as they were given."""
        given = dict(zip(self.model_.labels, self.classes_.tolist(), strict=True))
        return replace(
            why,
            label=given[why.label],
            other=None if why.other is None else given[why.other],
            labels=tuple(given[name] for name in why.labels),
            other_labels=tuple(given[name] for name in why.other_labels),
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.dict = True
        tags.target_tags.required = True
        return tags


def read_labelled(path: PathLike[str]) -> tuple[Columns, Column, ColumnSpec]:
    """Observations and labels of a file of columns, and how it was read."""
    columns = read_columns(path)
    spec = ColumnSpec().completed(columns, str(path), None, None)
    return *spec.split(columns), spec


def read_observed(path: PathLike[str], spec: ColumnSpec | None) -> Columns:
    """Observations of a file of columns, read as the training file was."""
    spec = spec or ColumnSpec()
    return spec.observations(spec.parse(read_bytes(path), str(path)))


def load_template(template: str | PathLike[str] | Template | None) -> Template | None:
    """A template object from what the estimators take."""
    if template is None or isinstance(template, Template):
        return template
    if isinstance(template, str) and ("%x[" in template or "\n" in template):
        return Template.parse(template)
    return Template.load(template)
