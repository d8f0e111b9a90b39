/* Decoding of chain models: best path (Viterbi), k best paths, marginals, and beam search over left tags.
 *
 * `allowed` is empty, or one byte per token and padded label: 0 forbids the label there.
 */
#include "chain.h"

/* Working memory of beam search: row t of pairs, score and back is the beam before token t. `known` is -1 everywhere
 * between calls; `terms` has one number a label, the others one a candidate for the next beam. */
typedef struct {
    i64 n_rows;
    i64 size;
    i64 n_labels;
    i64 *pairs; /* [n_rows * size] */
    f64 *score; /* [n_rows * size] */
    i64 *back; /* [n_rows * size] */
    i64 *known; /* [(n_labels + 1) * (n_labels + 1)] */
    f64 *terms; /* [n_labels] */
    i64 *candidates; /* [size * n_labels] */
    f64 *values; /* [size * n_labels] */
    i64 *origins; /* [size * n_labels] */
} Beam;

void decoding_viterbi(const Chains *chains, const Layout *layout, i64 n_chosen, const i32 sentences[n_chosen],
                      i64 n_weights, const f64 w[n_weights], i64 n_allowed, const u8 allowed[n_allowed],
                      const Scratch *scratch, i64 n_tokens, i32 out[n_tokens]);
i64 decoding_k_best(const Chains *chains, const Layout *layout, i64 s, i64 n_weights, const f64 w[n_weights], i64 n_allowed,
                    const u8 allowed[n_allowed], const Scratch *scratch, i64 k, i64 longest, i64 n_labels,
                    f64 score[longest * n_labels * k], i64 back[longest * n_labels * k], i64 ends[k],
                    i32 labels[k * longest], f64 values[3 * k]);
void decoding_marginals(const Chains *chains, const Layout *layout, i64 n_chosen, const i32 sentences[n_chosen],
                        i64 n_weights, const f64 w[n_weights], i64 n_allowed, const u8 allowed[n_allowed],
                        const Scratch *scratch, i64 n_tokens, i64 n_labels, f64 nodes[n_tokens * n_labels], i64 n_edges,
                        f64 edges[n_edges], i64 n_all, f64 log_z[n_all]);
void decoding_beam_search(const Chains *chains, const Layout *layout, i64 n_chosen,
                          const i32 sentences[n_chosen], i64 n_weights, const f64 w[n_weights], i64 n_allowed,
                          const u8 allowed[n_allowed], const Scratch *scratch, i64 n_labels,
                          const f64 before[n_labels * n_labels + n_labels], i64 n_two, const f64 two_before[n_two],
                          const Beam *beam, i64 n_tokens, i32 out[n_tokens]);
