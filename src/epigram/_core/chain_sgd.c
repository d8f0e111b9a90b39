#include "chain_step.h"

i64 sizeof_Pass(void) { return sizeof(Pass); }
i64 sizeof_Step(void) { return sizeof(Step); }

/* w -= eta g on n weights */
static inline void descend(const f64 *restrict g, f64 eta, const u8 *restrict free, i64 n, f64 *restrict w) {
    for (i64 i = 0; i < n; i++) w[i] -= eta * g[i] * free[i];
}

/* w -= eta g on the rows of a step, transitions and edge weights. */
static void descend_rows(const Layout *l, i64 n_rows, f64 eta, const Step *step, f64 *w) {
    i64 base = l->state_end;
    for (i64 m = 0; m < n_rows; m++) {
        i64 p = step->rows[m];
        descend(step->g + step->slots[m], eta, l->free + p, row_length(l, p), w + p);
    }
    descend(step->g, eta, l->free + base, l->n_weights - base, w + base);
}

/* w pulled towards zero, not across it */
static inline f64 clipped(f64 w, f64 amount) { return w > 0.0 ? larger(0.0, w - amount) : smaller(0.0, w + amount); }

/* Lazy form of clipping: n weights pay what has fallen due since they were last touched. */
static void clip_due(i64 n, f64 u, f64 *restrict w, f64 *restrict q) {
    for (i64 i = 0; i < n; i++) {
        w[i] = clipped(w[i], u - q[i]);
        q[i] = u;
    }
}

/* One pass of SGD-L1 (Naive): the subgradient of the penalty on all weights at every step. */
f64 chain_sgd_naive(const Chains *a, const Layout *l, const Pass *plan, i64 n_weights, f64 *w, f64 *q, Scratch *x,
                    Step *step) {
    (void)q;
    f64 loss = 0.0;
    for (i64 k = 0; k < plan->n_steps; k++) {
        i64 n_rows;
        loss += step_gradient(a, l, plan, k, w, x, step, &n_rows);
        f64 amount = plan->penalties[k + 1] - plan->penalties[k];
        for (i64 i = 0; i < n_weights; i++) w[i] -= amount * ((w[i] > 0.0) - (w[i] < 0.0));
        descend_rows(l, n_rows, plan->rates[k], step, w);
    }
    return loss;
}

/* One pass of SGD-L1 (Clipping): after the gradient step all weights are pulled to zero, not across. */
f64 chain_sgd_clipping(const Chains *a, const Layout *l, const Pass *plan, i64 n_weights, f64 *w, f64 *q, Scratch *x,
                       Step *step) {
    (void)q;
    f64 loss = 0.0;
    for (i64 k = 0; k < plan->n_steps; k++) {
        i64 n_rows;
        loss += step_gradient(a, l, plan, k, w, x, step, &n_rows);
        descend_rows(l, n_rows, plan->rates[k], step, w);
        f64 amount = plan->penalties[k + 1] - plan->penalties[k];
        for (i64 i = 0; i < n_weights; i++) w[i] = clipped(w[i], amount);
    }
    return loss;
}

/* One pass of SGD-L1 (Clipping + Lazy-Update): the same weights, each clipped only when it is needed. */
f64 chain_sgd_lazy(const Chains *a, const Layout *l, const Pass *plan, i64 n_weights, f64 *w, f64 *q, Scratch *x,
                   Step *step) {
    f64 loss = 0.0;
    i64 base = l->state_end, n_edges = n_weights - base, n_rows;
    for (i64 k = 0; k < plan->n_steps; k++) {
        f64 before = plan->penalties[k], after = plan->penalties[k + 1];
        for (i64 at = k * plan->batch; at < step_end(plan, k); at++) {
            i64 s = plan->order[at];
            for (i64 m = a->rows_ptr[s]; m < a->rows_ptr[s + 1]; m++) {
                i64 p = a->rows[m];
                clip_due(row_length(l, p), before, w + p, q + p);
            }
        }
        clip_due(n_edges, before, w + base, q + base);
        loss += step_gradient(a, l, plan, k, w, x, step, &n_rows);
        descend_rows(l, n_rows, plan->rates[k], step, w);
        for (i64 m = 0; m < n_rows; m++) {
            i64 p = step->rows[m];
            clip_due(row_length(l, p), after, w + p, q + p);
        }
        clip_due(n_edges, after, w + base, q + base);
    }
    clip_due(n_weights, plan->penalties[plan->n_steps], w, q);
    return loss;
}
