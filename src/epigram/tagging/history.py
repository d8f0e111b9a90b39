"""MaxentTagger: a history-based tagger. Ratnaparkhi 1996: maxent on the observation and the two tags on the left.

Trained token by token on the true tags on the left, decoded by beam search. Cheaper to train than a CRF, as each
token is a sample of its own; its weakness is that it never sees its own mistakes in training.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from epigram.estimator import Estimator
from epigram.protocols import Floats, Ints, Solver
from epigram.tagging.attributes import AttributeTable, Strings, fingerprints
from epigram.tagging.beam import decode_history, tag_names
from epigram.tagging.estimator import (
    Labels,
    SavableMixin,
    SentenceInputMixin,
    dev_scorer,
    encode_labels,
    load_template,
    split_labels,
    token_accuracy,
)
from epigram.tagging.layout import WeightLayout
from epigram.tagging.model import Allowed, ChainModel, encode_sentences
from epigram.tagging.online import Growth, Online, online_of
from epigram.tagging.sequences import Sequences
from epigram.tagging.template import Template
from epigram.tagging.training import Listener, checked_weights, class_weights, renumber, train


class MaxentTagger(SentenceInputMixin, SavableMixin, Estimator):
    """Maxent tagger on the observation and the tags on its left, with beam search.

    Parameters
    ----------
    template, l1, l2, solver, pairs, min_count, class_weight, patience, threads, random_state :
        as for :class:`~epigram.tagging.crf.CRFTagger`; the objective is a sum over tokens.
    beam : hypotheses kept at each token.

    Examples
    --------
    >>> X = [[["w=the"], ["w=dog"], ["w=barks"]], [["w=a"], ["w=cat"], ["w=sleeps"]]]
    >>> y = [["DT", "NN", "VB"], ["DT", "NN", "VB"]]
    >>> tagger = MaxentTagger(l1=0.01).fit(X, y)
    >>> tagger.predict([[["w=the"], ["w=cat"], ["w=barks"]]])
    [['DT', 'NN', 'VB']]
    """

    def __init__(
        self,
        template: str | PathLike[str] | Template | None = None,
        *,
        l1: float = 1.0,
        l2: float = 0.0,
        solver: Solver | None = None,
        pairs: str = "seen",
        min_count: int = 1,
        class_weight: Mapping[str, float] | str | None = None,
        patience: int | None = None,
        beam: int = 5,
        threads: int = 1,
        random_state: int | None = 0,
    ) -> None:
        self.template = template
        self.l1 = l1
        self.l2 = l2
        self.solver = solver
        self.pairs = pairs
        self.min_count = min_count
        self.class_weight = class_weight
        self.patience = patience
        self.beam = beam
        self.threads = threads
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Labels,
        sample_weight: npt.ArrayLike | None = None,
        dev: tuple[Any, Labels] | None = None,
        callback: Listener | None = None,
    ) -> Self:
        """Train; the arguments are those of :meth:`CRFTagger.fit`."""
        if self.beam < 1:
            raise ValueError(f"beam must be at least 1, not {self.beam!r}.")
        template = load_template(self.template)
        table = AttributeTable()
        sequences = encode_sentences(X, template, table, grow=True)
        classes, labels = encode_labels(y, sequences)
        tokens = _with_tags(sequences, labels, classes.tolist(), table)
        tokens = renumber(tokens, table, self.min_count)
        trained = train(
            tokens,
            labels,
            len(classes),
            len(table),
            l1=self.l1,
            l2=self.l2,
            solver=self.solver,
            pairs=self.pairs,
            has_transitions=False,
            weights=self._weights(sequences, labels, classes, sample_weight),
            threads=self.threads,
            random_state=self.random_state,
            scorer=None if dev is None else dev_scorer(dev, template, table, classes, self._decode),
            patience=self.patience,
            listener=callback,
        )
        self._finish(template, table, classes, trained.layout, trained.w, trained.squares)
        self.history_ = trained.history
        self.fit_ = trained.report(sentences=sequences.n_sentences, tokens=sequences.n_tokens)
        self._online = Online.of_fit(self, trained, table, classes)
        return self

    def partial_fit(
        self,
        X: Any,
        y: Labels,
        classes: Sequence[str] | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> Self:
        """Learn from more sentences, as :meth:`CRFTagger.partial_fit`."""
        template = load_template(self.template)
        online = online_of(self)
        sequences = encode_sentences(X, template, online.table, grow=True)
        found, labels = encode_labels(y, sequences)
        online.add_classes([*found.tolist(), *(() if classes is None else map(str, classes))])
        labels = np.array([online.index[name] for name in found.tolist()], dtype=np.int32)[labels]
        everyone = np.array(list(online.index), dtype=object)
        tokens = _with_tags(sequences, labels, everyone.tolist(), online.table)
        weights = self._weights(sequences, labels, everyone, sample_weight)
        growth = Growth(self.pairs, has_transitions=False)
        layout, w, squares = online.learn(tokens, labels, weights, growth, self.l1, self.l2)
        self._finish(template, online.table, everyone, layout, w, squares)
        self.history_, self.fit_ = [], online.report()
        self._online = online
        return self

    def _finish(
        self,
        template: Template | None,
        table: AttributeTable,
        classes: npt.NDArray[Any],
        layout: WeightLayout,
        w: Floats,
        squares: Floats,
    ) -> None:
        order = np.argsort(classes.astype(str), kind="stable")
        self.model_ = ChainModel.compact(classes.tolist(), template, table, layout, w, None, order, squares)
        self.classes_ = classes[order]
        self.n_features_ = layout.n_features

    def _weights(
        self, sequences: Sequences, labels: Ints, classes: npt.NDArray[Any], given: npt.ArrayLike | None
    ) -> Floats | None:
        per_class = class_weights(self.class_weight, labels, classes)
        weights = None if per_class is None else per_class[labels]
        per_sentence = checked_weights(given, sequences.n_sentences)
        if per_sentence is None:
            return weights
        per_token = np.repeat(per_sentence, sequences.lengths)
        return per_token if weights is None else weights * per_token

    def predict(self, X: Any, allowed: Allowed | None = None) -> list[list[str]]:
        """The labels of each sentence; ``allowed`` as for :meth:`CRFTagger.predict`."""
        sequences = self._check().encode(X)
        return split_labels(self._decode(self.model_, sequences, allowed), sequences, self.model_.labels)

    def score(self, X: Any, y: Labels, sample_weight: npt.ArrayLike | None = None) -> float:
        """Share of the tokens that get the right label; ``sample_weight`` is one weight per sentence."""
        sequences = self._check().encode(X)
        return token_accuracy(self.model_, self._decode(self.model_, sequences), y, sequences, sample_weight)

    def _decode(self, model: ChainModel, sequences: Sequences, allowed: Allowed | None = None) -> Ints:
        return decode_history(model, sequences, self.beam, allowed, self.threads)

    def _extra_header(self) -> dict[str, Any]:
        return {"beam": self.beam}


def _with_tags(sequences: Sequences, labels: Ints, classes: list[str], table: AttributeTable) -> Sequences:
    """Each token a chain of its own, with the attributes of its tags on the left."""
    L = len(classes)
    position = np.arange(sequences.n_tokens) - np.repeat(sequences.sentence_ptr[:-1], sequences.lengths)
    left = np.where(position >= 1, np.roll(labels, 1), L)
    left2 = np.where(position >= 2, np.roll(labels, 2), L)
    one, two = tag_names(classes)
    columns = [(one, left)] + ([(two, left2 * (L + 1) + left)] if two else [])
    ends, inserted = sequences.attribute_ptr[1:], []
    for names, which in columns:
        used, inverse = np.unique(which, return_inverse=True)
        chosen = [names[k] for k in used.tolist()]
        counts = np.bincount(inverse).astype(np.int64)
        inserted.append(table.intern(fingerprints(chosen), Strings(chosen), counts)[inverse])
    m = len(columns)
    attributes = np.insert(sequences.attributes, np.repeat(ends, m), np.stack(inserted, axis=1).ravel())
    values = None
    if len(sequences.values) == len(sequences.attributes):
        values = np.insert(sequences.values, np.repeat(ends, m), 1.0)
    n = sequences.n_tokens
    return Sequences.of(np.arange(n + 1), sequences.attribute_ptr + m * np.arange(n + 1), attributes, values)
