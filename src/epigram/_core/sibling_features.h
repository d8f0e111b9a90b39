/* Features of a child with the child of the same head before it, as 64-bit keys: no string per part.
 *
 * Keys are made as those of arcs (arcs.h), with a part of the sibling. Templates without a cell of the head come first: their
 * features are those of a pair of siblings, looked up once for all heads. A sentence of n words has its parts in this order:
 *   pairs (side, sibling, child), right side first: n + 1 siblings, the last of them none, times n + 1 children, the last of
 *   them the end; then stops and trios as siblings.h counts them.
 */
#ifndef EPIGRAM_SIBLING_FEATURES_H
#define EPIGRAM_SIBLING_FEATURES_H
#include "arcs.h"

/* Working memory for sentences of up to `room` words. */
typedef struct {
    i64 room;
    i64 n_templates;
    i64 n_pairs;
    u64 *heads; /* [room * n_templates] */
    u64 *siblings; /* [room * n_templates + n_templates] */
    u64 *children; /* [room * n_templates + n_templates] */
    u64 *ways; /* [14 * n_templates] */
    u64 *keys; /* [2 * n_templates] */
    f64 *pairs; /* [2 * room * room + 4 * room + 2] */
} SiblingMemory;

/* Ids of the known features of all parts of sentence s; those of part p are ids[ptr[p]] to ids[ptr[p + 1]]. Returns their
 * number, or -1 where there is no room. */
i64 sibling_features_encode(const ArcTemplates *templates, const ArcWords *words, SiblingMemory *memory, i64 s, i64 n_slots,
                            const u64 slots[2 * n_slots], i64 n_parts, i64 ptr[n_parts + 1], i64 room, i32 ids[room]);

/* Scores of the trios and stops of sentence s, from the slots that arcs_fill fills. */
void sibling_features_scores(const ArcTemplates *templates, const ArcWords *words, SiblingMemory *memory, i64 s,
                             i64 n_slots, const u64 slots[n_slots], i64 n_trios, f64 trios[n_trios], i64 n_stops,
                             f64 stops[n_stops]);

#endif
