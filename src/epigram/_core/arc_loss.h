/* The loss of projective trees, first order: sum over sentences of log Z - score of the tree, and what minimises it.
 *
 * The parts of sentence s are first_part[s] to first_part[s + 1]: all its arcs, first_arc[s] to first_arc[s + 1] in the
 * order of arcs.h, and of second and third order those of forest_loss.h. It has row_counts[s] distinct features; their ids
 * rise, and each is the one before plus a step of steps[first_step[s]] to steps[first_step[s + 1]]: 7 bits a byte, the
 * highest first, of which all but the last byte of a step are 128 or more. Part p has part_counts[p] features; `numbers` says which of the distinct ones, one part after the
 * other from first_number[s] on: 16 bits a feature, or in a sentence of more than 65,536 distinct features two times 16
 * bits, the lower half first. `keep` is 1 for arcs that trees may have. Heads are counted from 1, 0 is the root.
 */
#ifndef EPIGRAM_ARC_LOSS_H
#define EPIGRAM_ARC_LOSS_H
#include "eisner.h"

typedef struct {
    i64 n_sentences;
    i64 n_tokens;
    i64 n_arcs;
    i64 n_parts;
    i64 n_steps;
    i64 n_numbers;
    const i64 *sentence_ptr; /* [n_sentences + 1] */
    const i64 *first_arc; /* [n_sentences + 1] */
    const u8 *keep; /* [n_arcs] */
    const i64 *first_part; /* [n_sentences + 1] */
    const u16 *part_counts; /* [n_parts] */
    const i32 *row_counts; /* [n_sentences] */
    const i64 *first_step; /* [n_sentences + 1] */
    const u8 *steps; /* [n_steps] */
    const i64 *first_number; /* [n_sentences + 1] */
    const u16 *numbers; /* [n_numbers] */
    const i32 *heads; /* [n_tokens] */
    const f64 *weights; /* [n_sentences] */
} PartCorpus;

/* Room for the largest sentence: scores and derivatives of parts; ids, weights and gradient of distinct features; and the
 * sibling before each word. */
typedef struct {
    i64 n_words;
    i64 n_parts;
    i64 n_rows;
    f64 *scores; /* [n_parts] */
    f64 *derivatives; /* [n_parts] */
    f64 *w; /* [n_rows] */
    f64 *gradient; /* [n_rows] */
    i32 *rows; /* [n_rows] */
    i32 *before; /* [3 * n_words + 3] */
} PartScratch;

/* The distinct ones of the feature ids of a sentence, to `rows`; returns how many. `places` is -1 everywhere, before and
 * after. */
i64 arc_loss_distinct(i64 n, const i32 ids[n], i64 n_weights, i32 places[n_weights], i32 rows[n]);

/* Replace each id by its index in `rows`, which has all of them. `places` is -1 everywhere, before and after. */
void arc_loss_number(i64 n, i32 ids[n], i64 n_rows, const i32 rows[n_rows], i64 n_weights, i32 places[n_weights]);

/* Loss of the given sentences; the gradient is added to `out`. */
f64 arc_loss_gradient(const PartCorpus *corpus, i64 n, const i32 sentences[n], i64 n_weights, const f64 w[n_weights],
                      Spans *spans, PartScratch *scratch, f64 out[n_weights]);

/* SGD with cumulative penalty (Tsuruoka et al. 2009, figure 2), a sentence a step: rates[k] is the rate of step k and
 * totals[k + 1] the penalty that each weight could have had after it. wq holds w and q of each weight, side by side. Parts
 * whose derivative is below 1e-9 move no weight. */
f64 arc_loss_cumulative(const PartCorpus *corpus, i64 n, const i32 order[n], const f64 rates[n],
                        const f64 totals[n + 1], i64 n_weights, f64 wq[2 * n_weights], Spans *spans,
                        PartScratch *scratch);

/* Heads of the best trees of all sentences. */
void arc_loss_heads(const PartCorpus *corpus, i64 n_weights, const f64 w[n_weights], Spans *spans, PartScratch *scratch,
                    i64 n_tokens, i32 heads[n_tokens]);

#endif
