#include "chain_inline.h"
#include "chain_partial.h"
#include "chain_step.h"
#include "tree_chain.h"
#include "second_order_inline.h"
#include "segment_inline.h"

i64 sizeof_Chains(void) { return sizeof(Chains); }
i64 sizeof_Layout(void) { return sizeof(Layout); }
i64 sizeof_Scratch(void) { return sizeof(Scratch); }

/* Gradient of the edge weights of one token whose pair sums are expectations already; returns their score. */
static f64 edge_gradient(const Chains *a, const Layout *l, i64 t, i64 pair, f64 weight, const f64 *restrict w,
                         const f64 *restrict expected, f64 *restrict edges) {
    f64 score = 0.0;
    i64 size = l->n_labels * l->width;
    for (i64 k = a->edge_ptr[t]; k < a->edge_ptr[t + 1]; k++) {
        i64 e = a->edge_attributes[k];
        for (i64 m = l->edge_row_ptr[e]; m < l->edge_row_ptr[e + 1]; m++) {
            i64 at = l->edge_pair[m];
            edges[size + m] += expected[at];
            if (at == pair) {
                edges[size + m] -= weight;
                score += w[size + m];
            }
        }
    }
    return score;
}

/* Gradient of transition and edge weights, added to `edges`; returns the labels' transition score. */
static f64 transition_gradient(const Chains *a, const Layout *l, i64 s, const i32 *labels, f64 weight,
                               const f64 *restrict w, const Scratch *x, f64 *restrict edges) {
    i64 first = a->sentence_ptr[s], last = a->sentence_ptr[s + 1];
    i64 width = l->width, size = l->n_labels * width;
    f64 score = 0.0;
    for (i64 t = first; t < last; t++) {
        i64 before = token_before(a, first, t);
        if (before < first) continue;
        i64 pair = labels[before] * width + labels[t], matrix = x->which[t - first] * size;
        f64 *restrict sums = x->pair_sums + matrix;
        score += w[pair];
        edges[pair] -= weight;
        if (matrix == 0) continue;
        for (i64 j = 0; j < size; j++) {
            sums[j] *= weight * x->matrices[matrix + j];
            edges[j] += sums[j];
        }
        score += edge_gradient(a, l, t, pair, weight, w, sums, edges);
    }
    for (i64 j = 0; j < size; j++) edges[j] += weight * x->pair_sums[j] * x->matrices[j];
    return score;
}

/* Weighted negative log-likelihood of sentence s, whose token scores are in x->scores; edge_w: the weights of
 * transitions and edges. Its gradient: that of edge_w is added to `edges`; that of the token scores is left in x->scores
 * (marginal minus truth, weighted). */
f64 scored_loss(const Chains *a, const Layout *l, i64 s, const i32 *labels, f64 weight, const f64 *edge_w,
                const Scratch *x, f64 *edges) {
    i64 first = a->sentence_ptr[s], n = a->sentence_ptr[s + 1] - first, width = l->width;
    if (n == 0) return 0.0;
    if (a->n_types) return segment_loss(a, l, s, labels, weight, edge_w, x, edges);
    if (is_partial(a, s, labels)) return partial_loss(a, l, s, labels, weight, edge_w, x, edges);
    f64 loss = 0.0;
    for (i64 t = 0; t < n; t++) loss -= x->scores[t * width + labels[first + t]];
    f64 rounding = 1e-9 * (1.0 + fabs(loss));
    i64 n_matrices = exp_observed(a, l, s, edge_w, x);
    if (l->n_triples) {
        loss += second_order_loss(a, l, s, n_matrices, labels, weight, edge_w, x, edges);
    } else if (a->n_parents) {
        loss += tree_marginals(a, l, s, n_matrices, x);
    } else {
        loss += forward(n, l, x);
        backward(n, n_matrices, l, x);
    }
    if (l->has_transitions && n > 1) loss -= transition_gradient(a, l, s, labels, weight, edge_w, x, edges);
    f64 *restrict scores = x->scores;
    u8 is_marginal = a->n_parents || l->n_triples; /* what beta is */
    for (i64 j = 0; j < n * width; j++) scores[j] = weight * (is_marginal ? x->beta[j] : x->alpha[j] * x->beta[j]);
    for (i64 t = 0; t < n; t++) scores[t * width + labels[first + t]] -= weight;
    /* A probability above 1, or none: weights beyond what exponentials hold. Solvers then take shorter steps. */
    return loss >= -rounding ? weight * loss : INFINITY;
}

/* The same, from the weights of the whole model. */
f64 sentence_loss(const Chains *a, const Layout *l, i64 s, const i32 *labels, f64 weight, const f64 *w,
                  const Scratch *x, f64 *edges) {
    score_tokens(a, l, s, w, x->scores);
    return scored_loss(a, l, s, labels, weight, w + l->state_end, x, edges);
}

/* Add a token's score gradient of the n * LANES labels from j on to the dense rows that occurrences k to end begin with;
 * returns the first sparse one. */
BLOCK_FUNCTION i64 scatter_block(int n, const Chains *a, const Layout *l, const i32 *rows, i64 k, i64 end, i64 j,
                                 const f64 *gradient, f64 *g) {
    const i32 *local = a->local;
    const f64 *values = a->values;
    i64 stride = a->value_stride, dense_end = l->dense_end;
    lanes row[MOST_LANES];
    EVERY(v, n) row[v] = ((const lanes *)(gradient + j))[v];
    for (; k < end && rows[local[k]] < dense_end; k++) {
        lanes *to = (lanes *)(g + rows[local[k]] + j);
        f64 value = values[k * stride];
        EVERY(v, n) to[v] += value * row[v];
    }
    return k;
}

void scatter(const Chains *a, const Layout *l, i64 s, const f64 *restrict scores, f64 *restrict g) {
    i64 width = l->width, last = a->attribute_ptr[a->sentence_ptr[s + 1]];
    const i32 *rows = a->rows + a->rows_ptr[s];
    for (i64 t = a->sentence_ptr[s]; t < a->sentence_ptr[s + 1]; t++) {
        i64 first = a->attribute_ptr[t], end = a->attribute_ptr[t + 1], k = first, j = 0;
        const f64 *row = scores + (t - a->sentence_ptr[s]) * width;
        for (; k < end; k++) fetch_weights(a, l, rows, k, last, g);
        for (; j + BLOCK <= width; j += BLOCK) k = scatter_block(BLOCK / LANES, a, l, rows, first, end, j, row, g);
        if (width - j == 8) k = scatter_block(8 / LANES, a, l, rows, first, end, j, row, g);
        if (width - j == 16) k = scatter_block(16 / LANES, a, l, rows, first, end, j, row, g);
        if (width - j == 24) k = scatter_block(24 / LANES, a, l, rows, first, end, j, row, g);
        for (; k < end; k++) {
            i64 p = rows[a->local[k]];
            f64 v = a->values[k * a->value_stride];
            if (p < l->dense_end) {
                for (j = 0; j < width; j++) g[p + j] += v * row[j];
            } else {
                for (i64 m = p, past = p + (l->codes[p] >> 16); m < past; m++) g[m] += v * row[l->codes[m] & 0xFFFF];
            }
        }
    }
}

/* Loss of the given sentences; the gradient is added to `out`, where weights that are not free have what no one may read. */
f64 chain_batch_gradient(const Chains *chains, const Layout *layout, i64 n_sentences, const i32 *sentences,
                         i64 n_tokens, const i32 *labels, i64 n_weighted, const f64 *weights, i64 n_weights,
                         const f64 *w, Scratch *scratch, f64 *out) {
    (void)n_tokens, (void)n_weighted, (void)n_weights;
    f64 loss = 0.0, *edges = out + layout->state_end;
    if (layout->has_transitions) exp_shared(layout, w, scratch);
    for (i64 k = 0; k < n_sentences; k++) {
        i64 s = sentences[k];
        loss += sentence_loss(chains, layout, s, labels, weights[s], w, scratch, edges);
        scatter(chains, layout, s, scratch->scores, out);
    }
    return loss;
}
