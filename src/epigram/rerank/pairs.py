"""Pairs of each candidate with the oracle of its list, indexed by feature.

A pair p = (W^R, W) holds v = f_k(W^R) - f_k(W) for the features in which the two differ. A slot is the set of pairs
with the same (feature, v). The slots of a feature are adjacent, so a step of a learner needs only ``feature_slot``,
``slot_ptr`` and ``slot_pair``, and ``pair_ptr`` and ``pair_slot`` to update the slots of the pairs that it changed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from epigram._core import bindings
from epigram._core.arrays import offsets
from epigram.protocols import Floats, Ints, Offsets
from epigram.rerank.features import FeatureSpace
from epigram.rerank.nbest import NBest


@dataclass(frozen=True, slots=True)
class Pairs:
    """All pairs of training lists, with indexes by pair and by slot."""

    n_lists: int
    n_weights: int
    list_pair: Offsets = field(repr=False)
    base: Floats = field(repr=False)
    weights: Floats = field(repr=False)
    extra: Floats = field(repr=False)
    pair_ptr: Offsets = field(repr=False)
    pair_slot: Ints = field(repr=False)
    feature_slot: Offsets = field(repr=False)
    slot_feature: Ints = field(repr=False)
    slot_value: Floats = field(repr=False)
    slot_ptr: Offsets = field(repr=False)
    slot_pair: Ints = field(repr=False)

    @property
    def n_pairs(self) -> int:
        """Number of candidates other than the oracle of their list."""
        return len(self.base)

    @property
    def n_slots(self) -> int:
        """Number of distinct (feature, value difference)."""
        return len(self.slot_value)

    @classmethod
    def of(cls, lists: NBest, space: FeatureSpace, measure: str = "cer", risk: float = 0.0) -> Pairs:
        """Pairs of every candidate with the oracle of its list.

        A pair weighs (errors of the candidate - errors of the oracle) ** risk: 0 as in the paper, all alike.

        Examples
        --------
        >>> lists = NBest.from_lists([{"reference": "a a", "candidates": [
        ...     {"text": "b", "score": -1.0}, {"text": "a a", "score": -3.0}]}])
        >>> pairs = Pairs.of(lists, FeatureSpace.collect(lists, ngrams=1, min_count=1))
        >>> pairs.slot_feature.tolist(), pairs.slot_value.tolist(), pairs.base.tolist()
        ([0, 1], [-1.0, 2.0], [-2.0])
        """
        oracle = lists.oracle(measure)
        pair_ptr, features, values = _differences(lists, space, oracle)
        list_of = lists.list_of
        is_rival = np.ones(lists.n_candidates, bool)
        is_rival[oracle] = False
        base = (lists.scores[oracle][list_of] - lists.scores)[is_rival]
        errors = lists.errors(measure)
        extra = (errors - errors[oracle][list_of])[is_rival]
        n_pairs, n_weights = len(base), space.n_weights
        order, codes = _by_feature_and_value(features, values, n_weights)
        changes = np.ones(len(order), bool)
        if len(order):
            changes[1:] = (np.diff(features[order]) != 0) | (np.diff(codes[order]) != 0)
        starts = np.flatnonzero(changes)
        slot_feature = features[order[starts]]
        pair_slot = np.empty(len(order), np.int32)
        pair_slot[order] = np.cumsum(changes, dtype=np.int32) - 1
        owner = np.repeat(np.arange(n_pairs, dtype=np.int32), np.diff(pair_ptr))
        return cls(
            n_lists=len(lists),
            n_weights=n_weights,
            list_pair=offsets(np.diff(lists.list_ptr) - 1),
            base=base,
            weights=extra**risk,
            extra=extra,
            pair_ptr=pair_ptr,
            pair_slot=pair_slot,
            feature_slot=np.searchsorted(slot_feature, np.arange(n_weights + 1)).astype(np.int64),
            slot_feature=slot_feature,
            slot_value=values[order[starts]],
            slot_ptr=np.append(starts, len(order)).astype(np.int64),
            slot_pair=owner[order],
        )


def _differences(lists: NBest, space: FeatureSpace, oracle: Offsets) -> tuple[Offsets, Ints, Floats]:
    ptr, features, values = space.extract(lists)
    pair_ptr = np.zeros(lists.n_candidates - len(lists) + 1, np.int64)
    scratch, touched = np.zeros(space.n_weights), np.empty(2 * int(np.diff(ptr).max(initial=0)), np.int32)
    inputs = lists.list_ptr, oracle, ptr, features, values, scratch, touched, pair_ptr
    bindings.rerank_differences(*inputs, np.zeros(0, np.int32), np.zeros(0))
    n = int(pair_ptr[-1])
    out_feature, out_value = np.empty(n, np.int32), np.empty(n)
    if n:
        bindings.rerank_differences(*inputs, out_feature, out_value)
    return pair_ptr, out_feature, out_value


def _by_feature_and_value(features: Ints, values: Floats, n_weights: int) -> tuple[Ints, Ints]:
    """Order by (feature, value, pair), by two counting sorts; and the rank of each value."""
    codes: npt.NDArray[np.int32]
    low, high = np.floor(values.min(initial=0.0)), values.max(initial=0.0)
    codes = (values - low).astype(np.int32) if high - low <= 1 << 16 else np.full(len(values), -1, np.int32)
    if not np.array_equal(codes + low, values):
        codes = np.unique(values, return_inverse=True)[1].astype(np.int32)
    order = np.arange(len(features), dtype=np.int32)
    for code, n_codes in ((codes, int(codes.max(initial=0)) + 1), (features, n_weights)):
        places = offsets(np.bincount(code, minlength=n_codes))
        out = np.empty(len(order), np.int32)
        bindings.rerank_counting_sort(code, order, places, out)
        order = out
    return order, codes
