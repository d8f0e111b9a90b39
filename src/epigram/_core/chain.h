/* Linear-chain models: the sentences, where their weights are, and the loss with its gradient.
 *
 * Letters: L labels, padded to `width` so that rows of labels are whole vectors; E = exp(transition weights);
 * alpha, beta the scaled forward and backward vectors; c their scales. A maxent model is the chain of length 1.
 */
#ifndef EPIGRAM_CHAIN_H
#define EPIGRAM_CHAIN_H
#include "core.h"

/* Training or test sentences. Sentence s uses the distinct rows of weights that start at
 * rows[rows_ptr[s]] to rows[rows_ptr[s + 1]]; occurrence k of a token is number local[k] among them, with value
 * values[k * value_stride]. Its first n_shared[s] rows occur more than once in it, the others once. Where nobody asks
 * for distinct rows, `rows` is the row of each attribute, `local` the attributes, rows_ptr zero, n_shared empty.
 * `parents` is empty for chains. For trees, token t of a sentence that starts at `first` hangs on token
 * first + parents[t], or on nothing where that is negative; its transition is that from its parent. */
typedef struct {
    i64 n_sentences;
    i64 n_tokens;
    i64 n_occurrences;
    i64 n_edge_occurrences;
    i64 n_parents;
    i64 n_counted;
    i64 n_rows;
    i64 value_stride;
    const i64 *sentence_ptr; /* [n_sentences + 1] */
    const i64 *attribute_ptr; /* [n_tokens + 1] */
    const i64 *rows_ptr; /* [n_sentences + 1] */
    const i32 *n_shared; /* [n_counted] */
    const i32 *rows; /* [n_rows] */
    const i32 *local; /* [n_occurrences] */
    const f64 *values; /* [n_occurrences * value_stride] */
    const i64 *edge_ptr; /* [n_tokens + 1] */
    const i32 *edge_attributes; /* [n_edge_occurrences] */
    const i32 *parents; /* [n_parents] */
    i64 n_types; /* 0 without segments, of which segment_inline.h tells */
    i64 longest;
    i64 n_segmented;
    i64 n_units;
    const i32 *n_words; /* [n_segmented] */
    const i32 *unit_begin; /* [n_units] */
    const i32 *unit_length; /* [n_units] */
    const i32 *begin_label; /* [n_types] */
    const i32 *inside_label; /* [n_types] */
    i64 n_sets; /* of labels, for tokens that may have any of a set: chain_partial.h */
    i64 set_width;
    const f64 *label_sets; /* [n_sets * set_width] */
} Chains;

/* Where weights live. First the dense rows, up to dense_end: one weight per (padded) label. Then the sparse rows, up
 * to state_end: of entry m, codes[m] & 0xFFFF is the label and codes[m] >> 16 the number of entries to the row's end.
 * Then the transitions, L rows of width; then for each edge attribute the weights of the label pairs (i * width + j) in
 * edge_pair; last those of label triples (second_order_inline.h). `free` is 0 where a weight is not part of the model; `allowed` is 0 where a transition is forbidden. */
typedef struct {
    i64 n_labels;
    i64 width;
    i64 dense_end;
    i64 state_end;
    i64 n_weights;
    i64 n_edge_rows;
    i64 has_transitions;
    const i32 *codes; /* [state_end] */
    const u8 *free; /* [n_weights] */
    const f64 *allowed; /* [n_labels * width] */
    const i64 *edge_row_ptr; /* [n_edge_rows + 1] */
    i64 n_edge_weights;
    const i32 *edge_pair; /* [n_edge_weights] */
    i64 n_triples; /* 0 for chains of first order */
    i64 n_triple_pairs;
    const i64 *triple_ptr; /* [n_triple_pairs + 1] */
    const i32 *triple_before; /* [n_triples] */
    const i32 *triple_number; /* [n_triples] */
    const i32 *triple_from; /* [n_triples] */
    const i32 *triple_into; /* [n_triples] */
} Layout;

/* Working memory for the longest sentence, of n_tokens. Rows of labels are `width` long; matrix 0 is the E that all
 * steps share, the others belong to tokens with edge attributes. */
typedef struct {
    i64 n_tokens;
    i64 n_labels;
    i64 width;
    i64 n_matrices;
    f64 *scores; /* [n_tokens * width] */
    f64 *alpha; /* [n_tokens * width] */
    f64 *beta; /* [n_tokens * width] */
    f64 *c; /* [n_tokens] */
    f64 *matrices; /* [n_matrices * n_labels * width] */
    f64 *transposed; /* [n_matrices * width * width] */
    f64 *pair_sums; /* [n_matrices * n_labels * width] */
    i32 *which; /* [n_tokens] */
    i32 *order; /* [2 * n_tokens] */
    i64 n_room;
    f64 *room; /* [n_room] */
} Scratch;

/* The token whose label the transition into token t comes from; below `first`, where the sentence starts, if none. */
static inline i64 token_before(const Chains *a, i64 first, i64 t) {
    return a->n_parents ? first + larger_i(a->parents[t], -1) : t - 1;
}

f64 chain_batch_gradient(const Chains *chains, const Layout *layout, i64 n_chosen, const i32 sentences[n_chosen],
                         i64 n_tokens, const i32 labels[n_tokens], i64 n_weighted, const f64 weights[n_weighted],
                         i64 n_weights, const f64 w[n_weights], Scratch *scratch, f64 out[n_weights]);

#endif
