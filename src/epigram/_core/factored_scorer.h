/* Log-probabilities of choices under the weights that are not 0 (factored.h has the loss that made them).
 *
 * Contexts stand in level order, the roots of all trees first: tree t has the roots t * n_roots ... steps and pairs are
 * what pack makes of the weights: a hash table of all steps down, as time goes into waiting for memory and a step then
 * waits once. Contexts with many pairs have a row with exp of all scores down to them; those of the roots start at
 * root_rows. f = exp of a weight. Position i chooses target[i] of root root_of[i]; in tree t its context is
 * history[end - 1], history[end - 2], ..., length symbols, with end and length at [i, t].
 */
#include "core.h"

typedef struct {
    i64 n_roots;
    i64 n_trees;
    i64 n_bits;
    i64 n_pairs;
    i64 n_rows;
    const i32 *n_choices; /* [n_roots] */
    const i32 *root_rows; /* [n_roots * n_trees] */
    const i32 *steps; /* [4 << n_bits] */
    const u8 *pairs; /* [16 * n_pairs] */
    const f64 *rows; /* [n_rows] */
} Weights;

void factored_scorer_keep_paths(i64 n, const i32 parent[n], const i64 pair_ptr[n + 1], i64 n_pairs, const f64 w[n_pairs],
                                u8 needed[n]);
i64 factored_scorer_place_rows(i64 n_roots, const i32 n_choices[n_roots], i64 n, const i32 parent[n], const i64 pair_ptr[n + 1],
                               i32 root[n], i32 row_at[n]);
void factored_scorer_fill_rows(i64 n_roots, const i32 n_choices[n_roots], i64 n, const i32 parent[n], const i64 pair_ptr[n + 1],
                               i64 n_pairs, const i32 choice[n_pairs], const f64 f[n_pairs], const i32 root[n],
                               const i32 row_at[n], i64 n_rows, f64 rows[n_rows]);
void factored_scorer_pack(i64 n, const i32 parent[n], const i32 symbol[n], const i64 child_ptr[n + 1],
                          const i64 pair_ptr[n + 1], const i32 row_at[n], i64 n_pairs, const i32 choice[n_pairs],
                          const f64 f[n_pairs], i64 n_bits, i32 steps[4 << n_bits], u8 pairs[16 * n_pairs]);
/* Whether stored arrays are trees of known symbols with their candidates, at most longest symbols deep, and the stored
 * tables of m what place_rows and pack would make of them. root and depth are for its own use. */
u8 factored_scorer_is_packed(const Weights *m, i64 n, const i32 parent[n], const i32 symbol[n], i64 n_symbols, i64 longest,
                             const i64 pair_ptr[n + 1], const i32 row_at[n], i64 n_pairs, const i32 choice[n_pairs],
                             i32 root[n], i32 depth[n]);
i64 factored_scorer_contexts(i64 n, const i32 end[n], const i32 length[n], i64 n_history, const i32 history[n_history],
                             i64 n_words, const i32 class_of[n_words], i64 n_classes, i64 n_trees,
                             const i32 tree_ptr[n_trees + 1], i64 n_symbols, const i32 lags[n_symbols],
                             const u8 of_class[n_symbols], i32 symbols[n * n_symbols], i32 ends[n * n_trees], i32 lengths[n * n_trees]);
i64 factored_scorer_room(i64 n_trees, i64 n_symbols);
void factored_scorer_score(const Weights *m, i64 n, const i32 root_of[n], const i32 target[n], i64 n_history,
                           const i32 history[n_history], i64 n_trees, const i32 ends[n * n_trees],
                           const i32 lengths[n * n_trees], i64 n_room, i32 room[n_room],
                           i64 widest, f64 x[widest], f64 out[n]);
void factored_scorer_distributions(const Weights *m, i64 n_history, const i32 history[n_history], i64 n_trees,
                                   const i32 ends[n_trees], const i32 lengths[n_trees], i64 n_room, i32 room[n_room],
                                   i64 n_out, f64 out[n_out]);

/* Factors of candidates: entry e, one of row_ptr[r] .. row_ptr[r + 1], makes candidate choice[e] of row r f[e] times as
 * likely before the sum is taken. */
typedef struct {
    i64 n_rows;
    i64 n_entries;
    const i64 *row_ptr; /* [n_rows + 1] */
    const i32 *choice; /* [n_entries] */
    const f64 *f; /* [n_entries] */
} Factors;

/* As score, with the factors of row rows[i] for position i; adds P of every entry to expected where that has room. */
void factored_scorer_score_with(const Weights *m, const Factors *factors, i64 n, const i32 rows[n], const i32 root_of[n],
                                const i32 target[n], i64 n_history, const i32 history[n_history], i64 n_trees,
                                const i32 ends[n * n_trees], const i32 lengths[n * n_trees], i64 n_room, i32 room[n_room], i64 widest, f64 x[widest],
                                i64 n_expected, f64 expected[n_expected], f64 out[n]);
/* As distributions, with the factors of row r for root r. */
void factored_scorer_distributions_with(const Weights *m, const Factors *factors, i64 n_history, const i32 history[n_history],
                                        i64 n_trees, const i32 ends[n_trees], const i32 lengths[n_trees], i64 n_room,
                                        i32 room[n_room], i64 n_out, f64 out[n_out]);
