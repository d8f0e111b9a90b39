/* Learning from a stream on chains: each weight at a rate of its own, by FTRL-Proximal. McMahan et al. 2013, Algorithm 1.
 *
 * Letters: g the gradient of one sentence; n the sum of its squares so far, by which a weight's rate falls,
 * alpha / (beta + sqrt(n)); z the sum of gradients, with what the fall of the rate adds. Differs: the penalty has
 * l2 w^2, not l2/2 w^2.
 */
#include "chain_sgd.h"

/* A step for each sentence of the plan, whose rates and penalties have no meaning here; returns the losses met. */
f64 chain_online_run(const Chains *chains, const Layout *layout, const Pass *plan, f64 alpha, f64 beta, f64 l1, f64 l2,
                     i64 n_weights, f64 w[n_weights], f64 z[n_weights], f64 n[n_weights], Scratch *scratch, Step *step);

/* Sums over the sentences of the plan of each weight's gradient at w, and of its squares; returns their loss. g is room,
 * all 0. What weights get that are not part of the model means nothing. */
f64 chain_online_gradients(const Chains *chains, const Layout *layout, const Pass *plan, i64 n_weights,
                           const f64 w[n_weights], f64 sums[n_weights], f64 squares[n_weights], f64 g[n_weights],
                           Scratch *scratch);
