"""What all taggers share: fitting, learning on from more sentences, scores, and model files."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from epigram.errors import InputError
from epigram.protocols import Estimator, Ints, Penalty, Solver, check_fitted
from epigram.tagging.attributes import AttributeTable
from epigram.tagging.corpus import LabelIndex, Labels, Sequences, encode_labels, read_labels
from epigram.tagging.encoding import encode_sentences
from epigram.tagging.formats import Column, Columns
from epigram.tagging.model import ChainModel
from epigram.tagging.problem import (
    Listener,
    Problem,
    Samples,
    Trained,
    checked_weights,
    penalty_of,
    solver_of,
)
from epigram.tagging.template import BUILT_IN, Template

if TYPE_CHECKING:
    from epigram.tagging.formats import ColumnSpec
    from epigram.tagging.online import Online


class StoredTagger(Estimator):
    """An estimator of family ``tagger`` that is written to model files and read from them."""

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model file."""
        from epigram.tagging.storage import to_model_file

        to_model_file(self).save(path)

    def to_bytes(self) -> bytes:
        """The content of the model file."""
        from epigram.tagging.storage import to_model_file

        return to_model_file(self).to_bytes()

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a model file."""
        from epigram.tagging.storage import load_as

        return load_as(cls, path=path)

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Read the content of a model file."""
        from epigram.tagging.storage import load_as

        return load_as(cls, content=content)


class ChainEstimator(StoredTagger):
    """An estimator with a chain model: ``model_``, ``classes_``, ``history_`` and ``fit_`` once it is fitted.

    A kind of tagger says how it reads samples and, where it has one, what solver is usual; all else is here.
    """

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

    def problem(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Problem:
        """What ``fit`` minimises, for those who would rather do that themselves: see :class:`Problem`."""
        samples = self._samples(X, y, AttributeTable(), LabelIndex(), None, sample_weight)
        if self.min_count is not None:
            samples = samples.by_frequency(self.min_count)
        return Problem.of(samples, self.threads)

    def _samples(
        self,
        X: Any,
        y: Any,
        table: AttributeTable,
        index: LabelIndex,
        classes: Sequence[Any] | None,
        sample_weight: npt.ArrayLike | None,
    ) -> Samples:
        """Samples by the numbers of ``table`` and ``index``, which grow; ``classes`` may come later."""
        raise NotImplementedError

    def decode_ids(self, model: ChainModel, sequences: Sequences) -> Ints:
        """The best labels under a model."""
        return model.decode(sequences, None, self.threads)

    def _usual_solver(self, penalty: Penalty) -> Solver:
        """What ``solver=None`` stands for."""
        return solver_of(None, penalty, self.random_state, self.threads)

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
        solver = solver_of(given, penalty, self.random_state, self.threads)
        scorer = None if dev is None else problem.scorer(*dev, self.decode_ids)
        trained = problem.train(solver, penalty, scorer, self.patience, callback)
        report = trained.report() if path is None else {**trained.report(), "l1": l1, "path": path}
        self._keep(problem.samples, problem.model(trained.result.w, trained.squares), report)
        self.history_, self._state = trained.history, trained
        return self

    def _chosen(
        self, X: Any, y: Any, dev: tuple[Any, Labels] | None
    ) -> tuple[Any, Any, float, list[dict[str, float]]]:
        """The sentences, read once where they are a stream, with the strength that suits them and how it was found."""
        from epigram.tagging.strength import choose_l1

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
        """Learn from more samples, after ``fit``, ``load`` or other calls; new features and labels are welcome.

        What was learnt before keeps its weight: each weight has a rate of its own, which falls with what it has
        learnt, and the penalty is that for all samples so far, as in ``fit``. ``solver``, ``min_count`` and
        ``patience`` have no meaning here. See :mod:`epigram.tagging.online`.
        """
        from epigram.tagging.online import Online, rule_of

        if isinstance(self.l1, str) and "l1" not in getattr(self, "fit_", {}):
            raise ValueError("l1='auto' is chosen by fit; call it before partial_fit, or give a number.")
        rule = rule_of(penalty_of(self.penalty, self.l1_in_use, self.l2))
        online = Online.of(self, self._state, rule)
        self._goes_on = hasattr(self, "model_")
        try:
            samples = self._samples(X, y, online.table, online.index, classes, sample_weight)
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
        """What a model file of this class holds beside the chain model."""
        return {}

    def restore(self, model: ChainModel, header: dict[str, Any]) -> None:
        """Become the estimator a model file was made of."""
        from epigram.tagging.formats import ColumnSpec
        from epigram.tagging.storage import setting

        known = self.get_params(deep=False)
        settings = {name: setting(value) for name, value in header["settings"].items() if name in known}
        template = model.template
        if template is not None and (
            template.lexicons or settings.get("template") not in (*BUILT_IN, template.text)
        ):
            settings["template"] = template
        self.set_params(**settings)
        self.model_ = model
        self.classes_ = np.array(model.labels, dtype=object)
        self.history_ = header["history"]
        self.fit_ = header["fit"]
        self.n_features_ = header["fit"].get("features", 0)
        self.columns_ = ColumnSpec.of_header(header) if "columns" in header else None
        self._state = None


class SentenceEstimator(ChainEstimator):
    """An estimator whose samples are sentences."""

    template: str | PathLike[str] | Template | None
    _takes_sets = False  # labels that are known in part

    def fit(
        self,
        X: Any,
        y: Labels,
        sample_weight: npt.ArrayLike | None = None,
        dev: tuple[Any, Labels] | None = None,
        callback: Listener | None = None,
    ) -> Self:
        """Train.

        Parameters
        ----------
        X : sentences; any iterable (generators are streamed), or :class:`Columns`.
        y : a list of labels per sentence, or a :class:`Column`. For a :class:`CRFTagger` of first order a label may be
            a set or list of labels, any of which may be right, or None: nothing is known.
        sample_weight : one weight per sentence.
        dev : held-out sentences and labels; the weights with the best score on them are kept.
        callback : called with each entry of the history; returning True stops the training.
        """
        return self._fit(X, y, sample_weight, dev, callback)

    def _read(
        self, X: Any, y: Labels, table: AttributeTable, index: LabelIndex, classes: Sequence[Any] | None
    ) -> Samples:
        """Sentences and their labels, with no weights yet and of no particular shape."""
        template = load_template(self.template)
        if template is not None and template.has_masks:
            X, template = self._learn_masks(X, template)
        sequences = encode_sentences(X, template, table, grow=True)
        labels = read_labels(y, sequences, index, () if classes is None else [str(name) for name in classes])
        if index.sets and not self._takes_sets:
            raise InputError(
                f"a {type(self).__name__} needs every label; CRFTagger learns from a part of them"
            )
        counts = {"sentences": sequences.n_sentences, "tokens": sequences.n_tokens}
        everyone = np.array(list(index), dtype=object)
        return Samples(sequences, labels, table, everyone, template=template, counts=counts, sets=index.sets)

    def _learn_masks(self, X: Any, template: Template) -> tuple[Any, Template]:
        """The sentences, and the template that knows which words are frequent: here, or where learning began."""
        if self._goes_on and self.fitted_model().template is not None:
            return X, self.model_.template or template
        columns = X if isinstance(X, Columns) else Columns.from_rows(X)
        return columns, template.learnt(columns)

    def score(self, X: Any, y: Labels, sample_weight: npt.ArrayLike | None = None) -> float:
        """Share of the tokens that get the right label; ``sample_weight`` is one weight per sentence."""
        sequences = self._encode(X)
        classes, ids = encode_labels(y, sequences)
        predicted = np.array(self.model_.labels, dtype=object)[self.decode_ids(self.model_, sequences)]
        weights = checked_weights(sample_weight, sequences.n_sentences)
        right = predicted == classes[ids]
        per_token = np.ones(len(right)) if weights is None else np.repeat(weights, sequences.word_lengths)
        return float(right @ per_token / per_token.sum()) if per_token.any() else 0.0

    def _encode(self, X: Any) -> Sequences:
        return self.fitted_model().encode(X)

    def named_labels(self, ids: Ints, sequences: Sequences) -> list[list[str]]:
        """Label names, sentence by sentence."""
        flat = [self.model_.labels[j] for j in ids.tolist()]
        return [flat[a:b] for a, b in itertools.pairwise(sequences.word_ptr.tolist())]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.dict = True
        tags.target_tags.required = True
        return tags


def load_template(template: str | PathLike[str] | Template | None) -> Template | None:
    """A template object from what the estimators take."""
    if template is None or isinstance(template, Template):
        return template
    if isinstance(template, str) and ("%x[" in template or "\n" in template):
        return Template.parse(template)
    return Template.load(template)
