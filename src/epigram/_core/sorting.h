/* Sorting of fixed-width records: bit strings of 64 * width bits, in words of 64 bits, the most significant first.
 *
 * A text that is larger than memory is sorted as runs, each sorted by itself and written to a file, that are then merged.
 */
#ifndef EPIGRAM_SORTING_H
#define EPIGRAM_SORTING_H
#include "core.h"

/* Bits at .. at + size of a record, counted from the most significant one; size at most 64. */
static inline u64 get_bits(const u64 *record, i64 at, i64 size) {
    i64 k = at >> 6, first = at & 63;
    if (size == 0) return 0;
    u64 top = record[k] << first;
    if (first + size > 64) top |= record[k + 1] >> (64 - first);
    return top >> (64 - size);
}

/* Sets bits that are 0. */
static inline void put_bits(u64 *record, i64 at, i64 size, u64 value) {
    i64 k = at >> 6, end = (at & 63) + size;
    if (end <= 64) {
        record[k] |= end == 64 ? value : value << (64 - end);
    } else {
        record[k] |= value >> (end - 64);
        record[k + 1] |= value << (128 - end);
    }
}

/* Leading bits that two records share, at most n_bits. */
static inline i64 shared_bits(const u64 *a, const u64 *b, i64 n_bits) {
    for (i64 k = 0; k << 6 < n_bits; k++)
        if (a[k] != b[k]) return smaller_i(n_bits, (k << 6) + __builtin_clzll(a[k] ^ b[k]));
    return n_bits;
}

/* Sorts n records by their first n_bits bits; those that share them must come in the order of their other bits, or may
 * come out in any order. Needs as much memory again. */
void sorting_sort(i64 width, i64 n, i64 n_bits, u64 records[n * width], u64 scratch[n * width]);

/* Merges runs into out until it is full, or a run that goes on in its file (open) has no record left in memory; returns
 * how many records it wrote. Run k has the records at[k] .. ends[k] of heads. */
i64 sorting_merge(i64 width, i64 n_heads, const u64 heads[n_heads * width], i64 n_runs, i64 at[n_runs], const i64 ends[n_runs],
                  const u8 open[n_runs], i64 room, u64 out[room * width]);

#endif
