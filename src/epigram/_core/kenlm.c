#include "kenlm.h"

i64 sizeof_HashedKeys(void) { return sizeof(HashedKeys); }

/* The filter has 256 slices by the lowest byte of a key, each of n_filter / 256 words of 64 bits (a power of two). */
static inline u64 filter_bit(const HashedKeys *t, u64 key) {
    u64 size = (u64)(t->n_filter / 256) * 64;
    return (key & 255) * size + (key >> 8 & (size - 1));
}

static inline i64 first_slot(const HashedKeys *t, u64 key) {
    return (i64)((key * 0x9E3779B97F4A7C15ull) >> 32 & (u64)(t->n_slots - 1));
}

/* Put all keys into the slots (a power of two of them, -1 before) and the filter (zeros before). */
void kenlm_index(const HashedKeys *t) {
    for (i64 row = 0; row < t->n; row++) {
        u64 bit = filter_bit(t, t->keys[row]);
        t->filter[bit >> 6] |= 1ull << (bit & 63);
        i64 k = first_slot(t, t->keys[row]);
        while (t->slots[k] >= 0) k = (k + 1) & (t->n_slots - 1);
        t->slots[k] = (i32)row;
    }
}

/* The row of a key, or -1. */
static i32 row_of(const HashedKeys *t, u64 key) {
    i64 k = first_slot(t, key);
    while (t->slots[k] >= 0 && t->keys[t->slots[k]] != key) k = (k + 1) & (t->n_slots - 1);
    return t->slots[k];
}

/* End of the parts from `from` on that have the same lowest byte. */
static inline i64 run_end(const u64 *parts, i64 from, i64 end) {
    i64 k = from + 1;
    while (k < end && !((parts[k] ^ parts[from]) & 255)) k++;
    return k;
}

/* Tries all pairs of left parts i .. i2 and right parts j .. j2; returns how many are new, or -1 for one that is not. */
static i64 try_pairs(const HashedKeys *t, const u64 *left, i64 i, i64 i2, const u64 *right, i64 j, i64 j2, i32 *context,
                     i32 *suffix) {
    i64 n_found = 0;
    for (i64 p = i; p < i2; p++)
        for (i64 q = j; q < j2; q++) {
            u64 key = left[p] ^ right[q], bit = filter_bit(t, key);
            if (!(t->filter[bit >> 6] >> (bit & 63) & 1)) continue;
            i32 row = row_of(t, key);
            if (row < 0) continue;
            if (context[row] >= 0) return -1;
            context[row] = (i32)p;
            suffix[row] = (i32)q;
            n_found++;
        }
    return n_found;
}

/* For each key the left and the right part it is made of, (w_1 + 1) B and key(w_2 .. w_n) A; -1 before. Parts are sorted by
 * their lowest byte within a group, so that pairs ask a small part of the filter at a time. Returns the number of keys
 * found, or -1 if one is made in two ways. */
i64 kenlm_join(const HashedKeys *t, i64 n_groups, const i64 *left_ptr, i64 n_left, const u64 *left, const i64 *right_ptr,
               i64 n_right, const u64 *right, i64 n, i32 *context, i32 *suffix) {
    (void)n_left, (void)n_right, (void)n;
    i64 n_found = 0;
    for (i64 g = 0; g < n_groups; g++)
        for (i64 i = left_ptr[g], i2; i < left_ptr[g + 1]; i = i2) {
            i2 = run_end(left, i, left_ptr[g + 1]);
            for (i64 j = right_ptr[g], j2; j < right_ptr[g + 1]; j = j2) {
                j2 = run_end(right, j, right_ptr[g + 1]);
                i64 n_new = try_pairs(t, left, i, i2, right, j, j2, context, suffix);
                if (n_new < 0) return -1;
                n_found += n_new;
            }
        }
    return n_found;
}
