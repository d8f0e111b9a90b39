#include "factored_scorer.h"

enum { DENSE = 8, BLOCK = 32 }; /* A context with a pair for one candidate in DENSE gets a row. */

enum { NOTHING = INT32_MIN };

/* From a context one symbol down to another, whose row starts at `start`; or, where it has none, its pairs at ~start. A
 * context without children is 0, as no root is a child; an empty place of the table has child -1. */
typedef struct {
    i32 parent, symbol, child, start;
} Move;

/* The pairs of a context follow each other; is_last ends them. */
typedef struct {
    f64 f;
    i32 choice, is_last;
} Pair;

i64 sizeof_Weights(void) { return sizeof(Weights); }
i64 sizeof_Factors(void) { return sizeof(Factors); }

/* Mark the contexts that have a weight other than 0, and those above them. */
void factored_scorer_keep_paths(i64 n, const i32 *parent, const i64 *pair_ptr, i64 n_pairs, const f64 *w,
                                u8 *needed) {
    (void)n_pairs;
    for (i64 c = n - 1; c >= 0; c--) {
        for (i64 p = pair_ptr[c]; p < pair_ptr[c + 1] && !needed[c]; p++) needed[c] = w[p] != 0.0;
        if (needed[c] && parent[c] >= 0) needed[parent[c]] = 1;
    }
}

/* Which contexts get a row of their own, as far as their parents have one, and where it starts; returns the length of
 * all rows. */
i64 factored_scorer_place_rows(i64 n_roots, const i32 *n_choices, i64 n, const i32 *parent, const i64 *pair_ptr, i32 *root,
                               i32 *row_at) {
    i64 total = 0;
    for (i64 c = 0; c < n; c++) {
        root[c] = parent[c] < 0 ? (i32)(c % n_roots) : root[parent[c]];
        i64 width = n_choices[root[c]];
        u8 dense = DENSE * (pair_ptr[c + 1] - pair_ptr[c]) >= width;
        row_at[c] = -1;
        if (parent[c] < 0 || (dense && row_at[parent[c]] >= 0)) {
            row_at[c] = (i32)total;
            total += width;
        }
    }
    return total;
}

/* exp of the summed scores of the contexts that have a row. */
void factored_scorer_fill_rows(i64 n_roots, const i32 *n_choices, i64 n, const i32 *parent, const i64 *pair_ptr,
                               i64 n_pairs, const i32 *choice, const f64 *f, const i32 *root, const i32 *row_at, i64 n_rows,
                               f64 *rows) {
    (void)n_roots, (void)n_pairs, (void)n_rows;
    for (i64 c = 0; c < n; c++) {
        if (row_at[c] < 0) continue;
        f64 *own = rows + row_at[c];
        i64 width = n_choices[root[c]];
        if (parent[c] < 0)
            for (i64 u = 0; u < width; u++) own[u] = 1.0;
        else
            memcpy(own, rows + row_at[parent[c]], (size_t)width * sizeof *own);
        for (i64 p = pair_ptr[c]; p < pair_ptr[c + 1]; p++) own[choice[p]] *= f[p];
    }
}

/* The place in a table of 2^n_bits from which on a step is looked for. */
static inline u64 place_of(i64 parent, i32 symbol, i64 n_bits) {
    u64 key = (u64)parent * 0x9E3779B97F4A7C15u + (u64)symbol * 0xC2B2AE3D27D4EB4Fu;
    return (key ^ key >> 32) * 0xD6E8FEB86659FD93u >> (64 - n_bits);
}

/* Where the step to a context leads: to its row, or its pairs. */
static inline i32 start_of(i32 row_at, i64 first, i64 past) { return row_at >= 0 ? row_at : past > first ? (i32)~first : NOTHING; }

/* Steps and pairs from the arrays of a model. */
void factored_scorer_pack(i64 n, const i32 *parent, const i32 *symbol, const i64 *child_ptr, const i64 *pair_ptr,
                          const i32 *row_at, i64 n_pairs, const i32 *choice, const f64 *f, i64 n_bits, i32 *steps, u8 *pairs) {
    Move *table = (Move *)steps;
    Pair *pair = (Pair *)pairs;
    u64 mask = ((u64)1 << n_bits) - 1;
    for (u64 k = 0; k <= mask; k++) table[k] = (Move){0, 0, -1, 0};
    for (i64 p = 0; p < n_pairs; p++) pair[p] = (Pair){f[p], choice[p], 0};
    for (i64 c = 0; c < n; c++) {
        i64 first = pair_ptr[c], past = pair_ptr[c + 1];
        if (past > first) pair[past - 1].is_last = 1;
        if (c + BLOCK < n) __builtin_prefetch(table + place_of(parent[c + BLOCK], symbol[c + BLOCK], n_bits), 1);
        if (parent[c] < 0) continue;
        u64 at = place_of(parent[c], symbol[c], n_bits);
        while (table[at].child >= 0) at = (at + 1) & mask;
        i64 child = child_ptr[c + 1] > child_ptr[c] ? c : 0;
        table[at] = (Move){parent[c], symbol[c], (i32)child, start_of(row_at[c], first, past)};
    }
}

/* Symbols of the contexts of positions in words, tree after tree; symbol k of tree t, counted from the newest, is the
 * class (of_class) or the word lags[tree_ptr[t] + k] words back. Classes are the symbols 0 .. n_classes - 1, words
 * follow; symbols beyond the length are 0. Returns the first position with a word that is none, or -1. */
i64 factored_scorer_contexts(i64 n, const i32 *end, const i32 *length, i64 n_history, const i32 *history, i64 n_words,
                             const i32 *class_of, i64 n_classes, i64 n_trees, const i32 *tree_ptr, i64 n_symbols,
                             const i32 *lags, const u8 *of_class, i32 *symbols, i32 *ends, i32 *lengths) {
    (void)n_symbols;
    for (i64 i = 0; i < n; i++) {
        if (length[i] > end[i] || end[i] > n_history) return i;
        for (i64 t = 0; t < n_trees; t++) {
            i64 first = tree_ptr[t], size = tree_ptr[t + 1] - first, k = 0;
            i32 *own = symbols + first * n + i * size;
            for (; k < size && lags[first + k] <= length[i]; k++) {
                i64 word = history[end[i] - lags[first + k]];
                if (word < 0 || word >= n_words) return i;
                own[size - 1 - k] = of_class[first + k] ? class_of[word] : (i32)(n_classes + word);
            }
            ends[i * n_trees + t] = (i32)(first * n + (i + 1) * size);
            lengths[i * n_trees + t] = (i32)k;
            for (; k < size; k++) own[size - 1 - k] = 0;
        }
    }
    return -1;
}

/* A position and a tree in which it still goes down: number b * n_trees + tree. */
typedef struct {
    i32 b, k;
} Open;

/* What positions need: in each tree the context they have come to (-1: no further) and the deepest row, and where the
 * pairs of the contexts below the rows are. Position b has its own at [b * n_trees] and [b * n_symbols]. */
typedef struct {
    i64 n_trees, n_symbols;
    i32 *at, *row, *n_below, *below;
    Open *open;
} Paths;

/* Numbers that the paths of a block take. */
i64 factored_scorer_room(i64 n_trees, i64 n_symbols) { return BLOCK * (4 * n_trees + 1 + n_symbols); }

static Paths paths_in(i32 *room, i64 n_room, i64 n_trees) {
    i64 n_symbols = n_room / BLOCK - 4 * n_trees - 1;
    i32 *row = room + BLOCK * n_trees, *open = row + BLOCK * n_trees, *n_below = open + 2 * BLOCK * n_trees;
    return (Paths){n_trees, n_symbols, room, row, n_below, n_below + BLOCK, (Open *)open};
}

/* Position b begins at a root. */
static inline void begin(const Weights *m, const Paths *paths, i64 b, i64 root) {
    paths->n_below[b] = 0;
    for (i64 t = 0; t < m->n_trees; t++) {
        i64 c = t * m->n_roots + root;
        paths->at[b * m->n_trees + t] = (i32)c;
        paths->row[b * m->n_trees + t] = m->root_rows[c];
    }
}

/* The step from c by a symbol, or NULL. */
static inline const Move *step_from(const Weights *m, i64 c, i32 symbol) {
    const Move *table = (const Move *)m->steps;
    u64 mask = ((u64)1 << m->n_bits) - 1;
    for (u64 at = place_of(c, symbol, m->n_bits); table[at].child >= 0; at = (at + 1) & mask) {
        if (table[at].parent == c && table[at].symbol == symbol) return table + at;
    }
    return NULL;
}

/* Parents rise and stand before their children, symbols rise among siblings; finds the root and depth of each context. */
static u8 are_trees(i64 n_roots, i64 top, i64 n, const i32 *parent, const i32 *symbol, i64 n_symbols, i64 longest, i32 *root,
                    i32 *depth) {
    if (n_roots < 1 || top > n) return 0;
    for (i64 c = 0; c < n; c++) {
        i64 above = parent[c];
        u8 fine = c < top ? above == -1 : above >= 0 && above < c && symbol[c] >= 0 && symbol[c] < n_symbols;
        if (c > top) fine &= parent[c - 1] < above || (parent[c - 1] == above && symbol[c - 1] < symbol[c]);
        if (!fine) return 0;
        root[c] = above < 0 ? (i32)(c % n_roots) : root[above];
        depth[c] = above < 0 ? 0 : depth[above] + 1;
        if (depth[c] > longest) return 0;
    }
    return 1;
}

/* The pairs first .. past of a context with so many candidates, as the arrays have them and as the table does. */
static u8 are_pairs(const Weights *m, i64 first, i64 past, i64 width, const i32 *choice) {
    u8 fine = 1;
    for (i64 p = first; p < past; p++) {
        const Pair *own = (const Pair *)m->pairs + p;
        fine &= choice[p] >= 0 && choice[p] < width && (p == first || choice[p - 1] < choice[p]);
        fine &= own->choice == choice[p] && own->is_last == (p + 1 == past) && own->f >= 0.0;
    }
    return fine;
}

u8 factored_scorer_is_packed(const Weights *m, i64 n, const i32 *parent, const i32 *symbol, i64 n_symbols, i64 longest,
                             const i64 *pair_ptr, const i32 *row_at, i64 n_pairs, const i32 *choice, i32 *root, i32 *depth) {
    const Move *table = (const Move *)m->steps;
    i64 top = m->n_roots * m->n_trees, n_steps = 0, below = top, n_places = (i64)1 << m->n_bits;
    if (!are_trees(m->n_roots, top, n, parent, symbol, n_symbols, longest, root, depth)) return 0;
    for (i64 k = 0; k < n_places; k++) n_steps += table[k].child >= 0;
    if (n_steps != n - top || n_steps == n_places || pair_ptr[0] != 0 || pair_ptr[n] != n_pairs) return 0;
    for (i64 c = 0; c < n; c++) {
        i64 first = pair_ptr[c], past = pair_ptr[c + 1], width = m->n_choices[root[c]];
        if (first > past || past > n_pairs || !are_pairs(m, first, past, width, choice)) return 0;
        if (row_at[c] < 0 ? c < top || row_at[c] != -1 : row_at[c] + width > m->n_rows) return 0;
        i64 child = below < n && parent[below] == c ? c : 0;
        while (below < n && parent[below] == c) below++;
        if (c + BLOCK < n) __builtin_prefetch(table + place_of(parent[c + BLOCK], symbol[c + BLOCK], m->n_bits));
        if (c < top) continue;
        const Move *step = step_from(m, parent[c], symbol[c]);
        if (!step || step->child != child || step->start != start_of(row_at[c], first, past)) return 0;
    }
    return 1;
}

/* One step down a tree for a position; returns whether there is a further one. */
static inline u8 step_down(const Weights *m, const Paths *paths, Open one, i32 symbol) {
    const Move *step = step_from(m, paths->at[one.k], symbol);
    if (!step) return 0;
    paths->at[one.k] = step->child;
    if (step->start >= 0) {
        paths->row[one.k] = step->start;
    } else if (step->start != NOTHING) {
        paths->below[one.b * paths->n_symbols + paths->n_below[one.b]++] = ~step->start;
        __builtin_prefetch((const Pair *)m->pairs + ~step->start);
    }
    return step->child > 0;
}

/* Call for the step by a symbol from where position and tree k stand. */
static inline void fetch_step(const Weights *m, const Paths *paths, i64 k, i32 symbol) {
    __builtin_prefetch((const Move *)m->steps + place_of(paths->at[k], symbol, m->n_bits));
}

/* Walk n positions down all trees, each one step in turn, so that their waits for memory overlap. Row b of ends and
 * lengths is that of position b. */
static void walk(const Weights *m, i64 n, const i32 *history, const i32 *ends, const i32 *lengths, const Paths *paths) {
    i64 n_open = 0;
    for (i64 b = 0, k = 0; b < n; b++)
        for (i64 t = 0; t < m->n_trees; t++, k++)
            if (lengths[k] > 0) {
                fetch_step(m, paths, k, history[ends[k] - 1]);
                paths->open[n_open++] = (Open){(i32)b, (i32)k};
            }
    for (i64 d = 0; n_open; d++) {
        i64 n_left = 0;
        for (i64 o = 0; o < n_open; o++) {
            Open one = paths->open[o];
            const i32 *symbol = history + ends[one.k] - 1 - d;
            if (!step_down(m, paths, one, symbol[0]) || d + 1 >= lengths[one.k]) continue;
            fetch_step(m, paths, one.k, symbol[-1]);
            paths->open[n_left++] = one;
        }
        n_open = n_left;
    }
}

/* x[u] := exp of the scores of all candidates of position b: the product of its rows, then pair by pair. */
static void candidates(const Weights *m, const Paths *paths, i64 b, i64 n, f64 *restrict x) {
    const i32 *row = paths->row + b * m->n_trees, *below = paths->below + b * paths->n_symbols;
    i64 t = 1;
    const f64 *restrict r0 = m->rows + row[0];
    if (m->n_trees >= 3) {
        const f64 *restrict r1 = m->rows + row[1], *restrict r2 = m->rows + row[2];
        for (i64 u = 0; u < n; u++) x[u] = r0[u] * r1[u] * r2[u];
        t = 3;
    } else {
        memcpy(x, r0, (size_t)n * sizeof *x);
    }
    for (; t < m->n_trees; t++) {
        const f64 *restrict r = m->rows + row[t];
        for (i64 u = 0; u < n; u++) x[u] *= r[u];
    }
    for (i64 k = 0; k < paths->n_below[b]; k++) {
        const Pair *pair = (const Pair *)m->pairs + below[k];
        do x[pair->choice] *= pair->f;
        while (!pair++->is_last);
    }
}

/* The sum of any number of values, eight sums side by side. */
static f64 total_of(i64 n, const f64 *x) {
    f64 sums[8] = {0}, rest = 0.0;
    i64 u = 0;
    for (; u + 8 <= n; u += 8)
        for (i64 j = 0; j < 8; j++) sums[j] += x[u + j];
    for (; u < n; u++) rest += x[u];
    return rest + (((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7])));
}

/* Call for the rows of position b. */
static void fetch_rows(const Weights *m, i64 b, i64 width, const Paths *paths) {
    for (i64 t = 0; t < m->n_trees; t++) {
        const f64 *row = m->rows + paths->row[b * m->n_trees + t];
        for (i64 u = 0; u < smaller_i(width, 32); u += 8) __builtin_prefetch(row + u);
    }
}

/* x[u] times the factors of a row. */
static inline void apply(const Factors *factors, i64 row, f64 *x) {
    for (i64 e = factors->row_ptr[row]; e < factors->row_ptr[row + 1]; e++) x[factors->choice[e]] *= factors->f[e];
}

/* P of the entries of a row, added to what is expected of them; z is the sum of x. */
static inline void expect(const Factors *factors, i64 row, const f64 *x, f64 z, f64 *expected) {
    f64 r = 1.0 / z;
    for (i64 e = factors->row_ptr[row]; e < factors->row_ptr[row + 1]; e++) expected[e] += r * x[factors->choice[e]];
}

/* log P(target) of every position; factors and expected may be NULL. */
static void score(const Weights *m, const Factors *factors, i64 n, const i32 *rows, const i32 *root_of, const i32 *target,
                  const i32 *history, i64 n_trees, const i32 *ends, const i32 *lengths, i64 n_room, i32 *room, f64 *x,
                  f64 *expected, f64 *out) {
    Paths paths = paths_in(room, n_room, n_trees);
    for (i64 first = 0; first < n; first += BLOCK) {
        i64 size = smaller_i(BLOCK, n - first);
        for (i64 b = 0; b < size; b++) begin(m, &paths, b, root_of[first + b]);
        walk(m, size, history, ends + first * n_trees, lengths + first * n_trees, &paths);
        for (i64 b = 0; b < size; b++) {
            i64 i = first + b, width = m->n_choices[root_of[i]];
            if (b + 1 < size) fetch_rows(m, b + 1, m->n_choices[root_of[i + 1]], &paths);
            candidates(m, &paths, b, width, x);
            if (factors) apply(factors, rows[i], x);
            f64 z = total_of(width, x);
            if (expected) expect(factors, rows[i], x, z, expected);
            out[i] = log(x[target[i]] / z);
        }
    }
}

void factored_scorer_score(const Weights *m, i64 n, const i32 *root_of, const i32 *target, i64 n_history, const i32 *history,
                           i64 n_trees, const i32 *ends, const i32 *lengths, i64 n_room, i32 *room, i64 widest, f64 *x,
                           f64 *out) {
    (void)n_history, (void)widest;
    score(m, NULL, n, NULL, root_of, target, history, n_trees, ends, lengths, n_room, room, x, NULL, out);
}

void factored_scorer_score_with(const Weights *m, const Factors *factors, i64 n, const i32 *rows, const i32 *root_of,
                                const i32 *target, i64 n_history, const i32 *history, i64 n_trees, const i32 *ends,
                                const i32 *lengths, i64 n_room, i32 *room, i64 widest, f64 *x, i64 n_expected,
                                f64 *expected, f64 *out) {
    (void)n_history, (void)widest;
    score(m, factors, n, rows, root_of, target, history, n_trees, ends, lengths, n_room, room, x,
          n_expected > 0 ? expected : NULL, out);
}

/* P(candidate | root) of every candidate of every root, root by root, after the contexts of one position; factors may be
 * NULL. */
static void distributions(const Weights *m, const Factors *factors, const i32 *history, i64 n_trees, const i32 *ends,
                          const i32 *lengths, i64 n_room, i32 *room, f64 *out) {
    Paths paths = paths_in(room, n_room, n_trees);
    for (i64 root = 0; root < m->n_roots; root++) {
        i64 width = m->n_choices[root];
        begin(m, &paths, 0, root);
        walk(m, 1, history, ends, lengths, &paths);
        candidates(m, &paths, 0, width, out);
        if (factors) apply(factors, root, out);
        f64 z = total_of(width, out);
        for (i64 u = 0; u < width; u++) out[u] /= z;
        out += width;
    }
}

void factored_scorer_distributions(const Weights *m, i64 n_history, const i32 *history, i64 n_trees, const i32 *ends,
                                   const i32 *lengths, i64 n_room, i32 *room, i64 n_out, f64 *out) {
    (void)n_history, (void)n_out;
    distributions(m, NULL, history, n_trees, ends, lengths, n_room, room, out);
}

void factored_scorer_distributions_with(const Weights *m, const Factors *factors, i64 n_history, const i32 *history,
                                        i64 n_trees, const i32 *ends, const i32 *lengths, i64 n_room, i32 *room, i64 n_out,
                                        f64 *out) {
    (void)n_history, (void)n_out;
    distributions(m, factors, history, n_trees, ends, lengths, n_room, room, out);
}
