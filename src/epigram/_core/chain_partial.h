/* Sentences whose labels are known in part: a token may have any label of a set. The loss is that of all labellings that
 * keep to the sets, log Z - log Z', where Z' sums over these; its gradient is the expectation over all labellings less the
 * one over these.
 *
 * A label of -1 - m is set m: row m of label_sets (chain.h), 1 for its labels and 0 for the others. x->room holds two rows
 * of labels a token. */
#ifndef EPIGRAM_CHAIN_PARTIAL_H
#define EPIGRAM_CHAIN_PARTIAL_H
#include "chain_inline.h"

/* Whether a label of sentence s is a set. */
static inline u8 is_partial(const Chains *a, i64 s, const i32 *labels) {
    if (a->n_sets == 0) return 0;
    for (i64 t = a->sentence_ptr[s]; t < a->sentence_ptr[s + 1]; t++) {
        if (labels[t] < 0) return 1;
    }
    return 0;
}

/* scored_loss (chain_step.h) of such a sentence, by a chain of first order. */
f64 partial_loss(const Chains *a, const Layout *l, i64 s, const i32 *labels, f64 weight, const f64 *edge_w,
                 const Scratch *x, f64 *edges);

#endif
