/* Trees of second or third order of many sentences: features, scores, marginals and the tree in one call.
 *
 * The lines of a template are divided by what they read: arcs, trios (siblings), grands (grandparents) and links (both, see
 * forest.h); a kind without lines has n_templates = 0. Arcs of sentence s are number first_arc[s] to first_arc[s + 1].
 */
#ifndef EPIGRAM_FOREST_DECODE_H
#define EPIGRAM_FOREST_DECODE_H
#include "eisner.h"
#include "forest.h"
#include "part_features.h"

/* Heads of the trees with most expected correct arcs, among those of kept arcs. `forest`, `spans` and n_scores are large
 * enough for every sentence: twice its arcs, its trios, grands and links. Returns the first sentence without a tree, or -1. */
i64 forest_decode_expected(const ArcTemplates *arcs, const ArcTemplates *trios, const ArcTemplates *grands,
                           const ArcTemplates *links, const ArcWords *words, const ArcTable *weights,
                           ArcMemory *arc_memory, PartMemory *trio_memory, PartMemory *grand_memory,
                           PartMemory *link_memory, Forest *forest, Spans *spans, i64 n, const i32 sentences[n],
                           i64 n_sentences, const i64 first_arc[n_sentences + 1], i64 n_arcs, const u8 keep[n_arcs],
                           i64 n_scores, f64 scores[n_scores], i64 n_tokens, i32 heads[n_tokens]);

#endif
