"""Kernels of the stagewise loop over the inverted index of pairs.

Letters, as in Gao et al. 2006: pair p = (W^R, W) of one list, v = f_k(W^R) - f_k(W) the value difference,
q[p] = exp(-margin), a slot = all pairs with one (feature, value difference), S[slot] = the sum of their q.
Then ExpLoss(Upd(lambda, k, delta)) = loss - sum over the slots of k of S (1 - exp(-v delta)), in closed form.
"""

from __future__ import annotations

import numpy as np

from epigram.jit import kernel

# A smaller fall, relative to the loss, is noise: a step and its reverse would alternate.
ROUNDING = 1e-11


@kernel
def pair_margins(pair_ptr, pair_slot, slot_move, out):
    """out[p] += sum of ``slot_move`` (weight times value difference) over the slots of p."""
    for p in range(pair_ptr.shape[0] - 1):
        total = 0.0
        for j in range(pair_ptr[p], pair_ptr[p + 1]):
            total += slot_move[pair_slot[j]]
        out[p] += total


@kernel
def slot_sums(pair_ptr, pair_slot, q, out):
    """S[slot] = sum of q over its pairs."""
    out[:] = 0.0
    for p in range(pair_ptr.shape[0] - 1):
        for j in range(pair_ptr[p], pair_ptr[p + 1]):
            out[pair_slot[j]] += q[p]


@kernel
def best_step(first, last, slot_value, S, pad):
    """argmin over delta of sum S exp(-v delta) + pad (exp(delta) + exp(-delta)); +-inf where it runs away.

    Equation (7), and with pad = smoothing Z equation (16), which it equals for value differences of +-1.
    """
    up = pad
    down = pad
    unit = True
    for s in range(first, last):
        if slot_value[s] > 0.0:
            up += max(S[s], 0.0)
        else:
            down += max(S[s], 0.0)
        unit = unit and abs(slot_value[s]) == 1.0
    if up == 0.0 and down == 0.0:
        return 0.0
    if down == 0.0:
        return np.inf
    if up == 0.0:
        return -np.inf
    delta = 0.5 * np.log(up / down)
    if unit:
        return delta
    low = -np.inf
    high = np.inf
    for _ in range(100):
        slope = pad * (np.exp(delta) - np.exp(-delta))
        curve = pad * (np.exp(delta) + np.exp(-delta))
        for s in range(first, last):
            v = slot_value[s]
            e = v * max(S[s], 0.0) * np.exp(-v * delta)
            slope -= e
            curve += v * e
        if slope > 0.0:
            high = delta
        else:
            low = delta
        move = -slope / curve if curve > 0.0 else np.inf
        if not abs(move) <= 2.0:
            move = 2.0 if slope < 0.0 else -2.0
        if abs(move) <= 1e-13 * max(1.0, abs(delta)):
            return delta + move
        delta = delta + move if low < delta + move < high else 0.5 * (low + high)
    return delta


@kernel
def decrease(first, last, slot_value, S, delta):
    """By how much a move of ``delta`` (perhaps infinite) lowers the loss: sum of S (1 - exp(-v delta))."""
    total = 0.0
    for s in range(first, last):
        total += S[s] * -np.expm1(-slot_value[s] * delta)
    return total


@kernel
def gain_of(k, feature_slot, slot_value, S, try_up, try_down, search_step):
    """What choosing k promises: the better of +-search_step (equation 12) or its optimum (equation 7)."""
    first = feature_slot[k]
    last = feature_slot[k + 1]
    if search_step < np.inf:
        up = 0.0
        down = 0.0
        for s in range(first, last):
            up += S[s] * try_up[s]
            down += S[s] * try_down[s]
        return max(up, down)
    if last - first == 2 and slot_value[first] == -1.0 and slot_value[first + 1] == 1.0:
        root = np.sqrt(max(S[first + 1], 0.0)) - np.sqrt(max(S[first], 0.0))
        return root * root
    delta = best_step(first, last, slot_value, S, 0.0)
    if delta == np.inf or delta == -np.inf:
        total = 0.0
        for s in range(first, last):
            total += max(S[s], 0.0)
        return total
    return decrease(first, last, slot_value, S, delta)


@kernel
def sift_up(heap, place, bound, start):
    """Restore a max-heap of features ordered by (bound, smaller id) after ``bound`` of one grew."""
    k = heap[start]
    i = start
    while i > 0:
        parent = (i - 1) >> 1
        other = heap[parent]
        if bound[other] > bound[k] or (bound[other] == bound[k] and other < k):
            break
        heap[i] = other
        place[other] = i
        i = parent
    heap[i] = k
    place[k] = i


@kernel
def sift_down(heap, place, bound, start):
    """Restore the heap after ``bound`` of the feature at ``start`` shrank."""
    n = heap.shape[0]
    k = heap[start]
    i = start
    while 2 * i + 1 < n:
        child = 2 * i + 1
        a = heap[child]
        if child + 1 < n:
            b = heap[child + 1]
            if bound[b] > bound[a] or (bound[b] == bound[a] and b < a):
                child += 1
                a = b
        if bound[k] > bound[a] or (bound[k] == bound[a] and k < a):
            break
        heap[i] = a
        place[a] = i
        i = child
    heap[i] = k
    place[k] = i


@kernel
def build_heap(feature_slot, slot_value, S, try_up, try_down, search_step, gain, bound, heap, place):
    """All gains from the sums, and the heap over them."""
    for k in range(heap.shape[0]):
        gain[k] = gain_of(k, feature_slot, slot_value, S, try_up, try_down, search_step)
        bound[k] = gain[k]
        heap[k] = k
        place[k] = k
    for i in range(heap.shape[0] // 2 - 1, -1, -1):
        sift_down(heap, place, bound, i)


@kernel
def best_backward(active, n_active, w, alpha, step, feature_slot, slot_value, S, try_up, try_down, out):
    """Equation (14) with steps that end at zero: the weight whose move towards 0 lowers LassoLoss most.

    Writes the move to ``out[0]`` and returns (place in ``active``, decrease of LassoLoss).
    """
    best = -1
    best_fall = -np.inf
    for a in range(n_active):
        k = active[a]
        size = abs(w[k])
        first = feature_slot[k]
        last = feature_slot[k + 1]
        if size >= step:
            size = step
            fall = alpha * step
            if w[k] > 0.0:
                for s in range(first, last):
                    fall += S[s] * try_down[s]
            else:
                for s in range(first, last):
                    fall += S[s] * try_up[s]
        else:
            fall = alpha * size + decrease(first, last, slot_value, S, -w[k])
        if fall > best_fall or (fall == best_fall and k < active[best]):
            best_fall = fall
            best = a
            out[0] = -size if w[k] > 0.0 else size
    return best, best_fall


@kernel
def move_weight(
    k,
    delta,
    feature_slot,
    slot_value,
    slot_ptr,
    slot_pair,
    slot_feature,
    pair_ptr,
    pair_slot,
    q,
    S,
    stamp,
    now,
    dirty,
):
    """Move one weight: only pairs with k change q, only their slots change S. Returns how many features."""
    n_dirty = 0
    for s in range(feature_slot[k], feature_slot[k + 1]):
        factor = np.expm1(-slot_value[s] * delta)
        for e in range(slot_ptr[s], slot_ptr[s + 1]):
            p = slot_pair[e]
            change = q[p] * factor
            q[p] += change
            for j in range(pair_ptr[p], pair_ptr[p + 1]):
                t = pair_slot[j]
                S[t] += change
                other = slot_feature[t]
                if stamp[other] != now:
                    stamp[other] = now
                    dirty[n_dirty] = other
                    n_dirty += 1
    return n_dirty


@kernel
def stagewise(
    n_steps,
    done,
    search_step,
    step,
    shrinkage,
    smoothing,
    theta,
    feature_slot,
    slot_value,
    slot_ptr,
    slot_pair,
    slot_feature,
    pair_ptr,
    pair_slot,
    try_up,
    try_down,
    refresh,
    q,
    S,
    w,
    gain,
    bound,
    heap,
    place,
    active,
    where,
    stamp,
    dirty,
    state,
    out_feature,
    out_delta,
    out_loss,
    out_alpha,
):
    """Figures 1 and 2: up to ``n_steps`` forward and backward steps. Returns how many were taken.

    ``state`` is (loss, alpha, number of non-zero weights). ``bound`` is never below the true ``gain``: a gain
    that falls leaves its place in the heap alone until it comes to the top.
    """
    back = np.empty(1)
    for t in range(n_steps):
        if (done + t) % refresh == 0:
            slot_sums(pair_ptr, pair_slot, q, S)
            state[0] = q.sum()
            build_heap(feature_slot, slot_value, S, try_up, try_down, search_step, gain, bound, heap, place)
        loss = state[0]
        alpha = state[1]
        n_active = np.int64(state[2])
        k = -1
        delta = 0.0
        if n_active > 0 and theta < loss + alpha * step:
            a, fall = best_backward(
                active, n_active, w, alpha, step, feature_slot, slot_value, S, try_up, try_down, back
            )
            if fall > theta + ROUNDING * loss:
                k = active[a]
                delta = back[0]
        backward = k >= 0
        if not backward:
            while bound[heap[0]] > gain[heap[0]]:
                bound[heap[0]] = gain[heap[0]]
                sift_down(heap, place, bound, 0)
            k = heap[0]
            if not gain[k] > ROUNDING * loss:
                return t
            delta = shrinkage * best_step(
                feature_slot[k], feature_slot[k + 1], slot_value, S, smoothing * loss
            )
            delta = min(max(delta, -step), step)
        if abs(w[k] + delta) < 1e-9 * abs(delta):
            delta = -w[k]
        fall = decrease(feature_slot[k], feature_slot[k + 1], slot_value, S, delta)
        n_dirty = move_weight(
            k,
            delta,
            feature_slot,
            slot_value,
            slot_ptr,
            slot_pair,
            slot_feature,
            pair_ptr,
            pair_slot,
            q,
            S,
            stamp,
            done + t + 1,
            dirty,
        )
        for d in range(n_dirty):
            other = dirty[d]
            gain[other] = gain_of(other, feature_slot, slot_value, S, try_up, try_down, search_step)
            if gain[other] > bound[other]:
                bound[other] = gain[other]
                sift_up(heap, place, bound, place[other])
        if w[k] == 0.0:
            active[n_active] = k
            where[k] = n_active
            n_active += 1
        w[k] += delta
        if w[k] == 0.0:
            n_active -= 1
            active[where[k]] = active[n_active]
            where[active[n_active]] = where[k]
        state[0] = loss - fall
        if not backward:
            state[1] = min(alpha, fall / abs(delta))
        state[2] = n_active
        out_feature[t] = k
        out_delta[t] = delta
        out_loss[t] = state[0]
        out_alpha[t] = state[1]
    return n_steps
