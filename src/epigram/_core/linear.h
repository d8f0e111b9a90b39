/* Logistic loss of sparse rows: sum_i c_i log(1 + e^(-y_i s_i)), s_i = w . x_i + b, y_i = +1 or -1.
 *
 * Row i of X has the columns ids[ptr[i]] .. ids[ptr[i + 1] - 1] with their values; the last weight is the bias.
 */
#ifndef EPIGRAM_LINEAR_H
#define EPIGRAM_LINEAR_H
#include "core.h"

typedef struct {
    i64 n;
    i64 n_values;
    const i64 *ptr; /* [n + 1] */
    const i32 *ids; /* [n_values] */
    const f32 *values; /* [n_values] */
} SparseRows;

/* s = X W + b for several columns of weights, one beside the other (LANES of them, or one). */
void linear_scores(const SparseRows *rows, i64 n_lanes, i64 n_w, const f64 w[n_w], f64 scores[rows->n * n_lanes]);

/* out = X' r, and the sum of r for the bias. */
void linear_gradient(const SparseRows *rows, i64 n, const f64 residuals[n], i64 n_weights, f64 out[n_weights]);

/* Squared l2 norms of the rows, with the bias. */
void linear_squares(const SparseRows *rows, i64 n, f64 squares[n]);

/* One pass of dual coordinate ascent over the rows in `order`. The dual of loss + l1 sum |w| + l2 sum w^2 has a number
 * 0 < a_i < c_i a row; v = sum_i a_i y_i x_i and w = (v - clamp(v, -l1, l1)) / (2 l2). A step solves
 * log(a / (c - a)) + y (s + offset) + (a - a_i) |x|^2 / (2 l2) = 0 for a. Rows that hardly moved rest for some passes: `rests` counts
 * them down, `naps` is how many came last. Several problems with the same rows, 8 or one, lie side by side as lanes; those
 * with active = 0 stay as they are. moved gets sum |change of a_i| / c_i of each lane. */
void linear_dual_pass(const SparseRows *rows, i64 n, const i32 order[n], i64 n_lanes, const u8 active[n_lanes],
                      const f64 signs[n * n_lanes], const f64 offsets[n * n_lanes], const f64 costs[n], const f64 squares[n], f64 l1, f64 l2,
                      f64 duals[n * n_lanes], u8 rests[n * n_lanes], u8 naps[n * n_lanes], i64 n_v, f64 v[n_v],
                      f64 moved[n_lanes]);

#endif
