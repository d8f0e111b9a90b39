"""Kernels of minimum sample risk: errors of the chosen candidates as a function of one weight, exactly.

Along one weight the score of a candidate is a straight line, so the candidate chosen from a list is that on the upper
envelope of its lines, and the errors change only where two lines of the envelope cross. Scores are taken relative to
W^R, whose line is 0 and whose extra errors are 0. Where scores are equal, up to rounding, the candidate with the most
errors counts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from epigram.jit import kernel

TIE = 1e-9
"""Scores and places that are nearer than this are equal."""
WIDTH = 1e-6
"""Narrower intervals are left out: rounding could miss them."""


class RiskIndex(NamedTuple):
    """Pairs by list and by feature; ``extra`` is how many errors more than W^R a rival has."""

    list_pair: Any
    pair_list: Any
    feature_slot: Any
    slot_value: Any
    slot_ptr: Any
    slot_pair: Any
    extra: Any


class RiskScratch(NamedTuple):
    """Room for one line search: slope of each pair (0 between calls), lists met, events."""

    slope: Any
    stamp: Any
    touched: Any
    place: Any
    change: Any


@kernel
def chosen_extra(first, last, margins, extra):
    """Extra errors of the candidate that a list chooses: of the best scored the one with the most."""
    best = 0.0
    for p in range(first, last):
        best = max(best, -margins[p])
    errors = 0.0
    for p in range(first, last):
        if -margins[p] >= best - TIE:
            errors = max(errors, extra[p])
    return errors


@kernel
def sample_risk(list_pair, margins, extra):
    """Extra errors of the chosen candidates of all lists."""
    total = 0.0
    for i in range(list_pair.shape[0] - 1):
        total += chosen_extra(list_pair[i], list_pair[i + 1], margins, extra)
    return total


@kernel
def envelope(first, last, margins, extra, slope, place, change, n):
    """Walk the upper envelope of one list's lines from left to right.

    Each change of the chosen candidate is an event: where it is, and by how much the errors change. Events are added
    at ``n``. Returns (number of events, errors at minus infinity).
    """
    height = 0.0  # the line on the envelope now, W^R's at first: height + rise * move
    rise = 0.0
    errors = 0.0
    for p in range(first, last):
        a = -margins[p]
        b = -slope[p]
        better = b < rise or (b == rise and a > height + TIE)
        if b == rise and abs(a - height) <= TIE:
            better = extra[p] > errors
        if better:
            height = a
            rise = b
            errors = extra[p]
    at_left = errors
    while True:
        nearest = np.inf
        next_height = 0.0
        next_rise = 0.0
        next_errors = 0.0
        for p in range(first - 1, last):
            a = 0.0 if p < first else -margins[p]
            b = 0.0 if p < first else -slope[p]
            e = 0.0 if p < first else extra[p]
            if b <= rise:
                continue
            crossing = (height - a) / (b - rise)
            better = crossing < nearest
            if abs(crossing - nearest) <= TIE:
                better = b > next_rise or (b == next_rise and e > next_errors)
            if better:
                nearest = crossing
                next_height = a
                next_rise = b
                next_errors = e
        if nearest == np.inf:
            return n, at_left
        place[n] = nearest
        change[n] = next_errors - errors
        n += 1
        height = next_height
        rise = next_rise
        errors = next_errors


@kernel
def sort_events(place, change, n):
    """Heap sort of the first ``n`` events by place."""
    for start in range(n // 2 - 1, -1, -1):
        sift_event(place, change, start, n)
    for end in range(n - 1, 0, -1):
        place[0], place[end] = place[end], place[0]
        change[0], change[end] = change[end], change[0]
        sift_event(place, change, 0, end)


@kernel
def sift_event(place, change, start, n):
    """Restore a max-heap of events below ``start``."""
    i = start
    while 2 * i + 1 < n:
        child = 2 * i + 1
        if child + 1 < n and place[child + 1] > place[child]:
            child += 1
        if place[i] >= place[child]:
            return
        place[i], place[child] = place[child], place[i]
        change[i], change[child] = change[child], change[i]
        i = child


@kernel
def best_interval(place, change, n, at_left):
    """The interval of least errors, of equals the one nearest to 0. Returns (its ends, its errors).

    An interval that is too narrow is none.
    """
    errors = at_left
    best_errors = np.inf
    best_distance = np.inf
    best_low = 0.0
    best_high = 0.0
    low = -np.inf
    for j in range(n + 1):
        high = place[j] if j < n else np.inf
        if high - low > WIDTH:
            distance = max(max(low, -high), 0.0)
            if errors < best_errors or (errors == best_errors and distance < best_distance):
                best_errors = errors
                best_distance = distance
                best_low = low
                best_high = high
        if j < n:
            errors += change[j]
            low = high
    return best_low, best_high, best_errors


@kernel
def line_search(k, index, margins, now, scratch):
    """How the errors depend on weight k. Returns (ends of the best interval of its move, errors saved there)."""
    n_touched = 0
    for s in range(index.feature_slot[k], index.feature_slot[k + 1]):
        for e in range(index.slot_ptr[s], index.slot_ptr[s + 1]):
            p = index.slot_pair[e]
            scratch.slope[p] = index.slot_value[s]
            i = index.pair_list[p]
            if scratch.stamp[i] != now:
                scratch.stamp[i] = now
                scratch.touched[n_touched] = i
                n_touched += 1
    n = 0
    at_left = 0.0
    here = 0.0
    for t in range(n_touched):
        i = scratch.touched[t]
        first = index.list_pair[i]
        last = index.list_pair[i + 1]
        here += chosen_extra(first, last, margins, index.extra)
        n, left = envelope(first, last, margins, index.extra, scratch.slope, scratch.place, scratch.change, n)
        at_left += left
        for p in range(first, last):
            scratch.slope[p] = 0.0
    sort_events(scratch.place, scratch.change, n)
    low, high, errors = best_interval(scratch.place, scratch.change, n, at_left)
    return low, high, here - errors


@kernel
def effectiveness(index, margins, scratch, out):
    """Errors that each feature saves alone, with its best weight."""
    for k in range(out.shape[0]):
        out[k] = line_search(k, index, margins, np.int64(k), scratch)[2]


@kernel
def risk_pass(order, done, reach, least, risk, index, scratch, margins, out_feature, out_delta, out_risk):
    """Line search for each feature of ``order``; moves those that save at least ``least`` errors. Returns how many."""
    n = 0
    for j in range(order.shape[0]):
        k = order[j]
        low, high, saved = line_search(k, index, margins, np.int64(done + j), scratch)
        if saved < least:
            continue
        inside = min(0.5 * (high - low), reach)
        delta = low + inside if low >= 0.0 else high - inside
        for s in range(index.feature_slot[k], index.feature_slot[k + 1]):
            for e in range(index.slot_ptr[s], index.slot_ptr[s + 1]):
                margins[index.slot_pair[e]] += delta * index.slot_value[s]
        risk -= saved
        out_feature[n] = k
        out_delta[n] = delta
        out_risk[n] = risk
        n += 1
    return n
