#include "segment.h"

#include "segment_inline.h"

/* The score of the answer: its rows, and its steps; their gradients are taken off `edges`. */
static f64 answer_score(const Chains *a, const Layout *l, i64 s, const i32 *labels, f64 weight, const f64 *edge_w,
                        const f64 *scores, f64 *edges) {
    i64 first = a->sentence_ptr[s], n = a->n_words[s], width = l->width;
    f64 score = 0.0;
    for (i64 row = 0; row < a->sentence_ptr[s + 1] - first; row++) {
        i64 label = labels[first + row];
        if (label >= 0) score += scores[row * width + label];
        if (row == 0 || row >= n || !l->has_transitions) continue;
        i64 pair = labels[first + row - 1] * width + label;
        score += edge_w[pair];
        edges[pair] -= weight;
    }
    return score;
}

/* Expected steps, added to `edges`: those between segments, and those inside them. S has probabilities already. */
static void expect_steps(const Chains *a, const Layout *l, i64 s, f64 weight, f64 log_z, Room k, const Scratch *x,
                         f64 *restrict edges) {
    i64 n = a->n_words[s], L = l->n_labels, width = l->width;
    for (i64 p = 1; p < n; p++) {
        f64 scale = weight * small_exp(k.m[p] + k.r[p] - log_z);
        for (i64 i = 0; i < L; i++) {
            f64 before = scale * k.f[p * width + i];
            const f64 *E = x->matrices + i * width, *v = k.v + p * width;
            for (i64 j = 0; j < width; j++) edges[i * width + j] += before * E[j] * v[j];
        }
    }
    i64 types = types_of(a->n_types);
    for (i64 type = 0; type < types; type++) k.near[type] = k.far[type] = 0.0;
    for (i64 b = 0; b < n; b++) {
        for (i64 d = 2; d <= most_tokens(a, n, b); d++) {
            const f64 *restrict p = segments_at(a, k, b, d);
            f64 *restrict on = k.near, *restrict far = k.far;
            for (i64 type = 0; type < types; type++) {
                on[type] += p[type];
                far[type] += p[type] * (f64)(d - 2);
            }
        }
    }
    for (i64 type = 0; type < a->n_types; type++) {
        i64 begin = a->begin_label[type], inside = a->inside_label[type];
        if (inside < 0) continue;
        edges[begin * width + inside] += weight * k.near[type];
        edges[inside * width + inside] += weight * k.far[type];
    }
}

/* scored_loss (chain_step.h) of a sentence with segments. */
f64 segment_loss(const Chains *a, const Layout *l, i64 s, const i32 *labels, f64 weight, const f64 *edge_w,
                 const Scratch *x, f64 *edges) {
    i64 first = a->sentence_ptr[s], n = a->n_words[s], rows = a->sentence_ptr[s + 1] - first, width = l->width;
    if (n == 0) return 0.0;
    f64 *scores = x->scores;
    Room k = room_of(n, a, l, x);
    segment_scores(a, l, s, edge_w, scores, k);
    f64 answer = answer_score(a, l, s, labels, weight, edge_w, scores, edges);
    f64 log_z = segment_forward(a, l, s, scores, k, x);
    segment_backward(a, l, s, scores, k, x);
    segment_probabilities(a, l, s, log_z, scores, k);
    if (l->has_transitions) expect_steps(a, l, s, weight, log_z, k, x, edges);
    for (i64 row = n; row < rows; row++) {
        for (i64 j = 0; j < width; j++) scores[row * width + j] = 0.0;
        for (i64 type = 0; type < a->n_types; type++) {
            f64 p = *segment_at(a, k, a->unit_begin[first + row], a->unit_length[first + row], type);
            scores[row * width + a->begin_label[type]] = p;
        }
    }
    for (i64 j = 0; j < rows * width; j++) scores[j] *= weight;
    for (i64 row = 0; row < rows; row++) {
        if (labels[first + row] >= 0) scores[row * width + labels[first + row]] -= weight;
    }
    return weight * (log_z - answer);
}

i64 segment_room(i64 n, i64 width, i64 longest, i64 n_types) { return room_size(n, width, longest, n_types); }

/* Scores of sentence s; those of labels that are not allowed are so low that no best labelling has them. */
static void allowed_rows(const Chains *a, const Layout *l, i64 s, const f64 *w, i64 n_allowed, const u8 *allowed,
                         f64 *scores) {
    score_tokens(a, l, s, w, scores);
    if (!n_allowed) return;
    for (i64 t = 0; t < a->n_words[s]; t++) {
        for (i64 j = 0; j < l->width; j++) {
            if (!allowed[(a->sentence_ptr[s] + t) * l->width + j]) scores[t * l->width + j] = NO_SEGMENT / 1e6;
        }
    }
}

/* Probability of every label of every token, and log Z. */
void segment_marginals(const Chains *chains, const Layout *layout, i64 n_sentences, const i32 *sentences, i64 n_weights,
                       const f64 *w, i64 n_allowed, const u8 *allowed, const Scratch *x, i64 n_rows, i64 n_labels,
                       f64 *nodes, i64 n_all, f64 *log_z) {
    (void)n_weights, (void)n_rows, (void)n_all;
    if (layout->has_transitions) exp_shared(layout, w, x);
    for (i64 i = 0; i < n_sentences; i++) {
        i64 s = sentences[i], n = chains->n_words[s], first = chains->sentence_ptr[s];
        if (n == 0) continue;
        Room k = room_of(n, chains, layout, x);
        allowed_rows(chains, layout, s, w, n_allowed, allowed, x->scores);
        segment_scores(chains, layout, s, w + layout->state_end, x->scores, k);
        log_z[s] = segment_forward(chains, layout, s, x->scores, k, x);
        segment_backward(chains, layout, s, x->scores, k, x);
        segment_probabilities(chains, layout, s, log_z[s], x->scores, k);
        for (i64 t = 0; t < n; t++) {
            for (i64 j = 0; j < n_labels; j++) nodes[(first + t) * n_labels + j] = x->scores[t * layout->width + j];
        }
    }
}

/* Insert into a list of k scores sorted downwards; 0 if the score is not among the best. */
static u8 insert_score(i64 k, f64 *scores, i64 *origins, f64 score, i64 origin) {
    i64 at = k - 1;
    if (!(score > scores[at])) return 0;
    for (; at > 0 && scores[at - 1] < score; at--) {
        scores[at] = scores[at - 1];
        origins[at] = origins[at - 1];
    }
    scores[at] = score;
    origins[at] = origin;
    return 1;
}

/* The lists of what may begin at position p, by its first label, from those that end there. */
static void enter_lists(const Layout *l, const f64 *edge_w, i64 k, const f64 *ending, f64 *entering, i64 *origins) {
    i64 L = l->n_labels, width = l->width;
    for (i64 j = 0; j < L; j++) {
        for (i64 i = 0; i < L; i++) {
            if (l->has_transitions && l->allowed[i * width + j] <= 0.0) continue;
            f64 step = l->has_transitions ? edge_w[i * width + j] : 0.0;
            for (i64 r = 0; r < k && ending[i * k + r] > NO_SEGMENT; r++) {
                if (!insert_score(k, entering + j * k, origins + j * k, ending[i * k + r] + step, i * k + r)) break;
            }
        }
    }
}

/* The lists of one label that ends at position e with a segment of d tokens and this score. */
static void end_lists(i64 k, i64 d, f64 score, const f64 *entering, f64 *ending, i64 *origins) {
    if (score <= NO_SEGMENT / 2) return;
    for (i64 r = 0; r < k && entering[r] > NO_SEGMENT; r++) {
        if (!insert_score(k, ending, origins, entering[r] + score, d * k + r)) return;
    }
}

/* The label with which the segment begins that ends in a label. */
static i64 first_label(const Chains *a, i64 label) {
    for (i64 type = 0; type < a->n_types; type++) {
        if (a->inside_label[type] == label) return a->begin_label[type];
    }
    return label;
}

/* The labels of the labelling that is number `at` = label * k + rank among those that end at position n. */
static void trace(const Chains *a, i64 n, i64 L, i64 k, i64 at, const i64 *end_origin, const i64 *enter_origin,
                  i32 *labels) {
    for (i64 e = n; e > 0;) {
        i64 label = at / k, origin = end_origin[e * L * k + at], d = origin / k, begin = first_label(a, label);
        for (i64 t = e - d; t < e; t++) labels[t] = (i32)(t == e - d ? begin : label);
        e -= d;
        at = enter_origin[e * L * k + begin * k + origin % k];
    }
}

/* The k best labellings of sentence s, best first: `labels` (k rows, `longest` long) and `values`, their scores. Row p of
 * ending and entering, of n_labels * k numbers, has the best scores of what ends before token p and of what begins
 * there, by label. Returns how many labellings there are, at most k. */
i64 segment_k_best(const Chains *chains, const Layout *layout, i64 s, i64 n_weights, const f64 *w, i64 n_allowed,
                   const u8 *allowed, const Scratch *x, i64 k, i64 longest, i64 n_labels, i64 n_lists,
                   f64 *ending, f64 *entering, i64 *end_origin, i64 *enter_origin, i32 *labels, f64 *values) {
    (void)n_weights, (void)n_lists;
    const Chains *a = chains;
    i64 n = a->n_words[s], L = n_labels, size = L * k;
    const f64 *edge_w = w + layout->state_end;
    if (n == 0) return 0;
    Room room = room_of(n, a, layout, x);
    allowed_rows(a, layout, s, w, n_allowed, allowed, x->scores);
    segment_scores(a, layout, s, edge_w, x->scores, room);
    for (i64 m = 0; m < (n + 1) * size; m++) ending[m] = entering[m] = NO_SEGMENT;
    for (i64 j = 0; j < L; j++) entering[j * k] = enter_origin[j * k] = 0;
    for (i64 e = 1; e <= n; e++) {
        f64 *end = ending + e * size;
        for (i64 j = 0; j < L; j++) {
            if (!is_single(a, j)) continue;
            f64 score = x->scores[(e - 1) * layout->width + j];
            end_lists(k, 1, score, entering + (e - 1) * size + j * k, end + j * k, end_origin + e * size + j * k);
        }
        for (i64 type = 0; type < a->n_types; type++) {
            for (i64 d = 1; d <= smaller_i(a->longest, e); d++) {
                i64 j = last_label(a, d, type);
                if (j < 0) continue;
                const f64 *from = entering + (e - d) * size + a->begin_label[type] * k;
                f64 score = *segment_at(a, room, e - d, d, type);
                end_lists(k, d, score, from, end + j * k, end_origin + e * size + j * k);
            }
        }
        if (e < n) enter_lists(layout, edge_w, k, end, entering + e * size, enter_origin + e * size);
    }
    i64 *best = enter_origin + n * size;
    for (i64 r = 0; r < k; r++) values[r] = NO_SEGMENT;
    for (i64 i = 0; i < size; i++) insert_score(k, values, best, ending[n * size + i], i);
    i64 found = 0;
    for (; found < k && values[found] > NO_SEGMENT / 1e7; found++) {
        trace(a, n, L, k, best[found], end_origin, enter_origin, labels + found * longest);
    }
    return found;
}
