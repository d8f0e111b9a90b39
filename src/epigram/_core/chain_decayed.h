/* SGD for an l2 penalty whose pull on all weights costs nothing: weights are kept divided by how much they have shrunk.
 * Shalev-Shwartz, Singer and Srebro 2007 (Pegasos), without its projection. */
#include "chain.h"

/* One pass over the sentences of `order`: before sample t = first, first + 1, ... the rate is 1 / (strength t), and every
 * weight shrinks by the factor 1 - 1 / t. Returns the sum of the losses met; NaN where t does not exceed 1. edge_w and
 * edge_g are memory for the weights of transitions and edges and their gradient. */
f64 chain_decayed_steps(const Chains *chains, const Layout *layout, i64 n_order, const i32 order[n_order], i64 n_tokens,
                       const i32 labels[n_tokens], i64 n_weighted, const f64 weights[n_weighted], f64 strength,
                       f64 first, i64 n_weights, f64 w[n_weights], Scratch *scratch, i64 n_edges, f64 edge_w[n_edges],
                       f64 edge_g[n_edges]);
