/* Reranking of n-best lists: features of candidates, pairs with the best candidate W^R, and learners over the pairs.
 *
 * Letters, as in Gao et al. 2006: pair p = (W^R, W) of one list, v = f_k(W^R) - f_k(W) the value difference,
 * q[p] = exp(-margin), a slot = all pairs with one (feature, value difference), S[slot] = the sum of their q. The slots
 * of pair p stand at pair_ptr[p] .. pair_ptr[p + 1], those of feature k at feature_slot[k] .. feature_slot[k + 1], the
 * pairs of slot s at slot_ptr[s] .. slot_ptr[s + 1].
 */
#include "core.h"

/* A stagewise learner: its rule, the pairs indexed both ways, and where it stands. Features are in a max-heap by
 * (bound, smaller number); bound is never below the true gain: a gain that falls leaves its place in the heap alone
 * until it comes to the top. The first features of active have weights other than zero, where[k] is k's place among
 * them. state is (loss, alpha, number of non-zero weights). */
typedef struct {
    f64 search_step;
    f64 step;
    f64 shrinkage;
    f64 smoothing;
    f64 theta;
    i64 n_weights;
    i64 n_slots;
    i64 n_pairs;
    i64 n_entries;
    const i64 *feature_slot; /* [n_weights + 1] */
    const f64 *slot_value; /* [n_slots] */
    const i32 *slot_feature; /* [n_slots] */
    const i64 *slot_ptr; /* [n_slots + 1] */
    const i32 *slot_pair; /* [n_entries] */
    const i64 *pair_ptr; /* [n_pairs + 1] */
    const i32 *pair_slot; /* [n_entries] */
    const f64 *try_up; /* [n_slots] */
    const f64 *try_down; /* [n_slots] */
    f64 *q; /* [n_pairs] */
    f64 *S; /* [n_slots] */
    f64 *w; /* [n_weights] */
    f64 *gain; /* [n_weights] */
    f64 *bound; /* [n_weights] */
    i32 *heap; /* [n_weights] */
    i32 *place; /* [n_weights] */
    i32 *active; /* [n_weights + 1] */
    i32 *where; /* [n_weights + 1] */
    i64 *stamp; /* [n_weights] */
    i32 *dirty; /* [n_weights] */
    f64 *state; /* [3] */
} Stagewise;

/* Minimum sample risk: pairs by list and by feature, how many errors more than W^R each rival has (extra), margins, and
 * room for one line search: slope of each pair (0 between calls), lists met, events. */
typedef struct {
    i64 n_lists;
    i64 n_weights;
    i64 n_slots;
    i64 n_pairs;
    i64 n_entries;
    i64 n_events;
    const i64 *list_pair; /* [n_lists + 1] */
    const i32 *pair_list; /* [n_pairs] */
    const i64 *feature_slot; /* [n_weights + 1] */
    const f64 *slot_value; /* [n_slots] */
    const i64 *slot_ptr; /* [n_slots + 1] */
    const i32 *slot_pair; /* [n_entries] */
    const f64 *extra; /* [n_pairs] */
    f64 *margins; /* [n_pairs] */
    f64 *slope; /* [n_pairs] */
    i64 *stamp; /* [n_lists] */
    i32 *touched; /* [n_lists] */
    f64 *place; /* [n_events] */
    f64 *change; /* [n_events] */
} Risk;

/* Lists on which a path is followed, with their inverted index feature -> (candidate, value); costs is (L1 norm,
 * non-zero weights, errors) so far, best the candidate that each list chooses now. */
typedef struct {
    i64 n_lists;
    i64 n_candidates;
    i64 n_weights;
    i64 n_uses;
    const i64 *use_ptr; /* [n_weights + 1] */
    const i32 *use_candidate; /* [n_uses] */
    const f64 *use_value; /* [n_uses] */
    const i32 *list_of; /* [n_candidates] */
    const i64 *list_ptr; /* [n_lists + 1] */
    const f64 *errors; /* [n_candidates] */
    f64 *scores; /* [n_candidates] */
    i64 *best; /* [n_lists] */
    i64 *stamp; /* [n_lists] */
    i32 *touched; /* [n_lists] */
    f64 *w; /* [n_weights] */
    f64 *costs; /* [3] */
} Replay;

void rerank_best_of_lists(i64 n, const i64 list_ptr[n + 1], i64 n_candidates, const f64 scores[n_candidates], i64 out[n]);
void rerank_differences(i64 n, const i64 list_ptr[n + 1], const i64 oracle[n], i64 n_candidates,
                        const i64 feat_ptr[n_candidates + 1], i64 n_entries, const i32 feats[n_entries],
                        const f64 values[n_entries], i64 n_weights, f64 scratch[n_weights], i64 longest,
                        i32 touched[2 * longest], i64 pair_ptr[n_candidates - n + 1], i64 room, i32 out_feat[room],
                        f64 out_value[room]);
void rerank_counting_sort(i64 n, i64 n_codes, const i32 codes[n], const i32 order[n], i64 next_place[n_codes], i32 out[n]);
void rerank_pair_margins(i64 n_pairs, const i64 pair_ptr[n_pairs + 1], i64 n_entries, const i32 pair_slot[n_entries],
                         i64 n_slots, const f64 slot_move[n_slots], f64 out[n_pairs]);
void rerank_slot_sums(i64 n_pairs, const i64 pair_ptr[n_pairs + 1], i64 n_entries, const i32 pair_slot[n_entries],
                      const f64 q[n_pairs], i64 n_slots, f64 out[n_slots]);
f64 rerank_perceptron_pass(i64 n_lists, const i64 order[n_lists], const i64 list_pair[n_lists + 1], i64 n_pairs,
                           const i64 pair_ptr[n_pairs + 1], i64 n_entries, const i32 pair_slot[n_entries], i64 n_slots,
                           const i32 slot_feature[n_slots], const f64 slot_value[n_slots], const f64 base[n_pairs], f64 clock,
                           i64 n_weights, f64 w[n_weights], f64 u[n_weights]);
i64 rerank_replay(const Replay *r, i64 n_steps, const i64 step_ptr[n_steps + 1], i64 n_changes, const i32 features[n_changes],
                  const f64 deltas[n_changes], i64 now, f64 out_l1[n_steps], i64 out_nonzero[n_steps],
                  f64 out_errors[n_steps]);

void rerank_build_heap(const Stagewise *m);
i64 rerank_stagewise(const Stagewise *m, i64 n_steps, i64 done, i64 refresh, i32 out_feature[n_steps],
                     f64 out_delta[n_steps], f64 out_loss[n_steps], f64 out_alpha[n_steps]);

f64 rerank_sample_risk(i64 n_lists, const i64 list_pair[n_lists + 1], i64 n_pairs, const f64 margins[n_pairs],
                       const f64 extra[n_pairs]);
f64 rerank_line_search(const Risk *m, i64 k, i64 now, f64 ends[2]);
void rerank_effectiveness(const Risk *m, i64 n_weights, f64 out[n_weights]);
i64 rerank_risk_pass(const Risk *m, i64 n, const i64 order[n], i64 done, f64 reach, f64 least, f64 risk, i32 out_feature[n],
                     f64 out_delta[n], f64 out_risk[n]);

i64 rerank_find_gram(i64 size, const i64 table_keys[size], i64 key);
void rerank_rehash(i64 old_size, const i64 old_keys[old_size], const i32 old_nodes[old_size], i64 size, i64 table_keys[size],
                   i32 table_nodes[size]);
i64 rerank_insert_grams(i64 n, const i64 token_ptr[n + 1], i64 n_tokens, const i32 tokens[n_tokens], i64 order, i64 n_nodes,
                        i64 size, i64 table_keys[size], i32 table_nodes[size], i64 room, i32 counts[room], i64 keys[room]);
void rerank_walk_grams(i64 n, const i64 token_ptr[n + 1], i64 n_tokens, const i32 tokens[n_tokens], i64 order, i64 size,
                       const i64 table_keys[size], const i32 table_nodes[size], i64 n_nodes, const i32 node_feature[n_nodes],
                       i64 out_ptr[n + 1], i64 room, i32 out_feature[room]);
void rerank_score_grams(i64 n, const i64 token_ptr[n + 1], i64 n_tokens, const i32 tokens[n_tokens], i64 order, i64 size,
                        const i64 table_keys[size], const i32 table_nodes[size], i64 n_nodes, const f64 node_weight[n_nodes],
                        f64 out[n]);
