#include "chain_adaptive.h"
#include "chain_step.h"

/* n weights as they are when the penalty so far is u. */
static void read_weights(i64 n, f64 u, const f64 *restrict z, const f64 *restrict r, f64 *restrict w) {
    for (i64 i = 0; i < n; i++) {
        f64 size = larger(0.0, fabs(z[i]) - u) / r[i];
        w[i] = z[i] > 0.0 ? -size : size;
    }
}

/* Take in the gradients g of n weights, met at their values w. */
static void add_gradient(const f64 *restrict g, f64 eta, const u8 *restrict free, i64 n, const f64 *restrict w,
                         f64 *restrict z, f64 *restrict h, f64 *restrict r) {
    for (i64 i = 0; i < n; i++) {
        f64 d = g[i] * free[i];
        h[i] += d * d;
        f64 curvature = sqrt(h[i]) / eta;
        z[i] += d - (curvature - r[i]) * w[i];
        r[i] = curvature;
    }
}

/* One pass; penalties[k] is u before step k. All weights are up to date at its end; returns the losses met. */
f64 chain_adaptive_run(const Chains *a, const Layout *l, const Pass *plan, i64 n_weights, f64 *w, f64 *z, f64 *h,
                        f64 *r, Scratch *x, Step *step) {
    f64 loss = 0.0;
    i64 base = l->state_end, n_edges = n_weights - base, n_rows;
    for (i64 k = 0; k < plan->n_steps; k++) {
        f64 u = plan->penalties[k], eta = plan->rates[k];
        for (i64 at = k * plan->batch; at < step_end(plan, k); at++) {
            i64 s = plan->order[at];
            for (i64 m = a->rows_ptr[s]; m < a->rows_ptr[s + 1]; m++) {
                i64 p = a->rows[m];
                read_weights(row_length(l, p), u, z + p, r + p, w + p);
            }
        }
        read_weights(n_edges, u, z + base, r + base, w + base);
        loss += step_gradient(a, l, plan, k, w, x, step, &n_rows);
        for (i64 m = 0; m < n_rows; m++) {
            i64 p = step->rows[m];
            add_gradient(step->g + step->slots[m], eta, l->free + p, row_length(l, p), w + p, z + p, h + p, r + p);
        }
        add_gradient(step->g, eta, l->free + base, n_edges, w + base, z + base, h + base, r + base);
    }
    read_weights(n_weights, plan->penalties[plan->n_steps], z, r, w);
    return loss;
}
