/* Where the scores of a head, a child and the siblings before the child are. */
#ifndef EPIGRAM_SIBLING_ROWS_H
#define EPIGRAM_SIBLING_ROWS_H
#include "core.h"

/* 1 + (1 + 2) + (1 + 2 + 3) + ..., x - 1 terms */
static inline i64 tetrahedron(i64 x) { return (x - 1) * x * (x + 1) / 6; }

/* The start of the row of head h and child c among the trios: heads one after the other; of each the children on the left,
 * then those on the right, from the inside to the outside. */
static inline i64 trio_row(i64 n, i64 h, i64 c) {
    i64 far = h < c ? c - h : h - c, heads = tetrahedron(h) + tetrahedron(n) - tetrahedron(n - h);
    return heads + (h < c ? h * (h + 1) / 2 : 0) + far * (far - 1) / 2;
}

static inline i64 count_trios(i64 n) { return 2 * tetrahedron(n); }
static inline i64 count_stops(i64 n) { return n * n + n; }
static inline i64 count_pairs(i64 n) { return 2 * (n + 1) * (n + 1); }

/* The pair of sibling q and child c of head h, of those of its side; q = h stands for none, c = -1 and n for the end. */
static inline i64 pair_of(i64 n, i64 h, i64 q, i64 c) {
    i64 sibling = q == h ? n : q, child = c < 0 ? n : c;
    return ((c < h ? n + 1 : 0) + sibling) * (n + 1) + child;
}

/* Add the scores of pairs to those of the stops and trios that have them. */
static inline void add_pairs(i64 n, const f64 *pairs, f64 *trios, f64 *stops) {
    for (i64 h = 0; h < n; h++) {
        for (i64 q = 0; q < n; q++) stops[h * n + q] += pairs[pair_of(n, h, q, q < h ? -1 : n)];
        stops[n * n + h] += pairs[pair_of(n, h, h, -1)];
        for (i64 c = 0; c < n; c++) {
            f64 *row = trios + trio_row(n, h, c);
            i64 first = h < c ? h : c + 1, far = h < c ? c - h : h - c;
            for (i64 k = 0; k < far; k++) row[k] += pairs[pair_of(n, h, first + k, c)];
        }
    }
}

/* The reverse for derivatives: those of pairs are the sums of those of stops and trios. */
static inline void collect_pairs(i64 n, const f64 *trios, const f64 *stops, f64 *pairs) {
    memset(pairs, 0, (size_t)count_pairs(n) * sizeof *pairs);
    for (i64 h = 0; h < n; h++) {
        for (i64 q = 0; q < n; q++) pairs[pair_of(n, h, q, q < h ? -1 : n)] += stops[h * n + q];
        pairs[pair_of(n, h, h, -1)] += stops[n * n + h];
        for (i64 c = 0; c < n; c++) {
            const f64 *row = trios + trio_row(n, h, c);
            i64 first = h < c ? h : c + 1, far = h < c ? c - h : h - c;
            for (i64 k = 0; k < far; k++) pairs[pair_of(n, h, first + k, c)] += row[k];
        }
    }
}

#endif
