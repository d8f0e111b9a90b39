/* Sums, maxima and lists over the splits of a span, which first and second order share. */
#ifndef EPIGRAM_EISNER_INLINE_H
#define EPIGRAM_EISNER_INLINE_H
#include "chain_inline.h"
#include "ranking.h"

#define NEGLIGIBLE 1e-15 /* derivatives below are lost in rounding */

/* log sum_q exp(a[q] + b[q]) */
static inline f64 log_sum(i64 n, const f64 *restrict a, const f64 *restrict b) {
    f64 top = a[0] + b[0], sum = 0.0;
    for (i64 q = 1; q < n; q++) top = larger(top, a[q] + b[q]);
    for (i64 q = 0; q < n; q++) sum += fast_exp(larger(a[q] + b[q] - top, LOWEST_EXPONENT));
    return top + log(sum);
}

/* Add to ga and gb the parts that a[q] + b[q] have in their log_sum, times g. */
static inline void share_out(i64 n, const f64 *restrict a, const f64 *restrict b, f64 total, f64 g, f64 *restrict ga,
                      f64 *restrict gb) {
    for (i64 q = 0; q < n; q++) {
        f64 part = g * fast_exp(larger(a[q] + b[q] - total, LOWEST_EXPONENT));
        ga[q] += part;
        gb[q] += part;
    }
}

/* The place of the largest a[q] + b[q], the first of several. */
static inline i64 best_split(i64 n, const f64 *restrict a, const f64 *restrict b) {
    i64 best = 0;
    for (i64 q = 1; q < n; q++) best = a[q] + b[q] > a[best] + b[best] ? q : best;
    return best;
}

/* Add to a list of the k best all sums of one of a and one of b; `where` tells which split it was. Of two sorted lists, the
 * sum of ranks i and j has at least (i + 1) (j + 1) - 1 before it. */
static inline void add_sums(i64 k, const f64 *a, const f64 *b, f64 plus, i64 where, f64 *list, i64 *back) {
    for (i64 i = 0; i < k && a[i] > NEVER / 2; i++) {
        for (i64 j = 0; (i + 1) * (j + 1) <= k && b[j] > NEVER / 2; j++) {
            if (!insert(k, list, back, a[i] + b[j] + plus, (where * k + i) * k + j)) break;
        }
    }
}

#endif
