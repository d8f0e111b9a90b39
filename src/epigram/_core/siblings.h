/* Projective dependency trees of second order: sums, maxima and the k best over all trees, where each child is scored
 * together with the child of the same head before it (McDonald and Pereira 2006, by Eisner's spans 1996).
 *
 * On each side a head's children form a chain from the inside to the outside: the first has no sibling before it, and the
 * last is followed by an end. A sentence has n words, counted from 0; `scores` are those of arcs, as in eisner.h. The row of
 * head h and child c in `trios` has |h - c| scores, one for each sibling q, in the order of the words; q = h stands for none.
 * stops[h * n + q] is the score of q as the last child of h; of no child on the right stops[h * n + h], on the left
 * stops[n * n + h]. The root has one child and no siblings.
 *
 * Spans of words s to t, logarithms throughout: R[s, t] complete and headed by s, L[s, t] by t; S[s, t] between two
 * siblings, both included; A[h, c] from a head to a child, with the child's inner half and all siblings before it.
 *   S[s,t] = sum_m R[s,m] L[m+1,t];  R[s,t] = sum_q A[s,q] stop(s,q) R[q,t];  L[s,t] = sum_q L[s,q] A[t,q] stop(t,q)
 *   A[s,t] = e(s->t) (L[s+1,t] e(s,s,t) + sum_q A[s,q] S[q,t] e(s,q,t)), and A[t,s] in the mirror
 */
#ifndef EPIGRAM_SIBLINGS_H
#define EPIGRAM_SIBLINGS_H
#include "core.h"

/* Working memory for sentences of up to `room` words. */
typedef struct {
    i64 room;
    f64 *squares; /* [16 * room * room] */
    i32 *splits; /* [4 * room * room] */
} SiblingSpans;

/* The lists of the k best of every span: arcs, siblings, right, left, one after the other. */
typedef struct {
    i64 room;
    i64 k;
    f64 *scores; /* [4 * room * room * k] */
    i64 *back; /* [4 * room * room * k] */
} SiblingLists;

/* log Z. `n_trios` is n (n * n - 1) / 3. */
f64 siblings_inside(i64 n, const f64 scores[n * n + n], i64 n_trios, const f64 trios[n_trios], const f64 stops[n * n + n],
                    SiblingSpans *spans);

/* log Z; the probability of every arc to `out`, those of trios and stops in the place of their scores. */
f64 siblings_marginals(i64 n, const f64 scores[n * n + n], i64 n_trios, f64 trios[n_trios], f64 stops[n * n + n],
                       SiblingSpans *spans, f64 out[n * n + n]);

/* The best tree: heads from 1, 0 for the root's child. Returns its score. */
f64 siblings_best(i64 n, const f64 scores[n * n + n], i64 n_trios, const f64 trios[n_trios], const f64 stops[n * n + n],
                  SiblingSpans *spans, i32 heads[n]);

/* The k best trees, best first; returns how many there are, at most k. */
i64 siblings_k_best(i64 n, const f64 scores[n * n + n], i64 n_trios, const f64 trios[n_trios],
                    const f64 stops[n * n + n], SiblingLists *lists, i64 k, f64 values[k], i64 origins[k],
                    i32 heads[n * k]);

#endif
