/* The loss of projective trees, second order: as arc_loss.h, with the features of siblings (sibling_features.h) beside those
 * of arcs. The latter are encoded once; the former, of which there are many more, anew each time a sentence is met. */
#include "arc_loss.h"
#include "sibling_features.h"
#include "siblings.h"

/* The known features of siblings: pairs of a key and an id, 0 for a free slot. */
typedef struct {
    i64 n_slots;
    const u64 *slots; /* [2 * n_slots] */
} SiblingTable;

/* Parts of the longest sentence: their ids, and their scores, which become derivatives. */
typedef struct {
    i64 n_words;
    i64 n_parts;
    i64 room;
    i64 *ptr; /* [n_parts + 1] */
    i32 *ids; /* [room] */
    f64 *values; /* [n_parts] */
    i64 *gold; /* [3 * n_words] */
} SiblingScratch;

/* Loss of the given sentences; the gradient is added to `out`. */
f64 sibling_loss_gradient(const ArcCorpus *corpus, const ArcTemplates *templates, const ArcWords *words,
                          const SiblingTable *table, i64 n, const i32 sentences[n], i64 n_weights, const f64 w[n_weights],
                          SiblingMemory *memory, SiblingSpans *spans, ArcScratch *arcs, SiblingScratch *parts,
                          f64 out[n_weights]);

/* SGD with cumulative penalty, as arc_loss_cumulative. */
f64 sibling_loss_cumulative(const ArcCorpus *corpus, const ArcTemplates *templates, const ArcWords *words,
                            const SiblingTable *table, i64 n, const i32 order[n], const f64 rates[n],
                            const f64 totals[n + 1], i64 n_weights, f64 wq[2 * n_weights], SiblingMemory *memory,
                            SiblingSpans *spans, ArcScratch *arcs, SiblingScratch *parts);

/* Heads of the best trees of all sentences. */
void sibling_loss_heads(const ArcCorpus *corpus, const ArcTemplates *templates, const ArcWords *words,
                        const SiblingTable *table, i64 n_weights, const f64 w[n_weights], SiblingMemory *memory,
                        SiblingSpans *spans, ArcScratch *arcs, SiblingScratch *parts, i64 n_tokens, i32 heads[n_tokens]);
