"""How probable a word is that the text never has: by its part of speech and its cost in a dictionary.

Kneser-Ney gives single words what discounting leaves, in equal shares. Here the share of a word follows the words
like it, of its class and about its cost: how many of those that the text has once, for one that it does not have
(Good and Turing's estimate, cell by cell; a small cell leans on its class, a class on all words).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from epigram.ime.trigram import ClassNumbers, shift_lower
from epigram.lm.ngram.model import BackoffModel
from epigram.protocols import Floats

STEP = 1000.0
"""Costs are told apart in steps of this size."""
CELLS = 22
LEAN = 50.0
"""So many words of the larger group are added to a cell."""


def prior_of_words(counts: npt.NDArray[np.integer], costs: Floats, of_word: ClassNumbers) -> Floats:
    """The share of each word in what discounting leaves to single words; they sum to one.

    Examples
    --------
    >>> counts = np.array([9, 1, 0, 0])
    >>> q = prior_of_words(counts, np.array([0.0, 500.0, 900.0, 8000.0]), np.ones(4, np.uint16))
    >>> bool(q[2] > q[3]), round(float(q.sum()), 9)
    (True, 1.0)
    """
    cell = np.where(np.isnan(costs), CELLS - 1, np.clip(costs // STEP, 0, CELLS - 2)).astype(np.int64)
    place = of_word.astype(np.int64) * CELLS + cell
    size = (int(of_word.max()) + 1) * CELLS
    once, never = (np.bincount(place[counts == k], minlength=size).reshape(-1, CELLS) for k in (1, 0))
    overall = (once.sum() + 1) / (once.sum() + never.sum() + 1)
    of_class = _rate(once.sum(axis=1), never.sum(axis=1), overall)
    of_cell = _rate(once, never, of_class[:, None])
    share = of_cell.ravel()[place]
    return np.asarray(share / share.sum())


def _rate(once: Any, never: Any, larger: Floats | float) -> Floats:
    out: Floats = (once + LEAN * larger) / (once + never + LEAN)
    return out


def share_by_prior(model: BackoffModel, prior: Floats) -> None:
    """What every word has alike of single words is dealt out by ``prior``; longer n-grams follow. Changes the model.

    Examples
    --------
    >>> from epigram.lm.ngram.kneser_ney import KneserNeyLM
    >>> from epigram.lm.corpus import Corpus, Vocabulary
    >>> text = Corpus.of(["a b a"], Vocabulary(["a", "b", "c", "d"]))
    >>> model = KneserNeyLM(order=2).fit(text).backoff_
    >>> share_by_prior(model, np.array([0.0, 0.0, 0.0, 0.9, 0.1]))
    >>> p = model.distribution("a")
    >>> round(float(p[3] / p[4]), 6), round(float(p.sum()), 9)
    (9.0, 1.0)
    """
    n_words = len(model.vocabulary_)
    root = np.exp(model.pair_logp[:n_words])
    least = root.min()
    change = least * (n_words * prior - 1)
    shift_lower(model, change, None, np.zeros(n_words, np.uint16))
    model.pair_logp[:n_words] = np.log(root + change)
    model.root_changed()
