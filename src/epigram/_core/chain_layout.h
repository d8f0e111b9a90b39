/* Laying out weights and sentences: which (attribute, label) pairs were seen, which rows a sentence has. */
#include "core.h"

void chain_layout_mark_pairs(i64 n_tokens, const i64 attribute_ptr[n_tokens + 1], i64 n, const i32 attributes[n],
                             const i32 labels[n_tokens], i64 n_attributes, i64 n_words, i64 seen[n_attributes * n_words]);
void chain_layout_count_bits(i64 n_attributes, i64 n_words, const i64 seen[n_attributes * n_words],
                             i64 out[n_attributes]);
void chain_layout_fill_rows(i64 n_attributes, i64 n_words, const i64 seen[n_attributes * n_words],
                            const i32 row_of[n_attributes], i64 dense_end, i64 state_end, i32 codes[state_end],
                            u8 free[state_end]);
void chain_layout_mark_edges(i64 n_tokens, const i64 edge_ptr[n_tokens + 1], i64 n, const i32 edge_attributes[n],
                             const i64 before[n_tokens], const i32 labels[n_tokens], i64 n_labels, i64 width, i64 keys[n]);
void chain_layout_dense_first(i64 n_tokens, const i64 attribute_ptr[n_tokens + 1], i64 n_attributes,
                              const i32 row_of[n_attributes], i64 dense_end, i64 n, i32 attributes[n], i64 n_values,
                              f64 values[n_values]);
void chain_layout_measure_sentences(i64 n_sentences, const i64 rows_ptr[n_sentences + 1], i64 n, const i32 rows[n],
                                    i64 state_end, const i32 codes[state_end], i64 width, i64 dense_end,
                                    i64 out[n_sentences]);
i64 chain_layout_distinct_rows(i64 n_sentences, const i64 sentence_ptr[n_sentences + 1], i64 n_tokens,
                               const i64 attribute_ptr[n_tokens + 1], i64 n, const i32 attributes[n], i64 n_attributes,
                               const i32 row_of[n_attributes], i32 count[n_attributes], i32 number[n_attributes],
                               i64 rows_ptr[n_sentences + 1], i32 n_shared[n_sentences], i32 rows[n], i32 local[n]);
/* out[places] = x; out = w[places]; out += w[places] */
void chain_layout_spread(i64 n, const i32 places[n], const f64 x[n], i64 n_weights, f64 out[n_weights]);
void chain_layout_gather(i64 n, const i32 places[n], i64 n_weights, const f64 w[n_weights], f64 out[n]);
void chain_layout_add_gathered(i64 n, const i32 places[n], i64 n_weights, const f64 w[n_weights], f64 out[n]);
