/* Words of a text by their hashes, and their ids in the table of a language model; after kenlm.h. */
#ifndef EPIGRAM_KENLM_INLINE_H
#define EPIGRAM_KENLM_INLINE_H

#include "hashing.h"

enum { START_WORD = -2 };

static inline u8 is_space(u8 byte) { return byte == 32 || (byte >= 9 && byte <= 13); }

/* The next word of a text from at on, as its hash; at becomes its end. 0 where there is none. */
static inline u64 next_word(i64 n, const u8 *text, i64 *at) {
    i64 i = *at;
    while (i < n && is_space(text[i])) i++;
    if (i == n) return 0;
    u64 h = HASH_START;
    for (; i < n && !is_space(text[i]); i++) h = hash_byte(h, text[i]);
    *at = i;
    return hash_end(h) | 1;
}

static inline i64 slot_of(const Asked *a, u64 key) { return (i64)(key >> 20 & (u64)(a->n_slots - 1)); }

static inline i32 id_of(const Asked *a, u64 key) {
    i64 slot = slot_of(a, key);
    while (a->ids[slot] != -1 && a->keys[slot] != key) slot = (slot + 1) & (a->n_slots - 1);
    return a->ids[slot];
}

#endif
