#include "solvers.h"

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
 * (section 3.2). sums: |out|, and the slope pseudo . (out - w). */
void solvers_step_in_orthant(i64 n, const f64 *w, const f64 *pseudo, const f64 *d, f64 step, f64 l1, f64 *out, f64 *sums) {
    f64 size = 0.0, slope = 0.0;
    for (i64 i = 0; i < n; i++) {
        f64 v = w[i] + step * d[i];
        if (l1 > 0.0) {
            if (d[i] * pseudo[i] >= 0.0) v = w[i];
            if (v * (w[i] != 0.0 ? w[i] : -pseudo[i]) <= 0.0) v = 0.0;
        }
        out[i] = v;
        size += fabs(v);
        slope += pseudo[i] * (v - w[i]);
    }
    sums[0] = size;
    sums[1] = slope;
}

/* s = w' - w, y = g' - g; sums: s . y and y . y */
void solvers_differences(i64 n, const f64 *w_next, const f64 *w, const f64 *g_next, const f64 *g, f64 *s, f64 *y, f64 *sums) {
    f64 sy = 0.0, yy = 0.0;
    for (i64 i = 0; i < n; i++) {
        s[i] = w_next[i] - w[i];
        y[i] = g_next[i] - g[i];
        sy += s[i] * y[i];
        yy += y[i] * y[i];
    }
    sums[0] = sy;
    sums[1] = yy;
}

enum { LANES = 8 }; /* sums side by side, so that the compiler may use vectors without changing their order */

/* out[k] = rows[k] . x over the columns first .. last */
void solvers_row_products(i64 n_rows, i64 n, const f64 *rows, i64 first, i64 last, const f64 *x, f64 *out) {
    for (i64 k = 0; k < n_rows; k++) {
        const f64 *row = rows + k * n;
        f64 sums[LANES] = {0.0}, total = 0.0;
        i64 i = first;
        for (; i + LANES <= last; i += LANES)
            for (i64 j = 0; j < LANES; j++) sums[j] += row[i + j] * x[i + j];
        for (; i < last; i++) total += row[i] * x[i];
        for (i64 j = 0; j < LANES; j++) total += sums[j];
        out[k] = total;
    }
}

/* d -= sum of c[k] rows[k] over the columns first .. last */
void solvers_subtract_rows(i64 n_rows, i64 n, const f64 *rows, const f64 *c, i64 first, i64 last, f64 *d) {
    enum { BLOCK = 2048 }; /* as much of d as stays in the nearest cache */
    for (i64 start = first; start < last; start += BLOCK) {
        i64 end = smaller_i(start + BLOCK, last);
        for (i64 k = 0; k < n_rows; k++)
            for (i64 i = start; i < end; i++) d[i] -= c[k] * rows[k * n + i];
    }
}
