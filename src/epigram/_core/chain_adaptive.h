/* AdaGrad with an l1 penalty on chains. Duchi, Hazan and Singer 2011; McMahan 2011.
 *
 * Letters, one of each per weight: h the sum of its squared gradients so far, r = sqrt(h) / eta its curvature, z the
 * sum of its gradients less that of (rise of r) w over the steps; u = k C/N the penalty so far. The weight is always
 *
 *     w = argmin z w + u |w| + r/2 w^2 = -sign(z) max(|z| - u, 0) / r,
 *
 * so a weight that no sentence uses needs no work until one does: only u has grown, and w is computed when it is read.
 */
#include "chain_sgd.h"

f64 chain_adaptive_run(const Chains *chains, const Layout *layout, const Pass *plan, i64 n_weights, f64 w[n_weights],
                        f64 z[n_weights], f64 h[n_weights], f64 r[n_weights], Scratch *scratch, Step *step);
