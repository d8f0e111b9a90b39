/* Norms and their proximal operators: sums over single weights, and tree norms (Nelakanti et al. 2013, section 4).
 *
 * Trees: nodes are numbered parents first (parent[x] < x, -1 at roots), so a loop from the last node to the first meets
 * children before parents: the post-order of the paper's algorithms. kappa[x] = scale * weight[x] * step is the
 * radius of the ball at node x. A step of one element (n_steps = 1) holds for all nodes.
 */
#include "core.h"

f64 penalties_value(i64 n, const f64 w[n], f64 l1, f64 l2, const f64 weights[n], const f64 ridge_weights[n]);
void penalties_prox(i64 n, const f64 w[n], const f64 step[n], f64 l1, f64 l2, const f64 weights[n],
                    const f64 ridge_weights[n], u8 nonnegative, f64 out[n]);

i64 penalties_parents_first(i64 n, const i32 parent[n], i64 first[n], i64 sibling[n], i64 stack[n], i64 out[n]);
void penalties_prox_l2(i64 n, const i32 parent[n], const f64 w[n], const f64 weight[n], f64 scale, i64 n_steps,
                       const f64 step[n_steps], u8 nonnegative, f64 gamma[n], f64 out[n]);
f64 penalties_value_l2(i64 n, const i32 parent[n], const f64 w[n], const f64 weight[n], f64 gamma[n]);
f64 penalties_value_linf(i64 n, const i32 parent[n], const f64 w[n], const f64 weight[n], f64 largest[n]);
void penalties_prox_linf(i64 n, const i32 parent[n], const f64 w[n], const f64 weight[n], f64 scale, i64 n_steps,
                         const f64 step[n_steps], u8 nonnegative, i32 heap[n], i32 child[n], i32 sibling[n],
                         f64 key[n], f64 count[n], f64 total[n], f64 bound[n], f64 out[n]);
void penalties_prox_linf_pivot(i64 n, const i32 parent[n], const f64 w[n], const f64 weight[n], f64 scale,
                               i64 n_steps, const f64 step[n_steps], u8 nonnegative, i64 seed, f64 c[n],
                               i64 size[n], i64 live[n], f64 out[n]);
i64 penalties_collapse_chains(i64 n, const i32 parent[n], const f64 value[n], i32 n_children[n], i32 node[n],
                              i32 parent_out[n], f64 value_out[n], i32 count_out[n]);
