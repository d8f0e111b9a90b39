#include "factored.h"

i64 sizeof_Trees(void) { return sizeof(Trees); }

/* Rows E of n_rows side contexts, in the columns first to last. Side trees have no root weights: those of the main tree
 * say the same. */
void factored_side_down(const Trees *t, i64 base, i64 n_rows, i64 width, i64 first, i64 last, i64 n_pairs, const f64 *f,
                        f64 *E) {
    (void)n_pairs;
    for (i64 k = base; k < base + n_rows; k++) {
        i64 c = t->side_context[k], above = t->parent[c];
        f64 *row = E + (k - base) * width;
        if (above < 0) {
            for (i64 u = first; u < last; u++) row[u] = 1.0;
            continue;
        }
        memcpy(row + first, E + (t->side_row[above] - base) * width + first, (size_t)(last - first) * sizeof *row);
        for (i64 p = t->pair_ptr[c]; p < t->pair_ptr[c + 1]; p++) {
            i64 u = t->choice[p];
            if (u >= first && u < last) row[u] *= f[p];
        }
    }
}

static inline void add(i64 n, f64 r, const f64 *restrict x, f64 *restrict out) {
    for (i64 u = 0; u < n; u++) out[u] += r * x[u];
}

/* Gradient of the side contexts' weights from their rows of expected counts, for the choices first to last. */
void factored_side_up(const Trees *t, i64 base, i64 n_rows, i64 width, i64 first, i64 last, i64 n_pairs, i64 n_blocks,
                      f64 *H, f64 *g) {
    (void)n_pairs;
    for (i64 k = base + n_rows - 1; k >= base; k--) {
        i64 c = t->side_context[k], above = t->parent[c];
        f64 *row = H + (k - base) * width;
        for (i64 j = 1; j < n_blocks; j++) add(last - first, 1.0, row + j * n_rows * width + first, row + first);
        for (i64 p = t->pair_ptr[c]; p < t->pair_ptr[c + 1]; p++) {
            i64 u = t->choice[p];
            if (u >= first && u < last) g[p] = above < 0 ? 0.0 : row[u] - t->count[p];
        }
        if (above >= 0) add(last - first, 1.0, row + first, H + (t->side_row[above] - base) * width + first);
    }
}

/* What the positions below some main contexts share. */
typedef struct {
    const Trees *t;
    i64 base, width;
    const f64 *E;
    f64 *H, *x;
    u8 upward;
} Choices;

/* The sum of x[u], eight sums side by side; widths are multiples of 8. */
static inline f64 total_of(i64 width, const f64 *x) {
    f64 sums[8] = {0};
    for (i64 u = 0; u < width; u += 8)
        for (i64 j = 0; j < 8; j++) sums[j] += x[u + j];
    return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

/* x[u] = s[u] E[k][u] .. over the side contexts k of a position; returns their sum. */
static inline f64 products(const Choices *o, const f64 *restrict s, const i32 *rows) {
    i64 width = o->width, n = o->t->n_side_trees, k = 0;
    f64 *restrict x = o->x;
    if (n >= 2) {
        const f64 *restrict a = o->E + (rows[0] - o->base) * width, *restrict b = o->E + (rows[1] - o->base) * width;
        for (i64 u = 0; u < width; u++) x[u] = s[u] * a[u] * b[u];
        k = 2;
    } else {
        memcpy(x, s, (size_t)width * sizeof *x);
    }
    for (; k < n; k++) {
        const f64 *restrict row = o->E + (rows[k] - o->base) * width;
        for (i64 u = 0; u < width; u++) x[u] *= row[u];
    }
    return total_of(width, x);
}

/* Position i: P times Z to x and, with upward, P into the gathered counts; returns Z. */
static f64 choose(const Choices *o, i64 i, const f64 *s, f64 *gathered) {
    i64 n = o->t->n_side_trees, width = o->width;
    const i32 *rows = o->t->sample_rows + i * n;
    f64 z = products(o, s, rows);
    if (o->upward) {
        f64 r = 1.0 / z;
        add(width, r, o->x, gathered);
        for (i64 k = 0; k < n; k++) add(width, r, o->x, o->H + (rows[k] - o->base) * width);
    }
    return z;
}

/* The positions whose whole context is the root, which has exp s; returns their sum of log Z. */
f64 factored_choose_at_root(const Trees *t, i64 root, i64 base, i64 n_rows, i64 width, const f64 *E, u8 upward, f64 *H,
                            const f64 *s, f64 *x, f64 *gathered) {
    (void)n_rows;
    Choices o = {t, base, width, E, H, x, upward};
    f64 total = 0.0;
    for (i64 i = t->sample_ptr[root]; i < t->sample_ptr[root + 1]; i++) total += log(choose(&o, i, s, gathered));
    return total;
}

/* Whether context c and those below make a chain that one position goes down to its end. */
static u8 is_seen_once(const Trees *t, i64 c) {
    while (t->pair_ptr[c + 1] - t->pair_ptr[c] == 1 && t->count[t->pair_ptr[c]] == 1) {
        i64 n_children = t->child_ptr[c + 1] - t->child_ptr[c];
        if (n_children != 1) return n_children == 0;
        c = t->child_ptr[c];
    }
    return 0;
}

/* A context seen once: those below make a chain, and all their weights have one gradient. Returns log Z. */
static f64 choose_once(const Choices *o, i64 c, const f64 *f, f64 *s, f64 *gathered, f64 *g) {
    const Trees *t = o->t;
    i64 u = t->choice[t->pair_ptr[c]], leaf = c;
    f64 product = f[t->pair_ptr[c]], before = s[u];
    while (t->child_ptr[leaf + 1] > t->child_ptr[leaf]) {
        leaf = t->child_ptr[leaf];
        product *= f[t->pair_ptr[leaf]];
    }
    s[u] = before * product;
    f64 z = choose(o, t->sample_ptr[leaf], s, gathered);
    s[u] = before;
    if (o->upward) {
        f64 gradient = o->x[u] / z - 1.0;
        g[t->pair_ptr[c]] = gradient;
        while (t->child_ptr[c + 1] > t->child_ptr[c]) {
            c = t->child_ptr[c];
            g[t->pair_ptr[c]] = gradient;
        }
    }
    return log(z);
}

/* One level down to context c: its scores, and the positions that end here. Returns their sum of log Z. */
static f64 enter(const Choices *o, i64 c, const f64 *f, const f64 *above, f64 *s, f64 *gathered) {
    const Trees *t = o->t;
    f64 total = 0.0;
    memcpy(s, above, (size_t)o->width * sizeof *s);
    memset(gathered, 0, (size_t)o->width * sizeof *gathered);
    for (i64 p = t->pair_ptr[c]; p < t->pair_ptr[c + 1]; p++) s[t->choice[p]] *= f[p];
    for (i64 i = t->sample_ptr[c]; i < t->sample_ptr[c + 1]; i++) total += log(choose(o, i, s, gathered));
    return total;
}

/* One level up from context c. */
static void leave(const Choices *o, i64 c, const f64 *gathered, f64 *above, f64 *g) {
    const Trees *t = o->t;
    for (i64 p = t->pair_ptr[c]; p < t->pair_ptr[c + 1]; p++) g[p] = gathered[t->choice[p]] - t->count[p];
    add(o->width, 1.0, gathered, above);
}

/* Down and, with upward, up the main tree below some children of a root; returns the sum of log Z. S[0] holds the
 * root's exp s, G[0] gathers its expected counts. */
f64 factored_sweep(const Trees *t, i64 root, i64 n_children, const i32 *children, i64 base, i64 n_rows, i64 width, i64 n_pairs,
                   const f64 *f, const f64 *E, u8 upward, f64 *H, i64 depth, i64 *path, f64 *S, f64 *G, f64 *x, f64 *g) {
    (void)n_rows, (void)n_pairs;
    Choices o = {t, base, width, E, H, x, upward};
    i64 *context = path, *next = path + depth, d = 0;
    f64 total = 0.0;
    context[0] = root;
    next[0] = 0; /* at the root a number of children, below a context */
    while (1) {
        if (next[d] < (d == 0 ? n_children : t->child_ptr[context[d] + 1])) {
            i64 k = next[d]++, c = d == 0 ? children[k] : k;
            if (is_seen_once(t, c)) {
                total += choose_once(&o, c, f, S + d * width, G + d * width, g);
                continue;
            }
            d++;
            context[d] = c;
            next[d] = t->child_ptr[c];
            total += enter(&o, c, f, S + (d - 1) * width, S + d * width, G + d * width);
        } else {
            if (d == 0) return total;
            if (upward) leave(&o, context[d], G + d * width, G + (d - 1) * width, g);
            d--;
        }
    }
}

/* The weights of the pairs first .. last, each as often as it was seen. */
f64 factored_seen(const Trees *t, i64 first, i64 last, i64 n_pairs, const f64 *w) {
    (void)n_pairs;
    f64 sums[8] = {0}, rest = 0.0;
    i64 p = first;
    for (; p + 8 <= last; p += 8)
        for (i64 j = 0; j < 8; j++) sums[j] += t->count[p + j] * w[p + j];
    for (; p < last; p++) rest += t->count[p] * w[p];
    return rest + (((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7])));
}

/* Whether the weights of a context count: roots of side trees have none. */
static inline u8 speaks(const Trees *t, i64 c, i64 n_roots) { return c >= 0 && (c < n_roots || t->parent[c] >= 0); }

/* scale times the loss of some positions; adds its gradient to out. contexts[i]: one a tree. x has room for all
 * candidates of any root. */
f64 factored_batch(const Trees *t, i64 n, const i32 *samples, i64 n_trees, const i32 *contexts, i64 n_roots,
                   const i32 *n_choices, const i32 *root_of, const i32 *target, f64 scale, i64 n_pairs, const f64 *w, i64 widest,
                   f64 *x, f64 *out) {
    (void)n_pairs, (void)widest;
    f64 total = 0.0;
    for (i64 k = 0; k < n; k++) {
        i64 i = samples[k], m = n_choices[root_of[i]];
        const i32 *own = contexts + i * n_trees;
        memset(x, 0, (size_t)m * sizeof *x);
        for (i64 j = 0; j < n_trees; j++)
            for (i64 c = own[j]; speaks(t, c, n_roots); c = t->parent[c])
                for (i64 p = t->pair_ptr[c]; p < t->pair_ptr[c + 1]; p++) x[t->choice[p]] += w[p];
        f64 top = x[0], score = x[target[i]], z = 0.0;
        for (i64 u = 1; u < m; u++) top = larger(top, x[u]);
        for (i64 u = 0; u < m; u++) z += x[u] = exp(x[u] - top);
        total += top + log(z) - score;
        for (i64 u = 0; u < m; u++) x[u] *= scale / z;
        x[target[i]] -= scale;
        for (i64 j = 0; j < n_trees; j++)
            for (i64 c = own[j]; speaks(t, c, n_roots); c = t->parent[c])
                for (i64 p = t->pair_ptr[c]; p < t->pair_ptr[c + 1]; p++) out[p] += x[t->choice[p]];
    }
    return scale * total;
}

/* Zero the weights on the paths of some positions. */
void factored_clear_paths(const Trees *t, i64 n, const i32 *samples, i64 n_trees, const i32 *contexts, i64 n_pairs, f64 *out) {
    (void)n_pairs;
    for (i64 k = 0; k < n; k++)
        for (i64 j = 0; j < n_trees; j++)
            for (i64 c = contexts[samples[k] * n_trees + j]; c >= 0; c = t->parent[c])
                for (i64 p = t->pair_ptr[c]; p < t->pair_ptr[c + 1]; p++) out[p] = 0.0;
}
