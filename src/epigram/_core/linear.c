#include "linear.h"

#include "lanes.h"

enum { LONGEST_NAP = 7, MOST_STEPS = 60, WIDE = 8, AHEAD = 24 };
static const f64 STILL = 1e-4, FARTHEST = 30.0;

i64 sizeof_SparseRows(void) { return sizeof(SparseRows); }

static inline f64 shrunk(f64 v, f64 l1) { return v - larger(-l1, smaller(l1, v)); }

/* s += X_i w with w shrunk by l1, for one lane or WIDE of them side by side. */
BLOCK_FUNCTION void add_scores(const SparseRows *x, i64 i, i64 width, const f64 *w, f64 l1, f64 *s) {
    i64 end = x->ptr[i + 1];
    if (width == 1) {
        f64 sum = s[0];
        for (i64 k = x->ptr[i]; k < end; k++) sum += x->values[k] * shrunk(w[x->ids[k]], l1);
        s[0] = sum;
        return;
    }
    lanes sums[WIDE / LANES], by = l1 + (lanes){0};
    EVERY(c, WIDE / LANES) sums[c] = *(const lanes *)(s + c * LANES);
    for (i64 k = x->ptr[i]; k < end; k++) {
        const f64 *own = w + x->ids[k] * WIDE;
        lanes value = x->values[k] + (lanes){0};
        if (k + AHEAD < end) __builtin_prefetch(w + x->ids[k + AHEAD] * WIDE, 1);
        EVERY(c, WIDE / LANES) sums[c] += value * soft(*(const lanes *)(own + c * LANES), by);
    }
    EVERY(c, WIDE / LANES) *(lanes *)(s + c * LANES) = sums[c];
}

/* w += x_i by. */
BLOCK_FUNCTION void add_row(const SparseRows *x, i64 i, i64 width, const f64 *by, f64 *w) {
    lanes all[WIDE / LANES];
    if (width > 1) EVERY(c, WIDE / LANES) all[c] = *(const lanes *)(by + c * LANES);
    for (i64 k = x->ptr[i]; k < x->ptr[i + 1]; k++) {
        f64 value = x->values[k], *own = w + x->ids[k] * width;
        if (width == 1) own[0] += value * by[0];
        else EVERY(c, WIDE / LANES) *(lanes *)(own + c * LANES) += value * all[c];
    }
}

BLOCK_FUNCTION void scores_of(const SparseRows *x, i64 width, i64 n_w, const f64 *w, f64 *scores) {
    for (i64 i = 0; i < x->n; i++) {
        for (i64 c = 0; c < width; c++) scores[i * width + c] = w[n_w - width + c];
        add_scores(x, i, width, w, 0.0, scores + i * width);
    }
}

void linear_scores(const SparseRows *x, i64 n_lanes, i64 n_w, const f64 *w, f64 *scores) {
    if (n_lanes == 1) scores_of(x, 1, n_w, w, scores);
    else scores_of(x, WIDE, n_w, w, scores);
}

void linear_gradient(const SparseRows *x, i64 n, const f64 *residuals, i64 n_weights, f64 *out) {
    memset(out, 0, (size_t)n_weights * sizeof(f64));
    for (i64 i = 0; i < n; i++) {
        f64 r = residuals[i];
        for (i64 k = x->ptr[i]; k < x->ptr[i + 1]; k++) out[x->ids[k]] += x->values[k] * r;
        out[n_weights - 1] += r;
    }
}

void linear_squares(const SparseRows *x, i64 n, f64 *squares) {
    for (i64 i = 0; i < n; i++) {
        squares[i] = 1.0;
        for (i64 k = x->ptr[i]; k < x->ptr[i + 1]; k++) squares[i] += (f64)x->values[k] * x->values[k];
    }
}

/* The root of z + m + (sigmoid(z) - a) q between log(a / (1 - a)) and -m, by Newton's method kept within its bracket. */
static f64 dual_root(f64 a, f64 m, f64 q) {
    f64 here = log(a / (1.0 - a)), low = smaller(here, -m), high = larger(here, -m), z = here;
    for (i64 k = 0; k < MOST_STEPS; k++) {
        f64 p = 1.0 / (1.0 + fast_exp(-larger(-FARTHEST, smaller(FARTHEST, z)))), f = z + m + (p - a) * q;
        if (f > 0) high = z;
        else low = z;
        f64 step = f / (1.0 + q * p * (1.0 - p));
        z -= step;
        if (z < low || z > high) z = 0.5 * (low + high);
        else if (fabs(step) < 1e-7) break;
        if (high - low < 1e-7) break;
    }
    z = larger(-FARTHEST, smaller(FARTHEST, z));
    return 1.0 / (1.0 + fast_exp(-z));
}

typedef struct {
    i64 n, n_v;
    const i32 *order;
    const u8 *active;
    const f64 *signs, *offsets, *costs, *squares;
    f64 l1, l2;
    f64 *duals;
    u8 *rests, *naps;
    f64 *v, *moved;
} DualPass;

/* The lanes of row i that do not rest; their number. */
static inline i64 awake(const DualPass *d, i64 width, i64 i, u8 *on) {
    i64 found = 0;
    for (i64 c = 0; c < width; c++) {
        u8 *rest = d->rests + i * width + c;
        on[c] = d->active[c] && *rest == 0;
        if (d->active[c] && *rest > 0) (*rest)--;
        found += on[c];
    }
    return found;
}

BLOCK_FUNCTION void pass_over(const SparseRows *x, const DualPass *d, i64 width) {
    f64 l1 = d->l1, scale = 0.5 / d->l2, *bias = d->v + d->n_v - width;
    for (i64 o = 0; o < d->n; o++) {
        i64 i = d->order[o];
        u8 on[WIDE];
        f64 s[WIDE], by[WIDE], cost = d->costs[i];
        if (!awake(d, width, i, on) || cost <= 0.0) continue;
        for (i64 c = 0; c < width; c++) s[c] = shrunk(bias[c], l1);
        add_scores(x, i, width, d->v, l1, s);
        for (i64 c = 0; c < width; c++) {
            by[c] = 0.0;
            if (!on[c]) continue;
            i64 at = i * width + c;
            f64 sign = d->signs[at], a = d->duals[at] / cost;
            f64 next = dual_root(a, sign * (s[c] * scale + d->offsets[at]), d->squares[i] * scale * cost), change = next - a;
            d->moved[c] += fabs(change);
            if (fabs(change) < STILL) d->rests[at] = d->naps[at] = (u8)smaller_i(LONGEST_NAP, 2 * d->naps[at] + 1);
            else d->naps[at] = 0;
            d->duals[at] = next * cost;
            by[c] = change * cost * sign;
        }
        add_row(x, i, width, by, d->v);
        for (i64 c = 0; c < width; c++) bias[c] += by[c];
    }
}

void linear_dual_pass(const SparseRows *x, i64 n, const i32 *order, i64 n_lanes, const u8 *active, const f64 *signs,
                      const f64 *offsets, const f64 *costs, const f64 *squares, f64 l1, f64 l2, f64 *duals, u8 *rests,
                      u8 *naps, i64 n_v, f64 *v, f64 *moved) {
    DualPass d = {n, n_v, order, active, signs, offsets, costs, squares, l1, l2, duals, rests, naps, v, moved};
    for (i64 c = 0; c < n_lanes; c++) moved[c] = 0.0;
    if (n_lanes == 1) pass_over(x, &d, 1);
    else pass_over(x, &d, WIDE);
}
