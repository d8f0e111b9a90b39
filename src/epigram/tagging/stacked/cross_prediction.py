"""Cross-validated tagger predictions as an input column for a second tagger.

A tagger makes fewer errors on its training set, so a second tagger trained on its labels there trusts them too much.
With cross-validation the sentences are split into folds, and those of a fold are labelled by a tagger trained on the
other folds only (Collins 2000; Tsuruoka et al. 2009 have such columns in their JNLPBA experiment).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from epigram._core.arrays import split_at
from epigram.chain.crf import CRFEstimator
from epigram.errors import InputError
from epigram.features.columns import Column, Columns
from epigram.protocols import Ints
from epigram.tagging.stacked.candidates import Labellings
from epigram.tagging.stacked.pool import pool

LETTERS = 60


def predict_unseen(
    tagger: CRFEstimator | Sequence[CRFEstimator], X: Columns, y: Column, target: Columns, folds: int = 5
) -> tuple[Column, CRFEstimator]:
    """Label ``target`` by taggers not trained on it; return the tagger of all of ``X`` too.

    A sentence of ``target`` counts as one of ``X`` where the last 60 letters of their first columns agree, so marks at
    the head of a sentence and another way to cut it into tokens do no harm. All other sentences are labelled by the
    tagger that has learnt from all.

    Parameters
    ----------
    tagger : the settings; it is not changed. Several taggers are pooled (:mod:`epigram.tagging.stacked.pool`). A fitted
        tagger counts as one trained on all of ``X``.
    X, y : what to learn from: observations and labels.
    target : sentences with the same columns as ``X``; often ``X`` itself.
    folds : in how many parts of neighbouring sentences ``X`` is cut.

    Examples
    --------
    >>> from epigram import CRFTagger
    >>> X = Columns.from_rows([[word] for word in "a b a b c".split()])
    >>> y = Columns.from_rows([[label] for label in "X Y X Y Z".split()]).columns[0]
    >>> column, tagger = predict_unseen(CRFTagger("U0:%x[0,0]\\n", l1=0.01), X, y, X, folds=5)
    >>> [column.string(t) for t in range(4)], column.string(4) == "Z", tagger.predict(X)[4]
    (['X', 'Y', 'X', 'Y'], False, ['Z'])
    """
    wanted, part_of = parts_of(X, target, folds), parts_of(X, X, folds)
    labels: list[list[str]] = [[] for _ in range(target.n_sentences)]
    given = list(tagger) if isinstance(tagger, Sequence) else [tagger]
    everything = np.arange(X.n_sentences)
    learnt = [one if hasattr(one, "model_") else _fitted(one, X, y, everything) for one in given]
    taggers, whole = _anew(learnt), pool(learnt)
    for part in (-1, *range(folds)):
        mine = np.flatnonzero(wanted == part)
        if not len(mine):
            continue
        others = np.flatnonzero(part_of != part)
        chosen = whole if part < 0 else pool([_fitted(one, X, y, others) for one in taggers])
        for s, found in zip(mine.tolist(), chosen.predict(target.take(mine)), strict=True):
            labels[s] = found
    return Columns.from_rows(labels).columns[0], whole


def label_unseen(
    learnt: Sequence[CRFEstimator],
    X: Columns,
    y: Column,
    k: int,
    folds: int = 5,
    callback: Callable[[int, str], bool | None] | None = None,
) -> Labellings:
    """Return the k best labellings of each sentence by taggers not trained on it.

    ``learnt``, one tagger or those of a pool, know all of ``X``; the others have their settings, and the strengths that
    were chosen for them. ``callback`` receives the number of finished folds; where it returns True the sentences of the
    others are left out.
    """
    taggers = _anew(learnt)
    part_of = parts_of(X, X, folds)
    number = {name: j for j, name in enumerate(learnt[0].model_.labels)}
    found: list[list[tuple[Ints, float]]] = []
    for part in range(folds):
        if callback is not None and callback(part, f"fold {part + 1} of {folds}") and part:
            break
        model = pool([_fitted(one, X, y, np.flatnonzero(part_of != part)) for one in taggers]).model_
        ours = np.array([number[name] for name in model.labels], dtype=np.int32)
        lists = model.scored_n_best(model.encode(X.take(np.flatnonzero(part_of == part))), k)
        found += [[(ours[labels], score) for labels, score in candidates] for candidates in lists]
    return Labellings.of(found)


def parts_of(X: Columns, target: Columns, folds: int) -> Ints:
    """For each sentence of ``target`` the part of ``X`` that has it, -1 for none."""
    if not 2 <= folds <= X.n_sentences:
        raise InputError(f"{folds} folds of {X.n_sentences} sentences; use 2 or more, at most one a sentence")
    part_of = (np.arange(X.n_sentences) * folds // X.n_sentences).astype(np.int32)
    if target is X:
        return part_of
    known = dict(zip(_tails(X), part_of.tolist(), strict=True))
    return np.array([known.get(tail, -1) for tail in _tails(target)], dtype=np.int32)


def _tails(columns: Columns) -> list[str]:
    """The last letters of every sentence, without the spaces between tokens."""
    words = [columns.columns[0].strings[k] for k in columns.columns[0].ids.tolist()]
    return ["".join(own)[-LETTERS:].lower() for own in split_at(words, columns.sentence_ptr)]


def _anew(learnt: Sequence[CRFEstimator]) -> list[CRFEstimator]:
    """Taggers with the settings of trained ones and the strengths that were chosen for them."""
    if any("pooled" in one.fit_ for one in learnt):
        raise InputError("the parts of a pool have to learn anew: give its taggers, not the pool")
    return [type(one)(**one.get_params(deep=False) | {"l1": one.l1_in_use}) for one in learnt]


def _fitted(tagger: CRFEstimator, X: Columns, y: Column, sentences: npt.ArrayLike) -> CRFEstimator:
    """A tagger of the same settings that has learnt from some sentences."""
    some, labels = Columns(X.sentence_ptr, [*X.columns, y]).take(sentences).split(-1)
    return type(tagger)(**tagger.get_params(deep=False)).fit(some, labels)
