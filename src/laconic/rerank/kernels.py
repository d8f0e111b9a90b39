"""Kernels of the reranker: the n-gram trie, the inverted index of pairs, the stagewise loop, path replay.

Letters, as in Gao et al. 2006: pair p = (W^R, W) of one list, v = f_k(W^R) - f_k(W) the value difference,
q[p] = exp(-margin), a slot = all pairs with one (feature, value difference), S[slot] = the sum of their q.
Then ExpLoss(Upd(lambda, k, delta)) = loss - sum over the slots of k of S (1 - exp(-v delta)), in closed form.
"""

from __future__ import annotations

import numpy as np

from laconic.jit import kernel

MIXER = np.uint64(0x9E3779B97F4A7C15)
ROUNDING = (
    1e-11  # a fall of the loss below this share of it is noise: else a step and its reverse could alternate
)


@kernel
def find(table_keys, key):
    """Slot of ``key`` in an open-addressing table of 2^b int64 keys (empty = -1), or of the hole for it."""
    mask = table_keys.shape[0] - 1
    mixed = np.uint64(key) * MIXER
    place = np.int64((mixed ^ (mixed >> np.uint64(29))) & np.uint64(mask))
    while table_keys[place] != key and table_keys[place] != -1:
        place = (place + 1) & mask
    return place


@kernel
def rehash(old_keys, old_nodes, table_keys, table_nodes):
    """Move a hash table into an empty larger one."""
    for i in range(old_keys.shape[0]):
        if old_keys[i] != -1:
            place = find(table_keys, old_keys[i])
            table_keys[place] = old_keys[i]
            table_nodes[place] = old_nodes[i]


@kernel
def insert_grams(tokens, token_ptr, order, n_nodes, table_keys, table_nodes, counts, keys):
    """Enter all windows of up to ``order`` tokens of the padded candidates into the trie.

    A node is (parent, token), the root is node 0. ``counts[node]`` is how often it occurs, ``keys[node]`` its
    (parent, token). Returns the new number of nodes.
    """
    for c in range(token_ptr.shape[0] - 1):
        end = token_ptr[c + 1]
        for j in range(token_ptr[c], end):
            node = np.int64(0)
            for m in range(min(order, end - j)):
                key = (node << 32) | np.int64(tokens[j + m])
                place = find(table_keys, key)
                if table_keys[place] == -1:
                    table_keys[place] = key
                    table_nodes[place] = n_nodes
                    keys[n_nodes] = key
                    n_nodes += 1
                node = np.int64(table_nodes[place])
                counts[node] += 1
    return n_nodes


@kernel
def walk_grams(tokens, token_ptr, order, table_keys, table_nodes, node_feature, out_ptr, out_feature):
    """Features of each candidate, one entry per occurrence; an empty ``out_feature`` only counts."""
    n = np.int64(0)
    counting = out_feature.shape[0] == 0
    for c in range(token_ptr.shape[0] - 1):
        end = token_ptr[c + 1]
        for j in range(token_ptr[c], end):
            node = np.int64(0)
            for m in range(min(order, end - j)):
                if tokens[j + m] < 0:
                    break
                key = (node << 32) | np.int64(tokens[j + m])
                place = find(table_keys, key)
                if table_keys[place] == -1:
                    break
                node = np.int64(table_nodes[place])
                if node_feature[node] >= 0:
                    if not counting:
                        out_feature[n] = node_feature[node]
                    n += 1
        out_ptr[c + 1] = n


@kernel
def score_grams(tokens, token_ptr, order, table_keys, table_nodes, node_weight, out):
    """Add the weights of all n-grams of each candidate to ``out``."""
    for c in range(token_ptr.shape[0] - 1):
        end = token_ptr[c + 1]
        total = 0.0
        for j in range(token_ptr[c], end):
            node = np.int64(0)
            for m in range(min(order, end - j)):
                if tokens[j + m] < 0:
                    break
                key = (node << 32) | np.int64(tokens[j + m])
                place = find(table_keys, key)
                if table_keys[place] == -1:
                    break
                node = np.int64(table_nodes[place])
                total += node_weight[node]
        out[c] += total


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
