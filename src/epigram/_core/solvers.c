#include "solvers.h"

#include "lanes.h"

/* step = 1 / (scale d); out = y - step * gradient */
void solvers_forward_step(i64 n, const f64 *y, const f64 *gradient, const f64 *d, f64 scale, f64 *step, f64 *out) {
    for (i64 i = 0; i < n; i++) {
        step[i] = 1.0 / (scale * d[i]);
        out[i] = y[i] - step[i] * gradient[i];
    }
}

/* With the move m = next - y: sum d m^2, sum gradient m, and sum d m (next - x). */
void solvers_measure(i64 n, const f64 *y, const f64 *next, const f64 *x, const f64 *gradient, const f64 *d, f64 *sums) {
    f64 size = 0.0, slope = 0.0, along = 0.0;
    for (i64 i = 0; i < n; i++) {
        f64 m = next[i] - y[i];
        size += d[i] * m * m;
        slope += gradient[i] * m;
        along += d[i] * m * (next[i] - x[i]);
    }
    sums[0] = size;
    sums[1] = slope;
    sums[2] = along;
}

/* y = next + pull (next - x) */
void solvers_extrapolate(i64 n, const f64 *next, const f64 *x, f64 pull, f64 *y) {
    for (i64 i = 0; i < n; i++) y[i] = next[i] + pull * (next[i] - x[i]);
}

/* out = (1 - tau) w + tau z */
void solvers_average(i64 n, const f64 *w, const f64 *z, f64 tau, f64 *out) {
    for (i64 i = 0; i < n; i++) out[i] = (1.0 - tau) * w[i] + tau * z[i];
}

/* z = (rho tau z + (mu - rho) point + rho w) / (rho tau + mu) */
void solvers_sage_average(i64 n, const f64 *point, const f64 *w, f64 rho, f64 tau, f64 mu, f64 *z) {
    for (i64 i = 0; i < n; i++) z[i] = (rho * tau * z[i] + (mu - rho) * point[i] + rho * w[i]) / (rho * tau + mu);
}

/* Andrew & Gao (4): the subgradient of least norm, to out; returns its l2 norm. */
f64 solvers_pseudo_gradient(i64 n, const f64 *w, const f64 *g, f64 l1, f64 *out) {
    f64 total = 0.0;
    for (i64 i = 0; i < n; i++) {
        f64 p = larger(0.0, g[i] - l1) + smaller(0.0, g[i] + l1);
        if (w[i] > 0.0) p = g[i] + l1;
        if (w[i] < 0.0) p = g[i] - l1;
        out[i] = p;
        total += p * p;
    }
    return sqrt(total);
}

/* w + step * d to out; with an l1 part, d keeps only what goes downhill and the sum stays in w's orthant
 * (section 3.2). sums: |out|, the slope pseudo . (out - w), and how many of out are not 0. */
void solvers_step_in_orthant(i64 n, const f64 *w, const f64 *pseudo, const f64 *d, f64 step, f64 l1, f64 *out, f64 *sums) {
    f64 size = 0.0, slope = 0.0;
    i64 nonzero = 0;
    for (i64 i = 0; i < n; i++) {
        f64 v = w[i] + step * d[i];
        if (l1 > 0.0) {
            if (d[i] * pseudo[i] >= 0.0) v = w[i];
            if (v * (w[i] != 0.0 ? w[i] : -pseudo[i]) <= 0.0) v = 0.0;
        }
        out[i] = v;
        size += fabs(v);
        slope += pseudo[i] * (v - w[i]);
        nonzero += v != 0.0;
    }
    sums[0] = size;
    sums[1] = slope;
    sums[2] = (f64)nonzero;
}

/* With s = w' - w and y = g' - g, sums: s . y and y . y */
void solvers_curvature(i64 n, const f64 *w_next, const f64 *w, const f64 *g_next, const f64 *g, f64 *sums) {
    f64 sy = 0.0, yy = 0.0;
    for (i64 i = 0; i < n; i++) {
        f64 y = g_next[i] - g[i];
        sy += (w_next[i] - w[i]) * y;
        yy += y * y;
    }
    sums[0] = sy;
    sums[1] = yy;
}

/* s = scale (w' - w), y = scale (g' - g) */
void solvers_keep_pair(i64 n, const f64 *w_next, const f64 *w, const f64 *g_next, const f64 *g, f64 scale, f32 *s, f32 *y) {
    for (i64 i = 0; i < n; i++) {
        s[i] = (f32)(scale * (w_next[i] - w[i]));
        y[i] = (f32)(scale * (g_next[i] - g[i]));
    }
}

enum { COLUMNS = 512 }; /* as much of a few vectors as stays in the nearest cache */

typedef f32 narrow __attribute__((vector_size(LANES * 4), aligned(4), may_alias));

BLOCK_FUNCTION lanes widened(const f32 *x) { return __builtin_convertvector(*(const narrow *)x, lanes); }

static inline f64 total(lanes x) {
    f64 out = 0.0;
    for (int j = 0; j < LANES; j++) out += x[j];
    return out;
}

/* out += row . s, row . y, row . g; several sums side by side */
static inline void add_products(i64 n, const f32 *row, const f64 *s, const f64 *y, const f64 *g, f64 *out) {
    enum { STEP = 2 * LANES };
    lanes of_s[2] = {{0.0}}, of_y[2] = {{0.0}}, of_g[2] = {{0.0}};
    i64 i = 0;
    for (; i + STEP <= n; i += STEP) {
        EVERY(v, 2) {
            i64 at = i + v * LANES;
            lanes x = widened(row + at);
            of_s[v] += x * *(const lanes *)(s + at);
            of_y[v] += x * *(const lanes *)(y + at);
            of_g[v] += x * *(const lanes *)(g + at);
        }
    }
    out[0] += total(of_s[0] + of_s[1]);
    out[1] += total(of_y[0] + of_y[1]);
    out[2] += total(of_g[0] + of_g[1]);
    for (; i < n; i++) {
        out[0] += row[i] * s[i];
        out[1] += row[i] * y[i];
        out[2] += row[i] * g[i];
    }
}

/* out[k] = rows[k] . s, rows[k] . y, rows[k] . g over the columns first .. last: every row is read once. */
void solvers_row_products(i64 n_rows, i64 n, const f32 *rows, i64 first, i64 last, const f32 *s, const f32 *y, const f64 *g,
                          f64 *out) {
    f64 wide_s[COLUMNS], wide_y[COLUMNS];
    for (i64 k = 0; k < 3 * n_rows; k++) out[k] = 0.0;
    for (i64 at = first; at < last; at += COLUMNS) {
        i64 size = smaller_i(COLUMNS, last - at);
        for (i64 i = 0; i < size; i++) {
            wide_s[i] = s[at + i];
            wide_y[i] = y[at + i];
        }
        for (i64 k = 0; k < n_rows; k++) add_products(size, rows + k * n + at, wide_s, wide_y, g + at, out + 3 * k);
    }
}

/* d = -weight g - sum of c[k] rows[k] over the columns first .. last, for an even number of rows */
void solvers_combine_rows(i64 n_rows, i64 n, const f32 *rows, const f64 *c, f64 weight, i64 first, i64 last, const f64 *g,
                          f64 *d) {
    for (i64 start = first; start < last; start += COLUMNS) {
        i64 end = smaller_i(start + COLUMNS, last);
        for (i64 i = start; i < end; i++) d[i] = -weight * g[i];
        for (i64 k = 0; k + 1 < n_rows; k += 2) {
            const f32 *s = rows + k * n, *y = s + n;
            for (i64 i = start; i < end; i++) d[i] -= c[k] * s[i] + c[k + 1] * y[i];
        }
    }
}
