"""Kernels that walk lists and candidates: best of each, value differences, perceptron passes, path replay."""

from __future__ import annotations

import numpy as np

from epigram.jit import kernel


@kernel
def best_of_lists(list_ptr, scores, out):
    """Index within its list of the best candidate; the first of equals."""
    for i in range(list_ptr.shape[0] - 1):
        best = list_ptr[i]
        for c in range(list_ptr[i] + 1, list_ptr[i + 1]):
            if scores[c] > scores[best]:
                best = c
        out[i] = best - list_ptr[i]


@kernel
def differences(list_ptr, oracle, feat_ptr, feats, values, scratch, touched, pair_ptr, out_feat, out_value):
    """Value differences f_k(W^R) - f_k(W) of all pairs, in candidate order; empty outputs only count."""
    counting = out_feat.shape[0] == 0
    n = np.int64(0)
    p = 0
    for i in range(list_ptr.shape[0] - 1):
        r = oracle[i]
        for c in range(list_ptr[i], list_ptr[i + 1]):
            if c == r:
                continue
            n_touched = 0
            for j in range(feat_ptr[r], feat_ptr[r + 1]):
                scratch[feats[j]] += values[j]
                touched[n_touched] = feats[j]
                n_touched += 1
            for j in range(feat_ptr[c], feat_ptr[c + 1]):
                scratch[feats[j]] -= values[j]
                touched[n_touched] = feats[j]
                n_touched += 1
            for j in range(n_touched):
                k = touched[j]
                if scratch[k] != 0.0:
                    if not counting:
                        out_feat[n] = k
                        out_value[n] = scratch[k]
                    n += 1
                    scratch[k] = 0.0
            p += 1
            pair_ptr[p] = n


@kernel
def counting_sort(codes, order, next_place, out):
    """Stable: ``out`` is ``order`` sorted by its ``codes``; ``next_place`` holds where each code starts."""
    for j in range(order.shape[0]):
        e = order[j]
        out[next_place[codes[e]]] = e
        next_place[codes[e]] += 1


@kernel
def perceptron_pass(order, list_pair, pair_ptr, pair_slot, slot_feature, slot_value, base, clock, w, u):
    """One pass: where a rival scores at least as high as W^R, w += f(W^R) - f(rival). Returns the clock.

    ``u`` sums each change times its time, so that the average is w - u / clock (Collins 2002; Daume 2006).
    """
    for i in order:
        worst = -1
        least = 0.0
        for p in range(list_pair[i], list_pair[i + 1]):
            margin = base[p]
            for j in range(pair_ptr[p], pair_ptr[p + 1]):
                margin += w[slot_feature[pair_slot[j]]] * slot_value[pair_slot[j]]
            if margin < least or (margin == least and worst < 0):
                least = margin
                worst = p
        if worst >= 0:
            for j in range(pair_ptr[worst], pair_ptr[worst + 1]):
                k = slot_feature[pair_slot[j]]
                w[k] += slot_value[pair_slot[j]]
                u[k] += clock * slot_value[pair_slot[j]]
        clock += 1.0
    return clock


@kernel
def replay(
    step_ptr,
    features,
    deltas,
    use_ptr,
    use_candidate,
    use_value,
    list_of,
    list_ptr,
    errors,
    costs,
    w,
    scores,
    best,
    stamp,
    now,
    touched,
    out_l1,
    out_nonzero,
    out_errors,
):
    """Follow a path: L1 norm, non-zero weights and, on other lists, errors after every step.

    ``use_*`` is the inverted index feature -> (candidate, value) of those lists; ``costs`` is
    (L1 norm, non-zero weights, errors) so far. Returns the last stamp.
    """
    for t in range(step_ptr.shape[0] - 1):
        now += 1
        n_touched = 0
        for j in range(step_ptr[t], step_ptr[t + 1]):
            k = features[j]
            costs[0] -= abs(w[k])
            costs[1] -= w[k] != 0.0
            w[k] += deltas[j]
            costs[0] += abs(w[k])
            costs[1] += w[k] != 0.0
            for e in range(use_ptr[k], use_ptr[k + 1]):
                c = use_candidate[e]
                scores[c] += deltas[j] * use_value[e]
                i = list_of[c]
                if stamp[i] != now:
                    stamp[i] = now
                    touched[n_touched] = i
                    n_touched += 1
        for j in range(n_touched):
            i = touched[j]
            winner = list_ptr[i]
            for c in range(list_ptr[i] + 1, list_ptr[i + 1]):
                if scores[c] > scores[winner]:
                    winner = c
            costs[2] += errors[winner] - errors[best[i]]
            best[i] = winner
        out_l1[t] = costs[0]
        out_nonzero[t] = np.int64(costs[1])
        out_errors[t] = costs[2]
    return now
