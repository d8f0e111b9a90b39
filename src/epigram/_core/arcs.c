#include "arcs.h"

#include "arcs_inline.h"

i64 sizeof_ArcTemplates(void) { return sizeof(ArcTemplates); }
i64 sizeof_ArcWords(void) { return sizeof(ArcWords); }
i64 sizeof_ArcTable(void) { return sizeof(ArcTable); }
i64 sizeof_ArcMemory(void) { return sizeof(ArcMemory); }

void arcs_prepare(const ArcTemplates *t, ArcMemory *m) {
    i64 T = t->n_templates;
    for (i64 i = 0; i < T; i++) {
        for (i64 way = 0; way < N_WAYS; way++) m->ways[way * T + i] = t->seeds[i];
        for (i64 k = t->cell_ptr[i]; k < t->cell_ptr[i + 1]; k++) {
            i32 place = t->places[k];
            if (place != WAY && place != SIDE) continue;
            u64 by = factor(t, i, k - t->cell_ptr[i]);
            for (i64 way = 0; way < N_WAYS; way++) {
                m->ways[way * T + i] += by * way_atom(place == WAY ? way : N_WAYS + side_of(way));
            }
        }
    }
}

/* Whether a cell is one of many words: its zone. */
static inline int is_zone(i32 place) { return place == BETWEEN || place == LEFT_OF || place == RIGHT_OF; }

/* The cell of the j-th template with a zone that is the zone. */
static inline i64 zone_cell(const ArcTemplates *t, i64 j) {
    i64 k = t->cell_ptr[t->n_templates - t->n_between + j];
    while (!is_zone(t->places[k])) k++;
    return k;
}

/* The distinct values of a column in a sentence, as bits of its words and as parts of the template's keys. */
static void project_between(const ArcTemplates *t, const ArcWords *a, i64 first, i64 n, i64 j, const ArcMemory *m) {
    i64 i = t->n_templates - t->n_between + j, k = zone_cell(t, j);
    u64 by = factor(t, i, k - t->cell_ptr[i]), *values = m->values + j * MOST_VALUES;
    i64 found = 0;
    m->bits[j] = 0;
    for (i64 e = 1; e <= n; e++) {
        u64 value = by * atom_at(a, first, n, t->columns[k], e, t->offsets[k]);
        i64 v = 0;
        while (v < found && values[v] != value) v++;
        if (v == found && found < MOST_VALUES) values[found++] = value;
        m->bits[e * t->n_between + j] = v < MOST_VALUES ? 1ull << v : 0;
    }
}

/* The parts of every template that depend on the head or on the child alone; returns the number of words. */
static i64 project(const ArcTemplates *t, const ArcWords *a, i64 s, const ArcMemory *m) {
    i64 T = t->n_templates, first = a->sentence_ptr[s], n = a->sentence_ptr[s + 1] - first;
    memset(m->heads, 0, (size_t)((n + 1) * T) * sizeof *m->heads);
    memset(m->children, 0, (size_t)((n + 1) * T) * sizeof *m->children);
    for (i64 i = 0; i < T; i++) {
        for (i64 k = t->cell_ptr[i]; k < t->cell_ptr[i + 1]; k++) {
            if (t->places[k] > CHILD) continue;
            u64 by = factor(t, i, k - t->cell_ptr[i]), *to = t->places[k] == HEAD ? m->heads : m->children;
            for (i64 e = 0; e <= n; e++) to[e * T + i] += by * atom_at(a, first, n, t->columns[k], e, t->offsets[k]);
        }
    }
    for (i64 j = 0; j < t->n_between; j++) project_between(t, a, first, n, j, m);
    return n;
}

/* For head h, the values that are between it and each child. */
static void look_inside(i64 n, i64 n_between, i64 h, i64 j, const ArcMemory *m) {
    u64 met = 0;
    for (i64 c = h + 1; c <= n; c++) {
        m->between[c * n_between + j] = met;
        met |= m->bits[c * n_between + j];
    }
    met = 0;
    for (i64 c = h - 1; c >= 1; c--) {
        m->between[c * n_between + j] = met;
        met |= m->bits[c * n_between + j];
    }
}

/* For head h, the values on one side of it and of each child. */
static void look_outside(i64 n, i64 n_between, i64 h, i64 j, int left, const ArcMemory *m) {
    u64 met = 0, at_head = 0;
    for (i64 k = 1; k <= n; k++) {
        i64 c = left ? k : n + 1 - k;
        if (c == h) at_head = met;
        int beyond = left ? c > h : c < h; /* then the head is nearer to the end */
        m->between[c * n_between + j] = beyond ? at_head : met;
        met |= m->bits[c * n_between + j];
    }
}

/* For head h, the values in the zone of each template, by child. */
static void look_around(const ArcTemplates *t, i64 n, i64 h, const ArcMemory *m) {
    for (i64 j = 0; j < t->n_between; j++) {
        i32 place = t->places[zone_cell(t, j)];
        if (place == BETWEEN) look_inside(n, t->n_between, h, j, m);
        else look_outside(n, t->n_between, h, j, place == LEFT_OF, m);
    }
}

/* The keys of an arc to m->keys, after project and look_around; returns their number. */
static inline i64 keys_of_arc(const ArcTemplates *t, const ArcMemory *m, i64 h, i64 c) {
    i64 T = t->n_templates, plain = T - t->n_between, found = plain, way = way_of(h, c);
    const u64 *restrict head = m->heads + h * T, *restrict child = m->children + c * T;
    const u64 *restrict ways = m->ways + way * T;
    u64 *restrict keys = m->keys;
    for (i64 i = 0; i < plain; i++) keys[i] = mix(head[i] + child[i] + ways[i]);
    for (i64 j = 0; j < t->n_between; j++) {
        u64 base = head[plain + j] + child[plain + j] + ways[plain + j], left = m->between[c * t->n_between + j];
        for (; left; left &= left - 1) keys[found++] = mix(base + m->values[j * MOST_VALUES + __builtin_ctzll(left)]);
    }
    return found;
}

i64 arcs_gold_keys(const ArcTemplates *t, const ArcWords *a, ArcMemory *m, i64 n_tokens, const i32 *heads, i64 first,
                   i64 room, u64 *keys, i64 *done) {
    (void)n_tokens;
    i64 most = t->n_templates + MOST_VALUES * t->n_between, s = first, used = 0;
    for (; s < a->n_sentences; s++) {
        i64 at = a->sentence_ptr[s];
        if (used + (a->sentence_ptr[s + 1] - at) * most > room) break;
        i64 n = project(t, a, s, m);
        for (i64 c = 1; c <= n; c++) {
            i64 h = heads[at + c - 1];
            look_around(t, n, h, m);
            i64 found = keys_of_arc(t, m, h, c);
            memcpy(keys + used, m->keys, (size_t)found * sizeof *keys);
            used += found;
        }
    }
    done[0] = used;
    return s;
}

i64 arcs_count_keys(const ArcTemplates *t, const ArcWords *a, ArcMemory *m, i64 s, i64 n_arcs, const u8 *keep,
                    i64 n_counters, u8 *counters, i64 least, i64 room, u64 *keys) {
    (void)n_arcs;
    i64 n = project(t, a, s, m), used = 0;
    u64 mask = (u64)n_counters - 1;
    for (i64 h = 0; h <= n; h++) {
        look_around(t, n, h, m);
        for (i64 c = 1; c <= n; c++) {
            if (c == h || !keep[h * n + c - 1]) continue;
            i64 found = keys_of_arc(t, m, h, c);
            for (i64 k = 0; k < found; k++) __builtin_prefetch(counters + (m->keys[k] >> 20 & mask), 1);
            for (i64 k = 0; k < found; k++) {
                u8 *counter = counters + (m->keys[k] >> 20 & mask);
                if (*counter == 255) continue;
                if (++*counter == least && used < room) keys[used++] = m->keys[k];
            }
        }
    }
    return used;
}

i64 arcs_encode(const ArcTemplates *t, const ArcWords *a, ArcMemory *m, i64 s, const ArcTable *known, i64 n_arcs,
                const u8 *keep, i64 *ptr, i64 room, i32 *ids) {
    (void)n_arcs;
    i64 n = project(t, a, s, m), used = 0, start = ptr[0];
    for (i64 h = 0; h <= n; h++) {
        look_around(t, n, h, m);
        for (i64 c = 1; c <= n; c++) {
            i64 found = c == h || !keep[h * n + c - 1] ? 0 : keys_of_arc(t, m, h, c);
            if (used + found > room) return -1;
            used += ids_of_keys(known, found, m->keys, ids + used);
            ptr[h * n + c] = start + used;
        }
    }
    return used;
}

/* Which template and which word of its zone made key k of an arc. */
static void origin_of(const ArcTemplates *t, const ArcMemory *m, i64 h, i64 c, i64 k, i32 *owner, i32 *middle) {
    i64 plain = t->n_templates - t->n_between, at = plain;
    *owner = (i32)k, *middle = 0;
    for (i64 j = 0; j < t->n_between && k >= plain; j++) {
        for (u64 left = m->between[c * t->n_between + j]; left; left &= left - 1, at++) {
            if (at != k) continue;
            *owner = (i32)(plain + j);
            i32 place = t->places[zone_cell(t, j)];
            i64 e = place == LEFT_OF ? 1 : 1 + (place == BETWEEN ? smaller_i(h, c) : larger_i(h, c));
            while (m->bits[e * t->n_between + j] != (left & -left)) e++;
            *middle = (i32)e;
            return;
        }
    }
}

void arcs_locate(const ArcTemplates *t, const ArcWords *a, ArcMemory *m, i64 s, i64 n_slots, const u64 *slots,
                 i64 n_arcs, const u8 *keep, i64 n_features, i32 *places, i32 *sentences) {
    (void)n_arcs, (void)n_features;
    i64 n = project(t, a, s, m);
    for (i64 h = 0; h <= n; h++) {
        look_around(t, n, h, m);
        for (i64 c = 1; c <= n; c++) {
            if (c == h || !keep[h * n + c - 1]) continue;
            i64 found = keys_of_arc(t, m, h, c);
            for (i64 k = 0; k < found; k++) {
                i64 id = find_id(n_slots, slots, m->keys[k]);
                if (id < 0 || places[4 * id] >= 0) continue;
                places[4 * id] = (i32)h;
                places[4 * id + 1] = (i32)c;
                origin_of(t, m, h, c, k, places + 4 * id + 2, places + 4 * id + 3);
                sentences[id] = (i32)s;
            }
        }
    }
}

void arcs_fill(i64 n, const u64 *keys, const u32 *numbers, ArcTable *x) {
    u64 mask = (u64)x->n_slots - 1, n_bits = 64 * (u64)x->n_filter;
    for (i64 i = 0; i < n; i++) {
        if (!numbers[i]) continue;
        u64 slot = keys[i] & mask, at = keys[i] & (n_bits - 1);
        while (x->slots[slot]) slot = (slot + 1) & mask;
        x->slots[slot] = keys[i] >> 32 | (u64)numbers[i] << 32;
        x->filter[at >> 6] |= 1ull << (at & 63);
    }
}

void arcs_scores(const ArcTemplates *t, const ArcWords *a, ArcMemory *m, i64 s, const ArcTable *weights, i64 n_arcs,
                 const u8 *keep, f64 *scores) {
    i64 n = project(t, a, s, m);
    Queue queue;
    queue.n = 0;
    memset(scores, 0, (size_t)n_arcs * sizeof *scores);
    for (i64 h = 0; h <= n; h++) {
        look_around(t, n, h, m);
        for (i64 c = 1; c <= n; c++) {
            i64 arc = h * n + c - 1;
            if (c != h && keep[arc]) queue_keys(weights, arc, keys_of_arc(t, m, h, c), m->keys, &queue, scores);
        }
    }
    empty_queue(weights, &queue, scores);
}

i64 arcs_keys(const ArcTemplates *t, const ArcWords *a, ArcMemory *m, i64 s, i64 h, i64 c, i64 room, u64 *keys,
              i32 *owners, i32 *middles) {
    i64 n = project(t, a, s, m);
    look_around(t, n, h, m);
    i64 found = smaller_i(keys_of_arc(t, m, h, c), room);
    for (i64 k = 0; k < found; k++) {
        keys[k] = m->keys[k];
        origin_of(t, m, h, c, k, owners + k, middles + k);
    }
    return found;
}

void arcs_keys_of(const ArcTemplates *t, i64 n, const i32 *owners, const i64 *ptr, i64 n_atoms, const u64 *atoms,
                  u64 *keys) {
    (void)n_atoms;
    for (i64 f = 0; f < n; f++) {
        i64 i = owners[f];
        u64 sum = t->seeds[i];
        for (i64 k = t->cell_ptr[i]; k < t->cell_ptr[i + 1]; k++) {
            u64 atom = atoms[ptr[f] + k - t->cell_ptr[i]];
            if (t->places[k] == WAY) atom = way_atom((i64)atom);
            if (t->places[k] == SIDE || t->places[k] == UP) atom = way_atom(N_WAYS + side_of((i64)atom));
            if (t->places[k] == GAP) atom = gap_atom((i64)atom);
            sum += factor(t, i, k - t->cell_ptr[i]) * atom;
        }
        keys[f] = mix(sum);
    }
}
