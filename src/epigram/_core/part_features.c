#include "part_features.h"

#include "arcs_inline.h"

i64 sizeof_PartMemory(void) { return sizeof(PartMemory); }

enum { NO_SIBLING = 3, THE_END = 4, N_GAPS = 13, N_SIDES = 3 };

/* Which of the four words of a part a cell looks at; -1 for a way. */
static inline i64 role_of(i32 place) {
    return place == GRAND ? 0 : place == HEAD ? 1 : place == SIBLING ? 2 : place == CHILD ? 3 : -1;
}

/* What the words of a sentence add to each template in each role; row n + 1 is no sibling, or the end. Returns n. */
static i64 project_parts(const ArcTemplates *t, const ArcWords *a, i64 s, const PartMemory *m) {
    i64 T = t->n_templates, first = a->sentence_ptr[s], n = a->sentence_ptr[s + 1] - first;
    memset(m->words, 0, (size_t)(4 * (n + 2) * T) * sizeof *m->words);
    for (i64 i = 0; i < T; i++) {
        for (i64 k = t->cell_ptr[i]; k < t->cell_ptr[i + 1]; k++) {
            i64 role = role_of(t->places[k]), column = t->columns[k];
            if (role < 0) continue;
            u64 by = factor(t, i, k - t->cell_ptr[i]), *to = m->words + role * (n + 2) * T;
            for (i64 e = 0; e <= n; e++) to[e * T + i] += by * atom_at(a, first, n, column, e, t->offsets[k]);
            i64 outside = role == 2 ? NO_SIBLING : THE_END;
            if (role >= 2) to[(n + 1) * T + i] += by * a->outside[column * N_OUTSIDE + outside];
        }
    }
    return n;
}

void part_features_prepare(const ArcTemplates *t, PartMemory *m) {
    i64 T = t->n_templates, n_ways = 2 * N_SIDES * N_GAPS;
    for (i64 i = 0; i < T; i++) {
        for (i64 way = 0; way < n_ways; way++) m->ways[way * T + i] = t->seeds[i];
        for (i64 k = t->cell_ptr[i]; k < t->cell_ptr[i + 1]; k++) {
            i32 place = t->places[k];
            if (place != SIDE && place != UP && place != GAP) continue;
            u64 by = factor(t, i, k - t->cell_ptr[i]), atoms[N_GAPS];
            for (i64 g = 0; g < N_GAPS; g++) {
                if (place == GAP) atoms[g] = by * gap_atom(g);
                else if (g < N_SIDES) atoms[g] = by * way_atom(N_WAYS + g);
            }
            for (i64 way = 0; way < n_ways; way++) {
                i64 gap = way % N_GAPS, up = way / N_GAPS % N_SIDES, left = way / N_GAPS / N_SIDES;
                m->ways[way * T + i] += atoms[place == GAP ? gap : place == UP ? up : left];
            }
        }
    }
}

/* The keys of a part to m->keys; returns their number. */
static inline i64 keys_of_part(const PartMemory *m, i64 n, const i32 *part) {
    i64 g = part[0], h = part[1], s = part[2], c = part[3], T = m->n_templates;
    if (g < 0) return 0; /* the root's child has an arc alone */
    i64 none = s == h, end = c < 1 || c > n, gap = none || end ? FROM_ROOT : way_of(s, c);
    i64 way = ((c < h) * N_SIDES + side_of(way_of(g, h))) * N_GAPS + gap, rows = (n + 2) * T;
    const u64 *restrict grand = m->words + g * T, *restrict head = m->words + rows + h * T;
    const u64 *restrict sibling = m->words + 2 * rows + (none ? n + 1 : s) * T;
    const u64 *restrict child = m->words + 3 * rows + (end ? n + 1 : c) * T, *restrict ways = m->ways + way * T;
    u64 *restrict keys = m->keys;
    for (i64 i = 0; i < T; i++) keys[i] = mix(grand[i] + head[i] + sibling[i] + child[i] + ways[i]);
    return T;
}

void part_features_keys(const ArcTemplates *t, const ArcWords *a, PartMemory *m, i64 s, i64 n_parts, const i32 *parts,
                        i64 n_keys, u64 *keys) {
    (void)n_keys;
    i64 n = project_parts(t, a, s, m);
    for (i64 p = 0; p < n_parts; p++) {
        i64 found = keys_of_part(m, n, parts + 4 * p);
        memcpy(keys + p * t->n_templates, m->keys, (size_t)found * sizeof *keys);
    }
}

i64 part_features_encode(const ArcTemplates *t, const ArcWords *a, PartMemory *m, i64 s, const ArcTable *known,
                         i64 n_parts, const i32 *parts, i64 *ptr, i64 room, i32 *ids) {
    i64 n = project_parts(t, a, s, m), used = 0, start = ptr[0];
    for (i64 p = 0; p < n_parts; p++) {
        i64 found = keys_of_part(m, n, parts + 4 * p);
        if (used + found > room) return -1;
        used += ids_of_keys(known, found, m->keys, ids + used);
        ptr[p + 1] = start + used;
    }
    return used;
}

void part_features_scores(const ArcTemplates *t, const ArcWords *a, PartMemory *m, i64 s, const ArcTable *weights,
                          i64 n_parts, const i32 *parts, f64 *scores) {
    i64 n = project_parts(t, a, s, m);
    Queue queue;
    queue.n = 0;
    memset(scores, 0, (size_t)n_parts * sizeof *scores);
    for (i64 p = 0; p < n_parts; p++) {
        queue_keys(weights, p, keys_of_part(m, n, parts + 4 * p), m->keys, &queue, scores);
    }
    empty_queue(weights, &queue, scores);
}
