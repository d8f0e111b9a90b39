#include "chain_margin.h"

i64 sizeof_MarginPass(void) { return sizeof(MarginPass); }

/* Add to the difference of weight i, if it is part of the model; returns the number of weights touched. */
static inline i64 touch(const Layout *l, const MarginPass *plan, i64 i, f64 amount, i64 n) {
    if (!l->free[i]) return n;
    plan->touched[n] = i;
    n += !plan->seen[i];
    plan->seen[i] = 1;
    plan->delta[i] += amount;
    return n;
}

/* The same for the weight of a label in the row that starts at p. */
static inline i64 touch_label(const Layout *l, const MarginPass *plan, i64 p, i64 label, f64 amount, i64 n) {
    if (p < l->dense_end) return touch(l, plan, p + label, amount, n);
    for (i64 m = p, past = p + (l->codes[p] >> 16); m < past; m++) {
        if ((l->codes[m] & 0xFFFF) == label) return touch(l, plan, m, amount, n);
    }
    return n;
}

/* The same for the weights of a label pair into token t. */
static i64 touch_pair(const Chains *a, const Layout *l, const MarginPass *plan, i64 t, i64 pair, f64 amount, i64 n) {
    i64 base = l->state_end + l->n_labels * l->width;
    n = touch(l, plan, l->state_end + pair, amount, n);
    if (!a->n_edge_occurrences) return n;
    for (i64 k = a->edge_ptr[t]; k < a->edge_ptr[t + 1]; k++) {
        i64 e = a->edge_attributes[k];
        for (i64 m = l->edge_row_ptr[e]; m < l->edge_row_ptr[e + 1]; m++) {
            if (l->edge_pair[m] == pair) n = touch(l, plan, base + m, amount, n);
        }
    }
    return n;
}

/* D of sentence s; returns the number of its weights. */
static i64 collect(const Chains *a, const Layout *l, const MarginPass *plan, i64 s) {
    const i32 *rows = a->rows + a->rows_ptr[s], *right = plan->labels, *best = plan->best;
    i64 n = 0, first = a->sentence_ptr[s];
    for (i64 t = first; t < a->sentence_ptr[s + 1]; t++) {
        if (right[t] != best[t]) {
            for (i64 k = a->attribute_ptr[t]; k < a->attribute_ptr[t + 1]; k++) {
                f64 v = a->values[k * a->value_stride];
                n = touch_label(l, plan, rows[a->local[k]], right[t], v, n);
                n = touch_label(l, plan, rows[a->local[k]], best[t], -v, n);
            }
        }
        i64 before = token_before(a, first, t);
        if (before < first || !l->has_transitions) continue;
        i64 wanted = right[before] * l->width + right[t], found = best[before] * l->width + best[t];
        if (wanted == found) continue;
        n = touch_pair(a, l, plan, t, wanted, 1.0, n);
        n = touch_pair(a, l, plan, t, found, -1.0, n);
    }
    return n;
}

/* Label sentence s by w; returns the number of wrong labels. */
static i64 mistakes(const Chains *a, const Layout *l, const MarginPass *plan, i64 s, const f64 *w, const Scratch *x) {
    i32 sentence = (i32)s;
    i64 wrong = 0;
    decoding_viterbi(a, l, 1, &sentence, plan->n_weights, w, 0, NULL, x, plan->n_tokens, plan->best);
    for (i64 t = a->sentence_ptr[s]; t < a->sentence_ptr[s + 1]; t++) wrong += plan->labels[t] != plan->best[t];
    return wrong;
}

/* Move the weights along D and forget it. */
static void move_weights(const MarginPass *plan, i64 n, f64 rate, f64 step, f64 *w, f64 *sums) {
    for (i64 k = 0; k < n; k++) {
        i64 i = plan->touched[k];
        f64 amount = rate * plan->delta[i];
        w[i] += amount;
        sums[i] += step * amount;
        plan->delta[i] = 0.0;
        plan->seen[i] = 0;
    }
}

f64 chain_margin_perceptron(const Chains *a, const Layout *l, MarginPass *plan, f64 step, i64 n_weights, f64 *w,
                            f64 *sums, const Scratch *x) {
    (void)n_weights;
    f64 loss = 0.0;
    for (i64 k = 0; k < plan->n_order; k++, step += 1.0) {
        i64 s = plan->order[k], wrong = mistakes(a, l, plan, s, w, x);
        if (!wrong) continue;
        move_weights(plan, collect(a, l, plan, s), plan->weights[s], step, w, sums);
        loss += plan->weights[s] * (f64)wrong / (f64)(a->sentence_ptr[s + 1] - a->sentence_ptr[s]);
    }
    return loss;
}

f64 chain_margin_passive(const Chains *a, const Layout *l, MarginPass *plan, f64 step, i64 kind, f64 c, u8 by_errors,
                         i64 n_weights, f64 *w, f64 *sums, const Scratch *x) {
    (void)n_weights;
    f64 loss = 0.0;
    for (i64 k = 0; k < plan->n_order; k++, step += 1.0) {
        i64 s = plan->order[k], wrong = mistakes(a, l, plan, s, w, x);
        if (!wrong) continue;
        i64 n = collect(a, l, plan, s);
        f64 cost = by_errors ? sqrt((f64)wrong) : 1.0, norm = kind == 2 ? 0.5 / c : 0.0;
        for (i64 m = 0; m < n; m++) {
            f64 d = plan->delta[plan->touched[m]];
            cost -= w[plan->touched[m]] * d;
            norm += d * d;
        }
        f64 rate = norm > 0.0 ? cost / norm : 0.0; /* labels that share all their features cannot be told apart */
        if (kind == 1) rate = smaller(rate, c);
        move_weights(plan, n, rate * plan->weights[s], step, w, sums);
        loss += cost * plan->weights[s];
    }
    return loss;
}

f64 chain_margin_arow(const Chains *a, const Layout *l, MarginPass *plan, f64 gamma, i64 n_weights, f64 *w,
                      f64 *variances, const Scratch *x) {
    (void)n_weights;
    f64 loss = 0.0;
    for (i64 k = 0; k < plan->n_order; k++) {
        i64 s = plan->order[k], wrong = mistakes(a, l, plan, s, w, x);
        if (!wrong) continue;
        i64 n = collect(a, l, plan, s);
        f64 cost = (f64)wrong, norm = gamma;
        for (i64 m = 0; m < n; m++) {
            i64 i = plan->touched[m];
            cost -= w[i] * plan->delta[i];
            norm += variances[i] * plan->delta[i] * plan->delta[i];
        }
        f64 rate = plan->weights[s] * cost / norm;
        for (i64 m = 0; m < n; m++) {
            i64 i = plan->touched[m];
            f64 d = plan->delta[i];
            w[i] += rate * variances[i] * d;
            variances[i] = 1.0 / (1.0 / variances[i] + d * d / gamma);
            plan->delta[i] = 0.0;
            plan->seen[i] = 0;
        }
        loss += cost * plan->weights[s];
    }
    return loss;
}
