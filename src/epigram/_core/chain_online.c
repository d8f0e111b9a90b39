#include "chain_online.h"
#include "chain_step.h"

typedef struct {
    f64 alpha, beta, l1, l2;
} Rule;

/* One step of `count` weights whose gradient is g. */
static void follow(const f64 *restrict g, const Rule *rule, const u8 *restrict free, i64 count, f64 *restrict w,
                   f64 *restrict z, f64 *restrict n) {
    for (i64 i = 0; i < count; i++) {
        f64 d = g[i] * free[i];
        if (d == 0.0) continue;
        f64 before = sqrt(n[i]), after = sqrt(n[i] + d * d);
        n[i] += d * d;
        z[i] += d - (after - before) / rule->alpha * w[i];
        f64 size = larger(0.0, fabs(z[i]) - rule->l1) / ((rule->beta + after) / rule->alpha + 2.0 * rule->l2);
        w[i] = z[i] > 0.0 ? -size : size;
    }
}

f64 chain_online_run(const Chains *a, const Layout *l, const Pass *plan, f64 alpha, f64 beta, f64 l1, f64 l2,
                     i64 n_weights, f64 *w, f64 *z, f64 *n, Scratch *x, Step *step) {
    Rule rule = {alpha, beta, l1, l2};
    f64 loss = 0.0;
    i64 base = l->state_end, n_rows;
    for (i64 k = 0; k < plan->n_steps; k++) {
        loss += step_gradient(a, l, plan, k, w, x, step, &n_rows);
        for (i64 m = 0; m < n_rows; m++) {
            i64 p = step->rows[m];
            follow(step->g + step->slots[m], &rule, l->free + p, row_length(l, p), w + p, z + p, n + p);
        }
        follow(step->g, &rule, l->free + base, n_weights - base, w + base, z + base, n + base);
    }
    return loss;
}

/* Add `count` gradients g and their squares; g becomes 0. */
static void add_up(i64 count, f64 *restrict g, f64 *restrict sums, f64 *restrict squares) {
    for (i64 i = 0; i < count; i++) {
        sums[i] += g[i];
        squares[i] += g[i] * g[i];
        g[i] = 0.0;
    }
}

f64 chain_online_gradients(const Chains *a, const Layout *l, const Pass *plan, i64 n_weights, const f64 *w, f64 *sums,
                           f64 *squares, f64 *g, Scratch *x) {
    f64 loss = 0.0;
    i64 base = l->state_end;
    if (l->has_transitions) exp_shared(l, w, x);
    for (i64 at = 0; at < plan->n_order; at++) {
        i64 s = plan->order[at];
        const i32 *rows = a->rows + a->rows_ptr[s];
        loss += sentence_loss(a, l, s, plan->labels, plan->weights[s], w, x, g + base);
        scatter(a, l, s, x->scores, g);
        for (i64 k = a->attribute_ptr[a->sentence_ptr[s]]; k < a->attribute_ptr[a->sentence_ptr[s + 1]]; k++) {
            i64 p = rows[a->local[k]]; /* where a row comes again, its gradient is 0 by then */
            add_up(row_length(l, p), g + p, sums + p, squares + p);
        }
        u8 single = !a->n_types && a->sentence_ptr[s + 1] - a->sentence_ptr[s] < 2; /* no pairs of labels */
        if (!single) add_up(n_weights - base, g + base, sums + base, squares + base);
    }
    return loss;
}
