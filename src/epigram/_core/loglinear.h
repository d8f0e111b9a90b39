/* The log-linear language model: its context tree, and the loss over all suffixes (Nelakanti et al. 2013, section 2).
 *
 * A context c is a node, a pair p = (c, u) a predicted symbol u seen after c, q its parent pair (c', u) where c' is c
 * without its oldest symbol. Contexts stand in level order, roots first; the children of c, and its pairs, are
 * contiguous and rise by symbol. lm/loglinear/tree.py names the arrays. Besides, e = exp of the summed weights of a pair,
 * z the normaliser of a context, r the sum of 1/z over the positions below it.
 */
#include "core.h"

typedef struct {
    i64 n_contexts;
    i64 n_pairs;
    i64 n_roots;
    i64 n_history;
    const i32 *history; /* [n_history] */
    const i32 *parent; /* [n_contexts] */
    const i32 *symbol; /* [n_contexts] */
    const i32 *depth; /* [n_contexts] */
    const i32 *example; /* [n_contexts] */
    const i32 *terminal; /* [n_contexts] */
    const i32 *multiplicity; /* [n_contexts] */
    const i64 *child_ptr; /* [n_contexts + 1] */
    const i64 *pair_ptr; /* [n_contexts + 1] */
    const i32 *word; /* [n_pairs] */
    const i32 *count; /* [n_pairs] */
    const i32 *pair_parent; /* [n_pairs] */
} Tree;

/* What the sweeps over a tree leave. */
typedef struct {
    i64 n_contexts;
    i64 n_pairs;
    f64 *e; /* [n_pairs] */
    f64 *z; /* [n_contexts] */
    f64 *r; /* [n_contexts] */
} Sums;

/* Position i has the target target[i] after history[end[i] - 1], history[end[i] - 2], ..., length[i] symbols. */
typedef struct {
    i64 n;
    i64 n_history;
    const i32 *history; /* [n_history] */
    const i32 *end; /* [n] */
    const i32 *length; /* [n] */
    const i32 *target; /* [n] */
    const i32 *root; /* [n] */
} Positions;

/* One level of a tree while it grows, with room for so many contexts and slots. A slot stands for one position on its
 * way down; the slots of a context are sorted by target. */
typedef struct {
    i64 n_contexts;
    i64 n_slots;
    i32 *parent; /* [n_contexts] */
    i32 *symbol; /* [n_contexts] */
    i32 *depth; /* [n_contexts] */
    i64 *slot_ptr; /* [n_contexts + 1] */
    i64 *pair_ptr; /* [n_contexts + 1] */
    i32 *word; /* [n_slots] */
    i32 *count; /* [n_slots] */
    i32 *pair_parent; /* [n_slots] */
    i32 *slots; /* [n_slots] */
    i32 *pair_of_slot; /* [n_slots] */
} Level;

/* Room to sort n symbols below n_bins, each with a value. */
typedef struct {
    i64 n;
    i64 n_bins;
    i32 *keys; /* [n] */
    i32 *values; /* [n] */
    i32 *spare_keys; /* [n] */
    i32 *spare_values; /* [n] */
    i64 *bins; /* [n_bins] */
} Sorting;

i64 loglinear_first_misfit(const Positions *at, i64 n_roots, i64 n_targets);
i64 loglinear_plant(const Positions *at, i64 n_targets, i64 first[n_targets + 1], const Sorting *sorting, const Level *out);
i64 loglinear_grow(const Positions *at, const Level *level, i64 n_here, i64 first_context, i64 first_pair, u8 collapse,
                   const Sorting *sorting, i32 terminal[n_here], const Level *out, i64 sizes[2]);
i64 loglinear_collapsed_pairs(i64 n, const i32 pair_parent[n], const i32 count[n]);

void loglinear_locate(const Tree *t, const Positions *at, i64 n, i32 context[n], i32 matched[n], i32 pair[n]);
void loglinear_match_trees(const Tree *t, const Tree *old, const f64 old_w[old->n_pairs], i64 n_contexts,
                           i32 node[n_contexts], i64 n_pairs, f64 out[n_pairs]);
u8 loglinear_link_pairs(i64 n_contexts, i64 n_pairs, const i32 parent[n_contexts], const i64 pair_ptr[n_contexts + 1],
                        const i32 word[n_pairs], i32 pair_parent[n_pairs]);
i64 loglinear_unseen(const Tree *t, const Sums *sums, f64 least, i64 n_contexts, f64 most[n_contexts], i64 n, i32 context[n],
                     i32 word[n]);
void loglinear_close_prefixes(const Tree *t, i64 n_levels, i32 path[n_levels], i64 n_contexts, u8 needed[n_contexts],
                              i64 n_pairs, u8 kept[n_pairs]);
void loglinear_count_spread(const Tree *t, i64 n, const i32 nodes[n], i64 n_pairs, const f64 w[n_pairs], i64 out[2]);
void loglinear_spread(const Tree *t, const Sums *sums, i64 n, const i32 nodes[n], i64 n_pairs, const f64 w[n_pairs],
                      i64 n_contexts, i32 number[n_contexts], i64 n_new, i32 parent[n_new], i32 label[n_new],
                      i64 pair_ptr[n_new + 1], i64 n_new_pairs, i32 word[n_new_pairs], f64 logp[n_new_pairs], f64 bow[n_new]);

f64 loglinear_sweep_down(const Tree *t, const Sums *sums, i64 c, i64 high, i64 n_pairs, const f64 w[n_pairs]);
f64 loglinear_sweep(const Tree *t, const Sums *sums, i64 c, i64 high, i64 n_pairs, const f64 w[n_pairs], f64 g[n_pairs],
                    i64 n_roots, f64 top_r[n_roots], i64 n_top, f64 top_g[n_top], i64 n_levels, i64 bounds[2 * n_levels]);
void loglinear_log_probabilities(const Tree *t, const Sums *sums, i64 n, const i32 context[n], const i32 matched[n],
                                 const i32 pair[n], i64 n_pairs, const f64 w[n_pairs], f64 out[n]);
i64 loglinear_batch_contexts(const Tree *t, i64 n, const i64 samples[n], i64 n_samples, const i32 context[n_samples],
                             i64 n_contexts, i32 seen[n_contexts], i32 active[n_contexts]);
f64 loglinear_batch_sweep(const Tree *t, const Sums *sums, i64 n, const i64 samples[n], i64 n_samples,
                          const i32 context[n_samples], const i32 pair[n_samples], i64 n_active, const i32 active[n_active],
                          i64 n_roots, const f64 n_unseen[n_roots], f64 scale, i64 n_pairs, const f64 w[n_pairs],
                          i64 n_contexts, i32 seen[n_contexts], f64 g[n_pairs]);
void loglinear_clear_pairs(const Tree *t, i64 n, const i32 contexts[n], i64 n_pairs, f64 out[n_pairs]);
