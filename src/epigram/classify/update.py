"""Updates of text classifiers by further texts, without the texts of the first training.

The model's scores s are offsets of the new loss: minimise ``sum_i loss(s_i + d . x_i) + l1 sum |d| + l2 sum d^2`` over
changes d of weights, so that what the new texts do not speak of stays. A new label begins with weights of zero and the
log-odds of one text in all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from epigram.classify.model import Changed, TextModel, prints_of
from epigram.classify.training import Targets, fit_columns
from epigram.features.attributes import AttributeTable
from epigram.features.grams import Rows, learn_grams
from epigram.protocols import Floats, Offsets


def with_columns(model: TextModel, columns: Sequence[int], n_columns: int, n_texts: int) -> TextModel:
    """A model of more labels; old score column k becomes ``columns[k]``.

    A model of two classes, which has one column, gets a column for each of them and the same probabilities.
    """
    bias, single = np.full(n_columns, -np.log(n_texts + 1.0)), len(columns) > len(model.bias)
    row_ptr, weights, temperature = model.row_ptr, model.weights, model.temperature
    if single:
        bias[list(columns)] = -model.bias[0], model.bias[0]
        row_ptr, temperature = 2 * row_ptr, 2.0 * temperature
        weights = np.stack([-weights, weights], axis=1).ravel()
        own = np.tile(np.array(columns, np.int32), len(model.weights))
    else:
        bias[list(columns)] = model.bias
        own = np.array(columns, np.int32)[model.columns]
    return TextModel(model.spec, model.prints, row_ptr, own, weights, bias, temperature, model.several)


def change_weights(
    model: TextModel,
    texts: Sequence[str],
    targets: Targets,
    n_before: int,
    l1: float,
    l2: float,
    min_count: int,
    sample_weight: Floats | None,
    threads: int,
    random_state: int,
) -> tuple[Changed, AttributeTable, Rows]:
    """Fit changes of weights of known n-grams, and of new ones of ``min_count`` texts.

    Also returns the n-grams of the texts.
    """
    table, rows = learn_grams(texts, model.spec, 1)
    found = prints_of(table.fingerprints)
    counts = np.bincount(rows.ids, minlength=len(found))
    used = (counts >= min_count) | np.isin(found, model.prints)
    prints, columns = np.unique(found[used], return_inverse=True)
    new_ids = np.full(len(found), -1, dtype=np.int32)
    new_ids[used] = columns
    offsets = model.score(texts, threads)
    fit = fit_columns(
        rows.renumber(new_ids, len(prints)), targets, l1, l2, sample_weight, None, 0.01, threads, random_state,
        offsets,
    )  # fmt: skip
    all_prints = np.union1d(prints, model.prints)
    weights, seen = np.zeros((len(all_prints), len(model.bias))), np.zeros(len(all_prints))
    at = np.searchsorted(all_prints, model.prints)
    weights[np.repeat(at, np.diff(model.row_ptr)), model.columns] = model.weights
    seen[at] = min_count
    at = np.searchsorted(all_prints, prints)
    weights[at] += fit.weights[:-1]
    share = (n_before + len(texts)) / len(
        texts
    )  # the n-grams of old texts are not known: those of the new stand for all
    seen[at] = np.maximum(seen[at], share * np.bincount(columns, counts[used]))
    return Changed(all_prints, weights, model.bias + fit.weights[-1], seen), table, rows


def columns_of(known: Sequence[object], classes: Sequence[object]) -> Offsets:
    """The index of each known class among the classes."""
    number = {name: k for k, name in enumerate(classes)}
    return np.array([number[name] for name in known], dtype=np.int64)
