/* SGD inside the l1 ball on chains. Duchi et al. 2008, section 5: projections for sparse gradients.
 *
 * Every projection is a soft threshold theta of all weights (their equation 3), and soft thresholds add up. So a
 * weight is kept as key = |w| + Theta, Theta being the sum of all thetas so far: it is |w| = key - Theta whenever it is
 * read, and zero, for good, once Theta passes its key. A projection then needs the sum and the number of the keys above
 * Theta, and the smallest of them. Differs: a heap of the keys that are nearly due replaces their red-black tree of all.
 */
#include "chain_sgd.h"

/* The weights as keys (0 for a weight that is zero), and room for a heap of the keys up to some limit. The heap may
 * hold keys that their weight no longer has; those are left out when met. There is room for twice the weights, so a
 * heap just made has room for as many steps again. */
typedef struct {
    i64 n_weights;
    f64 *keys; /* [n_weights] */
    f64 *heap_keys; /* [2 * n_weights] */
    i32 *heap_owners; /* [2 * n_weights] */
} BallMemory;

f64 chain_projected_run(const Chains *chains, const Layout *layout, const Pass *plan, f64 radius, i64 every,
                         i64 n_weights, f64 w[n_weights], BallMemory *memory, Scratch *scratch, Step *step);
