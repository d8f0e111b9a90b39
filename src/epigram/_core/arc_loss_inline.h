/* Scores of parts and steps of weights, which the losses of all orders share. */
#ifndef EPIGRAM_ARC_LOSS_INLINE_H
#define EPIGRAM_ARC_LOSS_INLINE_H
#include "arc_loss.h"

#define STILL 1e-9     /* derivatives of parts that SGD takes for zero */
#define PREFETCHED 16  /* distinct features ahead */
#define NARROW 65536   /* distinct features that 16 bits number */

/* Which distinct feature occurrence o is. */
static inline i64 number_at(const u16 *numbers, i64 o, int is_wide) {
    return is_wide ? numbers[2 * o] | (i64)numbers[2 * o + 1] << 16 : numbers[o];
}

/* The ids of the distinct features of sentence s to x->rows, their weights, `stride` numbers apart in w, to x->w, and the
 * scores of its parts. */
static inline void score_parts(const PartCorpus *a, i64 s, const f64 *w, i64 stride, PartScratch *x) {
    i32 *rows = x->rows, id = 0;
    const u16 *numbers = a->numbers + a->first_number[s];
    i64 n = 0, o = 0;
    for (i64 k = a->first_step[s], step = 0; k < a->first_step[s + 1]; k++) {
        step = step << 7 | (a->steps[k] & 127);
        if (a->steps[k] & 128) continue;
        rows[n++] = id += (i32)step;
        step = 0;
    }
    for (i64 k = 0; k < n; k++) {
        if (k + PREFETCHED < n) __builtin_prefetch(w + rows[k + PREFETCHED] * stride, 1);
        x->w[k] = w[rows[k] * stride];
    }
    for (i64 p = a->first_part[s]; p < a->first_part[s + 1]; p++) {
        f64 sum = 0.0;
        for (i64 end = o + a->part_counts[p]; o < end; o++) sum += x->w[number_at(numbers, o, n > NARROW)];
        x->scores[p - a->first_part[s]] = sum;
    }
}

/* The gradient of sentence s by its distinct features from the derivatives of its parts; those below `least` count as 0. */
static inline void sum_derivatives(const PartCorpus *a, i64 s, f64 least, PartScratch *x) {
    const u16 *numbers = a->numbers + a->first_number[s];
    i64 n = a->row_counts[s], o = 0;
    for (i64 k = 0; k < n; k++) x->gradient[k] = 0.0;
    for (i64 p = a->first_part[s]; p < a->first_part[s + 1]; p++) {
        f64 g = x->derivatives[p - a->first_part[s]];
        i64 end = o + a->part_counts[p];
        if (fabs(g) < least) o = end;
        for (; o < end; o++) x->gradient[number_at(numbers, o, n > NARROW)] += g;
    }
}

/* Add the gradient of sentence s to that of all. */
static inline void add_gradient(const PartCorpus *a, i64 s, PartScratch *x, f64 *out) {
    sum_derivatives(a, s, 0.0, x);
    for (i64 k = 0; k < a->row_counts[s]; k++) out[x->rows[k]] += x->gradient[k];
}

/* A step of SGD on sentence s and the penalty of figure 2: what a weight could have had by now, u, less what it had, -q. */
static inline void step_weights(const PartCorpus *a, i64 s, f64 rate, f64 u, PartScratch *x, f64 *wq) {
    const i32 *rows = x->rows;
    i64 n = a->row_counts[s];
    sum_derivatives(a, s, STILL, x);
    for (i64 k = 0; k < n; k++) {
        if (k + PREFETCHED < n) __builtin_prefetch(wq + 2 * (i64)rows[k + PREFETCHED], 1);
        f64 *both = wq + 2 * (i64)rows[k], z = both[0] - rate * x->gradient[k], w = z;
        if (z > 0.0) w = larger(0.0, z - (u + both[1]));
        else if (z < 0.0) w = smaller(0.0, z + (u - both[1]));
        both[0] = w;
        both[1] += w - z;
    }
}

#endif
