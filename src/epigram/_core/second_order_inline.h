/* Chains of second order: a label also depends on the two before it, by weights on label triples.
 *
 * The score of a labelling is that of the chain and U[y_{t-2}, y_{t-1}, y_t] for t >= 2. The sums of forward-backward are
 * over pairs of labels: A_t[i, j] of what ends with the labels i and j at t - 1 and t. With F = e^U, E the transitions
 * of the step and x = e^scores,
 *
 *     A_t[j, k] = x_t[k] E_t[j, k] sum_i A_{t-1}[i, j] F[i, j, k] = x_t[k] E_t[j, k] (sum_i A[i, j] + sum_i A[i, j] (F - 1))
 *
 * and F - 1 is zero but for the triples that have a weight: O(L^2 + triples) a token, not O(L^3). Where the second sum
 * takes nearly all of the first away, digits would be lost; the sum is then computed term by term.
 *
 * Triple (i, j, k) number m goes from the pair triple_from[m] = (i, j) into triple_into[m] = (j, k), a pair being
 * i * width + j; its weight is number m of the model's last. They are in the order of k, i, j, so that neighbours read and
 * write different numbers. Those into a pair are triple_number[triple_ptr[pair]] to triple_number[triple_ptr[pair + 1]], with their
 * i in triple_before, which rises. The first token has no label before it: A_0 is in row 0.
 */
#ifndef EPIGRAM_SECOND_ORDER_INLINE_H
#define EPIGRAM_SECOND_ORDER_INLINE_H
#include "chain_inline.h"

#define FEW_DIGITS 1e-6 /* a difference smaller than this share of what it is taken from is computed otherwise */

typedef struct {
    f64 *F, *sums; /* a number a triple: e^U, and the expectation of the triple divided by that */
    f64 *R, *B, *earlier, *base; /* backward: L rows each, and one */
    f64 *A; /* L rows a token */
} Pairs;

static inline i64 pairs_size(i64 n, i64 L, i64 width, i64 n_triples) {
    return 2 * (n_triples + 8) + 3 * L * width + width + n * L * width;
}

static inline Pairs pairs_of(const Layout *l, const Scratch *x) {
    i64 size = l->n_labels * l->width, n = l->n_triples - l->n_triples % 8 + 8;
    Pairs p;
    p.F = x->room;
    p.sums = p.F + n;
    p.R = p.sums + n;
    p.B = p.R + size;
    p.earlier = p.B + size;
    p.base = p.earlier + size;
    p.A = p.base + l->width;
    return p;
}

/* Whether digits may be lost: sum_i A F is at least the least F times sum_i A. */
static inline u8 has_small(const Layout *l, const f64 *F) {
    f64 least = 1.0;
    for (i64 m = 0; m < l->n_triples; m++) least = smaller(least, F[m]);
    return least < FEW_DIGITS;
}

/* sum_i A[i, j] F[i, j, k] term by term, `pair` being (j, k). */
static inline f64 sum_before(const Layout *l, const f64 *F, const f64 *A, i64 pair) {
    i64 width = l->width, at = l->triple_ptr[pair], end = l->triple_ptr[pair + 1];
    f64 sum = 0.0;
    for (i64 i = 0; i < l->n_labels; i++) {
        u8 found = at < end && l->triple_before[at] == i;
        sum += A[i * width + pair / width] * (found ? F[l->triple_number[at]] : 1.0);
        at += found;
    }
    return sum;
}

/* sum_k R[j, k] F[i, j, k] term by term. */
static inline f64 sum_after(const Layout *l, const f64 *F, const f64 *R, i64 i, i64 j) {
    f64 sum = 0.0;
    for (i64 k = 0; k < l->n_labels; k++) {
        i64 pair = j * l->width + k, m = triple_of(l, i, pair);
        sum += R[pair] * (m < 0 ? 1.0 : F[m]);
    }
    return sum;
}

/* base[j] = sum_i A[i, j] */
static inline void sum_rows(i64 L, i64 width, const f64 *A, f64 *base) {
    for (i64 j = 0; j < width; j += LANES) {
        lanes sum = {0};
        for (i64 i = 0; i < L; i++) sum += *(const lanes *)(A + i * width + j);
        *(lanes *)(base + j) = sum;
    }
}

/* A *= E x, x being a factor of every column; returns the sum of A. */
static inline f64 weigh(i64 L, i64 width, const f64 *E, const f64 *x, f64 *A) {
    lanes sum = {0};
    for (i64 j = 0; j < L * width; j += width) {
        for (i64 k = 0; k < width; k += LANES) {
            lanes *at = (lanes *)(A + j + k);
            *at *= *(const lanes *)(E + j + k) * *(const lanes *)(x + k);
            sum += *at;
        }
    }
    f64 total = 0.0;
    for (i64 v = 0; v < LANES; v++) total += sum[v];
    return total;
}

/* A of a token from that of the token before, as a sum over the label two before: without E and x. */
static inline void pairs_step(const Layout *l, u8 small, const f64 *restrict F, const f64 *restrict before, f64 *restrict base,
                              f64 *restrict A) {
    i64 L = l->n_labels, width = l->width;
    const i32 *restrict from = l->triple_from, *restrict into = l->triple_into;
    for (i64 m = 0; m < l->n_triples; m++) A[into[m]] += before[from[m]] * (F[m] - 1.0);
    for (i64 j = 0; small && j < L; j++) {
        for (i64 pair = j * width; pair < j * width + L; pair++) {
            if (A[pair] < FEW_DIGITS * base[j]) A[pair] = sum_before(l, F, before, pair);
        }
    }
}

/* log Z of n tokens; scores become exponentials, A and c the scaled forward quantities. */
static inline f64 pairs_forward(i64 n, const Layout *l, const Scratch *x) {
    i64 L = l->n_labels, width = l->width, size = L * width;
    Pairs p = pairs_of(l, x);
    u8 small = has_small(l, p.F);
    f64 log_z = 0.0;
    for (i64 t = 0; t < n; t++) {
        f64 *scores = x->scores + t * width, *restrict A = p.A + t * size, c;
        log_z += exp_row(L, width, scores);
        if (t == 0) {
            for (i64 j = 0; j < size; j++) A[j] = j < width ? scores[j] : 0.0;
            c = row_sum(A, width);
        } else {
            sum_rows(L, width, A - size, p.base);
            for (i64 j = 0; j < L; j++) {
                for (i64 k = 0; k < width; k += LANES) *(lanes *)(A + j * width + k) = (lanes){0} + p.base[j];
            }
            if (t > 1) pairs_step(l, small, p.F, A - size, p.base, A);
            c = weigh(L, width, x->matrices + x->which[t] * size, scores, A);
        }
        log_z += log(c);
        c = 1.0 / c;
        x->c[t] = c;
        for (i64 j = 0; j < size; j += LANES) *(lanes *)(A + j) *= c;
    }
    return log_z;
}

/* The triples' part of B of the token before, from R = c x E B of a token, and of the expectations. */
static inline void pairs_back(const Layout *l, u8 small, const f64 *restrict A_before, const f64 *restrict R,
                              const f64 *restrict F, const f64 *restrict base, f64 *restrict earlier, f64 *restrict sums) {
    i64 L = l->n_labels, width = l->width;
    const i32 *restrict from = l->triple_from, *restrict into = l->triple_into;
    for (i64 m = 0; m < l->n_triples; m++) {
        f64 r = R[into[m]];
        earlier[from[m]] += r * (F[m] - 1.0);
        sums[m] += r * A_before[from[m]];
    }
    for (i64 i = 0; small && i < L; i++) {
        for (i64 j = 0; j < L; j++) {
            f64 *B = earlier + i * width + j;
            if (*B < FEW_DIGITS * base[j]) *B = sum_after(l, F, R, i, j);
        }
    }
}

/* A becomes A B, whose columns are summed in `nodes`; R = c x E B, whose rows are summed in `base`. */
static inline void weigh_back(i64 L, i64 width, f64 c, const f64 *E, const f64 *x, const f64 *B, f64 *A, f64 *R,
                              f64 *nodes, f64 *base) {
    for (i64 k = 0; k < width; k++) nodes[k] = 0.0;
    for (i64 j = 0; j < L; j++) {
        lanes sum = {0};
        for (i64 k = 0; k < width; k += LANES) {
            i64 at = j * width + k;
            lanes b = *(const lanes *)(B + at), a = *(lanes *)(A + at) * b;
            lanes r = c * *(const lanes *)(x + k) * *(const lanes *)(E + at) * b;
            *(lanes *)(A + at) = a;
            *(lanes *)(R + at) = r;
            *(lanes *)(nodes + k) += a;
            sum += r;
        }
        base[j] = 0.0;
        for (i64 v = 0; v < LANES; v++) base[j] += sum[v];
    }
}

/* After pairs_forward: A becomes the probability of each pair of labels, and row t of x->beta that of each label. The
 * expectations of triples, divided by F, are left in `sums`. */
static inline void pairs_backward(i64 n, const Layout *l, const Scratch *x) {
    i64 L = l->n_labels, width = l->width, size = L * width;
    Pairs p = pairs_of(l, x);
    u8 small = has_small(l, p.F);
    for (i64 m = 0; m < l->n_triples; m++) p.sums[m] = 0.0;
    for (i64 j = 0; j < size; j++) p.B[j] = 1.0;
    for (i64 t = n - 1; t >= 0; t--) {
        f64 *A = p.A + t * size;
        const f64 *E = x->matrices + x->which[t] * size;
        weigh_back(L, width, x->c[t], E, x->scores + t * width, p.B, A, p.R, x->beta + t * width, p.base);
        if (t == 0) return;
        for (i64 i = 0; i < L; i++) memcpy(p.earlier + i * width, p.base, (size_t)width * sizeof *p.base);
        if (t > 1) pairs_back(l, small, A - size, p.R, p.F, p.base, p.earlier, p.sums);
        f64 *swapped = p.B;
        p.B = p.earlier;
        p.earlier = swapped;
    }
}

/* The sums over steps of the probabilities of label pairs, divided by E: what transition_gradient (chain.c) takes. */
static inline void sum_probable_pairs(i64 n, i64 n_matrices, const Layout *l, const Scratch *x) {
    i64 size = l->n_labels * l->width;
    Pairs p = pairs_of(l, x);
    for (i64 j = 0; j < n_matrices * size; j++) x->pair_sums[j] = 0.0;
    for (i64 t = 1; t < n; t++) {
        f64 *restrict sums = x->pair_sums + x->which[t] * size, *restrict A = p.A + t * size;
        for (i64 j = 0; j < size; j++) sums[j] += A[j];
    }
    for (i64 j = 0; j < n_matrices * size; j++) {
        x->pair_sums[j] = x->matrices[j] > 0.0 ? x->pair_sums[j] / x->matrices[j] : 0.0;
    }
}

/* scored_loss (chain_step.h) without the part of tokens and pairs: log Z, less the score of the labels' triples, whose
 * gradient is added to `edges`. x->pair_sums and x->beta are left as transition_gradient and scored_loss take them. */
f64 second_order_loss(const Chains *a, const Layout *l, i64 s, i64 n_matrices, const i32 *labels, f64 weight,
                      const f64 *edge_w, const Scratch *x, f64 *edges);

#endif
