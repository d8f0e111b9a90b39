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

#define MOST_EXPONENT 700.0 /* exp of more overflows */
#define TYPES 4             /* rows of types are padded to a multiple of it, so that loops over them are vectors */

typedef struct {
    f64 *f, *u, *g, *v; /* n + 1 rows of labels */
    f64 *single; /* a row of labels: 1 for those that are a token of their own */
    f64 *S; /* n * M rows of types */
    f64 *inside; /* n + 1 rows of types: how often a token is inside */
    f64 *enter; /* the same: u of the label with which a segment begins */
    f64 *leave, *leave_far; /* the same: g of the label with which one ends that has a single token, or more */
    f64 *near, *far; /* a row of types: sums over segments of one token, and of more */
    f64 *m, *r; /* n + 1 */
} Room;

/* The length of a row of types. */
static inline i64 types_of(i64 X) { return (X + TYPES - 1) / TYPES * TYPES; }

static inline i64 room_size(i64 n, i64 width, i64 longest, i64 X) {
    i64 types = types_of(X);
    return (4 * (n + 1) + 1) * width + n * longest * types + 4 * (n + 1) * types + 2 * types + 2 * (n + 1);
}

static inline Room room_of(i64 n, const Chains *a, const Layout *l, const Scratch *x) {
    i64 rows = (n + 1) * l->width, types = types_of(a->n_types), by_type = (n + 1) * types;
    Room k;
    k.f = x->room;
    k.u = k.f + rows;
    k.g = k.u + rows;
    k.v = k.g + rows;
    k.single = k.v + rows;
    k.S = k.single + l->width;
    k.inside = k.S + n * a->longest * types;
    k.enter = k.inside + by_type;
    k.leave = k.enter + by_type;
    k.leave_far = k.leave + by_type;
    k.near = k.leave_far + by_type;
    k.far = k.near + types;
    k.m = k.far + types;
    k.r = k.m + n + 1;
    return k;
}

/* The row of types of the segments of `length` tokens that begin at `begin`. */
static inline f64 *segments_at(const Chains *a, Room k, i64 begin, i64 length) {
    return k.S + (begin * a->longest + length - 1) * types_of(a->n_types);
}

static inline f64 *segment_at(const Chains *a, Room k, i64 begin, i64 length, i64 type) {
    return segments_at(a, k, begin, length) + type;
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

/* All S of sentence s, from the scores of its rows; edge_w: the weights of transitions, if the layout has any. */
static inline void segment_scores(const Chains *a, const Layout *l, i64 s, const f64 *edge_w, const f64 *scores,
                                  Room k) {
    i64 n = a->n_words[s], X = a->n_types, width = l->width, first = a->sentence_ptr[s];
    for (i64 type = 0; type < X; type++) {
        i64 begin = a->begin_label[type], inside = a->inside_label[type];
        u8 goes_on = inside >= 0 && l->allowed[begin * width + inside] > 0.0;
        u8 goes_far = goes_on && l->allowed[inside * width + inside] > 0.0;
        u8 weighted = l->has_transitions != 0; /* without transitions there is nothing behind edge_w */
        f64 on = goes_on && weighted ? edge_w[begin * width + inside] : 0.0;
        f64 far = goes_far && weighted ? edge_w[inside * width + inside] : 0.0;
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
    for (i64 row = 0; row < n * a->longest; row++) {
        for (i64 type = X; type < types_of(X); type++) k.S[row * types_of(X) + type] = NO_SEGMENT;
    }
    for (i64 j = 0; j < width; j++) k.single[j] = j < l->n_labels && is_single(a, j);
    for (i64 row = n; row < a->sentence_ptr[s + 1] - first; row++) {
        i64 begin = a->unit_begin[first + row], length = a->unit_length[first + row];
        for (i64 type = 0; type < X; type++) {
            *segment_at(a, k, begin, length, type) += scores[row * width + a->begin_label[type]];
        }
    }
}

/* e^x, 0 where that underflows. */
static inline f64 small_exp(f64 x) { return x < LOWEST_EXPONENT ? 0.0 : fast_exp(x); }

/* The largest score of a row of segments plus `shift`, of those that have a weight above 0; at least `top`. */
static inline f64 top_of(i64 types, const f64 *S, const f64 *weights, f64 shift, f64 top) {
    f64 lane[TYPES];
    for (i64 v = 0; v < TYPES; v++) lane[v] = top;
    for (i64 type = 0; type < types; type += TYPES) {
        for (i64 v = 0; v < TYPES; v++) {
            f64 score = weights[type + v] > 0.0 ? S[type + v] + shift : NO_SEGMENT;
            lane[v] = larger(lane[v], score);
        }
    }
    return larger(larger(lane[0], lane[1]), larger(lane[2], lane[3]));
}

/* sums += weights e^(S + shift) for a row of segments. */
static inline void add_segments(i64 types, const f64 *restrict S, const f64 *restrict weights, f64 shift,
                                f64 *restrict sums) {
    for (i64 type = 0; type < types; type++) {
        f64 x = S[type] + shift, y = fast_exp(smaller(larger(x, LOWEST_EXPONENT), MOST_EXPONENT));
        sums[type] += weights[type] * (x < LOWEST_EXPONENT ? 0.0 : y);
    }
}

/* Divide a row by its sum; returns the logarithm of the sum. */
static inline f64 normalise_row(i64 width, f64 *row) {
    f64 sum = row_sum(row, width);
    for (i64 j = 0; j < width && sum > 0.0; j++) row[j] /= sum;
    return log(sum);
}

/* Row p of `enter`, from u. */
static inline void note_entrance(const Chains *a, const Layout *l, Room k, i64 p) {
    f64 *enter = k.enter + p * types_of(a->n_types);
    for (i64 type = 0; type < types_of(a->n_types); type++) {
        enter[type] = type < a->n_types ? k.u[p * l->width + a->begin_label[type]] : 0.0;
    }
}

/* Row p of `leave` and `leave_far`, from g. */
static inline void note_exits(const Chains *a, const Layout *l, Room k, i64 p) {
    i64 types = types_of(a->n_types);
    const f64 *g = k.g + p * l->width;
    for (i64 type = 0; type < types; type++) {
        u8 real = type < a->n_types;
        k.leave[p * types + type] = real ? g[a->begin_label[type]] : 0.0;
        k.leave_far[p * types + type] = real && a->inside_label[type] >= 0 ? g[a->inside_label[type]] : 0.0;
    }
}

/* f, u and m of sentence s, whose token scores are given; returns log Z. x->matrices has E. */
static inline f64 segment_forward(const Chains *a, const Layout *l, i64 s, const f64 *scores, Room k,
                                  const Scratch *x) {
    i64 n = a->n_words[s], L = l->n_labels, width = l->width, types = types_of(a->n_types);
    for (i64 j = 0; j < width; j++) {
        k.f[j] = 0.0;
        k.u[j] = j < L;
    }
    k.m[0] = 0.0;
    note_entrance(a, l, k, 0);
    for (i64 e = 1; e <= n; e++) {
        f64 *restrict f = k.f + e * width, top = NO_SEGMENT;
        const f64 *before = k.u + (e - 1) * width, *own = scores + (e - 1) * width;
        i64 most = smaller_i(a->longest, e);
        for (i64 j = 0; j < L; j++) {
            if (k.single[j] > 0.0 && before[j] > 0.0) top = larger(top, own[j] + k.m[e - 1]);
        }
        for (i64 d = 1; d <= most; d++) {
            top = top_of(types, segments_at(a, k, e - d, d), k.enter + (e - d) * types, k.m[e - d], top);
        }
        for (i64 type = 0; type < types; type++) k.near[type] = k.far[type] = 0.0;
        for (i64 d = 1; d <= most; d++) {
            add_segments(types, segments_at(a, k, e - d, d), k.enter + (e - d) * types, k.m[e - d] - top,
                         d == 1 ? k.near : k.far);
        }
        for (i64 j = 0; j < width; j++) {
            f[j] = k.single[j] > 0.0 ? before[j] * small_exp(own[j] + k.m[e - 1] - top) : 0.0;
        }
        for (i64 type = 0; type < a->n_types; type++) {
            f[a->begin_label[type]] += k.near[type];
            if (a->inside_label[type] >= 0) f[a->inside_label[type]] += k.far[type];
        }
        k.m[e] = top + normalise_row(width, f);
        if (l->has_transitions) product(f, x->matrices, L, width, k.u + e * width);
        else for (i64 j = 0; j < width; j++) k.u[e * width + j] = j < L;
        note_entrance(a, l, k, e);
    }
    return k.m[n];
}

/* g, v and r, the same from the right. */
static inline void segment_backward(const Chains *a, const Layout *l, i64 s, const f64 *scores, Room k,
                                    const Scratch *x) {
    i64 n = a->n_words[s], L = l->n_labels, width = l->width, types = types_of(a->n_types);
    for (i64 j = 0; j < width; j++) k.g[n * width + j] = j < L;
    k.r[n] = 0.0;
    note_exits(a, l, k, n);
    for (i64 b = n - 1; b >= 0; b--) {
        f64 *restrict v = k.v + b * width, top = NO_SEGMENT;
        const f64 *after = k.g + (b + 1) * width, *own = scores + b * width;
        i64 most = most_tokens(a, n, b);
        for (i64 j = 0; j < L; j++) {
            if (k.single[j] > 0.0 && after[j] > 0.0) top = larger(top, own[j] + k.r[b + 1]);
        }
        for (i64 d = 1; d <= most; d++) {
            const f64 *leave = (d == 1 ? k.leave : k.leave_far) + (b + d) * types;
            top = top_of(types, segments_at(a, k, b, d), leave, k.r[b + d], top);
        }
        for (i64 type = 0; type < types; type++) k.near[type] = 0.0;
        for (i64 d = 1; d <= most; d++) {
            const f64 *leave = (d == 1 ? k.leave : k.leave_far) + (b + d) * types;
            add_segments(types, segments_at(a, k, b, d), leave, k.r[b + d] - top, k.near);
        }
        for (i64 j = 0; j < width; j++) {
            v[j] = k.single[j] > 0.0 ? after[j] * small_exp(own[j] + k.r[b + 1] - top) : 0.0;
        }
        for (i64 type = 0; type < a->n_types; type++) v[a->begin_label[type]] += k.near[type];
        k.r[b] = top + normalise_row(width, v);
        if (l->has_transitions) product(v, x->transposed, L, width, k.g + b * width);
        else for (i64 j = 0; j < width; j++) k.g[b * width + j] = j < L;
        note_exits(a, l, k, b);
    }
}

/* The probabilities of the segments of d tokens that begin at b, in place of their scores; they are added to `sums`. */
static inline void segment_row(i64 types, f64 shift, const f64 *restrict enter, const f64 *restrict leave,
                               f64 *restrict S, f64 *restrict sums) {
    for (i64 type = 0; type < types; type++) {
        f64 x = S[type] + shift, y = fast_exp(smaller(larger(x, LOWEST_EXPONENT), MOST_EXPONENT));
        S[type] = (x < LOWEST_EXPONENT ? 0.0 : y) * enter[type] * leave[type];
        sums[type] += S[type];
    }
}

/* The probability of every segment, in place of its score, and of every label, in place of the token's score. */
static inline void segment_probabilities(const Chains *a, const Layout *l, i64 s, f64 log_z, f64 *scores, Room k) {
    i64 n = a->n_words[s], width = l->width, types = types_of(a->n_types);
    for (i64 i = 0; i < (n + 1) * types; i++) k.inside[i] = 0.0;
    for (i64 b = 0; b < n; b++) {
        f64 *own = scores + b * width;
        const f64 *before = k.u + b * width, *after = k.g + (b + 1) * width;
        for (i64 j = 0; j < width; j++) {
            u8 single = k.single[j] > 0.0;
            own[j] = single ? before[j] * after[j] * small_exp(own[j] + k.m[b] + k.r[b + 1] - log_z) : 0.0;
        }
        for (i64 type = 0; type < types; type++) k.near[type] = 0.0;
        for (i64 d = 1; d <= most_tokens(a, n, b); d++) {
            const f64 *leave = (d == 1 ? k.leave : k.leave_far) + (b + d) * types;
            f64 *restrict S = segments_at(a, k, b, d), *restrict past = k.inside + (b + d) * types;
            segment_row(types, k.m[b] + k.r[b + d] - log_z, k.enter + b * types, leave, S, k.near);
            for (i64 type = 0; type < types; type++) past[type] -= S[type]; /* inside from b + 1 on, until b + d */
        }
        for (i64 type = 0; type < types; type++) k.inside[(b + 1) * types + type] += k.near[type];
        for (i64 type = 0; type < a->n_types; type++) own[a->begin_label[type]] += k.near[type];
    }
    for (i64 type = 0; type < a->n_types; type++) {
        f64 sum = 0.0;
        for (i64 t = 0; t < n; t++) {
            sum += k.inside[t * types + type];
            if (a->inside_label[type] >= 0) scores[t * width + a->inside_label[type]] = larger(sum, 0.0);
        }
    }
}

f64 segment_loss(const Chains *a, const Layout *l, i64 s, const i32 *labels, f64 weight, const f64 *edge_w,
                 const Scratch *x, f64 *edges);

#endif
