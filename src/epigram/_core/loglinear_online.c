/* Training on a stream: positions by their last word, and a table of weights by n-gram.
 *
 * x is the 64-bit key of a node or pair, mixed from the key of its parent and the symbol it adds (the finaliser of
 * splitmix64); 0 marks a free place of the table. */
#include "loglinear.h"

static const u64 FIRST = 0x9E3779B97F4A7C15ull;
static const u64 SECOND = 0xBF58476D1CE4E5B9ull;
static const u64 THIRD = 0x94D049BB133111EBull;
static const u64 PAIR = 0xD1B54A32D192ED03ull;

/* Chains the positions of each block: last names its newest one, previous the one before each. */
void loglinear_link(i64 n, const i64 *block, i64 n_blocks, i64 *last, i64 first, i64 *previous) {
    (void)n_blocks;
    for (i64 i = 0; i < n; i++) {
        previous[first + i] = last[block[i]];
        last[block[i]] = first + i;
    }
}

/* The positions of some blocks, block by block, oldest first. */
void loglinear_follow(i64 n, const i64 *blocks, i64 n_blocks, const i64 *total, const i64 *last, const i64 *previous,
                      i64 *out) {
    (void)n_blocks;
    for (i64 k = 0, end = 0; k < n; k++) {
        end += total[blocks[k]];
        i64 i = last[blocks[k]];
        for (i64 j = 1; j <= total[blocks[k]]; j++, i = previous[i]) out[end - j] = i;
    }
}

/* A key from a key and a symbol; never 0. */
static inline u64 mix(u64 x, u64 y) {
    x = (x ^ (y * FIRST)) + SECOND;
    x = (x ^ (x >> 30)) * SECOND;
    x = (x ^ (x >> 27)) * THIRD;
    x ^= x >> 31;
    return x ? x : FIRST;
}

/* The key of every pair, by the first symbols of the nodes on its path; node gets those of the nodes. */
void loglinear_pair_keys(i64 n_contexts, const i32 *parent, const i32 *symbol, const i64 *pair_ptr, i64 n_pairs,
                         const i32 *word, u64 *node, u64 *out) {
    (void)n_pairs;
    for (i64 c = 0; c < n_contexts; c++) {
        node[c] = parent[c] < 0 ? mix(FIRST, (u64)c) : mix(node[parent[c]], (u64)((i64)symbol[c] + 1));
        for (i64 p = pair_ptr[c]; p < pair_ptr[c + 1]; p++) out[p] = mix(node[c] ^ PAIR, (u64)(i64)word[p]);
    }
}

/* The place of a key in a table whose size is a power of 2, or the free place where it would go. */
static inline u64 place(const u64 *table, u64 mask, u64 key) {
    u64 at = key & mask;
    while (table[at] != key && table[at] != 0) at = (at + 1) & mask;
    return at;
}

/* The value of each key, 0 where it has none. */
void loglinear_look_up(i64 size, const u64 *table, const f64 *values, i64 n, const u64 *keys, f64 *out) {
    for (i64 i = 0; i < n; i++) {
        u64 at = place(table, (u64)(size - 1), keys[i]);
        out[i] = table[at] == keys[i] ? values[at] : 0.0;
    }
}

/* Sets the value of each key but 0; returns how many were not there before. */
i64 loglinear_insert(i64 size, u64 *table, f64 *values, i64 n, const u64 *keys, const f64 *news) {
    i64 added = 0;
    for (i64 i = 0; i < n; i++) {
        if (keys[i] == 0) continue;
        u64 at = place(table, (u64)(size - 1), keys[i]);
        added += table[at] == 0;
        table[at] = keys[i];
        values[at] = news[i];
    }
    return added;
}
