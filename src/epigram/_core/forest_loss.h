/* Negative log-likelihood of projective trees, second and third order, over the trees whose arcs are kept: value, gradient
 * and passes of SGD.
 *
 * The parts of a sentence in a corpus (arc_loss.h) are all arcs, then trios, grands and links as forest.h lists them, the
 * last if any feature reads them. All arcs of the trees are kept.
 */
#ifndef EPIGRAM_FOREST_LOSS_H
#define EPIGRAM_FOREST_LOSS_H
#include "arc_loss.h"
#include "forest.h"

/* Loss of the given sentences; the gradient is added to `out`. */
f64 forest_loss_gradient(const PartCorpus *corpus, i64 n, const i32 sentences[n], i64 n_weights,
                         const f64 w[n_weights], Forest *forest, PartScratch *scratch, f64 out[n_weights]);

/* SGD with cumulative penalty, as arc_loss_cumulative. */
f64 forest_loss_cumulative(const PartCorpus *corpus, i64 n, const i32 order[n], const f64 rates[n],
                           const f64 totals[n + 1], i64 n_weights, f64 wq[2 * n_weights], Forest *forest,
                           PartScratch *scratch);

/* Heads of the best trees of all sentences. */
void forest_loss_heads(const PartCorpus *corpus, i64 n_weights, const f64 w[n_weights], Forest *forest,
                       PartScratch *scratch, i64 n_tokens, i32 heads[n_tokens]);

#endif
