"""Scores of a tagger as CoNLL's evaluation program (conlleval) counts them, on label ids.

A chunk goes on from one token to the next where both are inside (not ``O``), have the same type, the first
does not end a chunk (E, S) and the second does not begin one (B, S). That one rule reads IOB1, IOB2, IOE1,
IOE2 and BIOES alike, also where labels are malformed (``O I-NP`` begins a chunk), and equals conlleval's
lists of cases on B/I/O and I/E/O labels, which are all that conlleval knows. A chunk is right where its first
token, last token and type are. BILOU and BMES letters are read as BIOES.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram.errors import InputError
from epigram.protocols import Offsets

Ids = npt.NDArray[np.integer[Any]]

LETTERS = {"B": "B", "I": "I", "M": "I", "E": "E", "L": "E", "S": "S", "U": "S", "W": "S"}
CHUNK_LABEL = re.compile(r"O|[BIMELSUW](-.*)?", re.DOTALL)


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
class Report:
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
        False where the labels are no chunk labels (parts of speech): then each token is a chunk of its own
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


def evaluate(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> Report:
    """Compare sentences of labels.

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
    sentence_ptr = np.cumsum([0, *map(len, gold)], dtype=np.int64)
    gold_ids, predicted_ids = (
        np.array([number[str(label)] for sentence in corpus for label in sentence], dtype=np.int32)
        for corpus in (gold, predicted)
    )
    return evaluate_ids(gold_ids, predicted_ids, labels, sentence_ptr)


def evaluate_ids(
    gold: Ids, predicted: Ids, labels: Sequence[str], sentence_ptr: Offsets, chunked: bool | None = None
) -> Report:
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
    return Report(
        labels=list(labels),
        overall=Score(sum(correct), sum(found), sum(there)),
        per_type={name: Score(*counts) for name, *counts in rows if any(counts)},
        confusion=np.bincount(pairs, minlength=n * n).reshape(n, n).astype(np.int64),
        chunked=chunked,
    )


def chunks(labels: Sequence[str]) -> list[tuple[str, int, int]]:
    """The chunks of one sentence: type, first token, first token after it.

    Examples
    --------
    >>> chunks(["B-NP", "I-NP", "O", "I-VP", "B-VP"])
    [('NP', 0, 2), ('VP', 3, 4), ('VP', 4, 5)]
    """
    names = sorted(set(labels))
    types, type_of, goes_on = chunk_tables(names, chunked=True)
    ids = np.array([names.index(label) for label in labels], dtype=np.int32)
    type_at, end_at = chunks_of(ids, type_of, goes_on, np.array([0, len(ids)]))
    starts = np.flatnonzero(type_at >= 0)
    return [(types[type_at[s]], int(s), int(end_at[s])) for s in starts]


def are_chunk_labels(labels: Sequence[str]) -> bool:
    """True where every label is ``O`` or a letter of a chunk scheme with a type.

    Examples
    --------
    >>> are_chunk_labels(["B-NP", "I-NP", "O"]), are_chunk_labels(["NN", "O"])
    (True, False)
    """
    return all(CHUNK_LABEL.fullmatch(label) for label in labels)


def chunk_tables(
    labels: Sequence[str], chunked: bool
) -> tuple[list[str], npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Names of types, type of each label (-1 outside), whether a chunk goes on from label i to label j."""
    if not chunked:
        types = sorted(labels)
        rank = np.array([types.index(label) for label in labels], dtype=np.int64)
        return types, rank, np.zeros((len(labels), len(labels)), dtype=bool)
    parts = [label.partition("-") for label in labels]
    letters = [
        LETTERS.get(letter, "I") if label != "O" else "O"
        for (letter, *_), label in zip(parts, labels, strict=True)
    ]
    names = [name if dash else "" for _, dash, name in parts]
    types = sorted({name for name, letter in zip(names, letters, strict=True) if letter != "O"})
    type_of = np.array(
        [-1 if letter == "O" else types.index(name) for name, letter in zip(names, letters, strict=True)],
        dtype=np.int64,
    )
    open_after = np.array([letter in "BI" for letter in letters], dtype=bool)
    continues = np.array([letter in "IE" for letter in letters], dtype=bool)
    goes_on = (type_of[:, None] == type_of[None, :]) & open_after[:, None] & continues[None, :]
    return types, type_of, goes_on


def chunks_of(
    ids: Ids, type_of: npt.NDArray[np.int64], goes_on: npt.NDArray[np.bool_], sentence_ptr: Offsets
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """For each token the type of the chunk that begins there (-1: none), and for each the chunk's end."""
    n = len(ids)
    inside = type_of[ids]
    begins = inside >= 0
    same_sentence = np.ones(n, dtype=bool)
    same_sentence[sentence_ptr[:-1][sentence_ptr[:-1] < n]] = False
    begins[1:] &= ~(goes_on[ids[:-1], ids[1:]] & same_sentence[1:])
    # a chunk ends where the next one begins or where a token is outside
    stops = np.flatnonzero(begins | (inside < 0))
    end_at = np.full(n, n, dtype=np.int64)
    following = np.searchsorted(stops, np.arange(n), side="right")
    known = following < len(stops)
    end_at[known] = stops[following[known]]
    return np.where(begins, inside, -1), end_at


def _scores(score: Score) -> dict[str, float]:
    return {
        "precision": score.precision,
        "recall": score.recall,
        "f1": score.f1,
        "gold": score.gold,
        "predicted": score.predicted,
        "correct": score.correct,
    }
