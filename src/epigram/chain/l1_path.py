"""l1="auto": chooses the l1 strength on held-out data along a regularisation path.

Strengths fall by a factor from strong to weak; each training begins with the weights of the one before, so it takes few
passes of SGD. The path ends where weaker penalties no longer raise the score (chunk F1, or accuracy), and the best
strength is then used to train on all sentences.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from epigram._core.arrays import offsets, split_at
from epigram.chain.labels import Labels
from epigram.errors import InputError
from epigram.features.columns import Column, Columns
from epigram.penalties.separable import L1
from epigram.protocols import Floats
from epigram.solvers.sgd import SGD

if TYPE_CHECKING:
    from epigram.chain.estimator import ChainEstimator

STRONGEST, FACTOR, MOST_STEPS = 4.0, 2.0, 9
PASSES = (12, 6)  # from nothing, and from the weights of a stronger penalty
WORSE = 2  # steps without a better score that end the path
HELD_OUT, FEWEST = 0.1, 10  # share of the sentences, and how many there must be to hold some out


def choose_l1(
    estimator: ChainEstimator, X: Any, y: Labels, dev: tuple[Any, Labels] | None
) -> tuple[float, list[dict[str, float]]]:
    """Return the best strength on ``dev`` or the last tenth of the sentences, and the path.

    Examples
    --------
    >>> from epigram import CRFTagger
    >>> X, y = [[["w=a"], ["w=b"]]] * 20, [["X", "Y"]] * 20
    >>> tagger = CRFTagger(l1="auto").fit(X, y)
    >>> tagger.fit_["l1"], tagger.predict(X[:1])
    (4.0, [['X', 'Y']])
    """
    if dev is None:
        (X, y), dev = hold_out(X, y)
    problem = estimator.problem(X, y)
    return follow(problem.loss, problem.scorer(*dev, estimator.decode_ids), estimator.random_state)


def follow(
    loss: Any, score: Callable[[Floats], float], seed: int | None
) -> tuple[float, list[dict[str, float]]]:
    """The strength whose weights have the best score, and the path with its scores."""
    path: list[dict[str, float]] = []
    w: Floats | None = None
    best, since, l1 = -np.inf, 0, STRONGEST
    for step in range(MOST_STEPS):
        w = SGD(passes=PASSES[step > 0], random_state=seed).solve(loss, L1(l1), w).w
        path.append({"l1": l1, "score": score(w), "active": float(np.count_nonzero(w))})
        since = 0 if path[-1]["score"] > best else since + 1
        best = max(best, path[-1]["score"])
        if since == WORSE:
            break
        l1 /= FACTOR
    return max(path, key=lambda entry: entry["score"])["l1"], path


def hold_out(X: Any, y: Labels) -> tuple[tuple[Any, Labels], tuple[Any, Labels]]:
    """Split sentences and labels into a training set and the last tenth."""
    n = len(X)
    if n < FEWEST:
        raise InputError(
            f"l1='auto' needs held-out sentences, and {n} are too few to part with; give dev or l1"
        )
    first = n - max(1, int(n * HELD_OUT))
    if isinstance(X, Columns):
        labels = y if isinstance(y, Column) else Columns.from_rows(y).columns[0]
        whole = Columns(X.sentence_ptr, [*X.columns, labels])
        return whole.take(np.arange(first)).split(-1), whole.take(np.arange(first, n)).split(-1)
    if isinstance(y, Column):
        y = split_at([y.strings[k] for k in y.ids.tolist()], offsets([len(sentence) for sentence in X]))
    return (X[:first], y[:first]), (X[first:], y[first:])
