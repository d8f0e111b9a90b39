/* What every way of training shares: the gradient of one sentence, and of the sentences of one SGD step. */
#ifndef EPIGRAM_CHAIN_STEP_H
#define EPIGRAM_CHAIN_STEP_H
#include "chain_inline.h"
#include "chain_sgd.h"

f64 scored_loss(const Chains *a, const Layout *l, i64 s, const i32 *labels, f64 weight, const f64 *edge_w,
                const Scratch *x, f64 *edges);
f64 sentence_loss(const Chains *a, const Layout *l, i64 s, const i32 *labels, f64 weight, const f64 *w,
                  const Scratch *x, f64 *edges);

/* Add the score gradient of sentence s to the gradient g of all weights. */
void scatter(const Chains *a, const Layout *l, i64 s, const f64 *scores, f64 *g);

/* Loss of the sentences of step k; gradients are summed in step->g, n_rows is the number of distinct rows. */
f64 step_gradient(const Chains *a, const Layout *l, const Pass *plan, i64 k, const f64 *w, const Scratch *x,
                  const Step *step, i64 *n_rows);

/* The sentences of step k are order[k * batch] up to order[step_end]. */
static inline i64 step_end(const Pass *plan, i64 k) { return smaller_i((k + 1) * plan->batch, plan->n_order); }

#endif
