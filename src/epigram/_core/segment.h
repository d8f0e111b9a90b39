/* Decoding of semi-Markov chains; what they are is said in segment_inline.h. */
#ifndef EPIGRAM_SEGMENT_H
#define EPIGRAM_SEGMENT_H
#include "chain.h"

/* Length of the room that a sentence of n tokens needs. */
i64 segment_room(i64 n, i64 width, i64 longest, i64 n_types);
void segment_marginals(const Chains *chains, const Layout *layout, i64 n_chosen, const i32 sentences[n_chosen],
                       i64 n_weights, const f64 w[n_weights], i64 n_allowed, const u8 allowed[n_allowed],
                       const Scratch *scratch, i64 n_rows, i64 n_labels, f64 nodes[n_rows * n_labels], i64 n_all,
                       f64 log_z[n_all]);
/* n_lists is (longest + 1) * n_labels * k. */
i64 segment_k_best(const Chains *chains, const Layout *layout, i64 s, i64 n_weights, const f64 w[n_weights],
                   i64 n_allowed, const u8 allowed[n_allowed], const Scratch *scratch, i64 k, i64 longest, i64 n_labels,
                   i64 n_lists, f64 ending[n_lists], f64 entering[n_lists], i64 end_origin[n_lists],
                   i64 enter_origin[n_lists], i32 labels[k * longest], f64 values[k]);

#endif
