/* Kneser-Ney smoothing over sorted streams of n-grams.
 *
 * A symbol is a word + 1 in `bits` bits, 0 where an n-gram has no word. Two kinds of records (sorting.h): windows, the last
 * words of each position, last word first, with a count in the last count_bits; and n-grams of one order, first word
 * first, then the ranks (rank_bits each) of its suffix and itself in the order of the windows, then a bit that is set
 * where it is pruned, then its count. The rank of a 1-gram is its word.
 */
#ifndef EPIGRAM_KNESER_NEY_H
#define EPIGRAM_KNESER_NEY_H
#include "sorting.h"

typedef struct {
    i64 order; /* of windows, or of the n-grams */
    i64 width;
    i64 bits;
    i64 rank_bits;
    i64 count_bits;
    i64 ranked; /* whether n-grams have a rank of their own: below the highest order */
} GramRecords;

/* State between blocks of windows: the last window, the open n-gram of each order 1 .. order (rank, occurrences, distinct
 * words before it), the next rank, the largest count to prune, and how many n-grams have the counts 0 .. 4 and more. */
typedef struct {
    i64 order;
    i64 depth; /* words of the window before */
    i64 any;
    u64 *before; /* [order + 1] */
    i64 *ranks; /* [order + 1] */
    i64 *next; /* [order + 1] */
    i64 *raw; /* [order + 1] */
    i64 *distinct; /* [order + 1] */
    i64 *thresholds; /* [order + 1] */
    i64 *tally; /* [6 * order + 6] */
} OpenGrams;

/* Windows of the positions first .. first + room of a text, as far as it goes, that end in a word low .. high; returns how
 * many. */
i64 kneser_ney_windows(const GramRecords *layout, i64 n, const i32 stream[n], i64 first, i32 low, i32 high, i64 room,
                       u64 out[room * layout->width]);

/* Adds the counts of equal windows that follow each other; returns how many are left. */
i64 kneser_ney_combine(const GramRecords *layout, i64 n, u64 windows[n * layout->width]);

/* The n-grams of each order that end in a block of sorted windows, with their adjusted counts: occurrences at the highest
 * order, distinct words before it below, occurrences where there is none. N-grams of order k go to begins[k] of out. */
void kneser_ney_adjust(const GramRecords *layout, OpenGrams *open, i64 n, const u64 windows[n * layout->width], u8 last,
                       const i64 widths[layout->order + 1], const i64 begins[layout->order + 1], i64 found[layout->order + 1],
                       i64 n_words, i64 unigrams[n_words], i64 n_out, u64 out[n_out]);

/* Smooths whole contexts of n-grams sorted by their first word, then their second ..; returns how many were read. Of
 * each n-gram that stays: its last word, ranks, and (count - discount) / total; they move to the front of `grams`. Of each
 * context with such: which of the shorter n-grams it is, their number, and its back-off weight. at: the shorter n-gram
 * compared last; no_more: none follow in a later block. found: n-grams and contexts. */
i64 kneser_ney_contexts(const GramRecords *layout, i64 n, u64 grams[n * layout->width], u8 last, i64 shorter_width, i64 n_shorter,
                        const u64 shorter[n_shorter * shorter_width], u8 no_more, i64 at[1], const f64 discounts[4], i32 word[n],
                        u32 suffix[n], u32 rank[n], f64 own[n], i64 context[n], i32 size[n], f64 gamma[n], i64 found[2]);

/* p[rank - first] for those ranks that it holds. */
void kneser_ney_scatter(i64 n, const u32 rank[n], const f64 p[n], i64 first, i64 n_held, f64 held[n_held]);
void kneser_ney_gather(i64 n, const u32 suffix[n], i64 first, i64 n_held, const f64 held[n_held], f64 lower[n]);

/* p = own + gamma |lower|, of whole contexts. */
void kneser_ney_interpolate(i64 n_contexts, const i32 size[n_contexts], const f64 gamma[n_contexts], i64 n, const f64 own[n],
                            const f64 lower[n], f64 p[n]);

/* Logarithms as files hold them (ngram_round_stored), of contexts whose shorter n-grams are all stored. A negative lower
 * probability is stored to 2^-34, a positive one in single precision; p gets such signs. */
void kneser_ney_round(i64 n_contexts, const i32 size[n_contexts], i64 n, const f64 lower[n], f64 p[n], f64 logp[n],
                      f64 bow[n_contexts], u8 exact[n_contexts]);

#endif
