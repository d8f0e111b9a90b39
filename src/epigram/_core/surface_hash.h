/* Polynomial hashes of byte strings, and the base to their length: hash(a + b) = hash(a) pow(b) + hash(b). */
#ifndef EPIGRAM_SURFACE_HASH_H
#define EPIGRAM_SURFACE_HASH_H

#include "core.h"

static const u64 HASH_BASE = 1099511628211ull;

/* Of what was hashed before and these bytes behind it. */
static inline void hash_more(const u8 *bytes, i64 n, u64 *hash, u64 *pow) {
    u64 h = *hash, p = *pow;
    for (i64 j = 0; j < n; j++) {
        h = h * HASH_BASE + bytes[j] + 1;
        p *= HASH_BASE;
    }
    *hash = h;
    *pow = p;
}

static inline void hash_bytes(const u8 *bytes, i64 n, u64 *hash, u64 *pow) {
    *hash = 0;
    *pow = 1;
    hash_more(bytes, n, hash, pow);
}

#endif
