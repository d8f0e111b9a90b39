#include "factored_scorer.h"

enum { DENSE = 8 }; /* A context with a pair for one candidate in so many gets a row. */

i64 sizeof_Weights(void) { return sizeof(Weights); }

/* Mark the contexts that have a weight other than 0, and those above them. */
void factored_scorer_keep_paths(i64 n, const i32 *parent, const i64 *pair_ptr, const f64 *w, u8 *needed) {
    for (i64 c = n - 1; c >= 0; c--) {
        for (i64 p = pair_ptr[c]; p < pair_ptr[c + 1] && !needed[c]; p++) needed[c] = w[p] != 0.0;
        if (needed[c] && parent[c] >= 0) needed[parent[c]] = 1;
    }
}

/* Which contexts get a row of their own, as far as their parents have one, and where it starts; returns the length of
 * all rows. */
i64 factored_scorer_place_rows(i64 n_roots, const i32 *n_choices, i64 n, const i32 *parent, const i64 *pair_ptr, i32 *root,
                               i64 *row_at) {
    i64 total = 0;
    for (i64 c = 0; c < n; c++) {
        root[c] = parent[c] < 0 ? (i32)(c % n_roots) : root[parent[c]];
        i64 width = n_choices[root[c]];
        u8 dense = DENSE * (pair_ptr[c + 1] - pair_ptr[c]) >= width;
        row_at[c] = -1;
        if (parent[c] < 0 || (dense && row_at[parent[c]] >= 0)) {
            row_at[c] = total;
            total += width;
        }
    }
    return total;
}

/* exp of the summed scores of the contexts that have a row. */
void factored_scorer_fill_rows(i64 n_roots, const i32 *n_choices, i64 n, const i32 *parent, const i64 *pair_ptr,
                               const i32 *choice, const f64 *f, const i32 *root, const i64 *row_at, f64 *rows) {
    (void)n_roots;
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

/* Symbols of the contexts of positions in words, tree after tree; symbol k of tree t, counted from the newest, is the
 * class (of_class) or the word lags[tree_ptr[t] + k] words back. Classes are the symbols 0 .. n_classes - 1, words
 * follow; symbols beyond the length are 0. Returns the first position with a word that is none, or -1. */
i64 factored_scorer_contexts(i64 n, const i32 *end, const i32 *length, i64 n_history, const i32 *history, i64 n_words,
                             const i32 *class_of, i64 n_classes, i64 n_trees, const i32 *tree_ptr, const i32 *lags,
                             const u8 *of_class, i64 n_symbols, i32 *symbols, i32 *ends, i32 *lengths) {
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

/* What a position needs: the deepest row in each tree, and the contexts below it, whose pairs follow one by one. */
typedef struct {
    i64 n, *row, *context;
} Path;

static Path path_at(i64 *room, i64 n_trees) { return (Path){0, room, room + n_trees}; }

/* Walk down all trees from a root; ends and lengths have one a tree. */
static void walk(const Weights *m, i64 root, const i32 *history, const i32 *ends, const i32 *lengths, Path *path) {
    path->n = 0;
    for (i64 t = 0; t < m->n_trees; t++) {
        i64 c = t * m->n_roots + root;
        const i32 *newest = history + ends[t] - 1;
        path->row[t] = m->row_at[c];
        for (i64 d = 0; d < lengths[t]; d++) {
            c = search_rising(m->symbol, m->child_ptr[c], m->child_ptr[c + 1], newest[-d]);
            if (c < 0) break;
            if (m->row_at[c] >= 0)
                path->row[t] = m->row_at[c];
            else
                path->context[path->n++] = c;
        }
    }
}

/* x[u] := exp of the scores of all candidates of a root: the product of the rows, then pair by pair. */
static void candidates(const Weights *m, const Path *path, i64 n, f64 *restrict x) {
    i64 t = 1;
    const f64 *restrict a = m->rows + path->row[0];
    if (m->n_trees >= 3) {
        const f64 *restrict b = m->rows + path->row[1], *restrict c = m->rows + path->row[2];
        for (i64 u = 0; u < n; u++) x[u] = a[u] * b[u] * c[u];
        t = 3;
    } else {
        memcpy(x, a, (size_t)n * sizeof *x);
    }
    for (; t < m->n_trees; t++) {
        const f64 *restrict row = m->rows + path->row[t];
        for (i64 u = 0; u < n; u++) x[u] *= row[u];
    }
    for (i64 k = 0; k < path->n; k++) {
        i64 c = path->context[k];
        for (i64 p = m->pair_ptr[c]; p < m->pair_ptr[c + 1]; p++) x[m->choice[p]] *= m->f[p];
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

/* log P(target) of every position. */
void factored_scorer_score(const Weights *m, i64 n, const i32 *root_of, const i32 *target, const i32 *history, i64 n_trees,
                           const i32 *ends, const i32 *lengths, i64 n_path, i64 *room, i64 widest, f64 *x, f64 *out) {
    (void)n_path, (void)widest;
    Path path = path_at(room, n_trees);
    for (i64 i = 0; i < n; i++) {
        i64 root = root_of[i], width = m->n_choices[root];
        out[i] = 0.0;
        if (width == 1) continue;
        walk(m, root, history, ends + i * n_trees, lengths + i * n_trees, &path);
        candidates(m, &path, width, x);
        out[i] = log(x[target[i]] / total_of(width, x));
    }
}

/* P(candidate | root) of every candidate of every root, root by root, after the contexts of one position. */
void factored_scorer_distributions(const Weights *m, const i32 *history, i64 n_trees, const i32 *ends, const i32 *lengths,
                                   i64 n_path, i64 *room, f64 *out) {
    (void)n_path;
    Path path = path_at(room, n_trees);
    for (i64 root = 0; root < m->n_roots; root++) {
        i64 width = m->n_choices[root];
        walk(m, root, history, ends, lengths, &path);
        candidates(m, &path, width, out);
        f64 z = total_of(width, out);
        for (i64 u = 0; u < width; u++) out[u] /= z;
        out += width;
    }
}
