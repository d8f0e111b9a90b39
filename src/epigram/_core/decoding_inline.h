/* Scores as decoding takes them, which chains of first and second order share. */
#ifndef EPIGRAM_DECODING_INLINE_H
#define EPIGRAM_DECODING_INLINE_H
#include "chain_inline.h"
#include "tree_chain.h"

/* Scores of each token of sentence s, NEVER for labels that are not allowed. */
static inline void allowed_scores(const Chains *a, const Layout *l, i64 s, const f64 *w, i64 n_allowed, const u8 *allowed,
                           f64 *restrict scores) {
    score_tokens(a, l, s, w, scores);
    if (!n_allowed) return;
    i64 first = a->sentence_ptr[s] * l->width, last = a->sentence_ptr[s + 1] * l->width;
    for (i64 k = first; k < last; k++) {
        if (!allowed[k]) scores[k - first] = NEVER;
    }
}

/* Transition weights, NEVER where forbidden; 0 in a model without transitions. */
static inline void log_transitions(const Layout *l, const f64 *w, f64 *restrict T) {
    for (i64 k = 0; k < l->n_labels * l->width; k++) {
        if (!l->has_transitions) {
            T[k] = 0.0;
        } else {
            T[k] = l->allowed[k] > 0.0 ? w[l->state_end + k] : NEVER;
        }
    }
}

#endif
