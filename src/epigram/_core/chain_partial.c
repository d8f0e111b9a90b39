#include "chain_partial.h"

#define EXCLUDED (-1e300)

/* log Z' of n tokens from `first` on; x->scores become exponentials, 0 for what the labels exclude, alpha and c the scaled
 * forward quantities: forward (chain_inline.h) over fewer labellings. */
static f64 forward_within(const Chains *a, const Layout *l, i64 first, i64 n, const i32 *labels, const Scratch *x) {
    i64 L = l->n_labels, width = l->width;
    f64 log_z = 0.0;
    for (i64 t = 0; t < n; t++) {
        f64 *restrict scores = x->scores + t * width, *restrict alpha = x->alpha + t * width;
        i64 label = labels[first + t];
        const f64 *set = label < 0 ? a->label_sets + (-1 - label) * a->set_width : 0;
        for (i64 j = 0; j < L; j++) {
            if (set ? set[j] == 0.0 : j != label) scores[j] = EXCLUDED;
        }
        f64 top = EXCLUDED, c = 0.0;
        for (i64 j = 0; j < L; j++) top = larger(top, scores[j]);
        for (i64 j = 0; j < width; j++) {
            u8 possible = j < L && scores[j] > EXCLUDED;
            scores[j] = possible ? fast_exp(larger(scores[j] - top, LOWEST_EXPONENT)) : 0.0;
        }
        if (t == 0 || !l->has_transitions) {
            for (i64 j = 0; j < width; j++) alpha[j] = scores[j];
        } else {
            product(alpha - width, x->matrices + x->which[t] * L * width, L, width, alpha);
            for (i64 j = 0; j < width; j++) alpha[j] *= scores[j];
        }
        c = row_sum(alpha, width);
        log_z += top + log(c);
        x->c[t] = 1.0 / c;
        for (i64 j = 0; j < width; j++) alpha[j] *= x->c[t];
    }
    return log_z;
}

/* `weight` times the expectations of transitions and of their attributes, added to `edges`. */
static void add_expected(const Chains *a, const Layout *l, i64 s, f64 weight, const Scratch *x, f64 *restrict edges) {
    i64 first = a->sentence_ptr[s], n = a->sentence_ptr[s + 1] - first, size = l->n_labels * l->width;
    for (i64 j = 0; j < size; j++) edges[j] += weight * x->pair_sums[j] * x->matrices[j];
    for (i64 t = 1; t < n; t++) {
        i64 matrix = x->which[t] * size;
        if (matrix == 0) continue;
        f64 *restrict sums = x->pair_sums + matrix;
        for (i64 j = 0; j < size; j++) {
            sums[j] *= weight * x->matrices[matrix + j];
            edges[j] += sums[j];
        }
        for (i64 k = a->edge_ptr[first + t]; k < a->edge_ptr[first + t + 1]; k++) {
            i64 e = a->edge_attributes[k];
            for (i64 m = l->edge_row_ptr[e]; m < l->edge_row_ptr[e + 1]; m++) edges[size + m] += sums[l->edge_pair[m]];
        }
    }
}

f64 partial_loss(const Chains *a, const Layout *l, i64 s, const i32 *labels, f64 weight, const f64 *edge_w,
                 const Scratch *x, f64 *edges) {
    i64 first = a->sentence_ptr[s], n = a->sentence_ptr[s + 1] - first, size = n * l->width;
    f64 *restrict kept = x->room, *restrict within = x->room + size, *restrict scores = x->scores;
    memcpy(kept, scores, (size_t)size * sizeof *kept);
    i64 n_matrices = exp_observed(a, l, s, edge_w, x);
    f64 loss = -forward_within(a, l, first, n, labels, x);
    backward(n, n_matrices, l, x);
    for (i64 j = 0; j < size; j++) within[j] = x->alpha[j] * x->beta[j];
    if (l->has_transitions && n > 1) add_expected(a, l, s, -weight, x, edges);
    memcpy(scores, kept, (size_t)size * sizeof *kept);
    loss += forward(n, l, x);
    backward(n, n_matrices, l, x);
    if (l->has_transitions && n > 1) add_expected(a, l, s, weight, x, edges);
    for (i64 j = 0; j < size; j++) scores[j] = weight * (x->alpha[j] * x->beta[j] - within[j]);
    return weight * loss;
}
