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

/* The 32-bit number of a key; 0 where the table has none. */
static inline u32 find_number(const ArcTable *x, u64 key) {
    u64 mask = (u64)x->n_slots - 1, slot = x->slots[key & mask];
    for (u64 at = key + 1; slot && (u32)slot != (u32)(key >> 32); at++) slot = x->slots[at & mask];
    return (u32)(slot >> 32);
}

/* Move the keys that the filter lets through to the front, and fetch their slots; returns how many there are. */
static inline i64 filter_keys(const ArcTable *x, i64 n, u64 *keys) {
    u64 bits = 64 * (u64)x->n_filter - 1, mask = (u64)x->n_slots - 1;
    i64 left = 0;
    for (i64 k = 0; k < n; k++) {
        u64 key = keys[k], at = key & bits;
        keys[left] = key;
        left += x->filter[at >> 6] >> (at & 63) & 1;
    }
    for (i64 k = 0; k < left; k++) __builtin_prefetch(x->slots + (keys[k] & mask));
    return left;
}

/* Ids of the keys that the table has, in their order; returns how many there are. */
static inline i64 ids_of_keys(const ArcTable *x, i64 n, u64 *keys, i32 *ids) {
    i64 left = filter_keys(x, n, keys), found = 0;
    for (i64 k = 0; k < left; k++) {
        u32 number = find_number(x, keys[k]);
        ids[found] = (i32)number - 1;
        found += number > 0;
    }
    return found;
}

enum { QUEUED = 1024 };

/* Keys that the filter lets through, with the parts whose scores their weights add to. A slot is fetched when its key is
 * queued and read when the queue is full. */
typedef struct {
    i64 n;
    u64 keys[QUEUED];
    i32 parts[QUEUED];
} Queue;

/* Add the weights of the queued keys to the scores. */
static inline void empty_queue(const ArcTable *x, Queue *q, f64 *scores) {
    for (i64 k = 0; k < q->n; k++) {
        u32 bits = find_number(x, q->keys[k]);
        f32 weight;
        memcpy(&weight, &bits, sizeof weight);
        scores[q->parts[k]] += weight;
    }
    q->n = 0;
}

/* Queue the keys of a part that the filter lets through. */
static inline void queue_keys(const ArcTable *x, i64 part, i64 n, const u64 *keys, Queue *q, f64 *scores) {
    u64 bits = 64 * (u64)x->n_filter - 1, mask = (u64)x->n_slots - 1;
    for (i64 first = 0; first < n; first += QUEUED) {
        i64 end = smaller_i(n, first + QUEUED), left;
        if (q->n + end - first > QUEUED) empty_queue(x, q, scores);
        left = q->n;
        for (i64 k = first; k < end; k++) {
            u64 at = keys[k] & bits;
            q->keys[left] = keys[k], q->parts[left] = (i32)part;
            left += x->filter[at >> 6] >> (at & 63) & 1;
        }
        for (; q->n < left; q->n++) __builtin_prefetch(x->slots + (q->keys[q->n] & mask));
    }
}

#endif
