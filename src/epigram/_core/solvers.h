/* Fused passes of the solvers over whole vectors: each reads its vectors once. */
#include "core.h"

void solvers_forward_step(i64 n, const f64 y[n], const f64 gradient[n], const f64 d[n], f64 scale, f64 step[n], f64 out[n]);
void solvers_measure(i64 n, const f64 y[n], const f64 next[n], const f64 x[n], const f64 gradient[n], const f64 d[n], f64 sums[3]);
void solvers_extrapolate(i64 n, const f64 next[n], const f64 x[n], f64 pull, f64 y[n]);
void solvers_average(i64 n, const f64 w[n], const f64 z[n], f64 tau, f64 out[n]);
void solvers_sage_average(i64 n, const f64 point[n], const f64 w[n], f64 rho, f64 tau, f64 mu, f64 z[n]);
f64 solvers_pseudo_gradient(i64 n, const f64 w[n], const f64 g[n], f64 l1, f64 out[n]);
void solvers_step_in_orthant(i64 n, const f64 w[n], const f64 pseudo[n], const f64 d[n], f64 step, f64 l1, f64 out[n], f64 sums[3]);
void solvers_curvature(i64 n, const f64 w_next[n], const f64 w[n], const f64 g_next[n], const f64 g[n], f64 sums[2]);
void solvers_keep_pair(i64 n, const f64 w_next[n], const f64 w[n], const f64 g_next[n], const f64 g[n], f64 scale, f32 s[n], f32 y[n]);
void solvers_row_products(i64 n_rows, i64 n, const f32 rows[n_rows * n], i64 first, i64 last, const f32 s[n],
                          const f32 y[n], const f64 g[n], f64 out[3 * n_rows]);
void solvers_combine_rows(i64 n_rows, i64 n, const f32 rows[n_rows * n], const f64 c[n_rows], f64 weight,
                          i64 first, i64 last, const f64 g[n], f64 d[n]);
