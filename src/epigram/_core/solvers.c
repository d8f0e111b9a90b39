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
