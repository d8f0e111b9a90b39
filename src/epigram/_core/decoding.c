#include "decoding.h"

#include "decoding_inline.h"

/* The weights of all label pairs into token t: T itself, or `own` with those of the token's edge attributes added. */
const f64 *pairs_into(const Chains *a, const Layout *l, i64 t, const f64 *w, const f64 *T, f64 *own) {
    if (!a->n_edge_occurrences || a->edge_ptr[t] == a->edge_ptr[t + 1]) return T;
    i64 size = l->n_labels * l->width, base = l->state_end + size;
    memcpy(own, T, (size_t)size * sizeof *own);
    for (i64 k = a->edge_ptr[t]; k < a->edge_ptr[t + 1]; k++) {
        i64 e = a->edge_attributes[k];
        if (e >= l->n_edge_rows) continue;
        for (i64 m = l->edge_row_ptr[e]; m < l->edge_row_ptr[e + 1]; m++) own[l->edge_pair[m]] += w[base + m];
    }
    return own;
}

/* best[j] is the largest of before[i] + M[i][j] over all i. */
static inline void best_steps(i64 L, i64 width, const f64 *restrict before, const f64 *restrict M, f64 *restrict best) {
    for (i64 j = 0; j < width; j++) best[j] = before[0] + M[j];
    for (i64 i = 1; i < L; i++) {
        f64 f = before[i];
        for (i64 j = 0; j < width; j++) best[j] = larger(f + M[i * width + j], best[j]);
    }
}

/* The label i whose step into label y is the best one, the first of several. */
static inline i64 label_before(i64 L, i64 width, const f64 *before, const f64 *M, i64 y, f64 best) {
    for (i64 i = 0; i < L; i++) {
        if (before[i] + M[i * width + y] == best) return i;
    }
    return 0; /* where scores are not numbers */
}

/* The best label of every token of one sentence, whose scores are in x. Only the largest scores are kept on the way
 * (in x->alpha); which label they came from is asked on the way back, and of one label a token. */
static void best_path(const Chains *a, const Layout *l, i64 s, const f64 *w, const Scratch *x, i32 *out) {
    i64 first = a->sentence_ptr[s], n = a->sentence_ptr[s + 1] - first, L = l->n_labels, width = l->width;
    const f64 *T = x->matrices;
    for (i64 t = 1; t < n; t++) {
        const f64 *M = pairs_into(a, l, first + t, w, T, x->pair_sums);
        f64 *restrict scores = x->scores + t * width, *restrict best = x->alpha + t * width;
        best_steps(L, width, scores - width, M, best);
        for (i64 j = 0; j < width; j++) scores[j] += best[j];
    }
    i64 y = arg_max(L, x->scores + (n - 1) * width);
    out[first + n - 1] = (i32)y;
    for (i64 t = n - 1; t > 0; t--) {
        const f64 *M = pairs_into(a, l, first + t, w, T, x->pair_sums);
        y = label_before(L, width, x->scores + (t - 1) * width, M, y, x->alpha[t * width + y]);
        out[first + t - 1] = (i32)y;
    }
}

/* The best label of every token of the given sentences, to `out`. */
void decoding_viterbi(const Chains *chains, const Layout *layout, i64 n_sentences, const i32 *sentences, i64 n_weights,
                      const f64 *w, i64 n_allowed, const u8 *allowed, const Scratch *scratch, i64 n_tokens, i32 *out) {
    (void)n_weights, (void)n_tokens;
    i64 L = layout->n_labels, width = layout->width;
    log_transitions(layout, w, scratch->matrices);
    for (i64 k = 0; k < n_sentences; k++) {
        i64 s = sentences[k], first = chains->sentence_ptr[s], n = chains->sentence_ptr[s + 1] - first;
        if (n == 0) continue;
        allowed_scores(chains, layout, s, w, n_allowed, allowed, scratch->scores);
        if (layout->has_transitions && chains->n_parents) {
            tree_best(chains, layout, s, w, scratch, out);
        } else if (layout->has_transitions) {
            best_path(chains, layout, s, w, scratch, out);
        } else {
            for (i64 t = 0; t < n; t++) out[first + t] = (i32)arg_max(L, scratch->scores + t * width);
        }
    }
}

/* The lists of all labels at a token from those at the token before. */
static void extend_lists(i64 L, i64 width, i64 k, const f64 *M, const f64 *scores, const f64 *before, f64 *after,
                         i64 *back) {
    for (i64 j = 0; j < L; j++) {
        for (i64 i = 0; i < L; i++) {
            f64 step = M[i * width + j] + scores[j];
            for (i64 r = 0; r < k && before[i * k + r] > NEVER; r++) {
                if (!insert(k, after + j * k, back + j * k, before[i * k + r] + step, i * k + r)) break;
            }
        }
    }
}

/* The k best labellings of sentence s, best first: `labels` (k rows, longest long), `values` their scores.
 * score[t, j, r] is the r-th best score of a path that ends in label j at token t; back[t, j, r] is label * k + rank of
 * the token before. Returns how many labellings there are, at most k. */
i64 decoding_k_best(const Chains *chains, const Layout *layout, i64 s, i64 n_weights, const f64 *w, i64 n_allowed,
                    const u8 *allowed, const Scratch *scratch, i64 k, i64 longest, i64 n_labels, f64 *score, i64 *back,
                    i64 *ends, i32 *labels, f64 *values) {
    (void)n_weights;
    i64 L = n_labels, width = layout->width, size = L * k;
    i64 first = chains->sentence_ptr[s], n = chains->sentence_ptr[s + 1] - first;
    const f64 *scores = scratch->scores;
    allowed_scores(chains, layout, s, w, n_allowed, allowed, scratch->scores);
    log_transitions(layout, w, scratch->matrices);
    if (chains->n_parents) return tree_k_best(chains, layout, s, w, scratch, k, longest, score, back, ends, labels, values);
    for (i64 m = 0; m < n * size; m++) score[m] = NEVER;
    for (i64 j = 0; j < L; j++) score[j * k] = scores[j];
    for (i64 t = 1; t < n; t++) {
        const f64 *M = pairs_into(chains, layout, first + t, w, scratch->matrices, scratch->pair_sums);
        extend_lists(L, width, k, M, scores + t * width, score + (t - 1) * size, score + t * size, back + t * size);
    }
    for (i64 r = 0; r < k; r++) values[r] = NEVER;
    const f64 *last = score + (n - 1) * size;
    for (i64 j = 0; j < L; j++) {
        for (i64 r = 0; r < k && last[j * k + r] > NEVER; r++) {
            if (!insert(k, values, ends, last[j * k + r], j * k + r)) break;
        }
    }
    i64 found = 0;
    for (; found < k && values[found] > NEVER / 2; found++) {
        i64 at = ends[found];
        for (i64 t = n - 1; t >= 0; t--) {
            labels[found * longest + t] = (i32)(at / k);
            at = back[t * size + at];
        }
    }
    return found;
}

/* Marginals of label pairs into token t of a sentence, after backward; `nodes` are those of the token. */
static void edge_marginals(const Layout *l, const Scratch *x, i64 t, const f64 *nodes, f64 *edges) {
    i64 L = l->n_labels, width = l->width;
    const f64 *E = x->matrices + x->which[t] * L * width, *scores = x->scores + t * width;
    for (i64 i = 0; i < L; i++) {
        f64 alpha = x->alpha[(t - 1) * width + i];
        for (i64 j = 0; j < L; j++) {
            /* backward left c * score * beta in scores */
            edges[i * L + j] = l->has_transitions ? alpha * scores[j] * E[i * width + j] : nodes[i - L] * nodes[j];
        }
    }
}

/* Node marginals (token x label) and, unless `edges` is empty, those of label pairs into each token. */
void decoding_marginals(const Chains *chains, const Layout *layout, i64 n_sentences, const i32 *sentences, i64 n_weights,
                        const f64 *w, i64 n_allowed, const u8 *allowed, const Scratch *scratch, i64 n_tokens,
                        i64 n_labels, f64 *nodes, i64 n_edges, f64 *edges, i64 n_all, f64 *log_z) {
    (void)n_weights, (void)n_tokens, (void)n_all;
    i64 L = n_labels, width = layout->width;
    if (layout->has_transitions) exp_shared(layout, w, scratch);
    for (i64 k = 0; k < n_sentences; k++) {
        i64 s = sentences[k], first = chains->sentence_ptr[s], n = chains->sentence_ptr[s + 1] - first;
        if (n == 0) continue;
        allowed_scores(chains, layout, s, w, n_allowed, allowed, scratch->scores);
        i64 n_matrices = exp_edges(chains, layout, s, w, scratch);
        if (chains->n_parents) {
            log_z[s] = tree_marginals(chains, layout, s, n_matrices, scratch);
            tree_probabilities(chains, layout, s, scratch, nodes, n_edges, edges);
            continue;
        }
        log_z[s] = forward(n, layout, scratch);
        backward(n, n_matrices, layout, scratch);
        for (i64 t = 0; t < n; t++) {
            f64 *own = nodes + (first + t) * L;
            for (i64 j = 0; j < L; j++) own[j] = scratch->alpha[t * width + j] * scratch->beta[t * width + j];
            if (n_edges && t > 0) edge_marginals(layout, scratch, t, own, edges + (first + t) * L * L);
        }
    }
}

i64 sizeof_Beam(void) { return sizeof(Beam); }

/* Candidates for the next beam from entry r of the beam, whose last label is i: `terms` are the scores of the labels after
 * it, normalised here. `found` candidates are there already; returns how many there are then. */
static i64 add_candidates(const Beam *b, i64 r, i64 i, f64 score, i64 found) {
    i64 L = b->n_labels, S = L + 1;
    f64 top = NEVER, total = 0.0;
    for (i64 j = 0; j < L; j++) top = larger(top, b->terms[j]);
    for (i64 j = 0; j < L; j++) total += exp(b->terms[j] - top);
    f64 norm = score - top - log(total);
    for (i64 j = 0; j < L; j++) {
        i64 pair = i * S + j;
        if (b->known[pair] < 0) {
            b->known[pair] = found;
            b->candidates[found] = pair;
            b->values[found++] = NEVER;
        }
        i64 at = b->known[pair];
        if (norm + b->terms[j] > b->values[at]) {
            b->values[at] = norm + b->terms[j];
            b->origins[at] = r;
        }
    }
    return found;
}

/* The beam after a token: the best of the candidates. */
static void keep_best(const Beam *b, i64 found, f64 *score, i64 *pairs, i64 *back) {
    for (i64 k = 0; k < found; k++) {
        insert(b->size, score, pairs, b->values[k], k);
        b->known[b->candidates[k]] = -1;
    }
    for (i64 r = 0; r < b->size && score[r] > NEVER; r++) {
        i64 k = pairs[r];
        pairs[r] = b->candidates[k];
        back[r] = b->origins[k];
    }
}

/* History-based tagging: at each token keep the best pairs of last two labels (Ratnaparkhi 1996). before[i, j] is what
 * label i on the left adds to label j; two_before[h, i, j] what the labels h, i add (empty: nothing). Label L stands for
 * the sentence's start. Probabilities are normalised at every token. */
void decoding_beam_search(const Chains *chains, const Layout *layout, i64 n_sentences, const i32 *sentences,
                          i64 n_weights, const f64 *w, i64 n_allowed, const u8 *allowed, const Scratch *scratch,
                          i64 n_labels, const f64 *before, i64 n_two, const f64 *two_before, const Beam *beam,
                          i64 n_tokens, i32 *out) {
    (void)n_weights, (void)n_tokens;
    i64 L = n_labels, S = L + 1, size = beam->size;
    for (i64 k = 0; k < n_sentences; k++) {
        i64 s = sentences[k], first = chains->sentence_ptr[s], n = chains->sentence_ptr[s + 1] - first;
        allowed_scores(chains, layout, s, w, n_allowed, allowed, scratch->scores);
        for (i64 m = 0; m < (n + 1) * size; m++) beam->score[m] = NEVER;
        beam->score[0] = 0.0;
        beam->pairs[0] = L * S + L;
        for (i64 t = 0; t < n; t++) {
            const f64 *score = beam->score + t * size, *own = scratch->scores + t * layout->width;
            i64 found = 0;
            for (i64 r = 0; r < size && score[r] > NEVER; r++) {
                i64 pair = beam->pairs[t * size + r], i = pair % S;
                for (i64 j = 0; j < L; j++) {
                    beam->terms[j] = own[j] + before[i * L + j];
                    if (n_two) beam->terms[j] += two_before[pair * L + j];
                }
                found = add_candidates(beam, r, i, score[r], found);
            }
            i64 next = (t + 1) * size;
            keep_best(beam, found, beam->score + next, beam->pairs + next, beam->back + next);
        }
        for (i64 t = n, r = 0; t > 0; t--) {
            out[first + t - 1] = (i32)(beam->pairs[t * size + r] % S);
            r = beam->back[t * size + r];
        }
    }
}
