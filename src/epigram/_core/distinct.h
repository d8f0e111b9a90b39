/* Numbers of the distinct byte strings of a text, in order of first occurrence: an open-addressing table that grows. */
#ifndef EPIGRAM_DISTINCT_H
#define EPIGRAM_DISTINCT_H

#include "core.h"

typedef struct {
    const u8 *raw;
    i64 *start;  /* of each distinct string, room for as many as may come */
    i32 *length; /* likewise */
    u64 *hash;   /* likewise, made here */
    i32 *slots;
    i64 n_slots, n_strings;
} Distinct;

static inline void enter(Distinct *d, i32 k) {
    i64 slot = (i64)(d->hash[k] & (u64)(d->n_slots - 1));
    while (d->slots[slot] >= 0) slot = (slot + 1) & (d->n_slots - 1);
    d->slots[slot] = k;
}

static inline u8 grow(Distinct *d) {
    free(d->slots);
    d->n_slots *= 4;
    d->slots = malloc((size_t)d->n_slots * sizeof *d->slots);
    if (!d->slots) return 0;
    memset(d->slots, -1, (size_t)d->n_slots * sizeof *d->slots);
    for (i32 k = 0; k < d->n_strings; k++) enter(d, k);
    return 1;
}

/* Nothing met yet; `most` strings may come. 0 without memory; let_go_distinct in any case. */
static inline u8 begin_distinct(Distinct *d, const u8 *raw, i64 most, i64 *start, i32 *length) {
    *d = (Distinct){raw, start, length, malloc((size_t)most * sizeof(u64) + 1), NULL, 1 << 10, 0};
    return d->hash && grow(d);
}

static inline void let_go_distinct(Distinct *d) {
    free(d->hash);
    free(d->slots);
}

/* The number of the string raw[start:end] with hash h, a new one if it was not met; -1 without memory. */
static inline i32 number_of(Distinct *d, i64 start, i64 end, u64 h) {
    i32 length = (i32)(end - start);
    for (i64 slot = (i64)(h & (u64)(d->n_slots - 1)); d->slots[slot] >= 0; slot = (slot + 1) & (d->n_slots - 1)) {
        i32 k = d->slots[slot];
        if (d->hash[k] == h && d->length[k] == length && !memcmp(d->raw + d->start[k], d->raw + start, (size_t)length))
            return k;
    }
    i32 k = (i32)d->n_strings++;
    d->start[k] = start;
    d->length[k] = length;
    d->hash[k] = h;
    if (2 * d->n_strings > d->n_slots) {
        if (!grow(d)) return -1;
    } else {
        enter(d, k);
    }
    return k;
}

#endif
