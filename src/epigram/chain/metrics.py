"""Precision, recall and F1 as conlleval computes them, and token accuracy, on label ids.

A chunk is right if its first token, last token and type are (:mod:`epigram.chain.chunks` reads chunks from labels).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from epigram._core.arrays import offsets
from epigram.chain.chunks import Ids, are_chunk_labels, chunk_tables, chunks_of
from epigram.errors import InputError
from epigram.protocols import Offsets

if TYPE_CHECKING:
    from epigram.chain.labels import Labels


@dataclass(frozen=True, slots=True)
class Score:
    """Precision, recall and F1 from counts; 0 where there is nothing to divide by."""

    correct: int
    predicted: int
    gold: int

    @property
    def precision(self) -> float:
        """Share of the predicted chunks that are right."""
        return self.correct / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """Share of the gold chunks that were found."""
        return self.correct / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return 2 * self.correct / (self.predicted + self.gold) if self.correct else 0.0


@dataclass(frozen=True, slots=True)
class TaggingReport:
    """The scores of one tagged corpus.

    Attributes
    ----------
    labels
        Names of the label ids.
    overall, per_type
        Chunk scores, all together and by type, types in alphabetical order.
    confusion
        ``confusion[g, p]`` tokens with the gold label ``g`` were given the label ``p``.
    chunked
        False where the labels are no chunk labels (parts of speech): each token is then one chunk
        and its label the type, conlleval's ``-r``.
    """

    labels: list[str]
    overall: Score
    per_type: dict[str, Score]
    confusion: npt.NDArray[np.int64] = field(repr=False)
    chunked: bool

    @property
    def tokens(self) -> int:
        """Number of tokens."""
        return int(self.confusion.sum())

    @property
    def accuracy(self) -> float:
        """Share of the tokens with the right label."""
        return float(np.trace(self.confusion)) / self.tokens if self.tokens else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers for JSON; shares, not percentages."""
        return {
            "tokens": self.tokens,
            "accuracy": self.accuracy,
            **_scores(self.overall),
            "per_type": {name: _scores(score) for name, score in self.per_type.items()},
        }

    def mistakes(self, most: int = 10) -> list[tuple[str, str, int]]:
        """The most frequent confusions: gold label, predicted label, tokens."""
        wrong = self.confusion.copy()
        np.fill_diagonal(wrong, 0)
        order = np.argsort(-wrong, axis=None, kind="stable")[:most]
        rows, columns = np.unravel_index(order, wrong.shape)
        found = zip(rows.tolist(), columns.tolist(), wrong[rows, columns].tolist(), strict=True)
        return [(self.labels[gold], self.labels[given], n) for gold, given, n in found if n]


def evaluate(gold: Labels, predicted: Labels) -> TaggingReport:
    """Compare sentences of labels: lists of lists, or columns of labels.

    Examples
    --------
    >>> report = evaluate([["B-NP", "I-NP", "O"]], [["B-NP", "O", "O"]])
    >>> report.accuracy, report.overall
    (0.6666666666666666, Score(correct=0, predicted=1, gold=1))
    """
    if len(gold) != len(predicted):
        raise InputError(f"{len(gold)} gold sentences, but {len(predicted)} predicted ones")
    for k, (one, other) in enumerate(zip(gold, predicted, strict=True)):
        if len(one) != len(other):
            raise InputError(f"sentence {k} has {len(one)} gold labels, but {len(other)} predicted ones")
    labels = sorted({str(label) for corpus in (gold, predicted) for sentence in corpus for label in sentence})
    number = {label: i for i, label in enumerate(labels)}
    sentence_ptr = offsets([len(sentence) for sentence in gold])
    gold_ids, predicted_ids = (
        np.array([number[str(label)] for sentence in corpus for label in sentence], dtype=np.int32)
        for corpus in (gold, predicted)
    )
    return evaluate_ids(gold_ids, predicted_ids, labels, sentence_ptr)


def evaluate_ids(
    gold: Ids, predicted: Ids, labels: Sequence[str], sentence_ptr: Offsets, chunked: bool | None = None
) -> TaggingReport:
    """Compare label ids of a corpus.

    Parameters
    ----------
    gold, predicted
        A label id per token.
    labels
        The names of the ids.
    sentence_ptr
        Offsets of the sentences; a chunk does not cross them.
    chunked
        Whether labels are chunk labels; None looks at their names.

    Examples
    --------
    >>> ids = np.array([0, 1, 2])
    >>> evaluate_ids(ids, ids, ["B-NP", "I-NP", "O"], np.array([0, 3])).per_type
    {'NP': Score(correct=1, predicted=1, gold=1)}
    """
    if len(gold) != len(predicted):
        raise InputError(f"{len(gold)} gold labels, but {len(predicted)} predicted ones")
    if chunked is None:
        chunked = are_chunk_labels(labels)
    types, type_of, goes_on = chunk_tables(labels, chunked)
    gold_at = chunks_of(gold, type_of, goes_on, sentence_ptr)
    predicted_at = chunks_of(predicted, type_of, goes_on, sentence_ptr)
    right = (gold_at[0] >= 0) & (gold_at[0] == predicted_at[0]) & (gold_at[1] == predicted_at[1])
    correct, found, there = (
        np.bincount(chosen[chosen >= 0], minlength=len(types)).tolist()
        for chosen in (gold_at[0][right], predicted_at[0], gold_at[0])
    )
    rows = zip(types, correct, found, there, strict=True)
    n = len(labels)
    pairs = np.asarray(gold, dtype=np.int64) * n + predicted
    return TaggingReport(
        labels=list(labels),
        overall=Score(sum(correct), sum(found), sum(there)),
        per_type={name: Score(*counts) for name, *counts in rows if any(counts)},
        confusion=np.bincount(pairs, minlength=n * n).reshape(n, n).astype(np.int64),
        chunked=chunked,
    )


def _scores(score: Score) -> dict[str, float]:
    return {
        "precision": score.precision,
        "recall": score.recall,
        "f1": score.f1,
        "gold": score.gold,
        "predicted": score.predicted,
        "correct": score.correct,
    }
