/* Fingerprints of strings, as encoding.h describes them: H = sum_i (b_i + 1) B^(n-i), then mix. */
#ifndef EPIGRAM_FINGERPRINT_H
#define EPIGRAM_FINGERPRINT_H
#include "core.h"

static const u64 B = 0x9E3779B97F4A7C15ull;

/* Steele, Lea and Flood's 64-bit finaliser (splitmix64, variant 13); never 0, which marks a free slot. */
static inline u64 mix(u64 h) {
    h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9ull;
    h = (h ^ (h >> 27)) * 0x94D049BB133111EBull;
    h = h ^ (h >> 31);
    return h ? h : 1;
}

/* H and B^length of a string, before mix. */
typedef struct {
    u64 hash, power;
} Part;

static inline Part with_byte(Part s, u8 byte) { return (Part){s.hash * B + byte + 1, s.power * B}; }

static inline Part part_of(const u8 *content, i64 begin, i64 end) {
    Part s = {0, 1};
    for (i64 k = begin; k < end; k++) s = with_byte(s, content[k]);
    return s;
}

/* Of two strings, one after the other. */
static inline Part join_parts(Part x, Part y) { return (Part){x.hash * y.power + y.hash, x.power * y.power}; }

#endif
