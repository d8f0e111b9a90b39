/* Short sorted lists of the best scores, which the searches for the k best share. */
#ifndef EPIGRAM_RANKING_H
#define EPIGRAM_RANKING_H
#include "core.h"

#define NEVER (-1e300)

static inline i64 arg_max(i64 n, const f64 *a) {
    i64 best = 0;
    for (i64 j = 1; j < n; j++) best = a[j] > a[best] ? j : best;
    return best;
}

/* Insert into a list of k scores sorted downwards; 0 if the score is not among the best. */
static inline u8 insert(i64 k, f64 *scores, i64 *origins, f64 score, i64 origin) {
    i64 at = k - 1;
    if (!(score > scores[at])) return 0;
    for (; at > 0 && scores[at - 1] < score; at--) {
        scores[at] = scores[at - 1];
        origins[at] = origins[at - 1];
    }
    scores[at] = score;
    origins[at] = origin;
    return 1;
}

#endif
