/* How often the words before a sentence occurred, against how often they were to be expected (lm/document/features.py).
 *
 * Before sentence s stand the words ids[first[s]] .. ids[last[s] - 1]; word t counts decay[k]^(last[s] - 1 - t) at horizon k,
 * and -1 nothing. With N[k] the sum of such counts, `share` what is to be expected of N = 1, and the prior as a count,
 *
 *   of a class   phi[k] = log((N[k][class] + prior share) / ((N[k] + prior) share))
 *   of a word    phi[k] = log((N[k][word] + prior share) / (prior share))        share: of the word in its class
 *
 * The numbers phi[k] of an entry stand together.
 */
#include "core.h"

/* Entry s * n_classes + c; a class without a share, that of </s>, gets 0. counts is zeroed. */
void document_classes(i64 n, const i64 first[n], const i64 last[n], i64 n_ids, const i32 ids[n_ids], i64 n_words,
                      const i32 class_of[n_words], i64 n_classes, const f64 share[n_classes], i64 n_horizons,
                      const f64 decay[n_horizons], f64 prior, f64 counts[n_classes * n_horizons],
                      f64 phi[n * n_classes * n_horizons]);

/* Row j has an entry for each word of class row_class[j] before sentence row_sentence[j] (which rises), by its rank in the
 * class; counts must be zero, and are so afterwards. With n_room 0 entries are counted only. Returns how many there are. */
i64 document_words(i64 n_rows, const i32 row_sentence[n_rows], const i32 row_class[n_rows], i64 n, const i64 first[n],
                   const i64 last[n], i64 n_ids, const i32 ids[n_ids], i64 n_words, const i32 class_of[n_words],
                   const i32 rank[n_words], const f64 share[n_words], i64 n_horizons, const f64 decay[n_horizons], f64 prior,
                   f64 counts[n_words * n_horizons], i32 seen[n_words], i64 row_ptr[n_rows + 1], i64 n_room,
                   i32 choice[n_room], f64 phi[n_room * n_horizons]);
