/* Arcs that are worth a model of second or third order: those likely by a first-order model. */
#ifndef EPIGRAM_PRUNING_H
#define EPIGRAM_PRUNING_H
#include "arcs.h"
#include "eisner.h"

/* Mark, in each sentence, the arcs whose probability is at least `share` times that of the word's likeliest head, at most 16
 * heads a word, and those of the best tree; only arcs with permitted = 1 may be in a tree. The arcs of sentence s are number
 * first_arc[s] to first_arc[s + 1]. Where there is no tree none is marked. scores is room for 2 n (n + 1) numbers, best for
 * n, of the longest sentence. */
void pruning_keep(const ArcTemplates *templates, const ArcWords *words, const ArcTable *weights, ArcMemory *memory,
                  Spans *spans, i64 n, const i32 sentences[n], i64 n_sentences, const i64 first_arc[n_sentences + 1],
                  i64 n_arcs, const u8 permitted[n_arcs], f64 share, i64 n_scores, f64 scores[n_scores], i64 n_words,
                  i32 best[n_words], u8 keep[n_arcs]);

#endif
