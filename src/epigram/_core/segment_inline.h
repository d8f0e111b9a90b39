/* Semi-Markov chains: a linear chain in which a whole segment of tokens has features too.
 *
 * Sarawagi and Cohen 2004; Okanohara, Miyao, Tsuruoka and Tsujii 2006. Labels are those of a chain in IOB2: a segment of
 * type x is one token with the label begin_label[x], then tokens with inside_label[x] (-1: there are none); any other
 * label is a token of its own. A segment's score is what the chain gives its tokens and the steps inside it, and the
 * score of its unit, where it has one. So without units this is the chain in which inside labels follow only their own
 * type.
 *
 * Rows of sentence s: first its n_words[s] tokens, then its units; unit u is the segment of unit_length[u] tokens that
 * begins at token unit_begin[u] of the sentence. Its label is begin_label[x] where the answer has that segment, else -1.
 *
 * Letters: n tokens, X types, M the longest segment. S[b, d, x] is the score of the segment of type x and d tokens that
 * begins at b. f[p] sums over labellings of the first p tokens by their last label, u[p] over what may begin at p by its
 * first label; g and v are the same from the right. Each is scaled: the true values are e^m[p] f[p], e^m[p] u[p],
 * e^r[p] g[p], e^r[p] v[p].
 */
#ifndef EPIGRAM_SEGMENT_INLINE_H
#define EPIGRAM_SEGMENT_INLINE_H
#include "chain_inline.h"

#define NO_SEGMENT (-1e300)

typedef struct {
    f64 *f, *u, *g, *v; /* n + 1 rows of labels */
    f64 *S; /* n * M * X */
    f64 *inside; /* (n + 1) * X: sums of inside scores; later, how often a token is inside */
    f64 *m, *r; /* n + 1 */
} Room;

static inline i64 room_size(i64 n, i64 width, i64 longest, i64 X) {
    return 4 * (n + 1) * width + n * longest * X + (n + 1) * X + 2 * (n + 1);
}

static inline Room room_of(i64 n, const Chains *a, const Layout *l, const Scratch *x) {
    i64 rows = (n + 1) * l->width;
    Room k;
    k.f = x->room;
    k.u = k.f + rows;
    k.g = k.u + rows;
    k.v = k.g + rows;
    k.S = k.v + rows;
    k.inside = k.S + n * a->longest * a->n_types;
    k.m = k.inside + (n + 1) * a->n_types;
    k.r = k.m + n + 1;
    return k;
}

static inline f64 *segment_at(const Chains *a, Room k, i64 begin, i64 length, i64 type) {
    return k.S + (begin * a->longest + length - 1) * a->n_types + type;
}

/* The longest segment that begins at `begin` of n tokens. */
static inline i64 most_tokens(const Chains *a, i64 n, i64 begin) { return smaller_i(a->longest, n - begin); }

/* The label of a segment's last token. */
static inline i64 last_label(const Chains *a, i64 length, i64 type) {
    return length == 1 ? a->begin_label[type] : a->inside_label[type];
}

/* Whether a label is a token of its own: neither the beginning nor the inside of a segment. */
static inline u8 is_single(const Chains *a, i64 label) {
    for (i64 type = 0; type < a->n_types; type++) {
        if (a->begin_label[type] == label || a->inside_label[type] == label) return 0;
    }
    return 1;
}

/* All S of sentence s, from the scores of its rows; edge_w: the weights of transitions. */
static inline void segment_scores(const Chains *a, const Layout *l, i64 s, const f64 *edge_w, const f64 *scores,
                                  Room k) {
    i64 n = a->n_words[s], X = a->n_types, width = l->width, first = a->sentence_ptr[s];
    for (i64 type = 0; type < X; type++) {
        i64 begin = a->begin_label[type], inside = a->inside_label[type];
        u8 goes_on = inside >= 0 && l->allowed[begin * width + inside] > 0.0;
        u8 goes_far = goes_on && l->allowed[inside * width + inside] > 0.0;
        f64 on = goes_on ? edge_w[begin * width + inside] : 0.0, far = goes_far ? edge_w[inside * width + inside] : 0.0;
        for (i64 b = 0; b < n; b++) {
            f64 score = scores[b * width + begin];
            *segment_at(a, k, b, 1, type) = score;
            for (i64 d = 2; d <= most_tokens(a, n, b); d++) {
                u8 possible = d == 2 ? goes_on : goes_far;
                if (possible) score += (d == 2 ? on : far) + scores[(b + d - 1) * width + inside];
                *segment_at(a, k, b, d, type) = possible ? score : NO_SEGMENT;
            }
        }
    }
    for (i64 row = n; row < a->sentence_ptr[s + 1] - first; row++) {
        i64 begin = a->unit_begin[first + row], length = a->unit_length[first + row];
        for (i64 type = 0; type < X; type++) {
            *segment_at(a, k, begin, length, type) += scores[row * width + a->begin_label[type]];
        }
    }
}

/* e^x, 0 where that underflows. */
static inline f64 small_exp(f64 x) { return x < LOWEST_EXPONENT ? 0.0 : fast_exp(x); }

/* Divide a row by its sum; returns the logarithm of the sum. */
static inline f64 normalise_row(i64 width, f64 *row) {
    f64 sum = row_sum(row, width);
    for (i64 j = 0; j < width && sum > 0.0; j++) row[j] /= sum;
    return log(sum);
}

/* f, u and m of sentence s, whose token scores are given; returns log Z. x->matrices has E. */
static inline f64 segment_forward(const Chains *a, const Layout *l, i64 s, const f64 *scores, Room k,
                                  const Scratch *x) {
    i64 n = a->n_words[s], L = l->n_labels, width = l->width;
    for (i64 j = 0; j < width; j++) {
        k.f[j] = 0.0;
        k.u[j] = j < L;
    }
    k.m[0] = 0.0;
    for (i64 e = 1; e <= n; e++) {
        f64 *restrict f = k.f + e * width, top = NO_SEGMENT;
        const f64 *before = k.u + (e - 1) * width, *own = scores + (e - 1) * width;
        for (i64 j = 0; j < width; j++) f[j] = 0.0;
        for (i64 j = 0; j < L; j++) {
            if (is_single(a, j) && before[j] > 0.0) top = larger(top, own[j] + k.m[e - 1]);
        }
        for (i64 type = 0; type < a->n_types; type++) {
            for (i64 d = 1; d <= smaller_i(a->longest, e); d++) {
                if (k.u[(e - d) * width + a->begin_label[type]] > 0.0)
                    top = larger(top, *segment_at(a, k, e - d, d, type) + k.m[e - d]);
            }
        }
        for (i64 j = 0; j < L; j++) {
            if (is_single(a, j)) f[j] = before[j] * small_exp(own[j] + k.m[e - 1] - top);
        }
        for (i64 type = 0; type < a->n_types; type++) {
            for (i64 d = 1; d <= smaller_i(a->longest, e); d++) {
                f64 sum = k.u[(e - d) * width + a->begin_label[type]];
                f64 part = sum * small_exp(*segment_at(a, k, e - d, d, type) + k.m[e - d] - top);
                if (part > 0.0) f[last_label(a, d, type)] += part;
            }
        }
        k.m[e] = top + normalise_row(width, f);
        if (l->has_transitions) product(f, x->matrices, L, width, k.u + e * width);
        else for (i64 j = 0; j < width; j++) k.u[e * width + j] = j < L;
    }
    return k.m[n];
}

/* g, v and r, the same from the right. */
static inline void segment_backward(const Chains *a, const Layout *l, i64 s, const f64 *scores, Room k,
                                    const Scratch *x) {
    i64 n = a->n_words[s], L = l->n_labels, width = l->width;
    for (i64 j = 0; j < width; j++) k.g[n * width + j] = j < L;
    k.r[n] = 0.0;
    for (i64 b = n - 1; b >= 0; b--) {
        f64 *restrict v = k.v + b * width, top = NO_SEGMENT;
        const f64 *after = k.g + (b + 1) * width, *own = scores + b * width;
        i64 most = most_tokens(a, n, b);
        for (i64 j = 0; j < width; j++) v[j] = 0.0;
        for (i64 j = 0; j < L; j++) {
            if (is_single(a, j) && after[j] > 0.0) top = larger(top, own[j] + k.r[b + 1]);
        }
        for (i64 type = 0; type < a->n_types; type++) {
            for (i64 d = 1; d <= most; d++) {
                f64 score = *segment_at(a, k, b, d, type);
                if (score > NO_SEGMENT / 2 && k.g[(b + d) * width + last_label(a, d, type)] > 0.0)
                    top = larger(top, score + k.r[b + d]);
            }
        }
        for (i64 j = 0; j < L; j++) {
            if (is_single(a, j)) v[j] = after[j] * small_exp(own[j] + k.r[b + 1] - top);
        }
        for (i64 type = 0; type < a->n_types; type++) {
            for (i64 d = 1; d <= most; d++) {
                f64 part = small_exp(*segment_at(a, k, b, d, type) + k.r[b + d] - top);
                if (part > 0.0) v[a->begin_label[type]] += part * k.g[(b + d) * width + last_label(a, d, type)];
            }
        }
        k.r[b] = top + normalise_row(width, v);
        if (l->has_transitions) product(v, x->transposed, L, width, k.g + b * width);
        else for (i64 j = 0; j < width; j++) k.g[b * width + j] = j < L;
    }
}

/* The probability of every segment, in place of its score, and of every label, in place of the token's score. */
static inline void segment_probabilities(const Chains *a, const Layout *l, i64 s, f64 log_z, f64 *scores, Room k) {
    i64 n = a->n_words[s], X = a->n_types, width = l->width;
    for (i64 i = 0; i < (n + 1) * X; i++) k.inside[i] = 0.0;
    for (i64 b = 0; b < n; b++) {
        f64 *own = scores + b * width;
        const f64 *before = k.u + b * width, *after = k.g + (b + 1) * width;
        for (i64 j = 0; j < width; j++) {
            u8 single = j < l->n_labels && is_single(a, j);
            own[j] = single ? before[j] * after[j] * small_exp(own[j] + k.m[b] + k.r[b + 1] - log_z) : 0.0;
        }
        for (i64 d = 1; d <= most_tokens(a, n, b); d++) {
            for (i64 type = 0; type < X; type++) {
                f64 *p = segment_at(a, k, b, d, type), part = small_exp(*p + k.m[b] + k.r[b + d] - log_z);
                *p = 0.0;
                if (part == 0.0) continue;
                part *= before[a->begin_label[type]] * k.g[(b + d) * width + last_label(a, d, type)];
                *p = part;
                own[a->begin_label[type]] += part;
                k.inside[(b + 1) * X + type] += part; /* inside from b + 1 on, until b + d */
                k.inside[(b + d) * X + type] -= part;
            }
        }
    }
    for (i64 type = 0; type < X; type++) {
        f64 sum = 0.0;
        for (i64 t = 0; t < n; t++) {
            sum += k.inside[t * X + type];
            if (a->inside_label[type] >= 0) scores[t * width + a->inside_label[type]] = larger(sum, 0.0);
        }
    }
}

f64 segment_loss(const Chains *a, const Layout *l, i64 s, const i32 *labels, f64 weight, const f64 *edge_w,
                 const Scratch *x, f64 *edges);

#endif
