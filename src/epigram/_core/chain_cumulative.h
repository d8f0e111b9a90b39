/* SGD with cumulative penalty on chains. Tsuruoka et al. 2009, section 3.2, Fig. 2, in its dual form.
 *
 * Letters: eta the rate of a step, g the gradient, u the total penalty each weight could have received by then (3), q
 * what it has received (4). A step of the figure is
 *
 *     z = w - eta g;   w' = max(0, z - (u + q)) if z > 0, min(0, z + (u - q)) if z < 0;   q' = q + (w' - z).
 *
 * Keep x = w - q, the weight without any penalty. Then z - (u + q) = x - eta g - u and z + (u - q) = x - eta g + u, so
 *
 *     x' = x - eta g;   w' = x' - clamp(x', -u, u),
 *
 * for w' > 0 where x' > u, w' < 0 where x' < -u, else 0; and q' = q + w' - z = w' - x'. One number a weight is kept, a step
 * has no penalty in it, and as x is linear in g the occurrences of a weight need not be summed first. A weight is read at the
 * u of the last step that used it: a row of weights remembers that u.
 */
#include "chain_sgd.h"

/* The weights while a pass runs. Dense row r: x[r * width] and on; its head, of 1 + n_words numbers, is the u of its last
 * step, then bits that say which labels are part of the model. Sparse weights: x, w, the code of the layout, and nothing,
 * so that none straddles two cache lines.
 * Occurrence k is of dense row occurrences[k], or of the sparse row that starts at entry occurrences[k] - n_dense.
 * gradients: room for the score gradients of all tokens of a step. */
typedef struct {
    i64 n_dense;
    i64 width;
    i64 n_words;
    i64 n_entries;
    i64 n_edges;
    i64 n_occurrences;
    i64 n_step_tokens;
    i32 *occurrences; /* [n_occurrences + 20] */
    f64 *heads; /* [n_dense * (1 + n_words)] */
    f64 *x; /* [n_dense * width] */
    f64 *entries; /* [4 * n_entries] */
    f64 *edge_x; /* [n_edges] */
    f64 *edge_w; /* [n_edges] */
    f64 *edge_g; /* [n_edges] */
    f64 *gradients; /* [n_step_tokens * width] */
} Dual;

i64 chain_cumulative_prepare(const Chains *chains, const Layout *layout, Dual *dual);
f64 chain_cumulative_run(const Chains *chains, const Layout *layout, const Pass *plan, i64 n_features,
                         f64 w[n_features], f64 q[n_features], Dual *dual, Scratch *scratch);
