#include "arc_loss.h"

#include "arc_loss_inline.h"

i64 sizeof_PartCorpus(void) { return sizeof(PartCorpus); }
i64 sizeof_PartScratch(void) { return sizeof(PartScratch); }

i64 arc_loss_distinct(i64 n, const i32 *ids, i64 n_weights, i32 *places, i32 *rows) {
    (void)n_weights;
    i64 found = 0;
    for (i64 o = 0; o < n; o++) {
        if (o + PREFETCHED < n) __builtin_prefetch(places + ids[o + PREFETCHED], 1);
        if (places[ids[o]] < 0) places[ids[o]] = 0, rows[found++] = ids[o];
    }
    for (i64 k = 0; k < found; k++) places[rows[k]] = -1;
    return found;
}

void arc_loss_number(i64 n, i32 *ids, i64 n_rows, const i32 *rows, i64 n_weights, i32 *places) {
    (void)n_weights;
    for (i64 k = 0; k < n_rows; k++) places[rows[k]] = (i32)k;
    for (i64 o = 0; o < n; o++) {
        if (o + PREFETCHED < n) __builtin_prefetch(places + ids[o + PREFETCHED]);
        ids[o] = places[ids[o]];
    }
    for (i64 k = 0; k < n_rows; k++) places[rows[k]] = -1;
}

/* Weighted loss of sentence s, and its derivatives by the scores of arcs. */
static f64 sentence_loss_of_arcs(const PartCorpus *a, i64 s, const f64 *w, i64 stride, Spans *spans, PartScratch *x) {
    i64 at = a->sentence_ptr[s], n = a->sentence_ptr[s + 1] - at;
    if (!n) return 0.0;
    f64 weight = a->weights[s];
    score_parts(a, s, w, stride, x);
    f64 loss = eisner_marginals(n, x->scores, spans, x->derivatives);
    for (i64 k = 0; k < n * (n + 1); k++) x->derivatives[k] *= weight;
    for (i64 c = 0; c < n; c++) {
        i64 arc = a->heads[at + c] * n + c;
        loss -= x->scores[arc];
        x->derivatives[arc] -= weight;
    }
    return weight * loss;
}

f64 arc_loss_gradient(const PartCorpus *a, i64 n, const i32 *sentences, i64 n_weights, const f64 *w, Spans *spans,
                      PartScratch *x, f64 *out) {
    (void)n_weights;
    f64 loss = 0.0;
    for (i64 k = 0; k < n; k++) {
        loss += sentence_loss_of_arcs(a, sentences[k], w, 1, spans, x);
        add_gradient(a, sentences[k], x, out);
    }
    return loss;
}

f64 arc_loss_cumulative(const PartCorpus *a, i64 n, const i32 *order, const f64 *rates, const f64 *totals,
                        i64 n_weights, f64 *wq, Spans *spans, PartScratch *x) {
    (void)n_weights;
    f64 loss = 0.0;
    for (i64 k = 0; k < n; k++) {
        loss += sentence_loss_of_arcs(a, order[k], wq, 2, spans, x);
        step_weights(a, order[k], rates[k], totals[k + 1], x, wq);
    }
    return loss;
}

void arc_loss_heads(const PartCorpus *a, i64 n_weights, const f64 *w, Spans *spans, PartScratch *x, i64 n_tokens,
                    i32 *heads) {
    (void)n_weights, (void)n_tokens;
    for (i64 s = 0; s < a->n_sentences; s++) {
        i64 at = a->sentence_ptr[s];
        score_parts(a, s, w, 1, x);
        eisner_best(a->sentence_ptr[s + 1] - at, x->scores, spans, heads + at);
    }
}
