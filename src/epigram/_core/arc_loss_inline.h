/* Scores and steps of weights, which the losses of first and second order share. */
#ifndef EPIGRAM_ARC_LOSS_INLINE_H
#define EPIGRAM_ARC_LOSS_INLINE_H
#include "arc_loss.h"

#define STILL 1e-9     /* derivatives of arcs that SGD takes for zero */
#define PREFETCHED 16  /* occurrences ahead */

/* Scores of all arcs of sentence s; weights are `stride` numbers apart. */
static inline void score_arcs(const ArcCorpus *a, i64 s, const f64 *w, i64 stride, f64 *restrict scores) {
    i64 first = a->first_arc[s], n = a->first_arc[s + 1] - first, last = a->n_occurrences - PREFETCHED;
    for (i64 k = 0; k < n; k++) {
        f64 sum = 0.0;
        for (i64 o = a->arc_ptr[first + k]; o < a->arc_ptr[first + k + 1]; o++) {
            if (o < last) __builtin_prefetch(w + a->features[o + PREFETCHED] * stride, 1);
            sum += w[a->features[o] * stride];
        }
        scores[k] = sum;
    }
}

/* The penalty of figure 2: what the weight could have had by now, u, less what it had, -q. Doing it twice changes nothing. */
static inline void penalise(f64 *wq, f64 u) {
    f64 z = wq[0];
    if (z > 0.0) wq[0] = larger(0.0, z - (u + wq[1]));
    else if (z < 0.0) wq[0] = smaller(0.0, z + (u - wq[1]));
    wq[1] += wq[0] - z;
}

#endif
