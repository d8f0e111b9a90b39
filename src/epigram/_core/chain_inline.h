/* The parts of forward-backward that training and decoding share. */
#ifndef EPIGRAM_CHAIN_INLINE_H
#define EPIGRAM_CHAIN_INLINE_H
#include "chain.h"
#include "lanes.h"

#define LOWEST_EXPONENT (-700.0) /* exp of less underflows */

/* e^x for -708 < x < 708 to about 1e-16: 2^k times a polynomial in the rest, all of it vectorisable. */
static inline f64 fast_exp(f64 x) {
    f64 k = floor(x * 1.4426950408889634 + 0.5);
    f64 r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
    f64 y = 2.08767569878680989792e-09; /* 1/12!, then 1/11!, ... */
    y = y * r + 2.50521083854417187751e-08;
    y = y * r + 2.75573192239858906526e-07;
    y = y * r + 2.75573192239858906526e-06;
    y = y * r + 2.48015873015873015873e-05;
    y = y * r + 1.98412698412698412698e-04;
    y = y * r + 1.38888888888888888889e-03;
    y = y * r + 8.33333333333333333333e-03;
    y = y * r + 4.16666666666666666667e-02;
    y = y * r + 1.66666666666666666667e-01;
    y = y * r + 0.5;
    y = y * r + 1.0;
    y = y * r + 1.0;
    union {
        f64 number;
        u64 bits;
    } power = {k + (6755399441055744.0 + 1023.0)}; /* 1.5 * 2^52 + k + 1023, whose low bits are k + 1023 */
    power.bits <<= 52;
    return y * power.number;
}

/* How many weights the row that starts at p has. */
static inline i64 row_length(const Layout *l, i64 p) { return p < l->dense_end ? l->width : l->codes[p] >> 16; }

/* Unnormalised label scores of each token of sentence s, one row a token. */
static inline void score_tokens(const Chains *a, const Layout *l, i64 s, const f64 *restrict w, f64 *restrict scores) {
    i64 first = a->sentence_ptr[s], last = a->sentence_ptr[s + 1], width = l->width, dense_end = l->dense_end;
    const i32 *rows = a->rows + a->rows_ptr[s];
    for (i64 t = first; t < last; t++) {
        f64 *restrict row = scores + (t - first) * width;
        for (i64 j = 0; j < width; j++) row[j] = 0.0;
        i64 k = a->attribute_ptr[t], end = a->attribute_ptr[t + 1];
        while (k < end) {
            i64 p = rows[a->local[k]];
            f64 v = a->values[k * a->value_stride];
            if (p >= dense_end) {
                for (i64 m = p; m < p + (l->codes[p] >> 16); m++) row[l->codes[m] & 0xFFFF] += v * w[m];
                k++;
                continue;
            }
            i64 p2 = k + 1 < end ? rows[a->local[k + 1]] : dense_end;
            if (p2 < dense_end) { /* two dense rows at a time halve the traffic on the scores */
                f64 v2 = a->values[(k + 1) * a->value_stride];
                for (i64 j = 0; j < width; j++) row[j] += v * w[p + j] + v2 * w[p2 + j];
                k += 2;
            } else {
                for (i64 j = 0; j < width; j++) row[j] += v * w[p + j];
                k++;
            }
        }
    }
}

/* The E of transition weights w, which all steps share, and its transpose. */
static inline void exp_transitions(const Layout *l, const f64 *restrict w, const Scratch *x) {
    i64 L = l->n_labels, width = l->width;
    f64 *restrict E = x->matrices, *restrict transposed = x->transposed;
    for (i64 j = 0; j < L * width; j++) E[j] = l->allowed[j] * fast_exp(w[j]);
    for (i64 i = 0; i < L; i++) {
        for (i64 j = 0; j < L; j++) transposed[j * width + i] = E[i * width + j];
    }
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
    for (i64 t = first + 1; t < last; t++) {
        i64 k0 = a->edge_ptr[t], k1 = a->edge_ptr[t + 1];
        if (k0 == k1) continue;
        f64 *E = x->matrices + n_matrices * size, *transposed = x->transposed + n_matrices * width * width;
        for (i64 j = 0; j < size; j++) E[j] = 0.0;
        for (i64 k = k0; k < k1; k++) {
            i64 e = a->edge_attributes[k];
            for (i64 m = l->edge_row_ptr[e]; m < l->edge_row_ptr[e + 1]; m++) E[l->edge_pair[m]] += w[size + m];
        }
        for (i64 i = 0; i < L; i++) {
            for (i64 j = 0; j < L; j++) {
                i64 at = i * width + j;
                E[at] = x->matrices[at] * fast_exp(E[at]);
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

/* log Z of n tokens; scores become exponentials, alpha and c the scaled forward quantities. */
static inline f64 forward(i64 n, const Layout *l, const Scratch *x) {
    i64 L = l->n_labels, width = l->width;
    f64 log_z = 0.0;
    for (i64 t = 0; t < n; t++) {
        f64 *restrict scores = x->scores + t * width, *restrict alpha = x->alpha + t * width;
        for (i64 j = L; j < width; j++) scores[j] = scores[0];
        f64 top = row_max(scores, width);
        log_z += top;
        for (i64 j = 0; j < width; j++) scores[j] = fast_exp(larger(scores[j] - top, LOWEST_EXPONENT));
        for (i64 j = L; j < width; j++) scores[j] = 0.0;
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

/* The scaled beta, and with it the sums over steps of alpha[t-1] beta'[t], beta' = c scores beta. */
static inline void backward(i64 n, i64 n_matrices, const Layout *l, const Scratch *x) {
    i64 L = l->n_labels, width = l->width, last = n - 1;
    for (i64 j = 0; j < width; j++) x->beta[last * width + j] = 1.0;
    if (!l->has_transitions) {
        for (i64 j = 0; j < last * width; j++) x->beta[j] = 1.0;
        return;
    }
    for (i64 j = 0; j < n_matrices * L * width; j++) x->pair_sums[j] = 0.0;
    for (i64 t = last; t > 0; t--) { /* the step from t - 1 into t */
        f64 *restrict scores = x->scores + t * width, *restrict beta = x->beta + t * width;
        f64 *restrict before = beta - width;
        const f64 *alpha = x->alpha + (t - 1) * width;
        f64 c = x->c[t];
        for (i64 j = 0; j < width; j++) scores[j] *= beta[j] * c;
        i64 matrix = x->which[t];
        product(scores, x->transposed + matrix * width * width, L, width, before);
        for (i64 i = 0; i < L; i++) {
            f64 *restrict sums = x->pair_sums + (matrix * L + i) * width;
            for (i64 j = 0; j < width; j++) sums[j] += alpha[i] * scores[j];
        }
    }
}

#endif
