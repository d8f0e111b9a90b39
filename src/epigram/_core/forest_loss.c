#include "forest_loss.h"

#include "arc_loss_inline.h"

/* Build the forest of sentence s and score its links; weights are `stride` numbers apart. Returns the number of words. */
static i64 score_forest(const PartCorpus *a, i64 s, const f64 *w, i64 stride, Forest *forest, PartScratch *x) {
    i64 n = a->sentence_ptr[s + 1] - a->sentence_ptr[s];
    if (!n) return 0;
    score_parts(a, s, w, stride, x);
    forest_build(n, a->keep + a->first_arc[s], forest);
    forest_score(n, a->first_part[s + 1] - a->first_part[s], x->scores, forest);
    return n;
}

/* The child of the same head before each word of a tree, or the head; then the last on the right and left of each. */
static void find_siblings(i64 n, const i32 *heads, i32 *before) {
    i32 *right = before + n + 1, *left = right + n + 1;
    for (i64 h = 0; h <= n; h++) right[h] = left[h] = (i32)h;
    for (i64 c = 1; c <= n; c++) {
        i64 h = heads[c - 1];
        if (h < c) before[c] = right[h], right[h] = (i32)c;
    }
    for (i64 c = n; c >= 1; c--) {
        i64 h = heads[c - 1];
        if (h > c) before[c] = left[h], left[h] = (i32)c;
    }
}

/* Whether a link is one of the tree. */
static inline int in_tree(i64 n, const i32 *heads, const i32 *before, const i32 *link) {
    i64 g = link[0], h = link[1], s = link[2], c = link[3];
    if (g < 0) return heads[c - 1] == 0;
    if (heads[h - 1] != g) return 0;
    if (c > n) return before[n + 1 + h] == s;
    if (c < 1) return before[2 * (n + 1) + h] == s;
    return heads[c - 1] == h && before[c] == s;
}

/* Weighted loss of sentence s, and its derivatives by the scores of parts. */
static f64 sentence_loss(const PartCorpus *a, i64 s, const f64 *w, i64 stride, Forest *forest, PartScratch *x) {
    i64 n = score_forest(a, s, w, stride, forest, x);
    if (!n) return 0.0;
    const i32 *heads = a->heads + a->sentence_ptr[s];
    f64 weight = a->weights[s], loss = forest_marginals(forest);
    find_siblings(n, heads, x->before);
    for (i64 l = 0; l < forest->counts[3]; l++) {
        if (in_tree(n, heads, x->before, forest->links + 4 * l)) {
            loss -= forest->values[l];
            forest->marginals[l] -= 1.0;
        }
        forest->marginals[l] *= weight;
    }
    forest_collect(n, forest, a->first_part[s + 1] - a->first_part[s], x->derivatives);
    return weight * loss;
}

f64 forest_loss_gradient(const PartCorpus *a, i64 n, const i32 *sentences, i64 n_weights, const f64 *w,
                         Forest *forest, PartScratch *x, f64 *out) {
    (void)n_weights;
    f64 loss = 0.0;
    for (i64 k = 0; k < n; k++) {
        loss += sentence_loss(a, sentences[k], w, 1, forest, x);
        add_gradient(a, sentences[k], x, out);
    }
    return loss;
}

f64 forest_loss_cumulative(const PartCorpus *a, i64 n, const i32 *order, const f64 *rates, const f64 *totals,
                           i64 n_weights, f64 *wq, Forest *forest, PartScratch *x) {
    (void)n_weights;
    f64 loss = 0.0;
    for (i64 k = 0; k < n; k++) {
        loss += sentence_loss(a, order[k], wq, 2, forest, x);
        step_weights(a, order[k], rates[k], totals[k + 1], x, wq);
    }
    return loss;
}

void forest_loss_heads(const PartCorpus *a, i64 n_weights, const f64 *w, Forest *forest, PartScratch *x, i64 n_tokens,
                       i32 *heads) {
    (void)n_weights, (void)n_tokens;
    for (i64 s = 0; s < a->n_sentences; s++) {
        i64 n = score_forest(a, s, w, 1, forest, x);
        if (n) forest_best(n, forest, heads + a->sentence_ptr[s]);
    }
}
