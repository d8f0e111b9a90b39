"""RerankedTagger: a tagger whose best labellings are looked at a second time. Collins 2000; Yoshida and Tsujii 2007.

``fit`` cuts the sentences into folds and lets taggers that have learnt from the other folds label each of them, so that
the lists have the mistakes of new text; a reranker learns to prefer the candidate with the fewest wrong and missing
chunks (or wrong labels). The last tenth of the lists chooses its strength. The tagger itself learns from all sentences.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from epigram._core.native import gather, offsets
from epigram.protocols import Ints, Learner, Offsets, check_fitted
from epigram.tagging.corpus import Labels, Sequences, encode_labels
from epigram.tagging.crf import CRFTagger
from epigram.tagging.estimator import StoredTagger
from epigram.tagging.formats import Column, Columns
from epigram.tagging.global_features import Telling, features_of
from epigram.tagging.jackknife import label_unseen
from epigram.tagging.labellings import Labellings, Scheme
from epigram.tagging.model import Allowed, ChainModel
from epigram.tagging.pooled import pool
from epigram.tagging.second_look import MOST_LABELLINGS, SecondLook
from epigram.tagging.storage import kind_of

if TYPE_CHECKING:
    from epigram.rerank import NBest
    from epigram.tagging.explain import Explanation
    from epigram.tagging.formats import ColumnSpec

Told = Callable[[int, str], bool | None]
"""``callback(folds done, what comes)``; one that returns True stops: the lists made by then are learnt from."""


class RerankedTagger(StoredTagger):
    """Labels tokens by a tagger and a reranker of its best labellings, which knows whole chunks and more of the text.

    Parameters
    ----------
    tagger : a :class:`CRFTagger` or :class:`SegmentTagger` with a template, or a list of them, which become one
        (:mod:`epigram.tagging.pooled`); by default ``CRFTagger("ner")``.
    learner : of the reranker, such as ``Softmax()`` (by default), ``BLasso()``, ``Boosting()`` or ``Lasso()``.
    k : labellings looked at a sentence.
    folds : parts of neighbouring sentences, each labelled by a tagger that has learnt from the others.
    min_count : sentences whose labellings a feature must tell apart.
    reach : sentences before and after one whose labels its words and names may agree with; 0 for sentences that
        have nothing to do with each other.

    Attributes
    ----------
    tagger_, look_ : the tagger of all sentences, and the second look: weights of features of whole labellings.
    fit_ : how the reranker was trained.

    Examples
    --------
    >>> X = [["the", "cat"], ["a", "dog"], ["the", "dog"], ["a", "cat"]] * 4
    >>> tagger = RerankedTagger(CRFTagger("U0:%x[0,0]\\nB\\n", l1=0.01), k=3, folds=2).fit(X, [["D", "N"]] * 16)
    >>> tagger.predict([["the", "cat"]])
    [['D', 'N']]
    """

    columns_: ColumnSpec | None = None

    def __init__(
        self,
        tagger: CRFTagger | Sequence[CRFTagger] | None = None,
        *,
        learner: Learner | None = None,
        k: int = 10,
        folds: int = 5,
        min_count: int = 3,
        reach: int = 0,
    ) -> None:
        self.tagger = tagger
        self.learner = learner
        self.k = k
        self.folds = folds
        self.min_count = min_count
        self.reach = reach

    def fit(
        self,
        X: Any,
        y: Labels,
        *,
        learnt: CRFTagger | Sequence[CRFTagger] | None = None,
        callback: Told | None = None,
    ) -> Self:
        """Train the tagger and its second look.

        Parameters
        ----------
        X : sentences as rows of columns, in the order of their text where ``reach`` is not 0.
        y : a list of labels per sentence, or a :class:`Column`.
        learnt : a tagger, or a list of them, that has learnt from these sentences already; its settings take the place
            of ``tagger``'s.
        callback : told after each fold; see :data:`Told`.
        """
        self._check_settings()
        columns = X if isinstance(X, Columns) else Columns.from_rows(X)
        taggers = self._taggers(columns, y, learnt)
        whole = pool(taggers)
        labels = _as_column(y, whole, columns)
        found = label_unseen(taggers, columns, labels, self.k, self.folds, callback)
        columns = columns.take(np.arange(len(found.list_ptr) - 1))  # all, unless the callback said stop
        number = {name: j for j, name in enumerate(whole.model_.labels)}
        gold = np.array([number.get(name, -1) for name in labels.strings], dtype=np.int32)[labels.ids]
        gold = gold[: columns.n_tokens]
        self.tagger_, self.columns_ = whole, whole.columns_
        self.classes_ = whole.classes_
        self._learn(found, columns, gold, callback)
        return self

    def _taggers(
        self, columns: Columns, y: Labels, learnt: CRFTagger | Sequence[CRFTagger] | None
    ) -> list[CRFTagger]:
        """The taggers that have learnt from all sentences."""
        given = learnt or (CRFTagger("ner") if self.tagger is None else self.tagger)
        taggers = list(given) if isinstance(given, Sequence) else [given]
        for one in taggers:
            if not isinstance(one, CRFTagger) or kind_of(one) not in ("crf", "segment"):
                raise ValueError(f"tagger must be a CRFTagger or a SegmentTagger, not {one!r}.")
        if learnt is None:
            taggers = [type(one)(**one.get_params(deep=False)).fit(columns, y) for one in taggers]
        if any(one.fitted_model().template is None for one in taggers):
            raise ValueError("a second look needs the words of sentences: give the tagger a template.")
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

    def _learn(self, found: Labellings, columns: Columns, gold: Ints, callback: Told | None) -> None:
        """The weights of the second look, from candidates of taggers that have not seen their sentences."""
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
        self.look_ = SecondLook(weights, float(reranker.base_weight_), self.k, self.reach)
        n_held_out = reranker.n_held_out_
        self.fit_ = {
            "lists": len(lists),
            "held_out": n_held_out,
            "features": len(lists.names),
            "active_features": len(weights),
            "base_weight": self.look_.base_weight,
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
            self.look_.decode(self.tagger_.model_, sequences, columns), sequences
        )

    def predict_nbest(self, X: Any, k: int = 5) -> list[list[tuple[list[str], float]]]:
        """The best labellings in the order of the second look, each with its probability by the tagger."""
        sequences, columns = self._encoded(X)
        names = self.tagger_.model_.labels
        return [
            [([names[j] for j in labels.tolist()], p) for labels, p in found]
            for found in self.look_.ranked(self.tagger_.model_, sequences, columns, k)
        ]

    def predict_marginals(self, X: Any, allowed: Allowed | None = None) -> list[list[dict[str, float]]]:
        """p(label) of each token by the tagger."""
        check_fitted(self, "look_")
        return self.tagger_.predict_marginals(X, allowed)

    def confidence(self, X: Any, spans: Any) -> list[list[float]]:
        """Probability by the tagger that a run of tokens has exactly these labels; see :meth:`CRFTagger.confidence`."""
        check_fitted(self, "look_")
        return self.tagger_.confidence(X, spans)

    def score(self, X: Any, y: Labels) -> float:
        """Share of the tokens that get the right label."""
        sequences, columns = self._encoded(X)
        classes, ids = encode_labels(y, sequences)
        found = self.look_.decode(self.tagger_.model_, sequences, columns)
        predicted = np.array(self.tagger_.model_.labels, dtype=object)[found]
        return float((predicted == classes[ids]).mean()) if len(found) else 0.0

    def explain(self, sentence: Any, token: int) -> Explanation:
        """The weights that speak for a token's label against the best labelling that has another one there."""
        sequences, columns = self._encoded([sentence])
        return self.look_.explain(self.tagger_.model_, sequences, columns, 0, token)

    def _encoded(self, X: Any) -> tuple[Sequences, Columns]:
        check_fitted(self, "look_")
        columns = X if isinstance(X, Columns) else Columns.from_rows(X)
        return self.tagger_.model_.encode(columns), columns

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.required = True
        return tags


def training_lists(
    found: Labellings, columns: Columns, scheme: Scheme, gold: Ints, reach: int, min_count: int
) -> NBest:
    """Candidates with their errors and features as the reranker learns from them, without rare features."""
    from epigram.rerank import NBest

    tellings = features_of(found, columns, scheme, reach)
    times = Counter(name for telling in tellings for name, _ in _met(telling))
    number = {name: j for j, name in enumerate(name for name, n in times.items() if n >= min_count)}
    owners, features = zip(*(_occurrences(telling, number) for telling in tellings), strict=True)
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


def _met(telling: Telling) -> set[tuple[str, int]]:
    """Features with the sentences that they tell candidates of apart."""
    sentences = telling.parts.what[:, 0].tolist()
    return {(name, s) for names, s in zip(telling.names, sentences, strict=True) for name in names}


def _occurrences(telling: Telling, number: dict[str, int]) -> tuple[Offsets, Ints]:
    """Candidate and number of every known feature."""
    known = [[number[name] for name in names if name in number] for names in telling.names]
    ptr = np.zeros(len(known) + 1, dtype=np.int64)
    np.cumsum([len(names) for names in known], out=ptr[1:])
    flat = np.array(list(itertools.chain.from_iterable(known)), dtype=np.int32)
    parts = telling.parts
    new_ptr, places = gather(ptr, parts.number)
    return np.repeat(parts.owner, np.diff(new_ptr)), flat[places]


def _as_column(y: Labels, tagger: CRFTagger, columns: Columns) -> Column:
    """Labels as the column of a file."""
    if isinstance(y, Column):
        return y
    classes, ids = encode_labels(y, tagger.model_.encode(columns))
    return Column(ids, [str(name) for name in classes.tolist()])
