#include "second_order.h"

#include "decoding_inline.h"
#include "second_order_inline.h"

i64 second_order_room(i64 n, i64 n_labels, i64 width, i64 n_triples) {
    return pairs_size(n, n_labels, width, n_triples);
}

f64 second_order_loss(const Chains *a, const Layout *l, i64 s, i64 n_matrices, const i32 *labels, f64 weight,
                      const f64 *edge_w, const Scratch *x, f64 *edges) {
    i64 first = a->sentence_ptr[s], n = a->sentence_ptr[s + 1] - first, at = triples_at(l);
    Pairs p = pairs_of(l, x);
    f64 loss = pairs_forward(n, l, x);
    pairs_backward(n, l, x);
    sum_probable_pairs(n, n_matrices, l, x);
    for (i64 m = 0; m < l->n_triples; m++) edges[at + m] += weight * p.sums[m] * p.F[m];
    for (i64 t = first + 2; t < first + n; t++) {
        i64 m = triple_of(l, labels[t - 2], labels[t - 1] * l->width + labels[t]);
        if (m < 0) continue;
        loss -= edge_w[at + m];
        edges[at + m] -= weight;
    }
    return loss;
}

void second_order_marginals(const Chains *chains, const Layout *layout, i64 n_sentences, const i32 *sentences,
                            i64 n_weights, const f64 *w, i64 n_allowed, const u8 *allowed, const Scratch *scratch,
                            i64 n_tokens, i64 n_labels, f64 *nodes, i64 n_edges, f64 *edges, i64 n_all, f64 *log_z) {
    (void)n_weights, (void)n_tokens, (void)n_all;
    i64 L = n_labels, width = layout->width;
    Pairs p = pairs_of(layout, scratch);
    exp_shared(layout, w, scratch);
    for (i64 k = 0; k < n_sentences; k++) {
        i64 s = sentences[k], first = chains->sentence_ptr[s], n = chains->sentence_ptr[s + 1] - first;
        if (n == 0) continue;
        allowed_scores(chains, layout, s, w, n_allowed, allowed, scratch->scores);
        exp_edges(chains, layout, s, w, scratch);
        log_z[s] = pairs_forward(n, layout, scratch);
        pairs_backward(n, layout, scratch);
        for (i64 t = 0; t < n; t++) {
            for (i64 j = 0; j < L; j++) nodes[(first + t) * L + j] = scratch->beta[t * width + j];
            for (i64 i = 0; n_edges && t > 0 && i < L; i++) {
                const f64 *row = p.A + (t * L + i) * width;
                for (i64 j = 0; j < L; j++) edges[((first + t) * L + i) * L + j] = row[j];
            }
        }
    }
}

/* The largest of A[i, j] + U[i, j, k] over all labels i, `pair` being (j, k); which i that is, to `label`. */
static f64 best_before(const Layout *l, const f64 *A, const f64 *U, i64 pair, i64 *label) {
    i64 width = l->width, at = l->triple_ptr[pair], end = l->triple_ptr[pair + 1];
    f64 best = 2 * NEVER;
    *label = 0;
    for (i64 i = 0; i < l->n_labels; i++) {
        u8 found = at < end && l->triple_before[at] == i;
        f64 value = A[i * width + pair / width] + (found ? U[l->triple_number[at]] : 0.0);
        at += found;
        if (value > best) best = value, *label = i;
    }
    return best;
}

/* A, the best score of what ends with each pair of labels, from that of the token before; M: weights of pairs into it.
 * Without triples it is top[j], the largest of A[i, j]; those with a weight are better or not, and only where one takes
 * the largest away all are looked at. */
static void best_pairs(const Layout *l, const f64 *restrict U, const f64 *restrict before, const f64 *restrict M,
                       const f64 *restrict scores, f64 *restrict top, f64 *restrict A) {
    i64 L = l->n_labels, width = l->width, label;
    for (i64 j = 0; j < width; j++) top[j] = before[j];
    for (i64 i = 1; i < L; i++) {
        for (i64 j = 0; j < width; j++) top[j] = larger(top[j], before[i * width + j]);
    }
    for (i64 j = 0; j < L; j++) {
        const f64 *row = M + j * width;
        for (i64 k = 0; k < width; k++) A[j * width + k] = top[j] + (row[k] + scores[k]);
        for (i64 at = l->triple_ptr[j * width], end = l->triple_ptr[(j + 1) * width]; at < end;) {
            i64 pair = l->triple_into[l->triple_number[at]], k = pair - j * width;
            f64 best = top[j];
            u8 lost = 0;
            for (i64 past = l->triple_ptr[pair + 1]; at < past; at++) {
                f64 old = before[l->triple_from[l->triple_number[at]]], value = old + U[l->triple_number[at]];
                lost |= old == top[j];
                best = larger(best, value);
            }
            if (lost && best <= top[j]) best = best_before(l, before, U, pair, &label);
            A[pair] = best + (row[k] + scores[k]);
        }
    }
}

/* The best label of every token of sentence s, whose scores are in x. Where scores came from is asked on the way back. */
static void best_labels(const Chains *a, const Layout *l, i64 s, const f64 *w, const Scratch *x, i32 *out) {
    i64 first = a->sentence_ptr[s], n = a->sentence_ptr[s + 1] - first;
    i64 L = l->n_labels, width = l->width, size = L * width, label = 0;
    const f64 *U = w + l->n_weights - l->n_triples;
    Pairs p = pairs_of(l, x);
    for (i64 t = 1; t < n; t++) {
        const f64 *M = pairs_into(a, l, first + t, w, x->matrices, x->pair_sums), *scores = x->scores + t * width;
        f64 *A = p.A + t * size;
        if (t > 1) best_pairs(l, U, A - size, M, scores, p.base, A);
        for (i64 pair = 0; t == 1 && pair < size; pair++) A[pair] = x->scores[pair / width] + (M[pair] + scores[pair % width]);
    }
    i64 best = arg_max(L, x->scores);
    out[first] = (i32)best;
    if (n == 1) return;
    const f64 *A = p.A + (n - 1) * size;
    best = 0;
    for (i64 i = 0; i < L; i++) {
        i64 row = i * width + arg_max(L, A + i * width);
        if (A[row] > A[best]) best = row;
    }
    for (i64 t = n - 1; t > 0; t--) {
        out[first + t] = (i32)(best % width);
        if (t > 1) best_before(l, p.A + (t - 1) * size, U, best, &label);
        best = label * width + best / width;
    }
    out[first] = (i32)(best % width);
}

void second_order_viterbi(const Chains *chains, const Layout *layout, i64 n_sentences, const i32 *sentences,
                          i64 n_weights, const f64 *w, i64 n_allowed, const u8 *allowed, const Scratch *scratch,
                          i64 n_tokens, i32 *out) {
    (void)n_weights, (void)n_tokens;
    log_transitions(layout, w, scratch->matrices);
    for (i64 k = 0; k < n_sentences; k++) {
        i64 s = sentences[k];
        if (chains->sentence_ptr[s] == chains->sentence_ptr[s + 1]) continue;
        allowed_scores(chains, layout, s, w, n_allowed, allowed, scratch->scores);
        best_labels(chains, layout, s, w, scratch, out);
    }
}

/* The paths into a label, by the label before it and their rank; the first n_sorted are the best of them, in order. */
typedef struct {
    i64 n, n_sorted;
    f64 *scores;
    i64 *befores, *ranks;
} Paths;

/* Entry number `at` of the sorted paths, which grow when they must. */
static inline void sort_until(Paths *p, i64 at) {
    for (; p->n_sorted <= at; p->n_sorted++) {
        i64 to = p->n_sorted, best = to + arg_max(p->n - to, p->scores + to);
        f64 score = p->scores[to];
        i64 before = p->befores[to], rank = p->ranks[to];
        p->scores[to] = p->scores[best], p->befores[to] = p->befores[best], p->ranks[to] = p->ranks[best];
        p->scores[best] = score, p->befores[best] = before, p->ranks[best] = rank;
    }
}

/* The best k paths into the labels j and next: first those whose label before has a weight with them, the triples from
 * m0 to m1, then the others, best first. `marked` is 0 for every label between calls. */
static void extend_pair(const Layout *l, i64 j, i64 m0, i64 m1, f64 step, const f64 *U, i64 k, const f64 *before,
                        Paths *paths, i64 *marked, f64 *after, i64 *back) {
    for (i64 m = m0; m < m1; m++) {
        i64 i = l->triple_before[m];
        const f64 *list = before + (i * l->n_labels + j) * k;
        marked[i] = 1;
        for (i64 r = 0; r < k && list[r] > NEVER; r++) {
            if (!insert(k, after, back, list[r] + U[l->triple_number[m]] + step, i * k + r)) break;
        }
    }
    for (i64 e = 0; e < paths->n; e++) {
        sort_until(paths, e);
        i64 i = paths->befores[e];
        if (marked[i]) continue;
        if (!insert(k, after, back, paths->scores[e] + step, i * k + paths->ranks[e])) break;
    }
    for (i64 m = m0; m < m1; m++) marked[l->triple_before[m]] = 0;
}

/* The lists of all pairs of labels at a token from those at the token before; M: weights of pairs into it. */
static void extend_pairs(const Layout *l, u8 has_triples, const f64 *M, const f64 *scores, const f64 *U, i64 k,
                         const f64 *before, Paths paths, i64 *marked, f64 *after, i64 *back) {
    i64 L = l->n_labels, width = l->width;
    for (i64 at = 0; at < L * L * k; at++) after[at] = NEVER;
    for (i64 j = 0; j < L; j++) {
        paths.n = paths.n_sorted = 0;
        for (i64 i = 0; i < L; i++) {
            const f64 *list = before + (i * L + j) * k;
            for (i64 r = 0; r < k && list[r] > NEVER; r++, paths.n++) {
                paths.scores[paths.n] = list[r], paths.befores[paths.n] = i, paths.ranks[paths.n] = r;
            }
        }
        for (i64 next = 0; next < L; next++) {
            i64 pair = j * width + next, at = (j * L + next) * k;
            i64 m0 = has_triples ? l->triple_ptr[pair] : 0, m1 = has_triples ? l->triple_ptr[pair + 1] : 0;
            extend_pair(l, j, m0, m1, M[pair] + scores[next], U, k, before, &paths, marked, after + at, back + at);
        }
    }
}

/* The k best labellings of sentence s, best first: `labels` (k rows, `longest` long) and `values`, their scores. The two
 * halves of `score` are the lists of a token and of the one before, by label before, label and rank; back is label
 * before * k + rank of the list that a path came from. Returns how many labellings there are, at most k. */
i64 second_order_k_best(const Chains *chains, const Layout *layout, i64 s, i64 n_weights, const f64 *w, i64 n_allowed,
                        const u8 *allowed, const Scratch *scratch, i64 k, i64 longest, i64 n_labels, i64 n_lists,
                        f64 *score, f64 *path_scores, i64 *back, i64 *places, i32 *labels, f64 *values) {
    const Scratch *x = scratch;
    i64 L = n_labels, width = layout->width, first = chains->sentence_ptr[s], n = chains->sentence_ptr[s + 1] - first;
    i64 *marked = places, *ends = places + L;
    Paths paths = {0, 0, path_scores, ends + k, ends + k + L * k};
    f64 *now = score, *before = score + n_lists;
    if (n == 0) return 0;
    allowed_scores(chains, layout, s, w, n_allowed, allowed, x->scores);
    log_transitions(layout, w, x->matrices);
    for (i64 i = 0; i < L; i++) marked[i] = 0;
    for (i64 at = 0; at < n_lists; at++) now[at] = NEVER;
    for (i64 j = 0; j < L; j++) now[j * k] = x->scores[j];
    for (i64 t = 1; t < n; t++) {
        const f64 *M = pairs_into(chains, layout, first + t, w, x->matrices, x->pair_sums);
        f64 *swapped = before;
        before = now;
        now = swapped;
        extend_pairs(layout, t > 1, M, x->scores + t * width, w + n_weights - layout->n_triples, k, before, paths,
                     marked, now, back + t * n_lists);
    }
    for (i64 r = 0; r < k; r++) values[r] = NEVER;
    for (i64 at = 0; at < n_lists; at++) {
        if (now[at] > NEVER) insert(k, values, ends, now[at], at);
    }
    i64 found = 0;
    for (; found < k && values[found] > NEVER / 2; found++) {
        i64 at = ends[found];
        for (i64 t = n - 1; t >= 0; t--) {
            i64 pair = at / k;
            labels[found * longest + t] = (i32)(pair % L);
            if (t == 0) break;
            i64 origin = back[t * n_lists + at];
            at = (origin / k * L + pair / L) * k + origin % k;
        }
    }
    return found;
}
