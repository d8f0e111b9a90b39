#include "chain_step.h"

/* Give the rows of sentence s a zero row of gradient each in g, unless an earlier sentence of the step did. */
static void claim_rows(const Chains *a, const Layout *l, i64 s, const Step *step, i64 *n_rows, i64 *n_used) {
    const i32 *rows = a->rows + a->rows_ptr[s];
    for (i64 m = 0; m < a->rows_ptr[s + 1] - a->rows_ptr[s]; m++) {
        i64 p = rows[m];
        if (step->n_taken && step->taken[p] >= 0) {
            step->places[m] = step->taken[p];
            continue;
        }
        i64 length = row_length(l, p);
        for (i64 j = 0; j < length; j++) step->g[*n_used + j] = 0.0;
        step->places[m] = *n_used;
        step->rows[*n_rows] = p;
        step->slots[*n_rows] = *n_used;
        if (step->n_taken) step->taken[p] = *n_used;
        *n_rows += 1;
        *n_used += length;
    }
}

/* Add the score gradient of sentence s to its rows' gradients. */
static void gather_rows(const Chains *a, const Layout *l, i64 s, const f64 *restrict scores, const Step *step) {
    i64 first = a->sentence_ptr[s], last = a->sentence_ptr[s + 1], width = l->width;
    const i32 *rows = a->rows + a->rows_ptr[s];
    for (i64 t = first; t < last; t++) {
        const f64 *row = scores + (t - first) * width;
        for (i64 k = a->attribute_ptr[t]; k < a->attribute_ptr[t + 1]; k++) {
            i64 p = rows[a->local[k]];
            f64 v = a->values[k * a->value_stride], *restrict to = step->g + step->places[a->local[k]];
            if (p < l->dense_end) {
                for (i64 j = 0; j < width; j++) to[j] += v * row[j];
            } else {
                for (i64 m = 0; m < l->codes[p] >> 16; m++) to[m] += v * row[l->codes[p + m] & 0xFFFF];
            }
        }
    }
}

f64 step_gradient(const Chains *a, const Layout *l, const Pass *plan, i64 k, const f64 *w, const Scratch *x,
                  const Step *step, i64 *n_rows) {
    i64 n_used = l->n_weights - l->state_end;
    f64 loss = 0.0;
    *n_rows = 0;
    for (i64 j = 0; j < n_used; j++) step->g[j] = 0.0;
    if (l->has_transitions) exp_shared(l, w, x);
    for (i64 at = k * plan->batch; at < step_end(plan, k); at++) {
        i64 s = plan->order[at];
        claim_rows(a, l, s, step, n_rows, &n_used);
        loss += sentence_loss(a, l, s, plan->labels, plan->weights[s], w, x, step->g);
        gather_rows(a, l, s, x->scores, step);
    }
    if (step->n_taken) {
        for (i64 m = 0; m < *n_rows; m++) step->taken[step->rows[m]] = -1;
    }
    return loss;
}
