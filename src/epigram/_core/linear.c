#include "linear.h"

enum { LONGEST_NAP = 7, MOST_STEPS = 60 };
static const f64 STILL = 1e-4, FARTHEST = 30.0;

i64 sizeof_SparseRows(void) { return sizeof(SparseRows); }

void linear_scores(const SparseRows *x, i64 n_weights, const f64 *w, i64 n, f64 *scores) {
    for (i64 i = 0; i < n; i++) {
        f64 sum = w[n_weights - 1];
        for (i64 k = x->ptr[i]; k < x->ptr[i + 1]; k++) sum += x->values[k] * w[x->ids[k]];
        scores[i] = sum;
    }
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

static inline f64 shrunk(f64 v, f64 l1) { return v - larger(-l1, smaller(l1, v)); }

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

f64 linear_dual_pass(const SparseRows *x, i64 n, const i32 *order, const f64 *signs, const f64 *costs, const f64 *squares,
                     f64 l1, f64 l2, f64 *duals, u8 *rests, u8 *naps, i64 n_weights, f64 *v) {
    f64 moved = 0.0, scale = 0.5 / l2;
    for (i64 o = 0; o < n; o++) {
        i64 i = order[o], begin = x->ptr[i], end = x->ptr[i + 1];
        if (rests[i] > 0) {
            rests[i]--;
            continue;
        }
        if (costs[i] <= 0.0) continue;
        f64 s = shrunk(v[n_weights - 1], l1);
        for (i64 k = begin; k < end; k++) s += x->values[k] * shrunk(v[x->ids[k]], l1);
        f64 a = duals[i] / costs[i];
        f64 next = dual_root(a, signs[i] * s * scale, squares[i] * scale * costs[i]), change = next - a;
        moved += fabs(change);
        if (fabs(change) < STILL) rests[i] = naps[i] = (u8)smaller_i(LONGEST_NAP, 2 * naps[i] + 1);
        else naps[i] = 0;
        duals[i] = next * costs[i];
        f64 by = change * costs[i] * signs[i];
        for (i64 k = begin; k < end; k++) v[x->ids[k]] += by * x->values[k];
        v[n_weights - 1] += by;
    }
    return moved;
}
