#include "arc_loss.h"

#include "arc_loss_inline.h"

i64 sizeof_ArcCorpus(void) { return sizeof(ArcCorpus); }
i64 sizeof_ArcScratch(void) { return sizeof(ArcScratch); }

/* Weighted loss of sentence s; x->marginals become its derivatives by the scores. */
static f64 sentence_loss_of_arcs(const ArcCorpus *a, i64 s, const f64 *w, i64 stride, Spans *spans, ArcScratch *x) {
    i64 at = a->sentence_ptr[s], n = a->sentence_ptr[s + 1] - at;
    if (!n) return 0.0;
    f64 weight = a->weights[s];
    score_arcs(a, s, w, stride, x->scores);
    f64 loss = eisner_marginals(n, x->scores, spans, x->marginals);
    for (i64 k = 0; k < n * (n + 1); k++) x->marginals[k] *= weight;
    for (i64 c = 0; c < n; c++) {
        i64 arc = a->heads[at + c] * n + c;
        loss -= x->scores[arc];
        x->marginals[arc] -= weight;
    }
    return weight * loss;
}

f64 arc_loss_gradient(const ArcCorpus *a, i64 n, const i32 *sentences, i64 n_weights, const f64 *w, Spans *spans,
                      ArcScratch *x, f64 *out) {
    (void)n_weights;
    f64 loss = 0.0;
    for (i64 k = 0; k < n; k++) {
        i64 s = sentences[k], first = a->first_arc[s];
        loss += sentence_loss_of_arcs(a, s, w, 1, spans, x);
        for (i64 arc = first; arc < a->first_arc[s + 1]; arc++) {
            f64 g = x->marginals[arc - first];
            if (g == 0.0) continue;
            for (i64 o = a->arc_ptr[arc]; o < a->arc_ptr[arc + 1]; o++) out[a->features[o]] += g;
        }
    }
    return loss;
}

f64 arc_loss_cumulative(const ArcCorpus *a, i64 n, const i32 *order, const f64 *rates, const f64 *totals, i64 n_weights,
                        f64 *wq, Spans *spans, ArcScratch *x) {
    (void)n_weights;
    f64 loss = 0.0;
    for (i64 k = 0; k < n; k++) {
        i64 s = order[k], first = a->first_arc[s], last = a->first_arc[s + 1];
        loss += sentence_loss_of_arcs(a, s, wq, 2, spans, x);
        for (i64 arc = first; arc < last; arc++) {
            f64 g = x->marginals[arc - first];
            if (fabs(g) < STILL) continue;
            for (i64 o = a->arc_ptr[arc]; o < a->arc_ptr[arc + 1]; o++) wq[2 * a->features[o]] -= rates[k] * g;
        }
        for (i64 o = a->arc_ptr[first]; o < a->arc_ptr[last]; o++) penalise(wq + 2 * a->features[o], totals[k + 1]);
    }
    return loss;
}

void arc_loss_heads(const ArcCorpus *a, i64 n_weights, const f64 *w, Spans *spans, ArcScratch *x, i64 n_tokens,
                    i32 *heads) {
    (void)n_weights, (void)n_tokens;
    for (i64 s = 0; s < a->n_sentences; s++) {
        i64 at = a->sentence_ptr[s];
        score_arcs(a, s, w, 1, x->scores);
        eisner_best(a->sentence_ptr[s + 1] - at, x->scores, spans, heads + at);
    }
}
