/* Features of parts (grandparent, head, sibling, child) of trees, as forest.h counts them, as 64-bit keys: no string per
 * part. Keys are made as those of arcs (arcs.h), with what each of the four words adds. */
#ifndef EPIGRAM_PART_FEATURES_H
#define EPIGRAM_PART_FEATURES_H
#include "arcs.h"

/* Working memory for sentences of up to `room` words, which part_features_prepare has filled for the templates. */
typedef struct {
    i64 room;
    i64 n_templates;
    u64 *words; /* [4 * room * n_templates + 8 * n_templates] */
    u64 *ways; /* [78 * n_templates] */
    u64 *keys; /* [n_templates] */
} PartMemory;

/* What sides and ways add to the keys, to memory->ways: once for all sentences. */
void part_features_prepare(const ArcTemplates *templates, PartMemory *memory);

/* Keys by all templates of parts of sentence s. */
void part_features_keys(const ArcTemplates *templates, const ArcWords *words, PartMemory *memory, i64 s, i64 n_parts,
                        const i32 parts[4 * n_parts], i64 n_keys, u64 keys[n_keys]);

/* Ids of the known features of parts of sentence s, counted from ptr[0] on; those of part p are ptr[p] to ptr[p + 1].
 * Returns their number, or -1 where there is no room. */
i64 part_features_encode(const ArcTemplates *templates, const ArcWords *words, PartMemory *memory, i64 s,
                         const ArcTable *known, i64 n_parts, const i32 parts[4 * n_parts], i64 ptr[n_parts + 1],
                         i64 most, i32 ids[most]);

/* Scores of parts of sentence s. */
void part_features_scores(const ArcTemplates *templates, const ArcWords *words, PartMemory *memory, i64 s,
                          const ArcTable *weights, i64 n_parts, const i32 parts[4 * n_parts], f64 scores[n_parts]);

#endif
