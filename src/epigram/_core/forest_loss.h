/* Negative log-likelihood of projective trees, second and third order, over the trees whose arcs are kept: value, gradient
 * and passes of SGD.
 *
 * The parts of sentence s are first_part[s] to first_part[s + 1]: all arcs, then trios, grands and links as forest.h lists
 * them (the last if any feature reads them). Part p has part_counts[p] features; those of sentence s begin at
 * features[first_id[s]], one part after the other. `keep` is 1 for the arcs that are kept, those of sentence s from
 * first_arc[s] on; all arcs of the trees are.
 */
#ifndef EPIGRAM_FOREST_LOSS_H
#define EPIGRAM_FOREST_LOSS_H
#include "forest.h"

typedef struct {
    i64 n_sentences;
    i64 n_tokens;
    i64 n_arcs;
    i64 n_parts;
    i64 n_occurrences;
    const i64 *sentence_ptr; /* [n_sentences + 1] */
    const i64 *first_arc; /* [n_sentences + 1] */
    const u8 *keep; /* [n_arcs] */
    const i64 *first_part; /* [n_sentences + 1] */
    const i64 *first_id; /* [n_sentences + 1] */
    const i32 *part_counts; /* [n_parts] */
    const i32 *features; /* [n_occurrences] */
    const i32 *heads; /* [n_tokens] */
    const f64 *weights; /* [n_sentences] */
} ForestCorpus;

/* Scores of the parts of the sentence that has most of them, and the sibling before each word. */
typedef struct {
    i64 n_words;
    i64 n_parts;
    f64 *scores; /* [n_parts] */
    i32 *before; /* [3 * n_words + 3] */
} ForestScratch;

/* Loss of the given sentences; the gradient is added to `out`. */
f64 forest_loss_gradient(const ForestCorpus *corpus, i64 n, const i32 sentences[n], i64 n_weights,
                         const f64 w[n_weights], Forest *forest, ForestScratch *scratch, f64 out[n_weights]);

/* SGD with cumulative penalty, as arc_loss_cumulative. */
f64 forest_loss_cumulative(const ForestCorpus *corpus, i64 n, const i32 order[n], const f64 rates[n],
                           const f64 totals[n + 1], i64 n_weights, f64 wq[2 * n_weights], Forest *forest,
                           ForestScratch *scratch);

/* Heads of the best trees of all sentences. */
void forest_loss_heads(const ForestCorpus *corpus, i64 n_weights, const f64 w[n_weights], Forest *forest,
                       ForestScratch *scratch, i64 n_tokens, i32 heads[n_tokens]);

#endif
