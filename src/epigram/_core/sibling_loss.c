#include "sibling_loss.h"

#include "arc_loss_inline.h"
#include "sibling_rows.h"

i64 sizeof_SiblingTable(void) { return sizeof(SiblingTable); }
i64 sizeof_SiblingScratch(void) { return sizeof(SiblingScratch); }

/* What a sentence is scored with. */
typedef struct {
    const ArcCorpus *corpus;
    const ArcTemplates *templates;
    const ArcWords *words;
    const SiblingTable *table;
    SiblingMemory *memory;
    SiblingSpans *spans;
    ArcScratch *arcs;
    SiblingScratch *parts;
} Problem;

/* Scores of arcs, stops and trios of sentence s, which has n words; weights are `stride` numbers apart. */
static void score_sentence(const Problem *p, i64 s, i64 n, const f64 *w, i64 stride) {
    SiblingScratch *x = p->parts;
    i64 n_parts = count_pairs(n) + count_stops(n) + count_trios(n), *ptr = x->ptr;
    score_arcs(p->corpus, s, w, stride, p->arcs->scores);
    sibling_features_encode(p->templates, p->words, p->memory, s, p->table->n_slots, p->table->slots, n_parts, ptr,
                            x->room, x->ids);
    for (i64 part = 0; part < n_parts; part++) {
        f64 sum = 0.0;
        for (i64 o = ptr[part]; o < ptr[part + 1]; o++) sum += w[x->ids[o] * stride];
        x->values[part] = sum;
    }
    f64 *stops = x->values + count_pairs(n), *trios = stops + count_stops(n);
    add_pairs(n, x->values, trios, stops);
}

/* The places of a tree's stops and trios among the values; returns their number. */
static i64 gold_parts(i64 n, const i32 *heads, i64 *gold) {
    i64 found = 0, stops = count_pairs(n), trios = stops + count_stops(n);
    for (i64 h = 0; h < n; h++) {
        i64 q = h;
        for (i64 c = h - 1; c >= 0; c--) {
            if (heads[c] - 1 != h) continue;
            gold[found++] = trios + trio_row(n, h, c) + q - c - 1;
            q = c;
        }
        gold[found++] = q == h ? stops + n * n + h : stops + h * n + q;
        q = h;
        for (i64 c = h + 1; c < n; c++) {
            if (heads[c] - 1 != h) continue;
            gold[found++] = trios + trio_row(n, h, c) + q - h;
            q = c;
        }
        gold[found++] = stops + h * n + q;
    }
    return found;
}

/* Weighted loss of sentence s; marginals of arcs and values of parts become its derivatives by the scores. */
static f64 sentence_loss_of_parts(const Problem *p, i64 s, const f64 *w, i64 stride) {
    const ArcCorpus *a = p->corpus;
    i64 at = a->sentence_ptr[s], n = a->sentence_ptr[s + 1] - at;
    if (!n) return 0.0;
    f64 weight = a->weights[s], loss = 0.0, *values = p->parts->values, *marginals = p->arcs->marginals;
    score_sentence(p, s, n, w, stride);
    i64 n_gold = gold_parts(n, a->heads + at, p->parts->gold), n_trios = count_trios(n);
    for (i64 k = 0; k < n_gold; k++) loss -= values[p->parts->gold[k]];
    for (i64 c = 0; c < n; c++) loss -= p->arcs->scores[a->heads[at + c] * n + c];
    f64 *stops = values + count_pairs(n), *trios = stops + count_stops(n);
    loss += siblings_marginals(n, p->arcs->scores, n_trios, trios, stops, p->spans, marginals);
    for (i64 k = 0; k < n_gold; k++) values[p->parts->gold[k]] -= 1.0;
    for (i64 c = 0; c < n; c++) marginals[a->heads[at + c] * n + c] -= 1.0;
    collect_pairs(n, trios, stops, values);
    return weight * loss;
}

f64 sibling_loss_gradient(const ArcCorpus *a, const ArcTemplates *templates, const ArcWords *words,
                          const SiblingTable *table, i64 n, const i32 *sentences, i64 n_weights, const f64 *w,
                          SiblingMemory *memory, SiblingSpans *spans, ArcScratch *arcs, SiblingScratch *x, f64 *out) {
    (void)n_weights;
    Problem p = {a, templates, words, table, memory, spans, arcs, x};
    f64 loss = 0.0;
    for (i64 k = 0; k < n; k++) {
        i64 s = sentences[k], first = a->first_arc[s], length = a->sentence_ptr[s + 1] - a->sentence_ptr[s];
        if (!length) continue;
        loss += sentence_loss_of_parts(&p, s, w, 1);
        for (i64 arc = first; arc < a->first_arc[s + 1]; arc++) {
            f64 g = a->weights[s] * arcs->marginals[arc - first];
            if (g == 0.0) continue;
            for (i64 o = a->arc_ptr[arc]; o < a->arc_ptr[arc + 1]; o++) out[a->features[o]] += g;
        }
        i64 n_parts = count_pairs(length) + count_stops(length) + count_trios(length);
        for (i64 part = 0; part < n_parts; part++) {
            f64 g = a->weights[s] * x->values[part];
            for (i64 o = x->ptr[part]; o < x->ptr[part + 1]; o++) out[x->ids[o]] += g;
        }
    }
    return loss;
}

/* Move the weights of features against a derivative. */
static inline void step(f64 *wq, i64 n, const i32 *ids, f64 by) {
    if (fabs(by) < STILL) return;
    for (i64 o = 0; o < n; o++) wq[2 * ids[o]] -= by;
}

f64 sibling_loss_cumulative(const ArcCorpus *a, const ArcTemplates *templates, const ArcWords *words,
                            const SiblingTable *table, i64 n, const i32 *order, const f64 *rates, const f64 *totals,
                            i64 n_weights, f64 *wq, SiblingMemory *memory, SiblingSpans *spans, ArcScratch *arcs,
                            SiblingScratch *x) {
    (void)n_weights;
    Problem p = {a, templates, words, table, memory, spans, arcs, x};
    f64 loss = 0.0;
    for (i64 k = 0; k < n; k++) {
        i64 s = order[k], first = a->first_arc[s], last = a->first_arc[s + 1];
        i64 length = a->sentence_ptr[s + 1] - a->sentence_ptr[s];
        if (!length) continue;
        loss += sentence_loss_of_parts(&p, s, wq, 2);
        f64 rate = rates[k] * a->weights[s];
        for (i64 arc = first; arc < last; arc++) {
            i64 o = a->arc_ptr[arc];
            step(wq, a->arc_ptr[arc + 1] - o, a->features + o, rate * arcs->marginals[arc - first]);
        }
        i64 n_parts = count_pairs(length) + count_stops(length) + count_trios(length);
        for (i64 part = 0; part < n_parts; part++) {
            step(wq, x->ptr[part + 1] - x->ptr[part], x->ids + x->ptr[part], rate * x->values[part]);
        }
        for (i64 o = a->arc_ptr[first]; o < a->arc_ptr[last]; o++) penalise(wq + 2 * a->features[o], totals[k + 1]);
        for (i64 o = 0; o < x->ptr[n_parts]; o++) penalise(wq + 2 * x->ids[o], totals[k + 1]);
    }
    return loss;
}

void sibling_loss_heads(const ArcCorpus *a, const ArcTemplates *templates, const ArcWords *words, const SiblingTable *table,
                        i64 n_weights, const f64 *w, SiblingMemory *memory, SiblingSpans *spans, ArcScratch *arcs,
                        SiblingScratch *x, i64 n_tokens, i32 *heads) {
    (void)n_weights, (void)n_tokens;
    Problem p = {a, templates, words, table, memory, spans, arcs, x};
    for (i64 s = 0; s < a->n_sentences; s++) {
        i64 at = a->sentence_ptr[s], n = a->sentence_ptr[s + 1] - at;
        if (!n) continue;
        score_sentence(&p, s, n, w, 1);
        f64 *stops = x->values + count_pairs(n);
        siblings_best(n, arcs->scores, count_trios(n), stops + count_stops(n), stops, spans, heads + at);
    }
}
