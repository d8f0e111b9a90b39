/* The parts of forward-backward that training and decoding share. */
#ifndef EPIGRAM_CHAIN_INLINE_H
#define EPIGRAM_CHAIN_INLINE_H
#include "chain.h"
#include "lanes.h"

#define LOWEST_EXPONENT (-700.0) /* exp of less underflows */
#define LARGEST_EDGE 300.0
#define PREFETCHED 20            /* how many occurrences ahead rows of weights are asked for */

/* How many weights the row that starts at p has. */
static inline i64 row_length(const Layout *l, i64 p) { return p < l->dense_end ? l->width : l->codes[p] >> 16; }

/* Ask for the weights of the occurrence that comes PREFETCHED later, dense ones up to a block of them. */
static inline void fetch_weights(const Chains *a, const Layout *l, const i32 *rows, i64 k, i64 last, const f64 *w) {
    if (k + PREFETCHED >= last) return;
    i64 p = rows[a->local[k + PREFETCHED]];
    __builtin_prefetch(w + p);
    if (p >= l->dense_end) {
        __builtin_prefetch(l->codes + p);
        return;
    }
    for (i64 j = 8; j < smaller_i(l->width, BLOCK); j += 8) __builtin_prefetch(w + p + j);
}

/* Scores of the n * LANES labels from j on by the dense rows that occurrences k to end begin with; returns the first
 * sparse one. */
BLOCK_FUNCTION i64 score_block(int n, const Chains *a, const Layout *l, const i32 *rows, i64 k, i64 end, i64 last,
                               i64 j, const f64 *w, f64 *out) {
    const i32 *local = a->local;
    const f64 *values = a->values;
    i64 stride = a->value_stride, dense_end = l->dense_end;
    lanes sum[MOST_LANES];
    EVERY(v, n) sum[v] = (lanes){0};
    for (; k < end && rows[local[k]] < dense_end; k++) {
        if (j == 0) fetch_weights(a, l, rows, k, last, w);
        const lanes *row = (const lanes *)(w + rows[local[k]] + j);
        f64 value = values[k * stride];
        EVERY(v, n) sum[v] += value * row[v];
    }
    EVERY(v, n) ((lanes *)(out + j))[v] = sum[v];
    return k;
}

/* Unnormalised label scores of each token of sentence s, one row a token. Training has dense rows first; where they are
 * not, as in text to tag, they are met one by one. */
static inline void score_tokens(const Chains *a, const Layout *l, i64 s, const f64 *w, f64 *scores) {
    i64 width = l->width, last = a->attribute_ptr[a->sentence_ptr[s + 1]];
    const i32 *rows = a->rows + a->rows_ptr[s];
    for (i64 t = a->sentence_ptr[s]; t < a->sentence_ptr[s + 1]; t++) {
        i64 first = a->attribute_ptr[t], end = a->attribute_ptr[t + 1], k = first, j = 0;
        f64 *restrict row = scores + (t - a->sentence_ptr[s]) * width;
        for (; j + BLOCK <= width; j += BLOCK) k = score_block(BLOCK / LANES, a, l, rows, first, end, last, j, w, row);
        if (width - j == 8) k = score_block(8 / LANES, a, l, rows, first, end, last, j, w, row);
        if (width - j == 16) k = score_block(16 / LANES, a, l, rows, first, end, last, j, w, row);
        if (width - j == 24) k = score_block(24 / LANES, a, l, rows, first, end, last, j, w, row);
        for (; k < end; k++) {
            i64 p = rows[a->local[k]];
            f64 v = a->values[k * a->value_stride];
            fetch_weights(a, l, rows, k, last, w);
            if (p < l->dense_end) {
                for (j = 0; j < width; j++) row[j] += v * w[p + j];
            } else {
                for (i64 m = p, past = p + (l->codes[p] >> 16); m < past; m++) row[l->codes[m] & 0xFFFF] += v * w[m];
            }
        }
    }
}

/* Where the weights of label triples are among those of transitions, edges and triples. */
static inline i64 triples_at(const Layout *l) { return l->n_weights - l->state_end - l->n_triples; }

/* The number of the triple that has label i before a pair, or -1. */
static inline i64 triple_of(const Layout *l, i64 i, i64 pair) {
    i64 at = search_rising(l->triple_before, l->triple_ptr[pair], l->triple_ptr[pair + 1], (i32)i);
    return at < 0 ? -1 : l->triple_number[at];
}

/* The exponential of a transition's weight, kept within what a product of two holds. */
static inline f64 exp_edge(f64 weight) { return fast_exp(smaller(larger(weight, -LARGEST_EDGE), LARGEST_EDGE)); }

/* The E of transition weights w, which all steps share, and its transpose; the exponentials of triples, to x->room. */
static inline void exp_transitions(const Layout *l, const f64 *restrict w, const Scratch *x) {
    i64 L = l->n_labels, width = l->width;
    f64 *restrict E = x->matrices, *restrict transposed = x->transposed;
    for (i64 j = 0; j < L * width; j++) E[j] = l->allowed[j] * exp_edge(w[j]);
    for (i64 i = 0; i < L; i++) {
        for (i64 j = 0; j < L; j++) transposed[j * width + i] = E[i * width + j];
    }
    for (i64 m = 0; m < l->n_triples; m++) x->room[m] = exp_edge(w[triples_at(l) + m]);
}

/* The same, from the weights of the whole model. */
static inline void exp_shared(const Layout *l, const f64 *w, const Scratch *x) {
    exp_transitions(l, w + l->state_end, x);
}

/* An E of its own for each token of sentence s with edge attributes, w being the weights of transitions and edges;
 * returns the number of matrices. */
static inline i64 exp_observed(const Chains *a, const Layout *l, i64 s, const f64 *restrict w, const Scratch *x) {
    i64 first = a->sentence_ptr[s], last = a->sentence_ptr[s + 1];
    i64 L = l->n_labels, width = l->width, n_matrices = 1, size = L * width;
    for (i64 t = 0; t < last - first; t++) x->which[t] = 0;
    if (a->n_edge_occurrences == 0) return n_matrices;
    for (i64 t = first; t < last; t++) {
        i64 k0 = a->edge_ptr[t], k1 = a->edge_ptr[t + 1];
        if (k0 == k1 || token_before(a, first, t) < first) continue;
        f64 *E = x->matrices + n_matrices * size, *transposed = x->transposed + n_matrices * width * width;
        for (i64 j = 0; j < size; j++) E[j] = 0.0;
        for (i64 k = k0; k < k1; k++) {
            i64 e = a->edge_attributes[k];
            for (i64 m = l->edge_row_ptr[e]; m < l->edge_row_ptr[e + 1]; m++) E[l->edge_pair[m]] += w[size + m];
        }
        for (i64 i = 0; i < L; i++) {
            for (i64 j = 0; j < L; j++) {
                i64 at = i * width + j;
                E[at] = x->matrices[at] * exp_edge(E[at]);
                transposed[j * width + i] = E[at];
            }
        }
        x->which[t - first] = (i32)n_matrices++;
    }
    return n_matrices;
}

/* The same, from the weights of the whole model. */
static inline i64 exp_edges(const Chains *a, const Layout *l, i64 s, const f64 *w, const Scratch *x) {
    return exp_observed(a, l, s, w + l->state_end, x);
}

BLOCK_FUNCTION void product_block(int n, const f64 *vector, const f64 *matrix, i64 L, i64 width, f64 *out) {
    lanes sum[MOST_LANES];
    EVERY(v, n) sum[v] = (lanes){0};
    for (i64 i = 0; i < L; i++) {
        const lanes *row = (const lanes *)(matrix + i * width);
        EVERY(v, n) sum[v] += vector[i] * row[v];
    }
    EVERY(v, n) ((lanes *)out)[v] = sum[v];
}

/* out = vector @ matrix */
static inline void product(const f64 *vector, const f64 *matrix, i64 L, i64 width, f64 *out) {
    i64 j = 0;
    for (; j + BLOCK <= width; j += BLOCK) product_block(BLOCK / LANES, vector, matrix + j, L, width, out + j);
    if (width - j == 8) product_block(8 / LANES, vector, matrix + j, L, width, out + j);
    if (width - j == 16) product_block(16 / LANES, vector, matrix + j, L, width, out + j);
    if (width - j == 24) product_block(24 / LANES, vector, matrix + j, L, width, out + j);
}

/* Largest of a row, by eight lanes. */
static inline f64 row_max(const f64 *a, i64 width) {
    f64 lane[8];
    for (i64 j = 0; j < 8; j++) lane[j] = a[j];
    for (i64 k = 8; k < width; k += 8) {
        for (i64 j = 0; j < 8; j++) lane[j] = larger(lane[j], a[k + j]);
    }
    for (i64 j = 0; j < 4; j++) lane[j] = larger(lane[j], lane[j + 4]);
    return larger(larger(lane[0], lane[1]), larger(lane[2], lane[3]));
}

/* Sum of a row, by eight lanes. */
static inline f64 row_sum(const f64 *a, i64 width) {
    f64 lane[8];
    for (i64 j = 0; j < 8; j++) lane[j] = a[j];
    for (i64 k = 8; k < width; k += 8) {
        for (i64 j = 0; j < 8; j++) lane[j] += a[k + j];
    }
    for (i64 j = 0; j < 4; j++) lane[j] += lane[j + 4];
    return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

/* A token's scores become exponentials, the largest 1; returns what was taken off their logarithms. */
static inline f64 exp_row(i64 L, i64 width, f64 *restrict scores) {
    for (i64 j = L; j < width; j++) scores[j] = scores[0];
    f64 top = row_max(scores, width);
    for (i64 j = 0; j < width; j++) scores[j] = fast_exp(larger(scores[j] - top, LOWEST_EXPONENT));
    for (i64 j = L; j < width; j++) scores[j] = 0.0;
    return top;
}

/* log Z of n tokens; scores become exponentials, alpha and c the scaled forward quantities. */
static inline f64 forward(i64 n, const Layout *l, const Scratch *x) {
    i64 L = l->n_labels, width = l->width;
    f64 log_z = 0.0;
    for (i64 t = 0; t < n; t++) {
        f64 *restrict scores = x->scores + t * width, *restrict alpha = x->alpha + t * width;
        log_z += exp_row(L, width, scores);
        if (t == 0 || !l->has_transitions) {
            for (i64 j = 0; j < width; j++) alpha[j] = scores[j];
        } else {
            product(alpha - width, x->matrices + x->which[t] * L * width, L, width, alpha);
            for (i64 j = 0; j < width; j++) alpha[j] *= scores[j];
        }
        f64 c = row_sum(alpha, width);
        log_z += log(c);
        c = 1.0 / c;
        x->c[t] = c;
        for (i64 j = 0; j < width; j++) alpha[j] *= c;
    }
    return log_z;
}

/* Two rows of the sums over steps of alpha[t-1] beta'[t], in n * LANES columns from j on. */
BLOCK_FUNCTION void pair_block(int n, i64 n_tokens, i64 i, i64 j, i64 L, i64 width, const f64 *alpha,
                               const f64 *scores, f64 *sums) {
    lanes upper[MOST_LANES], lower[MOST_LANES];
    EVERY(v, n) upper[v] = lower[v] = (lanes){0};
    for (i64 t = 1; t < n_tokens; t++) {
        const lanes *row = (const lanes *)(scores + t * width + j);
        f64 a = alpha[(t - 1) * width + i], b = alpha[(t - 1) * width + i + 1];
        EVERY(v, n) upper[v] += a * row[v];
        EVERY(v, n) lower[v] += b * row[v];
    }
    EVERY(v, n) ((lanes *)(sums + i * width + j))[v] = upper[v];
    if (i + 1 == L) return;
    EVERY(v, n) ((lanes *)(sums + (i + 1) * width + j))[v] = lower[v];
}

/* The sums over steps of alpha[t-1] beta'[t], where all steps share a matrix. */
static inline void sum_pairs(i64 n, i64 L, i64 width, const f64 *alpha, const f64 *scores, f64 *sums) {
    for (i64 i = 0; i < L; i += 2) {
        i64 j = 0;
        for (; j + 16 <= width; j += 16) pair_block(16 / LANES, n, i, j, L, width, alpha, scores, sums);
        if (j < width) pair_block(8 / LANES, n, i, j, L, width, alpha, scores, sums);
    }
}

/* The same where steps have their own. */
static inline void sum_observed_pairs(i64 n, i64 n_matrices, i64 L, i64 width, const Scratch *x) {
    for (i64 j = 0; j < n_matrices * L * width; j++) x->pair_sums[j] = 0.0;
    for (i64 t = 1; t < n; t++) {
        const f64 *alpha = x->alpha + (t - 1) * width, *scores = x->scores + t * width;
        for (i64 i = 0; i < L; i++) {
            f64 *restrict sums = x->pair_sums + (x->which[t] * L + i) * width;
            for (i64 j = 0; j < width; j++) sums[j] += alpha[i] * scores[j];
        }
    }
}

/* The scaled beta, and with it the sums over steps of alpha[t-1] beta'[t], beta' = c scores beta. */
static inline void backward(i64 n, i64 n_matrices, const Layout *l, const Scratch *x) {
    i64 L = l->n_labels, width = l->width, last = n - 1;
    for (i64 j = 0; j < width; j++) x->beta[last * width + j] = 1.0;
    if (n == 1) return; /* no step: whoever asks for pair sums has none to ask for */
    if (!l->has_transitions) {
        for (i64 j = 0; j < last * width; j++) x->beta[j] = 1.0;
        return;
    }
    for (i64 t = last; t > 0; t--) { /* the step from t - 1 into t */
        f64 *restrict scores = x->scores + t * width, *restrict beta = x->beta + t * width, c = x->c[t];
        for (i64 j = 0; j < width; j++) scores[j] *= beta[j] * c;
        product(scores, x->transposed + x->which[t] * width * width, L, width, beta - width);
    }
    if (n_matrices == 1) sum_pairs(n, L, width, x->alpha, x->scores, x->pair_sums);
    else sum_observed_pairs(n, n_matrices, L, width, x);
}

#endif
