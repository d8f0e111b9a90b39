/* Keys of features, which arcs and siblings share. */
#ifndef EPIGRAM_ARCS_INLINE_H
#define EPIGRAM_ARCS_INLINE_H
#include "arcs.h"
#include "fingerprint.h"

enum { HEAD, CHILD, BETWEEN, WAY, SIDE, LEFT_OF, RIGHT_OF, SIBLING, GAP, GRAND, UP };
enum { N_WAYS = 13, FROM_ROOT = 12, MOST_VALUES = 64, N_OUTSIDE = 5 };

/* The odd number by which cell k of a template is told from its others. */
static inline u64 factor(const ArcTemplates *t, i64 owner, i64 k) { return mix(t->seeds[owner] + (u64)k) | 1; }

static inline u64 way_atom(i64 way) { return mix(0x5851F42D4C957F2Dull + (u64)way); }

/* The way from a sibling to the next; FROM_ROOT where there is no sibling or no next one. */
static inline u64 gap_atom(i64 way) { return way_atom(N_WAYS + 3 + way); }

/* Side and distance of an arc: 1, 2, 3, 4, 5 to 9, 10 and more words to the right (0 to 5) or left (6 to 11). */
static inline i64 way_of(i64 h, i64 c) {
    if (h == 0) return FROM_ROOT;
    i64 far = h < c ? c - h : h - c, bin = far < 5 ? far - 1 : far < 10 ? 4 : 5;
    return h < c ? bin : 6 + bin;
}

static inline i64 side_of(i64 way) { return way == FROM_ROOT ? 2 : way >= 6; }

static inline u64 atom_at(const ArcWords *a, i64 first, i64 n, i64 column, i64 e, i64 offset) {
    if (e == 0) return a->outside[column * N_OUTSIDE + (offset != 0)];
    if (e + offset < 1) return a->outside[column * N_OUTSIDE + 1];
    if (e + offset > n) return a->outside[column * N_OUTSIDE + 2];
    return a->atoms[column * a->n_tokens + first + e + offset - 1];
}

static inline i64 find_id(i64 n_slots, const u64 *slots, u64 key) {
    u64 mask = (u64)n_slots - 1, slot = key & mask;
    while (slots[2 * slot] != 0 && slots[2 * slot] != key) slot = (slot + 1) & mask;
    return slots[2 * slot] == key ? (i64)slots[2 * slot + 1] : -1;
}

/* The sum of the weights of some keys, which are overwritten. Round r looks at slot r of each key that is neither found nor
 * missing yet, without a branch: most keys are missing, and which ones cannot be guessed. */
static inline f64 sum_weights(u64 mask, const u64 *slots, i64 n, u64 *keys) {
    for (i64 k = 0; k < n; k++) __builtin_prefetch(slots + (keys[k] & mask));
    f64 sum = 0.0;
    for (u64 round = 0; n; round++) {
        i64 left = 0;
        for (i64 k = 0; k < n; k++) {
            u64 key = keys[k], slot = slots[(key + round) & mask];
            u32 same = (u32)slot == (u32)(key >> 32), bits = (u32)(slot >> 32) & -same;
            f32 weight;
            memcpy(&weight, &bits, sizeof weight);
            sum += weight;
            keys[left] = key;
            left += (slot != 0) & !same;
        }
        n = left;
    }
    return sum;
}

#endif
