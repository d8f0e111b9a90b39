/* Learners that compare the right labels of a sentence with the best ones by the weights of the moment, and move the
 * weights where they differ: the averaged perceptron (Collins 2002), passive-aggressive (Crammer et al. 2006) and AROW
 * (Crammer, Kulesza and Dredze 2009).
 *
 * Letters: D is the difference of the features of the right and of the best labelling; w.D <= 0 is how far the right one
 * is behind, d the number of tokens whose labels differ.
 */
#ifndef EPIGRAM_CHAIN_MARGIN_H
#define EPIGRAM_CHAIN_MARGIN_H
#include "decoding.h"

/* The sentences of a pass, and memory: `best` takes the labels found; `delta` and `seen` are zero between sentences;
 * `touched` lists the weights with a difference, and has room for those of the sentence with the most. */
typedef struct {
    i64 n_order;
    i64 n_tokens;
    i64 n_sentences;
    i64 n_weights;
    i64 n_touched;
    const i32 *order; /* [n_order] */
    const i32 *labels; /* [n_tokens] */
    const f64 *weights; /* [n_sentences] */
    i32 *best; /* [n_tokens] */
    f64 *delta; /* [n_weights] */
    u8 *seen; /* [n_weights] */
    i64 *touched; /* [n_touched] */
} MarginPass;

/* Each returns the sum of the losses: the share of wrong labels, or the cost of the wrong labelling. `sums` holds each
 * move times the number of the step at which it was made, the first of this pass being `step`. */
f64 chain_margin_perceptron(const Chains *chains, const Layout *layout, MarginPass *plan, f64 step, i64 n_weights,
                            f64 w[n_weights], f64 sums[n_weights], const Scratch *scratch);
/* kind 0: the whole step; 1: at most c; 2: softened by c. by_errors: the margin is sqrt(d), else 1. */
f64 chain_margin_passive(const Chains *chains, const Layout *layout, MarginPass *plan, f64 step, i64 kind, f64 c,
                         u8 by_errors, i64 n_weights, f64 w[n_weights], f64 sums[n_weights], const Scratch *scratch);
f64 chain_margin_arow(const Chains *chains, const Layout *layout, MarginPass *plan, f64 gamma, i64 n_weights,
                      f64 w[n_weights], f64 variances[n_weights], const Scratch *scratch);

#endif
