"""RerankedTagger: a tagger whose k best labellings are reranked (Collins 2000).

``fit`` splits the sentences into folds and labels each fold by taggers trained on the others, so that the candidates
have the errors of unseen text. A reranker is trained to prefer the candidate with the fewest wrong and missing chunks
(or wrong labels); the last tenth of the lists chooses its strength. The tagger itself is trained on all sentences.
See also Yoshida and Tsujii 2007.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from epigram._core.arrays import gather, offsets
from epigram.chain.crf import CRFEstimator
from epigram.chain.estimator import StoredTagger, read_labelled, read_observed
from epigram.chain.labels import Labels, encode_labels
from epigram.chain.model import Allowed, ChainModel
from epigram.chain.storage import to_model_file
from epigram.errors import InputError
from epigram.estimator import check_fitted
from epigram.features.columns import Column, Columns, as_columns
from epigram.features.sequences import Sequences
from epigram.protocols import Ints, Offsets
from epigram.rerank.stagewise import Learner
from epigram.storage import ModelFile
from epigram.storage.schema import damaged
from epigram.tagging.crf import CRFTagger
from epigram.tagging.stacked.candidates import Labellings, Scheme
from epigram.tagging.stacked.cross_prediction import label_unseen
from epigram.tagging.stacked.labelling_features import DistinguishingFeatures, features_of
from epigram.tagging.stacked.pool import pool
from epigram.tagging.stacked.reranker import MOST_LABELLINGS, RERANKER, LabellingReranker, reranker_of

if TYPE_CHECKING:
    from epigram.chain.explain import LabelExplanation
    from epigram.features.formats import ColumnSpec
    from epigram.rerank import NBest

FoldCallback = Callable[[int, str], bool | None]
"""``callback(folds done, what comes)``; one that returns True stops: the lists made by then are learnt from."""

STORED = ("folds", "min_count")
"""Settings that a model file holds beside those of the reranker itself."""


@dataclass(eq=False, repr=False)
class RerankedTagger(StoredTagger):
    """Labels tokens by a tagger and a reranker of its k best labellings.

    Parameters
    ----------
    tagger : a :class:`CRFTagger` or :class:`SegmentTagger` with a template, or a list of them, which become one
        (:mod:`epigram.tagging.stacked.pool`); by default ``CRFTagger("ner")``.
    learner : of the reranker, such as ``Softmax()`` (by default), ``BLasso()``, ``Boosting()`` or ``Lasso()``.
    k : number of candidate labellings of a sentence.
    folds : number of folds of neighbouring sentences, each labelled by a tagger trained on the others.
    min_count : least number of sentences whose candidates a feature distinguishes.
    reach : sentences before and after one whose labels its words and names may agree with; 0 for sentences that
        have nothing to do with each other.

    Attributes
    ----------
    tagger_, reranker_ : the tagger trained on all sentences, and the weights of features of whole labellings.
    fit_ : how the reranker was trained.

    Examples
    --------
    >>> X = [["the", "cat"], ["a", "dog"], ["the", "dog"], ["a", "cat"]] * 4
    >>> tagger = RerankedTagger(CRFTagger("U0:%x[0,0]\\nB\\n", l1=0.01), k=3, folds=2).fit(X, [["D", "N"]] * 16)
    >>> tagger.predict([["the", "cat"]])
    [['D', 'N']]
    """

    tagger: CRFEstimator | Sequence[CRFEstimator] | None = None
    _: KW_ONLY
    learner: Learner | None = None
    k: int = 10
    folds: int = 5
    min_count: int = 3
    reach: int = 0
    columns_: ColumnSpec | None = field(default=None, init=False)

    @classmethod
    def of_file(cls, tagger: CRFEstimator, file: ModelFile) -> Self:
        """Make the estimator of a tagger and the reranker that its model file holds."""
        look, header = reranker_of(file), file.header[RERANKER]
        assert look is not None
        if tagger.kind not in ("crf", "segment") or tagger.fitted_model().template is None:
            damaged(f"reranker weights in a model of kind {tagger.kind!r}, which has no reranker")
        known = {
            name: header.get("settings", {})[name] for name in STORED if name in header.get("settings", {})
        }
        estimator = cls(tagger, k=look.k, reach=look.reach, **known)
        estimator.tagger_, estimator.reranker_, estimator.fit_ = tagger, look, header.get("fit", {})
        estimator.classes_, estimator.columns_ = tagger.classes_, tagger.columns_
        return estimator

    def _to_model_file(self) -> ModelFile:
        """Return the tagger's model file with the reranker beside its arrays."""
        check_fitted(self, "reranker_")
        file = to_model_file(self.tagger_)
        header, tensors = self.reranker_.pack()
        settings = {name: getattr(self, name) for name in STORED}
        file.header[RERANKER] = {**header, "settings": settings, "fit": self.fit_}
        file.tensors |= {name: tensor for name, tensor in tensors.items() if tensor.size}
        return file

    def fit(
        self,
        X: Any,
        y: Labels | None = None,
        *,
        learnt: CRFEstimator | Sequence[CRFEstimator] | None = None,
        callback: FoldCallback | None = None,
    ) -> Self:
        """Train the tagger and its reranker.

        Parameters
        ----------
        X : sentences as rows of columns, in the order of their text where ``reach`` is not 0; or the
            :class:`~pathlib.Path` of a file of columns, which is read with its labels.
        y : a list of labels per sentence, or a :class:`Column`.
        learnt : a tagger, or a list of them, that has learnt from these sentences already; its settings take the place
            of ``tagger``'s.
        callback : called after each fold; see :data:`FoldCallback`.
        """
        self._check_settings()
        spec = None
        if isinstance(X, PathLike) and y is None:
            X, y, spec = read_labelled(X)
        if y is None:
            raise InputError(
                "requires y to be passed, but the target y is None: give a list of labels per sentence"
            )
        columns = as_columns(X)
        taggers = self._taggers(columns, y, learnt)
        whole = pool(taggers)
        labels = _as_column(y, whole, columns)
        found = label_unseen(taggers, columns, labels, self.k, self.folds, callback)
        columns = columns.take(np.arange(len(found.list_ptr) - 1))  # all, unless the callback said stop
        number = {name: j for j, name in enumerate(whole.model_.labels)}
        gold = np.array([number.get(name, -1) for name in labels.strings], dtype=np.int32)[labels.ids]
        gold = gold[: columns.n_tokens]
        whole.columns_ = spec or whole.columns_
        self.tagger_, self.columns_ = whole, whole.columns_
        self.classes_ = whole.classes_
        self._learn(found, columns, gold, callback)
        return self

    def _taggers(
        self, columns: Columns, y: Labels, learnt: CRFEstimator | Sequence[CRFEstimator] | None
    ) -> list[CRFEstimator]:
        """The taggers that have learnt from all sentences."""
        given = learnt or (CRFTagger("ner") if self.tagger is None else self.tagger)
        taggers = list(given) if isinstance(given, Sequence) else [given]
        for one in taggers:
            if not isinstance(one, CRFEstimator) or one.kind not in ("crf", "segment"):
                raise ValueError(f"tagger must be a CRFTagger or a SegmentTagger, not {one!r}.")
        if learnt is None:
            taggers = [type(one)(**one.get_params(deep=False)).fit(columns, y) for one in taggers]
        if any(one.fitted_model().template is None for one in taggers):
            raise ValueError("a reranker needs the words of sentences: give the tagger a template.")
        return taggers

    def _check_settings(self) -> None:
        for name, least, most in (
            ("k", 1, MOST_LABELLINGS),
            ("folds", 2, None),
            ("min_count", 1, None),
            ("reach", 0, None),
        ):
            value = getattr(self, name)
            if not least <= value <= (value if most is None else most):
                raise ValueError(f"{name} must be at least {least}, not {value!r}.")

    def _learn(self, found: Labellings, columns: Columns, gold: Ints, callback: FoldCallback | None) -> None:
        """Train the reranker on candidates of taggers not trained on their sentences."""
        from epigram.rerank import Reranker
        from epigram.rerank.learners import Softmax

        scheme = Scheme(self.tagger_.model_.labels)
        lists = training_lists(found, columns, scheme, gold, self.reach, self.min_count)
        reranker = Reranker(Softmax() if self.learner is None else self.learner)
        stop = None if callback is None else lambda now: callback(self.folds, f"reranker, step {now.step}")
        reranker.fit(lists, callback=stop)
        single = reranker.weights_.astype(np.float32)  # as a file keeps them
        used = np.flatnonzero(single).tolist()
        weights = {reranker.space_.name(j): float(single[j]) for j in used}
        self.reranker_ = LabellingReranker(weights, float(reranker.base_weight_), self.k, self.reach)
        n_held_out = reranker.n_held_out_
        self.fit_ = {
            "lists": len(lists),
            "held_out": n_held_out,
            "features": len(lists.names),
            "active_features": len(weights),
            "base_weight": self.reranker_.base_weight,
            "step": reranker.step_,
            "steps": len(reranker.path_),
        }
        if n_held_out:
            held_out = lists[len(lists) - n_held_out :]
            errors, first = held_out.errors(), held_out.list_ptr[:-1]
            for name, choice in (("before", 0), ("after", reranker.predict(held_out))):
                self.fit_[f"held_out_errors_{name}"] = float(errors[first + choice].sum())

    @property
    def model_(self) -> ChainModel:
        """The chain model of the tagger."""
        return self.tagger_.model_

    def predict(self, X: Any) -> list[list[str]]:
        """The labels of each sentence; with ``reach``, sentences are taken as those of one text."""
        sequences, columns = self._encoded(X)
        return self.tagger_.named_labels(
            self.reranker_.decode(self.tagger_.model_, sequences, columns), sequences
        )

    def predict_nbest(self, X: Any, k: int = 5) -> list[list[tuple[list[str], float]]]:
        """Return the reranked k best labellings, each with its probability by the tagger."""
        sequences, columns = self._encoded(X)
        names = self.tagger_.classes_.tolist()
        return [
            [([names[j] for j in labels.tolist()], p) for labels, p in found]
            for found in self.reranker_.ranked(self.tagger_.model_, sequences, columns, k)
        ]

    def predict_marginals(self, X: Any, allowed: Allowed | None = None) -> list[list[dict[str, float]]]:
        """p(label) of each token by the tagger."""
        check_fitted(self, "reranker_")
        return self.tagger_.predict_marginals(X, allowed)

    def confidence(self, X: Any, spans: Any) -> list[list[float]]:
        """Return the tagger's probability that spans have these labels."""
        check_fitted(self, "reranker_")
        return self.tagger_.confidence(X, spans)

    def score(self, X: Any, y: Labels) -> float:
        """Share of the tokens that get the right label."""
        sequences, columns = self._encoded(X)
        classes, ids = encode_labels(y, sequences)
        found = self.reranker_.decode(self.tagger_.model_, sequences, columns)
        predicted = self.classes_[found]
        return float((predicted == classes[ids]).mean()) if len(found) else 0.0

    def explain(self, sentence: Any, token: int) -> LabelExplanation:
        """Explain a token's label by weights against the best candidate with another one."""
        sequences, columns = self._encoded([sentence])
        why = self.reranker_.explain(self.tagger_.model_, sequences, columns, 0, token)
        return self.tagger_.restore_labels(why)

    def _encoded(self, X: Any) -> tuple[Sequences, Columns]:
        check_fitted(self, "reranker_")
        X = read_observed(X, self.columns_) if isinstance(X, PathLike) else X
        columns = as_columns(X)
        return self.tagger_.model_.encode(columns), columns

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.required = True
        return tags


def training_lists(
    found: Labellings, columns: Columns, scheme: Scheme, gold: Ints, reach: int, min_count: int
) -> NBest:
    """Return candidates with errors and features as the reranker's input, without rare features."""
    from epigram.rerank import NBest

    found_features = features_of(found, columns, scheme, reach)
    times = Counter(name for distinguishing in found_features for name, _ in _sentences_of(distinguishing))
    number = {name: j for j, name in enumerate(name for name, n in times.items() if n >= min_count)}
    owners, features = zip(
        *(_occurrences(distinguishing, number) for distinguishing in found_features), strict=True
    )
    owner = np.concatenate(owners)
    order = np.argsort(owner, kind="stable")
    n, n_lists = found.n_candidates, len(found.list_ptr) - 1
    return NBest(
        ids=[str(s) for s in range(n_lists)],
        list_ptr=found.list_ptr,
        vocabulary=[],
        tokens=np.empty(0, dtype=np.int32),
        token_ptr=np.zeros(n + 1, dtype=np.int64),
        scores=found.scores,
        texts=[""] * n,
        references=[None] * n_lists,
        given_errors=scheme.errors(found, gold),
        names=list(number),
        named_ptr=offsets(np.bincount(owner, minlength=n)),
        named=np.concatenate(features)[order],
        named_values=np.ones(len(owner)),
        tags=[],
    )


def _sentences_of(distinguishing: DistinguishingFeatures) -> dict[tuple[str, int], None]:
    """Return pairs of a feature and a sentence that it distinguishes, in text order."""
    sentences = distinguishing.parts.what[:, 0].tolist()
    return dict.fromkeys(
        (name, s) for names, s in zip(distinguishing.names, sentences, strict=True) for name in names
    )


def _occurrences(distinguishing: DistinguishingFeatures, number: dict[str, int]) -> tuple[Offsets, Ints]:
    """Candidate and number of every known feature."""
    known = [[number[name] for name in names if name in number] for names in distinguishing.names]
    ptr = offsets([len(names) for names in known])
    flat = np.array(list(itertools.chain.from_iterable(known)), dtype=np.int32)
    parts = distinguishing.parts
    new_ptr, places = gather(ptr, parts.number)
    return np.repeat(parts.owner, np.diff(new_ptr)), flat[places]


def _as_column(y: Labels, tagger: CRFEstimator, columns: Columns) -> Column:
    """Labels as the column of a file."""
    if isinstance(y, Column):
        return y
    classes, ids = encode_labels(y, tagger.model_.encode(columns))
    return Column(ids, [str(name) for name in classes.tolist()])
