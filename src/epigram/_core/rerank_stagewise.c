/* The stagewise loop over the inverted index of pairs (Gao et al. 2006, Figures 1 and 2).
 *
 * ExpLoss(Upd(lambda, k, delta)) = loss - sum over the slots of k of S (1 - exp(-v delta)), in closed form.
 */
#include "rerank.h"

/* A smaller fall, relative to the loss, is noise: a step and its reverse would alternate. */
static const f64 ROUNDING = 1e-11;

i64 sizeof_Stagewise(void) { return sizeof(Stagewise); }

/* out[p] += sum of slot_move (weight times value difference) over the slots of p */
void rerank_pair_margins(i64 n_pairs, const i64 *pair_ptr, i64 n_entries, const i32 *pair_slot, i64 n_slots,
                         const f64 *slot_move, f64 *out) {
    (void)n_entries;
    (void)n_slots;
    for (i64 p = 0; p < n_pairs; p++) {
        f64 total = 0.0;
        for (i64 j = pair_ptr[p]; j < pair_ptr[p + 1]; j++) total += slot_move[pair_slot[j]];
        out[p] += total;
    }
}

/* S[slot] = sum of q over its pairs */
void rerank_slot_sums(i64 n_pairs, const i64 *pair_ptr, i64 n_entries, const i32 *pair_slot, const f64 *q, i64 n_slots,
                      f64 *out) {
    (void)n_entries;
    memset(out, 0, (size_t)n_slots * sizeof *out);
    for (i64 p = 0; p < n_pairs; p++)
        for (i64 j = pair_ptr[p]; j < pair_ptr[p + 1]; j++) out[pair_slot[j]] += q[p];
}

/* Newton's method with bisection for best_step, from delta on. */
static f64 newton_step(i64 first, i64 last, const f64 *slot_value, const f64 *S, f64 pad, f64 delta) {
    f64 low = -INFINITY, high = INFINITY;
    for (int turn = 0; turn < 100; turn++) {
        f64 slope = pad * (exp(delta) - exp(-delta)), curve = pad * (exp(delta) + exp(-delta));
        for (i64 s = first; s < last; s++) {
            f64 v = slot_value[s], e = v * larger(S[s], 0.0) * exp(-v * delta);
            slope -= e;
            curve += v * e;
        }
        if (slope > 0.0)
            high = delta;
        else
            low = delta;
        f64 move = curve > 0.0 ? -slope / curve : INFINITY;
        if (!(fabs(move) <= 2.0)) move = slope < 0.0 ? 2.0 : -2.0;
        if (fabs(move) <= 1e-13 * larger(1.0, fabs(delta))) return delta + move;
        delta = low < delta + move && delta + move < high ? delta + move : 0.5 * (low + high);
    }
    return delta;
}

/* argmin over delta of sum S exp(-v delta) + pad (exp(delta) + exp(-delta)); +-inf where it runs away.
 * Equation (7), and with pad = smoothing Z equation (16), which it equals for value differences of +-1. */
static f64 best_step(i64 first, i64 last, const f64 *slot_value, const f64 *S, f64 pad) {
    f64 up = pad, down = pad;
    u8 unit = 1;
    for (i64 s = first; s < last; s++) {
        if (slot_value[s] > 0.0)
            up += larger(S[s], 0.0);
        else
            down += larger(S[s], 0.0);
        unit = unit && fabs(slot_value[s]) == 1.0;
    }
    if (up == 0.0 && down == 0.0) return 0.0;
    if (down == 0.0) return INFINITY;
    if (up == 0.0) return -INFINITY;
    f64 delta = 0.5 * log(up / down);
    return unit ? delta : newton_step(first, last, slot_value, S, pad, delta);
}

/* By how much a move of delta (perhaps infinite) lowers the loss: sum of S (1 - exp(-v delta)). */
static f64 decrease(i64 first, i64 last, const f64 *slot_value, const f64 *S, f64 delta) {
    f64 total = 0.0;
    for (i64 s = first; s < last; s++) total += S[s] * -expm1(-slot_value[s] * delta);
    return total;
}

/* What choosing k promises: the better of +-search_step (equation 12) or its optimum (equation 7). */
static f64 gain_of(const Stagewise *m, i64 k) {
    i64 first = m->feature_slot[k], last = m->feature_slot[k + 1];
    const f64 *v = m->slot_value, *S = m->S;
    if (m->search_step < INFINITY) {
        f64 up = 0.0, down = 0.0;
        for (i64 s = first; s < last; s++) {
            up += S[s] * m->try_up[s];
            down += S[s] * m->try_down[s];
        }
        return larger(up, down);
    }
    if (last - first == 2 && v[first] == -1.0 && v[first + 1] == 1.0) {
        f64 root = sqrt(larger(S[first + 1], 0.0)) - sqrt(larger(S[first], 0.0));
        return root * root;
    }
    f64 delta = best_step(first, last, v, S, 0.0);
    if (!isinf(delta)) return decrease(first, last, v, S, delta);
    f64 total = 0.0;
    for (i64 s = first; s < last; s++) total += larger(S[s], 0.0);
    return total;
}

/* Whether feature a stands before b: the larger bound, then the smaller number. */
static inline u8 before(const Stagewise *m, i32 a, i32 b) {
    return m->bound[a] > m->bound[b] || (m->bound[a] == m->bound[b] && a < b);
}

/* Restores the heap after the bound of the feature at i grew. */
static void sift_up(const Stagewise *m, i64 i) {
    i32 k = m->heap[i];
    while (i > 0) {
        i64 parent = (i - 1) >> 1;
        i32 other = m->heap[parent];
        if (before(m, other, k)) break;
        m->heap[i] = other;
        m->place[other] = (i32)i;
        i = parent;
    }
    m->heap[i] = k;
    m->place[k] = (i32)i;
}

/* Restores the heap after the bound of the feature at i shrank. */
static void sift_down(const Stagewise *m, i64 i) {
    i32 k = m->heap[i];
    while (2 * i + 1 < m->n_weights) {
        i64 child = 2 * i + 1;
        if (child + 1 < m->n_weights && before(m, m->heap[child + 1], m->heap[child])) child++;
        i32 a = m->heap[child];
        if (before(m, k, a)) break;
        m->heap[i] = a;
        m->place[a] = (i32)i;
        i = child;
    }
    m->heap[i] = k;
    m->place[k] = (i32)i;
}

/* All sums, all gains from them, and the heap over these. */
void rerank_build_heap(const Stagewise *m) {
    rerank_slot_sums(m->n_pairs, m->pair_ptr, m->n_entries, m->pair_slot, m->q, m->n_slots, m->S);
    for (i64 k = 0; k < m->n_weights; k++) {
        m->bound[k] = m->gain[k] = gain_of(m, k);
        m->heap[k] = m->place[k] = (i32)k;
    }
    for (i64 i = m->n_weights / 2 - 1; i >= 0; i--) sift_down(m, i);
}

/* Equation (14) with steps that end at zero: the weight whose move towards 0 lowers LassoLoss most. Its place in
 * active; what it moves by, and by how much LassoLoss falls, to delta and fall. */
static i64 best_backward(const Stagewise *m, i64 n_active, f64 alpha, f64 *delta, f64 *best_fall) {
    i64 best = -1;
    *best_fall = -INFINITY;
    for (i64 a = 0; a < n_active; a++) {
        i32 k = m->active[a];
        i64 first = m->feature_slot[k], last = m->feature_slot[k + 1];
        f64 size = fabs(m->w[k]), fall;
        if (size >= m->step) {
            const f64 *change = m->w[k] > 0.0 ? m->try_down : m->try_up;
            size = m->step;
            fall = alpha * m->step;
            for (i64 s = first; s < last; s++) fall += m->S[s] * change[s];
        } else {
            fall = alpha * size + decrease(first, last, m->slot_value, m->S, -m->w[k]);
        }
        if (fall > *best_fall || (best >= 0 && fall == *best_fall && k < m->active[best])) {
            *best_fall = fall;
            *delta = m->w[k] > 0.0 ? -size : size;
            best = a;
        }
    }
    return best;
}

/* The feature of the highest gain, to the top of the heap. */
static i32 best_forward(const Stagewise *m) {
    while (m->bound[m->heap[0]] > m->gain[m->heap[0]]) {
        m->bound[m->heap[0]] = m->gain[m->heap[0]];
        sift_down(m, 0);
    }
    return m->heap[0];
}

/* Moves weight k: only pairs with k change q, only their slots change S. Lists the features of these in dirty, and
 * returns how many. */
static i64 move_weight(const Stagewise *m, i32 k, f64 delta, i64 now) {
    i64 n_dirty = 0;
    for (i64 s = m->feature_slot[k]; s < m->feature_slot[k + 1]; s++) {
        f64 factor = expm1(-m->slot_value[s] * delta);
        for (i64 e = m->slot_ptr[s]; e < m->slot_ptr[s + 1]; e++) {
            i32 p = m->slot_pair[e];
            f64 change = m->q[p] * factor;
            m->q[p] += change;
            for (i64 j = m->pair_ptr[p]; j < m->pair_ptr[p + 1]; j++) {
                i32 t = m->pair_slot[j], other = m->slot_feature[t];
                m->S[t] += change;
                if (m->stamp[other] != now) {
                    m->stamp[other] = now;
                    m->dirty[n_dirty++] = other;
                }
            }
        }
    }
    return n_dirty;
}

/* Gains of the features that a move has touched; those that grew rise in the heap. */
static void renew_gains(const Stagewise *m, i64 n_dirty) {
    for (i64 d = 0; d < n_dirty; d++) {
        i32 k = m->dirty[d];
        m->gain[k] = gain_of(m, k);
        if (m->gain[k] > m->bound[k]) {
            m->bound[k] = m->gain[k];
            sift_up(m, m->place[k]);
        }
    }
}

/* w[k] += delta, and whether k is among the weights other than zero; returns their number. */
static i64 change_weight(const Stagewise *m, i32 k, f64 delta, i64 n_active) {
    if (m->w[k] == 0.0) {
        m->active[n_active] = k;
        m->where[k] = (i32)n_active++;
    }
    m->w[k] += delta;
    if (m->w[k] == 0.0) {
        i32 last = m->active[--n_active];
        m->active[m->where[k]] = last;
        m->where[last] = m->where[k];
    }
    return n_active;
}

/* Everything from q again, so that rounding does not pile up. */
static void refresh_sums(const Stagewise *m) {
    f64 loss = 0.0;
    for (i64 p = 0; p < m->n_pairs; p++) loss += m->q[p];
    m->state[0] = loss;
    rerank_build_heap(m);
}

/* Figures 1 and 2: up to n_steps forward and backward steps. Returns how many were taken. */
i64 rerank_stagewise(const Stagewise *m, i64 n_steps, i64 done, i64 refresh, i32 *out_feature, f64 *out_delta,
                     f64 *out_loss, f64 *out_alpha) {
    for (i64 t = 0; t < n_steps; t++) {
        if ((done + t) % refresh == 0) refresh_sums(m);
        f64 loss = m->state[0], alpha = m->state[1], delta = 0.0, fall;
        i64 n_active = (i64)m->state[2];
        i32 k = -1;
        if (n_active > 0 && m->theta < loss + alpha * m->step) {
            i64 a = best_backward(m, n_active, alpha, &delta, &fall);
            if (fall > m->theta + ROUNDING * loss) k = m->active[a];
        }
        u8 backward = k >= 0;
        if (!backward) {
            k = best_forward(m);
            if (!(m->gain[k] > ROUNDING * loss)) return t;
            delta = m->shrinkage *
                    best_step(m->feature_slot[k], m->feature_slot[k + 1], m->slot_value, m->S, m->smoothing * loss);
            delta = smaller(larger(delta, -m->step), m->step);
        }
        if (fabs(m->w[k] + delta) < 1e-9 * fabs(delta)) delta = -m->w[k];
        fall = decrease(m->feature_slot[k], m->feature_slot[k + 1], m->slot_value, m->S, delta);
        renew_gains(m, move_weight(m, k, delta, done + t + 1));
        m->state[0] = loss - fall;
        if (!backward) m->state[1] = smaller(alpha, fall / fabs(delta));
        m->state[2] = (f64)change_weight(m, k, delta, n_active);
        out_feature[t] = k;
        out_delta[t] = delta;
        out_loss[t] = m->state[0];
        out_alpha[t] = m->state[1];
    }
    return n_steps;
}
