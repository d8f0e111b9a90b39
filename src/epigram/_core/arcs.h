/* Features of arcs from templates, as 64-bit keys: no string per arc.
 *
 * A template is a sum of cells. A cell of word e is atom(e + offset, column) times an odd number of its own, so that the
 * part of the head and that of the child are added up once a word, not once an arc; the key of a feature is the mixed sum of
 * the head's part, the child's, and that of the way between them. Templates with a cell for the words between head and
 * child, or left or right of both, come last and have one feature for each distinct value there, of at most 64 a sentence.
 * Words are counted from 1 and 0 is the root; the arc from h to c of a sentence of n words is number h * n + c - 1.
 */
#ifndef EPIGRAM_ARCS_H
#define EPIGRAM_ARCS_H
#include "core.h"

/* places: 0 head, 1 child, 2 between, 3 side and distance, 4 side, 5 left of both, 6 right of both; in lines of
 * siblings also 7 the sibling and 8 the way from it to the child; in those of grandparents 9 the head's head and 10 the side
 * on which the head is. */
typedef struct {
    i64 n_templates;
    i64 n_between;
    i64 n_cells;
    const i64 *cell_ptr; /* [n_templates + 1] */
    const i32 *places; /* [n_cells] */
    const i32 *offsets; /* [n_cells] */
    const i32 *columns; /* [n_cells] */
    const u64 *seeds; /* [n_templates] */
} ArcTemplates;

/* Atoms are hashes of cells, column by column; `outside` those of the root, before the first and after the last word, of no
 * sibling, and of the end after the last child. */
typedef struct {
    i64 n_sentences;
    i64 n_tokens;
    i64 n_columns;
    const i64 *sentence_ptr; /* [n_sentences + 1] */
    const u64 *atoms; /* [n_columns * n_tokens] */
    const u64 *outside; /* [n_columns * 5] */
} ArcWords;

/* Weights or ids of features by their keys. A slot is 0, or the upper half of a key and, above it, a 32-bit number that is
 * not 0: the bits of a weight, or an id plus 1. Most keys that are looked up are not in the table: the bit of `filter` that
 * the low bits of a key number is 1 for all that are, and the filter fits into a cache where the slots do not. Both numbers
 * of words are powers of two. */
typedef struct {
    i64 n_slots;
    i64 n_filter;
    u64 *slots; /* [n_slots] */
    u64 *filter; /* [n_filter] */
} ArcTable;

/* Working memory for sentences of up to `room` words, which arcs_prepare has filled for the templates. */
typedef struct {
    i64 room;
    i64 n_templates;
    i64 n_between;
    u64 *heads; /* [room * n_templates + n_templates] */
    u64 *children; /* [room * n_templates + n_templates] */
    u64 *ways; /* [13 * n_templates] */
    u64 *values; /* [64 * n_between] */
    u64 *bits; /* [room * n_between + n_between] */
    u64 *between; /* [room * n_between + n_between] */
    u64 *keys; /* [n_templates + 64 * n_between] */
} ArcMemory;

/* What sides and distances add to the keys, to memory->ways: once for all sentences. */
void arcs_prepare(const ArcTemplates *templates, ArcMemory *memory);

/* Keys of the arcs of trees, of whole sentences from `first` on as long as there is room; done[0] is their number. Returns
 * the first sentence that is left. */
i64 arcs_gold_keys(const ArcTemplates *templates, const ArcWords *words, ArcMemory *memory, i64 n_tokens,
                   const i32 heads[n_tokens], i64 first, i64 most, u64 keys[most], i64 done[1]);

/* Count the keys of the arcs of sentence s for which keep is 1 in a table of small counters; those that reach `least` just
 * now go to `keys`. Returns their number. */
i64 arcs_count_keys(const ArcTemplates *templates, const ArcWords *words, ArcMemory *memory, i64 s, i64 n_arcs,
                    const u8 keep[n_arcs], i64 n_counters, u8 counters[n_counters], i64 least, i64 most,
                    u64 keys[most]);

/* Ids of the known features of all arcs of sentence s for which keep is 1; ptr[a + 1] is where those of arc a end, ptr[0] where they begin.
 * Returns the number of ids, or -1 where there is no room. */
i64 arcs_encode(const ArcTemplates *templates, const ArcWords *words, ArcMemory *memory, i64 s, const ArcTable *known,
                i64 n_arcs, const u8 keep[n_arcs], i64 ptr[n_arcs + 1], i64 most, i32 ids[most]);

/* Where each feature is met first among the arcs of sentence s for which keep is 1, for those that are still nowhere
 * (places[4 * id] < 0): head, child, template, word between (or 0). */
void arcs_locate(const ArcTemplates *templates, const ArcWords *words, ArcMemory *memory, i64 s, i64 n_slots,
                 const u64 slots[2 * n_slots], i64 n_arcs, const u8 keep[n_arcs], i64 n_features, i32 places[4 * n_features], i32 sentences[n_features]);

/* Scores of all arcs of sentence s for which keep is 1, else 0, also where head and child are the same. */
void arcs_scores(const ArcTemplates *templates, const ArcWords *words, ArcMemory *memory, i64 s, const ArcTable *weights,
                 i64 n_arcs, const u8 keep[n_arcs], f64 scores[n_arcs]);

/* Fill the slots and the filter, which are 0, with the numbers that are not. */
void arcs_fill(i64 n, const u64 keys[n], const u32 numbers[n], ArcTable *table);

/* Keys of the arc from h to c of sentence s, the template of each and the word between (or 0); returns their number. */
i64 arcs_keys(const ArcTemplates *templates, const ArcWords *words, ArcMemory *memory, i64 s, i64 h, i64 c, i64 most,
              u64 keys[most], i32 owners[most], i32 middles[most]);

/* Keys of features given by their cells: the atoms of feature k are atoms[ptr[k]] to atoms[ptr[k + 1]], that of a way its
 * number from 0 to 12. */
void arcs_keys_of(const ArcTemplates *templates, i64 n, const i32 owners[n], const i64 ptr[n + 1], i64 n_atoms,
                  const u64 atoms[n_atoms], u64 keys[n]);

#endif
