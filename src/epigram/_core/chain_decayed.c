#include "chain_decayed.h"

#include "chain_step.h"

/* w -= gain * gradient for the rows of sentence s, whose score gradient is in `scores`. */
static void descend_scores(const Chains *a, const Layout *l, i64 s, f64 gain, const f64 *scores, f64 *w) {
    i64 first = a->sentence_ptr[s], width = l->width;
    const i32 *rows = a->rows + a->rows_ptr[s];
    for (i64 t = first; t < a->sentence_ptr[s + 1]; t++) {
        const f64 *restrict row = scores + (t - first) * width;
        for (i64 k = a->attribute_ptr[t]; k < a->attribute_ptr[t + 1]; k++) {
            i64 p = rows[a->local[k]];
            f64 rate = gain * a->values[k * a->value_stride], *restrict to = w + p;
            if (p < l->dense_end) {
                const u8 *restrict free = l->free + p;
                for (i64 j = 0; j < width; j++) to[j] -= rate * row[j] * free[j];
            } else {
                for (i64 m = 0; m < l->codes[p] >> 16; m++) to[m] -= rate * row[l->codes[p + m] & 0xFFFF];
            }
        }
    }
}

f64 chain_decayed_steps(const Chains *a, const Layout *l, i64 n_order, const i32 *order, i64 n_tokens, const i32 *labels,
                       i64 n_sentences, const f64 *weights, f64 strength, f64 first, i64 n_weights, f64 *w, Scratch *x,
                       i64 n_edges, f64 *edge_w, f64 *edge_g) {
    (void)n_tokens, (void)n_sentences;
    f64 loss = 0.0, decay = 1.0;
    if (!(first > 1.0)) return NAN;
    for (i64 k = 0; k < n_order; k++) {
        i64 s = order[k], base = l->state_end, n = a->sentence_ptr[s + 1] - a->sentence_ptr[s];
        f64 t = first + (f64)k;
        decay *= 1.0 - 1.0 / t;
        f64 gain = 1.0 / (strength * t * decay);
        score_tokens(a, l, s, w, x->scores);
        for (i64 j = 0; j < n * l->width; j++) x->scores[j] *= decay;
        for (i64 j = 0; j < n_edges; j++) edge_w[j] = decay * w[base + j], edge_g[j] = 0.0;
        if (l->has_transitions) exp_transitions(l, edge_w, x);
        loss += scored_loss(a, l, s, labels, weights[s], edge_w, x, edge_g);
        descend_scores(a, l, s, gain, x->scores, w);
        for (i64 j = 0; j < n_edges; j++) w[base + j] -= gain * edge_g[j] * l->free[base + j];
    }
    for (i64 i = 0; i < n_weights; i++) w[i] *= decay;
    return loss;
}
