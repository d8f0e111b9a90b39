/* SGD with an l1 penalty on chains. Tsuruoka et al. 2009, section 3.1.
 *
 * Here the ways that cumulative penalties (chain_cumulative.h) improve on. Letters: eta the rate of a step, u the total
 * penalty each weight could have received by then (3), q what it has received. The gradient of a step is summed per
 * weight first.
 */
#ifndef EPIGRAM_CHAIN_SGD_H
#define EPIGRAM_CHAIN_SGD_H
#include "chain.h"

/* One pass: step k takes sentences order[k * batch] up to order[(k + 1) * batch] at rates[k]; penalties[k] is u before
 * it. */
typedef struct {
    i64 n_order;
    i64 n_steps;
    i64 batch;
    i64 n_tokens;
    i64 n_sentences;
    const i32 *order; /* [n_order] */
    const i32 *labels; /* [n_tokens] */
    const f64 *weights; /* [n_sentences] */
    const f64 *rates; /* [n_steps] */
    const f64 *penalties; /* [n_steps + 1] */
} Pass;

/* The rows of weights that one step touches: `rows` lists them, `slots` says where their gradients are in g, `places`
 * the same for each row of the sentence at hand. `taken` maps a row to its slot, -1 for none; it is empty for steps of
 * one sentence. g starts with the gradient of transitions and edge weights. */
typedef struct {
    i64 n_rows;
    i64 n_taken;
    i64 n_gradient;
    i64 *rows; /* [n_rows] */
    i64 *slots; /* [n_rows] */
    i64 *places; /* [n_rows] */
    i64 *taken; /* [n_taken] */
    f64 *g; /* [n_gradient] */
} Step;

f64 chain_sgd_naive(const Chains *chains, const Layout *layout, const Pass *plan, i64 n_weights, f64 w[n_weights],
                    f64 q[n_weights], Scratch *scratch, Step *step);
f64 chain_sgd_clipping(const Chains *chains, const Layout *layout, const Pass *plan, i64 n_weights, f64 w[n_weights],
                       f64 q[n_weights], Scratch *scratch, Step *step);
f64 chain_sgd_lazy(const Chains *chains, const Layout *layout, const Pass *plan, i64 n_weights, f64 w[n_weights],
                   f64 q[n_weights], Scratch *scratch, Step *step);

#endif
