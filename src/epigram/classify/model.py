"""TextModel: weights of n-grams by 32-bit fingerprint, and the scores of texts under them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from epigram._core import bindings
from epigram._core.threads import Team
from epigram.classify.loss import sigmoid, softmax
from epigram.features.attributes import Fingerprints
from epigram.features.grams import BATCH, GramSpec, batches
from epigram.protocols import Floats, Ints, Offsets

Prints = npt.NDArray[np.uint32]


def prints_of(keys: Fingerprints) -> Prints:
    """The 32 bits of fingerprints that a model keeps.

    An n-gram that no weight belongs to is taken for another one with a chance of n_features / 2^32.
    """
    return (keys >> np.uint64(32)).astype(np.uint32)


class Changed(NamedTuple):
    """Dense weights of n-grams by fingerprint, with the texts that each occurs in."""

    prints: Prints
    weights: Floats
    bias: Floats
    counts: Floats


@dataclass
class TextModel:
    """Sparse weights of n-grams: row r belongs to ``prints[r]``, as ``row_ptr`` says.

    Attributes
    ----------
    prints : rising fingerprints.
    columns, weights : score column and value of each weight.
    bias : one per column. Two classes have one column, the log-odds of the second.
    temperature : scores are divided by it before they become probabilities.
    several : whether a text may have any number of labels: columns are independent probabilities.
    """

    spec: GramSpec
    prints: Prints = field(repr=False)
    row_ptr: Offsets = field(repr=False)
    columns: Ints = field(repr=False)
    weights: npt.NDArray[np.float32] = field(repr=False)
    bias: Floats = field(repr=False)
    temperature: float = 1.0
    several: bool = False

    def __post_init__(self) -> None:
        n_slots = max(16, 1 << (2 * len(self.prints)).bit_length())
        self._slots, self._rows = np.empty(n_slots, np.uint32), np.empty(n_slots, np.int32)
        bindings.grams_index(self.prints, self._slots, self._rows)

    def score(self, texts: Sequence[str], threads: int = 1) -> Floats:
        """Log-linear scores, a row per text; the same for any number of threads."""
        size = BATCH if threads == 1 else min(BATCH, 1 + sum(map(len, texts)) // (4 * threads))
        with Team(threads) as team:
            found = team.run(self._score, list(batches(texts, size)))
        return np.concatenate([np.empty((0, len(self.bias))), *found])

    def _score(self, texts: Sequence[str]) -> Floats:
        content, ptr = self.spec.encode(texts)
        scores = np.empty((len(texts), len(self.bias)))
        bindings.grams_score(
            self.spec.scratch(ptr), content, ptr, self._slots, self._rows, self.row_ptr, self.columns,
            self.weights, self.bias, scores,
        )  # fmt: skip
        return scores

    def probabilities(self, scores: Floats) -> Floats:
        """Calibrated probabilities of classes, or of each label by itself."""
        return probabilities_of(scores, self.temperature, self.several)


def strongest(weights: Floats, counts: Floats, most: int, share: float = 1.0) -> npt.NDArray[np.bool_]:
    """Which weights to keep: the ``most`` (0: all) largest by w^2 times the texts of the n-gram.

    Fewer are kept if they have this share of the sum.

    Examples
    --------
    >>> strongest(np.array([[3.0, 0.0], [-1.0, 2.0]]), np.ones(2), 2).tolist()
    [[True, False], [False, True]]
    """
    size = (weights**2 * counts[:, None]).ravel()
    found = np.flatnonzero(size)
    if most > 0:
        if most < len(found):
            found = found[np.argpartition(-size[found], most - 1)[:most]]
        order = found[np.argsort(-size[found], kind="stable")]
        found = order[: int(np.searchsorted(np.cumsum(size[order]), share * size.sum())) + 1]
    kept = np.zeros(len(size), dtype=np.bool_)
    kept[found] = True
    return kept.reshape(weights.shape)


def pruned(
    found: Changed, spec: GramSpec, temperature: float, several: bool, used: npt.NDArray[np.bool_]
) -> TextModel:
    """The model of the weights that are used.

    Of two n-grams with one fingerprint the stronger stays.
    """
    w = np.where(used, found.weights, 0.0)
    kept = np.flatnonzero(w.any(axis=1))
    prints = found.prints[kept]
    order = np.lexsort((-np.abs(w[kept]).max(axis=1, initial=0.0), prints))
    order = order[np.diff(prints[order].astype(np.int64), prepend=-1) != 0]
    w, prints = w[kept[order]], prints[order]
    used = w != 0.0
    return TextModel(
        spec, prints, np.concatenate([[0], np.cumsum(used.sum(axis=1))]).astype(np.int64),
        np.nonzero(used)[1].astype(np.int32), w[used].astype(np.float32), found.bias, temperature, several,
    )  # fmt: skip


def probabilities_of(scores: Floats, temperature: float, several: bool) -> Floats:
    """Scores as probabilities: rows that sum to 1, or with ``several`` each number by itself.

    Examples
    --------
    >>> probabilities_of(np.array([[0.0]]), 1.0, False).tolist()
    [[0.5, 0.5]]
    """
    s = scores / temperature
    if several:
        return sigmoid(s)
    if s.shape[1] == 1:
        p = sigmoid(s)
        return np.concatenate([1.0 - p, p], axis=1)
    return softmax(s)
