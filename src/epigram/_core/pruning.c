#include "pruning.h"

#include "eisner_inline.h"

enum { MOST_HEADS = 16 };

/* The least probability that keeps a head of word c: below it are all but the likely ones and the first MOST_HEADS. */
static f64 least_of(i64 n, const f64 *p, i64 c, f64 share) {
    f64 top[MOST_HEADS];
    i64 found = 0;
    for (i64 h = 0; h <= n; h++) {
        f64 own = p[h * n + c];
        if (found == MOST_HEADS && own <= top[found - 1]) continue;
        i64 k = found < MOST_HEADS ? found++ : found - 1;
        for (; k > 0 && top[k - 1] < own; k--) top[k] = top[k - 1];
        top[k] = own;
    }
    return n > MOST_HEADS ? larger(share * top[0], top[MOST_HEADS - 1]) : share * top[0];
}

void pruning_keep(const ArcTemplates *t, const ArcWords *a, const ArcTable *weights, ArcMemory *m, Spans *spans,
                  i64 n_chosen, const i32 *sentences, i64 n_sentences, const i64 *first_arc, i64 n_arcs,
                  const u8 *permitted, f64 share, i64 n_scores, f64 *scores, i64 n_words, i32 *best, u8 *keep) {
    (void)n_sentences, (void)n_arcs, (void)n_words;
    f64 *p = scores + n_scores / 2;
    for (i64 k = 0; k < n_chosen; k++) {
        i64 s = sentences[k], n = a->sentence_ptr[s + 1] - a->sentence_ptr[s], size = n * (n + 1);
        const u8 *own = permitted + first_arc[s];
        u8 *kept = keep + first_arc[s];
        memset(kept, 0, (size_t)size);
        if (!n) continue;
        arcs_scores(t, a, m, s, weights, size, own, scores);
        for (i64 e = 0; e < size; e++) scores[e] = own[e] ? scores[e] : NEVER;
        if (eisner_best(n, scores, spans, best) < NEVER / 2) continue;
        eisner_marginals(n, scores, spans, p);
        for (i64 c = 0; c < n; c++) {
            f64 least = least_of(n, p, c, share);
            for (i64 h = 0; h <= n; h++) kept[h * n + c] = p[h * n + c] >= least && p[h * n + c] > 0.0;
            kept[best[c] * n + c] = 1;
        }
    }
}
