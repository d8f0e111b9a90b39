/* Loss of a choice among few candidates under the sum of several context trees.
 *
 * A root has the candidates u = 0 .. n - 1, padded to width with zeros. S[d] = exp of the scores at depth d on the
 * way down the main tree, G[d] the expected counts gathered below it; E[k] = exp of the scores of the side context in
 * row k, its ancestors included, H[k] its expected counts; f = exp of a weight, g its gradient. Rows E and H begin at
 * side context base; side contexts stand root by root, parents before their children. Position i, in the order of main
 * contexts, has the side contexts sample_rows[i]. With upward 0 neither H, G nor g is written.
 */
#include "core.h"

typedef struct {
    i64 n_contexts;
    i64 n_pairs;
    i64 n_samples;
    i64 n_side_trees;
    i64 n_side;
    const i32 *parent; /* [n_contexts] */
    const i64 *child_ptr; /* [n_contexts + 1] */
    const i64 *pair_ptr; /* [n_contexts + 1] */
    const i32 *choice; /* [n_pairs] */
    const i32 *count; /* [n_pairs] */
    const i64 *sample_ptr; /* [n_contexts + 1] */
    const i32 *sample_rows; /* [n_samples * n_side_trees] */
    const i32 *side_context; /* [n_side] */
    const i32 *side_row; /* [n_contexts] */
} Trees;

void factored_side_down(const Trees *t, i64 base, i64 n_rows, i64 width, i64 first, i64 last, i64 n_pairs,
                        const f64 f[n_pairs], f64 E[n_rows * width]);
/* H has a block of rows from each of the sweeps that shared the children of the root; they are added up in the first. */
void factored_side_up(const Trees *t, i64 base, i64 n_rows, i64 width, i64 first, i64 last, i64 n_pairs, i64 n_blocks,
                      f64 H[n_blocks * n_rows * width], f64 g[n_pairs]);
f64 factored_choose_at_root(const Trees *t, i64 root, i64 base, i64 n_rows, i64 width, const f64 E[n_rows * width],
                            u8 upward, f64 H[upward * n_rows * width], const f64 s[width], f64 x[width],
                            f64 gathered[width]);
f64 factored_sweep(const Trees *t, i64 root, i64 n_children, const i32 children[n_children], i64 base, i64 n_rows, i64 width,
                   i64 n_pairs, const f64 f[n_pairs], const f64 E[n_rows * width], u8 upward,
                   f64 H[upward * n_rows * width], i64 depth, i64 path[2 * depth], f64 S[depth * width],
                   f64 G[depth * width], f64 x[width], f64 g[upward * n_pairs]);
f64 factored_seen(const Trees *t, i64 first, i64 last, i64 n_pairs, const f64 w[n_pairs]);
f64 factored_batch(const Trees *t, i64 n, const i32 samples[n], i64 n_trees,
                   const i32 contexts[t->n_samples * n_trees], i64 n_roots, const i32 n_choices[n_roots],
                   const i32 root_of[t->n_samples], const i32 target[t->n_samples], f64 scale, i64 n_pairs,
                   const f64 w[n_pairs], i64 widest, f64 x[widest], f64 out[n_pairs]);
void factored_clear_paths(const Trees *t, i64 n, const i32 samples[n], i64 n_trees,
                          const i32 contexts[t->n_samples * n_trees], i64 n_pairs, f64 out[n_pairs]);
