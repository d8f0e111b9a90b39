/* One look-up in the forward trie of a back-off model; lm/ngram/backoff.py names the arrays. */
#ifndef EPIGRAM_BACKOFF_H
#define EPIGRAM_BACKOFF_H

#include "core.h"

/* Index of (node, word), or -1. The root holds every word, so that its pair k is word k. */
static inline i64 find_pair(i64 node, i32 word, const i64 *pair_ptr, const i32 *pair_word) {
    if (node == 0) return word;
    i64 low = pair_ptr[node], n = pair_ptr[node + 1] - low;
    if (n == 0) return -1;
    while (n > 1) {
        i64 half = n >> 1;
        low = pair_word[low + half] <= word ? low + half : low;
        n -= half;
    }
    return pair_word[low] == word ? low : -1;
}

/* The node that a pair belongs to. */
static inline i64 node_of_pair(i64 n_nodes, const i64 *pair_ptr, i64 pair) {
    i64 low = 0;
    for (i64 n = n_nodes; n > 1;) {
        i64 half = n >> 1;
        low = pair_ptr[low + half] <= pair ? low + half : low;
        n -= half;
    }
    return low;
}

/* A logarithm as files hold it to 2^-34: what is left of it beside a float32 fits 16 bits, except far from 0. */
static inline f64 on_grid(f64 logarithm) {
    const f64 unit = 0x1p-34, far = 32.0;
    return fabs(logarithm) < far ? nearbyint(logarithm / unit) * unit : (f32)logarithm;
}

/* Left over by the stored words of a context: enough for them to be rounded; too little to be divided up anew. */
static const f64 ROOM = 1e-3, LEAST_LEFT = 1e-6;

#endif
