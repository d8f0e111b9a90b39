#include "tree_chain.h"

/* The nodes of tree s to x->order, children before their parents; returns their number. */
static i64 children_first(const Chains *a, i64 s, const Scratch *x) {
    i64 first = a->sentence_ptr[s], n = a->sentence_ptr[s + 1] - first, found = 0;
    const i32 *parents = a->parents + first;
    i32 *restrict order = x->order, *restrict waiting = x->order + n;
    for (i64 t = 0; t < n; t++) waiting[t] = 0;
    for (i64 t = 0; t < n; t++) {
        if (parents[t] >= 0) waiting[parents[t]]++;
    }
    for (i64 t = 0; t < n; t++) {
        if (!waiting[t]) order[found++] = (i32)t;
    }
    for (i64 k = 0; k < found; k++) {
        i64 p = parents[order[k]];
        if (p >= 0 && --waiting[p] == 0) order[found++] = (i32)p;
    }
    return found;
}

/* Scores become exponentials, 0 for padding; returns what was taken out of them. */
static f64 exp_scores(i64 n, const Layout *l, f64 *scores) {
    f64 taken = 0.0;
    for (i64 t = 0; t < n; t++) taken += exp_row(l->n_labels, l->width, scores + t * l->width);
    return taken;
}

/* Divide a row by a number; returns the logarithm of that. */
static inline f64 divide(f64 *restrict row, i64 width, f64 by) {
    f64 inverse = 1.0 / by;
    for (i64 j = 0; j < width; j++) row[j] *= inverse;
    return log(by);
}

/* Up: b of every node, and the message m to its parent; returns log Z. */
static f64 upward(const Chains *a, const Layout *l, i64 s, i64 n, const Scratch *x) {
    i64 L = l->n_labels, width = l->width;
    const i32 *parents = a->parents + a->sentence_ptr[s];
    f64 log_z = exp_scores(n, l, x->scores);
    for (i64 k = 0; k < n; k++) {
        i64 t = x->order[k], p = parents[t];
        f64 *b = x->scores + t * width, *m = x->alpha + t * width;
        log_z += divide(b, width, row_sum(b, width));
        if (p < 0 || !l->has_transitions) continue;
        product(b, x->transposed + x->which[t] * width * width, L, width, m);
        f64 *restrict parent = x->scores + p * width;
        for (i64 j = 0; j < width; j++) parent[j] *= m[j];
        log_z += divide(parent, width, row_max(parent, width)); /* so that many children do not underflow */
    }
    return log_z;
}

f64 tree_marginals(const Chains *a, const Layout *l, i64 s, i64 n_matrices, const Scratch *x) {
    i64 L = l->n_labels, width = l->width, n = children_first(a, s, x);
    const i32 *parents = a->parents + a->sentence_ptr[s];
    f64 log_z = upward(a, l, s, n, x);
    for (i64 j = 0; j < n_matrices * L * width; j++) x->pair_sums[j] = 0.0;
    for (i64 k = n - 1; k >= 0; k--) {
        i64 t = x->order[k], p = parents[t];
        f64 *restrict belief = x->beta + t * width, *cavity = x->alpha + t * width;
        const f64 *b = x->scores + t * width;
        if (p < 0 || !l->has_transitions) {
            memcpy(belief, b, (size_t)width * sizeof *b);
            continue;
        }
        const f64 *parent = x->beta + p * width;
        for (i64 i = 0; i < width; i++) cavity[i] = cavity[i] > 0.0 ? parent[i] / cavity[i] : 0.0; /* m was there */
        product(cavity, x->matrices + x->which[t] * L * width, L, width, belief);
        for (i64 j = 0; j < width; j++) belief[j] *= b[j];
        f64 *restrict sums = x->pair_sums + x->which[t] * L * width;
        for (i64 i = 0; i < L; i++) {
            for (i64 j = 0; j < width; j++) sums[i * width + j] += cavity[i] * b[j];
        }
    }
    return log_z;
}

void tree_probabilities(const Chains *a, const Layout *l, i64 s, const Scratch *x, f64 *nodes, i64 n_edges, f64 *edges) {
    i64 first = a->sentence_ptr[s], n = a->sentence_ptr[s + 1] - first, L = l->n_labels, width = l->width;
    for (i64 t = 0; t < n; t++) {
        i64 p = a->parents[first + t];
        memcpy(nodes + (first + t) * L, x->beta + t * width, (size_t)L * sizeof *nodes);
        if (!n_edges || p < 0) continue;
        const f64 *E = x->matrices + x->which[t] * L * width, *b = x->scores + t * width;
        f64 *pairs = edges + (first + t) * L * L;
        for (i64 i = 0; i < L; i++) {
            f64 before = l->has_transitions ? x->alpha[t * width + i] : x->beta[p * width + i];
            for (i64 j = 0; j < L; j++) pairs[i * L + j] = before * b[j] * (l->has_transitions ? E[i * width + j] : 1.0);
        }
    }
}

/* The best label of node t under label i of its parent; M are the weights of the pairs, score the best of the subtree. */
static inline i64 best_under(i64 L, const f64 *restrict pairs, const f64 *restrict score, f64 *value) {
    i64 best = 0;
    for (i64 j = 1; j < L; j++) best = pairs[j] + score[j] > pairs[best] + score[best] ? j : best;
    *value = pairs[best] + score[best];
    return best;
}

void tree_best(const Chains *a, const Layout *l, i64 s, const f64 *w, const Scratch *x, i32 *out) {
    i64 first = a->sentence_ptr[s], L = l->n_labels, width = l->width, n = children_first(a, s, x);
    const i32 *parents = a->parents + first;
    f64 value;
    for (i64 k = 0; k < n; k++) {
        i64 t = x->order[k], p = parents[t];
        if (p < 0) continue;
        const f64 *M = pairs_into(a, l, first + t, w, x->matrices, x->pair_sums);
        for (i64 i = 0; i < L; i++) {
            best_under(L, M + i * width, x->scores + t * width, &value);
            x->scores[p * width + i] = larger(x->scores[p * width + i] + value, NEVER);
        }
    }
    for (i64 k = n - 1; k >= 0; k--) {
        i64 t = x->order[k], p = parents[t];
        if (p < 0) {
            out[first + t] = (i32)arg_max(L, x->scores + t * width);
            continue;
        }
        const f64 *M = pairs_into(a, l, first + t, w, x->matrices, x->pair_sums);
        out[first + t] = (i32)best_under(L, M + out[first + p] * width, x->scores + t * width, &value);
    }
}

/* The k best of what node t can add under each label of its parent: scores[0..k) with label * k + rank. */
static void best_messages(i64 L, i64 k, const f64 *pairs, const f64 *score, f64 *messages, i64 *origins) {
    for (i64 r = 0; r < k; r++) messages[r] = NEVER;
    for (i64 j = 0; j < L; j++) {
        for (i64 r = 0; r < k && score[j * k + r] > NEVER; r++) {
            f64 own = (pairs ? pairs[j] : 0.0) + score[j * k + r];
            if (!insert(k, messages, origins, own, j * k + r)) break;
        }
    }
}

/* `list` becomes the k best sums of one of it and one message; back is rank * L * k + label * k + rank of the child. */
static void add_messages(i64 L, i64 k, const f64 *messages, const i64 *origins, f64 *list, f64 *sums, i64 *back) {
    for (i64 r = 0; r < k; r++) sums[r] = NEVER;
    for (i64 r = 0; r < k && list[r] > NEVER; r++) {
        for (i64 q = 0; q < k && messages[q] > NEVER; q++) {
            if (!insert(k, sums, back, list[r] + messages[q], r * L * k + origins[q])) break;
        }
    }
    memcpy(list, sums, (size_t)k * sizeof *list);
}

/* score[t, j, r] is the r-th best score of the subtree of t with label j; `values` first holds the best of all roots. */
i64 tree_k_best(const Chains *a, const Layout *l, i64 s, const f64 *w, const Scratch *x, i64 k, i64 longest, f64 *score,
                i64 *back, i64 *ends, i32 *labels, f64 *values) {
    i64 first = a->sentence_ptr[s], L = l->n_labels, width = l->width, size = L * k, n = children_first(a, s, x);
    const i32 *parents = a->parents + first;
    f64 *messages = values + k, *sums = values + 2 * k;
    for (i64 m = 0; m < n * size; m++) score[m] = NEVER;
    for (i64 r = 0; r < k; r++) values[r] = r ? NEVER : 0.0;
    for (i64 t = 0; t < n; t++) {
        for (i64 j = 0; j < L; j++) score[t * size + j * k] = x->scores[t * width + j];
    }
    for (i64 o = 0; o < n; o++) {
        i64 t = x->order[o], p = parents[t];
        if (p < 0) {
            best_messages(L, k, NULL, score + t * size, messages, ends);
            add_messages(L, k, messages, ends, values, sums, back + t * size);
            continue;
        }
        const f64 *M = pairs_into(a, l, first + t, w, x->matrices, x->pair_sums);
        for (i64 i = 0; i < L; i++) {
            best_messages(L, k, M + i * width, score + t * size, messages, ends);
            add_messages(L, k, messages, ends, score + p * size + i * k, sums, back + t * size + i * k);
        }
    }
    i64 found = 0;
    for (; found < k && values[found] > NEVER / 2; found++) {
        i32 *label = labels + found * longest, *rank = x->which;
        i64 of_roots = found;
        for (i64 o = n - 1; o >= 0; o--) {
            i64 t = x->order[o], p = parents[t];
            i64 from = p < 0 ? back[t * size + of_roots] : back[t * size + label[p] * k + rank[p]];
            if (p < 0) of_roots = from / size;
            else rank[p] = (i32)(from / size);
            label[t] = (i32)(from % size / k);
            rank[t] = (i32)(from % k);
        }
    }
    return found;
}
