/* Decoding of chains of second order; what they are is said in second_order_inline.h. */
#ifndef EPIGRAM_SECOND_ORDER_H
#define EPIGRAM_SECOND_ORDER_H
#include "chain.h"

/* Length of the room that a sentence of n tokens needs. */
i64 second_order_room(i64 n, i64 n_labels, i64 width, i64 n_triples);
/* Probabilities of labels and, unless `edges` is empty, of label pairs into each token; log Z of each sentence. */
void second_order_marginals(const Chains *chains, const Layout *layout, i64 n_chosen,
                            const i32 sentences[n_chosen], i64 n_weights, const f64 w[n_weights], i64 n_allowed,
                            const u8 allowed[n_allowed], const Scratch *scratch, i64 n_tokens, i64 n_labels,
                            f64 nodes[n_tokens * n_labels], i64 n_edges, f64 edges[n_edges], i64 n_all,
                            f64 log_z[n_all]);
/* The best label of every token of the given sentences, to `out`. */
void second_order_viterbi(const Chains *chains, const Layout *layout, i64 n_chosen,
                          const i32 sentences[n_chosen], i64 n_weights, const f64 w[n_weights], i64 n_allowed,
                          const u8 allowed[n_allowed], const Scratch *scratch, i64 n_tokens, i32 out[n_tokens]);
/* n_lists is n_labels * n_labels * k. */
i64 second_order_k_best(const Chains *chains, const Layout *layout, i64 s, i64 n_weights, const f64 w[n_weights],
                        i64 n_allowed, const u8 allowed[n_allowed], const Scratch *scratch, i64 k, i64 longest,
                        i64 n_labels, i64 n_lists, f64 score[2 * n_lists],
                        f64 path_scores[n_labels * k], i64 back[longest * n_lists],
                        i64 places[2 * n_labels * k + n_labels + k], i32 labels[k * longest], f64 values[k]);

#endif
