/* Projective dependency trees with one root: sums, maxima and the k best over all trees, by Eisner's spans (1996).
 *
 * A sentence has n words, counted from 0. scores[(h + 1) * n + c] is the score of the arc from word h to word c; row 0 is
 * that of the root. Letters: R[s, t] complete spans headed by s on the left, L[s, t] by t on the right; I[s, t] incomplete spans
 * before their arc is added, whose two halves meet between q and q + 1. Logarithms throughout.
 *   I[s,t] = sum_q R[s,q] L[q+1,t];  R[s,t] = sum_q I[s,q] e(s->q) R[q,t];  L[s,t] = sum_q L[s,q] I[q,t] e(t->q)
 */
#ifndef EPIGRAM_EISNER_H
#define EPIGRAM_EISNER_H
#include "core.h"

/* Working memory for sentences of up to `room` words: squares of room * room numbers, by rows of the span's left end and,
 * transposed (T), of its right end. AR is a right incomplete span with its arc, ALT a left one; g their derivatives. */
typedef struct {
    i64 room;
    f64 *R; /* [room * room] */
    f64 *RT; /* [room * room] */
    f64 *L; /* [room * room] */
    f64 *LT; /* [room * room] */
    f64 *I; /* [room * room] */
    f64 *AR; /* [room * room] */
    f64 *ALT; /* [room * room] */
    f64 *gR; /* [room * room] */
    f64 *gRT; /* [room * room] */
    f64 *gL; /* [room * room] */
    f64 *gLT; /* [room * room] */
    f64 *gAR; /* [room * room] */
    f64 *gALT; /* [room * room] */
    i32 *splits; /* [3 * room * room] */
} Spans;

/* The lists of the k best of every span: base, right, left, one after the other. */
typedef struct {
    i64 room;
    i64 k;
    f64 *scores; /* [3 * room * room * k] */
    i64 *back; /* [3 * room * room * k] */
} Lists;

/* log Z. */
f64 eisner_inside(i64 n, const f64 scores[n * n + n], Spans *spans);

/* log Z, and the probability of every arc to `out`. */
f64 eisner_marginals(i64 n, const f64 scores[n * n + n], Spans *spans, f64 out[n * n + n]);

/* The best tree: heads from 1, 0 for the root's child. Returns its score. */
f64 eisner_best(i64 n, const f64 scores[n * n + n], Spans *spans, i32 heads[n]);

/* The k best trees, best first; returns how many there are, at most k. */
i64 eisner_k_best(i64 n, const f64 scores[n * n + n], Lists *lists, i64 k, f64 values[k], i64 origins[k],
                  i32 heads[n * k]);

#endif
