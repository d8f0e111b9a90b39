#include "sibling_features.h"

#include "arcs_inline.h"
#include "sibling_rows.h"

i64 sizeof_SiblingMemory(void) { return sizeof(SiblingMemory); }

enum { N_GAPS = 14, NO_SIBLING = 3, THE_END = 4 };

/* The parts of every template that depend on one word alone; word n is no sibling, or the end. Returns n. */
static i64 project_siblings(const ArcTemplates *t, const ArcWords *a, i64 s, const SiblingMemory *m) {
    i64 T = t->n_templates, first = a->sentence_ptr[s], n = a->sentence_ptr[s + 1] - first;
    memset(m->heads, 0, (size_t)(n * T) * sizeof *m->heads);
    memset(m->siblings, 0, (size_t)((n + 1) * T) * sizeof *m->siblings);
    memset(m->children, 0, (size_t)((n + 1) * T) * sizeof *m->children);
    for (i64 i = 0; i < T; i++) {
        for (i64 k = t->cell_ptr[i]; k < t->cell_ptr[i + 1]; k++) {
            i64 place = t->places[k], column = t->columns[k];
            if (place != HEAD && place != SIBLING && place != CHILD) continue;
            u64 by = factor(t, i, k - t->cell_ptr[i]);
            u64 *to = place == HEAD ? m->heads : place == SIBLING ? m->siblings : m->children;
            for (i64 e = 0; e < n; e++) to[e * T + i] += by * atom_at(a, first, n, column, e + 1, t->offsets[k]);
            if (place != HEAD) to[n * T + i] += by * a->outside[column * N_OUTSIDE + (place == SIBLING ? NO_SIBLING : THE_END)];
        }
    }
    return n;
}

/* The parts that depend on the side and on the way from the sibling to the child: 12 on the right and 13 on the left where
 * one of the two is missing. */
static void project_gaps(const ArcTemplates *t, const SiblingMemory *m) {
    i64 T = t->n_templates;
    for (i64 gap = 0; gap < N_GAPS; gap++) {
        i64 left = gap < FROM_ROOT ? gap >= 6 : gap > FROM_ROOT;
        for (i64 i = 0; i < T; i++) {
            u64 sum = t->seeds[i];
            for (i64 k = t->cell_ptr[i]; k < t->cell_ptr[i + 1]; k++) {
                u64 by = factor(t, i, k - t->cell_ptr[i]);
                if (t->places[k] == SIDE) sum += by * way_atom(N_WAYS + left);
                if (t->places[k] == GAP) sum += by * gap_atom(smaller_i(gap, FROM_ROOT));
            }
            m->ways[gap * T + i] = sum;
        }
    }
}

/* The way from q to c on a side; either is n where it is missing. */
static inline i64 gap_of(i64 n, i64 q, i64 c, i64 left) { return q == n || c == n ? FROM_ROOT + left : way_of(q + 1, c + 1); }

/* Keys of templates from the first pair on; returns their number. */
static inline i64 pair_keys(const SiblingMemory *m, i64 n, i64 q, i64 c, i64 left) {
    i64 T = m->n_templates;
    const u64 *sibling = m->siblings + q * T, *child = m->children + c * T, *way = m->ways + gap_of(n, q, c, left) * T;
    for (i64 i = 0; i < m->n_pairs; i++) m->keys[i] = mix(sibling[i] + child[i] + way[i]);
    return m->n_pairs;
}

/* The same of the templates with a head; `base` has the sums of head and child. */
static inline i64 trio_keys(const SiblingMemory *m, i64 n, const u64 *base, i64 q, i64 c, i64 left) {
    i64 T = m->n_templates, from = m->n_pairs;
    const u64 *restrict sibling = m->siblings + q * T, *restrict way = m->ways + gap_of(n, q, c, left) * T;
    u64 *restrict keys = m->keys;
    for (i64 i = from; i < T; i++) keys[i - from] = mix(base[i] + sibling[i] + way[i]);
    return T - from;
}

/* The sums of head and child of all templates. */
static inline const u64 *base_keys(const SiblingMemory *m, i64 h, i64 c) {
    i64 T = m->n_templates;
    u64 *base = m->keys + T;
    for (i64 i = m->n_pairs; i < T; i++) base[i] = m->heads[h * T + i] + m->children[c * T + i];
    return base;
}

/* What is done with the keys of a part, m->keys. */
typedef void Visit(void *to, i64 part, i64 n_keys, const u64 *keys);

static inline void visit_pairs(const SiblingMemory *m, i64 n, Visit *visit, void *to) {
    i64 part = 0;
    for (i64 left = 0; left < 2; left++) {
        for (i64 q = 0; q <= n; q++) {
            for (i64 c = 0; c <= n; c++) {
                int there = q == n || c == n || (left ? c < q : q < c);
                visit(to, part++, there ? pair_keys(m, n, q, c, left) : 0, m->keys);
            }
        }
    }
}

static inline void visit_stops(const SiblingMemory *m, i64 n, Visit *visit, void *to) {
    i64 part = count_pairs(n);
    for (i64 h = 0; h < n; h++) {
        const u64 *base = base_keys(m, h, n);
        for (i64 q = 0; q < n; q++) visit(to, part++, trio_keys(m, n, base, q == h ? n : q, n, q < h), m->keys);
    }
    for (i64 h = 0; h < n; h++) visit(to, part++, trio_keys(m, n, base_keys(m, h, n), n, n, 1), m->keys);
}

/* In the order of trio_row. */
static inline void visit_trios(const SiblingMemory *m, i64 n, Visit *visit, void *to) {
    i64 part = count_pairs(n) + count_stops(n);
    for (i64 h = 0; h < n; h++) {
        for (i64 c = h - 1; c >= 0; c--) {
            const u64 *base = base_keys(m, h, c);
            for (i64 q = c + 1; q < h; q++) visit(to, part++, trio_keys(m, n, base, q, c, 1), m->keys);
            visit(to, part++, trio_keys(m, n, base, n, c, 1), m->keys);
        }
        for (i64 c = h + 1; c < n; c++) {
            const u64 *base = base_keys(m, h, c);
            visit(to, part++, trio_keys(m, n, base, n, c, 0), m->keys);
            for (i64 q = h + 1; q < c; q++) visit(to, part++, trio_keys(m, n, base, q, c, 0), m->keys);
        }
    }
}

typedef struct {
    i64 n_slots;
    const u64 *slots;
    i64 *ptr;
    i64 room, used;
    i32 *ids;
} Encoding;

static void encode_part(void *to, i64 part, i64 n_keys, const u64 *keys) {
    Encoding *x = to;
    u64 mask = (u64)x->n_slots - 1;
    if (x->used + n_keys <= x->room) {
        for (i64 k = 0; k < n_keys; k++) __builtin_prefetch(x->slots + 2 * (keys[k] & mask));
        for (i64 k = 0; k < n_keys; k++) {
            i64 id = find_id(x->n_slots, x->slots, keys[k]);
            x->ids[x->used] = (i32)id;
            x->used += id >= 0;
        }
    } else {
        x->room = -1;
    }
    x->ptr[part + 1] = x->used;
}

i64 sibling_features_encode(const ArcTemplates *t, const ArcWords *a, SiblingMemory *m, i64 s, i64 n_slots,
                            const u64 *slots, i64 n_parts, i64 *ptr, i64 room, i32 *ids) {
    (void)n_parts;
    project_gaps(t, m);
    i64 n = project_siblings(t, a, s, m);
    Encoding x = {n_slots, slots, ptr, room, 0, ids};
    ptr[0] = 0;
    visit_pairs(m, n, encode_part, &x);
    visit_stops(m, n, encode_part, &x);
    visit_trios(m, n, encode_part, &x);
    return x.room < 0 ? -1 : x.used;
}

typedef struct {
    u64 mask;
    const u64 *slots;
    i64 first; /* the part that goes to out[0] */
    f64 *out;
} Scoring;

static void score_part(void *to, i64 part, i64 n_keys, const u64 *keys) {
    const Scoring *x = to;
    f64 sum = 0.0;
    for (i64 k = 0; k < n_keys; k++) sum += weight_of(x->mask, x->slots, keys[k]);
    x->out[part - x->first] = sum;
}

void sibling_features_scores(const ArcTemplates *t, const ArcWords *a, SiblingMemory *m, i64 s, i64 n_slots,
                             const u64 *slots, i64 n_trios, f64 *trios, i64 n_stops, f64 *stops) {
    (void)n_trios, (void)n_stops;
    project_gaps(t, m);
    i64 n = project_siblings(t, a, s, m);
    u64 mask = (u64)n_slots - 1;
    visit_pairs(m, n, score_part, &(Scoring){mask, slots, 0, m->pairs});
    visit_stops(m, n, score_part, &(Scoring){mask, slots, count_pairs(n), stops});
    visit_trios(m, n, score_part, &(Scoring){mask, slots, count_pairs(n) + count_stops(n), trios});
    add_pairs(n, m->pairs, trios, stops);
}
