/* Walks over lists and candidates: best of each, value differences, perceptron passes, paths followed step by step. */
#include "rerank.h"

i64 sizeof_Replay(void) { return sizeof(Replay); }

/* The first of the best candidates of list i. */
static inline i64 winner_of(const i64 *list_ptr, i64 i, const f64 *scores) {
    i64 best = list_ptr[i];
    for (i64 c = best + 1; c < list_ptr[i + 1]; c++)
        if (scores[c] > scores[best]) best = c;
    return best;
}

/* Index within its list of the best candidate; the first of equals. */
void rerank_best_of_lists(i64 n, const i64 *list_ptr, i64 n_candidates, const f64 *scores, i64 *out) {
    (void)n_candidates;
    for (i64 i = 0; i < n; i++) out[i] = winner_of(list_ptr, i, scores) - list_ptr[i];
}

/* Value differences f_k(W^R) - f_k(W) of all pairs, in candidate order; no room only counts. */
void rerank_differences(i64 n, const i64 *list_ptr, const i64 *oracle, i64 n_candidates, const i64 *feat_ptr, i64 n_entries,
                        const i32 *feats, const f64 *values, i64 n_weights, f64 *scratch, i64 longest, i32 *touched,
                        i64 *pair_ptr, i64 room, i32 *out_feat, f64 *out_value) {
    (void)n_candidates;
    (void)n_entries;
    (void)n_weights;
    (void)longest;
    i64 count = 0, p = 0;
    for (i64 i = 0; i < n; i++) {
        i64 r = oracle[i];
        for (i64 c = list_ptr[i]; c < list_ptr[i + 1]; c++) {
            if (c == r) continue;
            i64 n_touched = 0;
            for (i64 j = feat_ptr[r]; j < feat_ptr[r + 1]; j++) {
                scratch[feats[j]] += values[j];
                touched[n_touched++] = feats[j];
            }
            for (i64 j = feat_ptr[c]; j < feat_ptr[c + 1]; j++) {
                scratch[feats[j]] -= values[j];
                touched[n_touched++] = feats[j];
            }
            for (i64 j = 0; j < n_touched; j++) {
                i32 k = touched[j];
                if (scratch[k] == 0.0) continue;
                if (room > 0) {
                    out_feat[count] = k;
                    out_value[count] = scratch[k];
                }
                count++;
                scratch[k] = 0.0;
            }
            pair_ptr[++p] = count;
        }
    }
}

/* Stable: out is order sorted by its codes; next_place holds where each code starts. */
void rerank_counting_sort(i64 n, i64 n_codes, const i32 *codes, const i32 *order, i64 *next_place, i32 *out) {
    (void)n_codes;
    for (i64 j = 0; j < n; j++) out[next_place[codes[order[j]]]++] = order[j];
}

/* One pass: where a rival scores at least as high as W^R, w += f(W^R) - f(rival). Returns the clock.
 * u sums each change times its time, so that the average is w - u / clock (Collins 2002; Daume 2006). */
f64 rerank_perceptron_pass(i64 n_lists, const i64 *order, const i64 *list_pair, i64 n_pairs, const i64 *pair_ptr,
                           i64 n_entries, const i32 *pair_slot, i64 n_slots, const i32 *slot_feature,
                           const f64 *slot_value, const f64 *base, f64 clock, i64 n_weights, f64 *w, f64 *u) {
    (void)n_pairs;
    (void)n_entries;
    (void)n_slots;
    (void)n_weights;
    for (i64 t = 0; t < n_lists; t++) {
        i64 i = order[t], worst = -1;
        f64 least = 0.0;
        for (i64 p = list_pair[i]; p < list_pair[i + 1]; p++) {
            f64 margin = base[p];
            for (i64 j = pair_ptr[p]; j < pair_ptr[p + 1]; j++)
                margin += w[slot_feature[pair_slot[j]]] * slot_value[pair_slot[j]];
            if (margin < least || (margin == least && worst < 0)) {
                least = margin;
                worst = p;
            }
        }
        if (worst >= 0) {
            for (i64 j = pair_ptr[worst]; j < pair_ptr[worst + 1]; j++) {
                i32 k = slot_feature[pair_slot[j]];
                w[k] += slot_value[pair_slot[j]];
                u[k] += clock * slot_value[pair_slot[j]];
            }
        }
        clock += 1.0;
    }
    return clock;
}

/* One change of a weight: its costs, the scores of the candidates that hold its feature, and their lists. */
static i64 apply_change(const Replay *r, i32 k, f64 delta, i64 now, i64 n_touched) {
    r->costs[0] -= fabs(r->w[k]);
    r->costs[1] -= r->w[k] != 0.0;
    r->w[k] += delta;
    r->costs[0] += fabs(r->w[k]);
    r->costs[1] += r->w[k] != 0.0;
    for (i64 e = r->use_ptr[k]; e < r->use_ptr[k + 1]; e++) {
        i32 c = r->use_candidate[e], i = r->list_of[c];
        r->scores[c] += delta * r->use_value[e];
        if (r->stamp[i] != now) {
            r->stamp[i] = now;
            r->touched[n_touched++] = i;
        }
    }
    return n_touched;
}

/* Follows a path: L1 norm, non-zero weights and, on other lists, errors after every step. Returns the last stamp. */
i64 rerank_replay(const Replay *r, i64 n_steps, const i64 *step_ptr, i64 n_changes, const i32 *features, const f64 *deltas,
                  i64 now, f64 *out_l1, i64 *out_nonzero, f64 *out_errors) {
    (void)n_changes;
    for (i64 t = 0; t < n_steps; t++) {
        i64 n_touched = 0;
        now++;
        for (i64 j = step_ptr[t]; j < step_ptr[t + 1]; j++)
            n_touched = apply_change(r, features[j], deltas[j], now, n_touched);
        for (i64 j = 0; j < n_touched; j++) {
            i32 i = r->touched[j];
            i64 winner = winner_of(r->list_ptr, i, r->scores);
            r->costs[2] += r->errors[winner] - r->errors[r->best[i]];
            r->best[i] = winner;
        }
        out_l1[t] = r->costs[0];
        out_nonzero[t] = (i64)r->costs[1];
        out_errors[t] = r->costs[2];
    }
    return now;
}
