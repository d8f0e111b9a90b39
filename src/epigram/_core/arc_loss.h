/* The loss of projective trees, first order: sum over sentences of log Z - score of the tree, and what minimises it.
 *
 * Feature k of arc a of the corpus is features[arc_ptr[a] + k]; the arcs of sentence s start at first_arc[s], in the order of
 * arcs.h. Heads are counted from 1, 0 is the root.
 */
#ifndef EPIGRAM_ARC_LOSS_H
#define EPIGRAM_ARC_LOSS_H
#include "eisner.h"

typedef struct {
    i64 n_sentences;
    i64 n_tokens;
    i64 n_arcs;
    i64 n_occurrences;
    const i64 *sentence_ptr; /* [n_sentences + 1] */
    const i64 *first_arc; /* [n_sentences + 1] */
    const i64 *arc_ptr; /* [n_arcs + 1] */
    const i32 *features; /* [n_occurrences] */
    const i32 *heads; /* [n_tokens] */
    const f64 *weights; /* [n_sentences] */
} ArcCorpus;

/* Scores and marginals of the arcs of the longest sentence. */
typedef struct {
    i64 n_arcs;
    f64 *scores; /* [n_arcs] */
    f64 *marginals; /* [n_arcs] */
} ArcScratch;

/* Loss of the given sentences; the gradient is added to `out`. */
f64 arc_loss_gradient(const ArcCorpus *corpus, i64 n, const i32 sentences[n], i64 n_weights, const f64 w[n_weights],
                      Spans *spans, ArcScratch *scratch, f64 out[n_weights]);

/* SGD with cumulative penalty (Tsuruoka et al. 2009, figure 2), a sentence a step: rates[k] is the rate of step k and
 * totals[k + 1] the penalty that each weight could have had after it. wq holds w and q of each weight, side by side. Arcs
 * whose derivative is below 1e-9 move no weight. */
f64 arc_loss_cumulative(const ArcCorpus *corpus, i64 n, const i32 order[n], const f64 rates[n], const f64 totals[n + 1],
                        i64 n_weights, f64 wq[2 * n_weights], Spans *spans, ArcScratch *scratch);

/* Heads of the best trees of all sentences. */
void arc_loss_heads(const ArcCorpus *corpus, i64 n_weights, const f64 w[n_weights], Spans *spans, ArcScratch *scratch,
                    i64 n_tokens, i32 heads[n_tokens]);

#endif
