/* Labels on the nodes of a given tree: the sum-product and max-product of chains, with the parent in place of the token
 * before. Tsuruoka et al. 2009, section 2, name the model.
 *
 * Letters: b[t] the scaled sum over labellings of the subtree of t, by the label of t; m[t] = E b[t] the message that t sends
 * to its parent, by the label of the parent; belief the marginal; cavity[t] = belief of the parent / m[t], all that the parent
 * knows without t.
 */
#ifndef EPIGRAM_TREE_CHAIN_H
#define EPIGRAM_TREE_CHAIN_H
#include "chain_inline.h"
#include "ranking.h"

const f64 *pairs_into(const Chains *a, const Layout *l, i64 t, const f64 *w, const f64 *T, f64 *own);

/* log Z of tree s, whose scores and matrices are in x. Leaves b in x->scores, cavity in x->alpha, the marginals in x->beta,
 * and in x->pair_sums the sums over edges of cavity[i] b[j]. */
f64 tree_marginals(const Chains *a, const Layout *l, i64 s, i64 n_matrices, const Scratch *x);

/* After tree_marginals: node marginals (token x label) and, unless `edges` is empty, those of label pairs into each token. */
void tree_probabilities(const Chains *a, const Layout *l, i64 s, const Scratch *x, f64 *nodes, i64 n_edges, f64 *edges);

/* The best label of every node of tree s; x holds the scores of nodes, and of transitions in x->matrices. */
void tree_best(const Chains *a, const Layout *l, i64 s, const f64 *w, const Scratch *x, i32 *out);

/* The k best labellings of tree s, as decoding_k_best. */
i64 tree_k_best(const Chains *a, const Layout *l, i64 s, const f64 *w, const Scratch *x, i64 k, i64 longest, f64 *score,
                i64 *back, i64 *ends, i32 *labels, f64 *values);

#endif
