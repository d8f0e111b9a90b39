#include "siblings.h"

#include "eisner_inline.h"
#include "sibling_rows.h"

i64 sizeof_SiblingSpans(void) { return sizeof(SiblingSpans); }
i64 sizeof_SiblingLists(void) { return sizeof(SiblingLists); }

/* The squares of n * n numbers: spans by rows of their left end and, transposed (T), of their right end; arcs by rows of the
 * head, A without and B with the stop after the child; g their derivatives. */
typedef struct {
    f64 *R, *RT, *L, *LT, *S, *ST, *A, *B, *gR, *gRT, *gL, *gLT, *gS, *gST, *gA, *gB;
} Squares;

static Squares squares_of(i64 n, const SiblingSpans *x) {
    f64 *p[16];
    for (i64 k = 0; k < 16; k++) p[k] = x->squares + k * n * n;
    return (Squares){p[0], p[1], p[2],  p[3],  p[4],  p[5],  p[6],  p[7],
                     p[8], p[9], p[10], p[11], p[12], p[13], p[14], p[15]};
}

/* log(exp(first) + sum_q exp(a[q] + b[q] + c[q])) */
static f64 log_sum_after(f64 first, i64 n, const f64 *restrict a, const f64 *restrict b, const f64 *restrict c) {
    f64 top = first, sum = 0.0;
    for (i64 q = 0; q < n; q++) top = larger(top, a[q] + b[q] + c[q]);
    for (i64 q = 0; q < n; q++) sum += fast_exp(larger(a[q] + b[q] + c[q] - top, LOWEST_EXPONENT));
    return top + log(sum + fast_exp(larger(first - top, LOWEST_EXPONENT)));
}

/* Add to ga and gb the parts that a[q] + b[q] + c[q] have in a total, times g, and put them in the place of c. */
static void share_out_after(i64 n, const f64 *restrict a, const f64 *restrict b, f64 *restrict c, f64 total, f64 g,
                            f64 *restrict ga, f64 *restrict gb) {
    for (i64 q = 0; q < n; q++) {
        f64 part = g * fast_exp(larger(a[q] + b[q] + c[q] - total, LOWEST_EXPONENT));
        ga[q] += part;
        gb[q] += part;
        c[q] = part;
    }
}

static void begin_spans(i64 n, const f64 *stops, const Squares *x) {
    for (i64 s = 0; s < n; s++) {
        x->R[s * n + s] = x->RT[s * n + s] = stops[s * n + s];
        x->L[s * n + s] = x->LT[s * n + s] = stops[n * n + s];
    }
}

f64 siblings_inside(i64 n, const f64 *scores, i64 n_trios, const f64 *trios, const f64 *stops, SiblingSpans *spans) {
    (void)n_trios;
    if (!n) return 0.0;
    Squares x = squares_of(n, spans);
    begin_spans(n, stops, &x);
    for (i64 length = 1; length < n; length++) {
        for (i64 s = 0; s + length < n; s++) {
            i64 t = s + length, row = s * n, column = t * n;
            x.S[row + t] = x.ST[column + s] = log_sum(length, x.R + row + s, x.LT + column + s + 1);
            const f64 *trio = trios + trio_row(n, s, t);
            x.A[row + t] = scores[row + n + t] + log_sum_after(x.LT[column + s + 1] + trio[0], length - 1,
                                                               x.A + row + s + 1, x.ST + column + s + 1, trio + 1);
            trio = trios + trio_row(n, t, s);
            x.A[column + s] = scores[column + n + s] + log_sum_after(x.R[row + t - 1] + trio[length - 1], length - 1,
                                                                     x.S + row + s + 1, x.A + column + s + 1, trio);
            x.B[row + t] = x.A[row + t] + stops[row + t];
            x.B[column + s] = x.A[column + s] + stops[column + s];
            x.R[row + t] = x.RT[column + s] = log_sum(length, x.B + row + s + 1, x.RT + column + s + 1);
            x.L[row + t] = x.LT[column + s] = log_sum(length, x.L + row + s, x.B + column + s);
        }
    }
    f64 log_z = NEVER;
    for (i64 r = 0; r < n; r++) {
        f64 one = scores[r] + x.L[r] + x.RT[(n - 1) * n + r], top = larger(one, log_z);
        log_z = top + log(exp(one - top) + exp(log_z - top));
    }
    return log_z;
}

/* Derivatives of log Z by the arcs between s and t, in both directions, shared out to what they are made of. */
static void outside_arcs(i64 n, const f64 *scores, f64 *trios, i64 s, i64 t, const Squares *x) {
    i64 row = s * n, column = t * n, length = t - s;
    f64 g = x->gA[row + t] += x->gB[row + t], total = x->A[row + t] - scores[row + n + t];
    f64 *trio = trios + trio_row(n, s, t), part;
    if (g > NEGLIGIBLE) {
        part = g * fast_exp(larger(x->LT[column + s + 1] + trio[0] - total, LOWEST_EXPONENT));
        x->gLT[column + s + 1] += part;
        trio[0] = part;
        share_out_after(length - 1, x->A + row + s + 1, x->ST + column + s + 1, trio + 1, total, g, x->gA + row + s + 1,
                        x->gST + column + s + 1);
    } else {
        memset(trio, 0, (size_t)length * sizeof *trio);
    }
    g = x->gA[column + s] += x->gB[column + s], total = x->A[column + s] - scores[column + n + s];
    trio = trios + trio_row(n, t, s);
    if (g > NEGLIGIBLE) {
        part = g * fast_exp(larger(x->R[row + t - 1] + trio[length - 1] - total, LOWEST_EXPONENT));
        x->gR[row + t - 1] += part;
        trio[length - 1] = part;
        share_out_after(length - 1, x->S + row + s + 1, x->A + column + s + 1, trio, total, g, x->gS + row + s + 1,
                        x->gA + column + s + 1);
    } else {
        memset(trio, 0, (size_t)length * sizeof *trio);
    }
}

/* Derivatives of log Z of all spans, from the whole sentence down to single words: marginals of spans. */
static void outside(i64 n, const f64 *scores, f64 *trios, const Squares *x) {
    for (i64 length = n - 1; length > 0; length--) {
        for (i64 s = 0; s + length < n; s++) {
            i64 t = s + length, row = s * n, column = t * n;
            f64 g = x->gR[row + t] + x->gRT[column + s];
            if (g > NEGLIGIBLE) {
                share_out(length, x->B + row + s + 1, x->RT + column + s + 1, x->R[row + t], g, x->gB + row + s + 1,
                          x->gRT + column + s + 1);
            }
            g = x->gL[row + t] + x->gLT[column + s];
            if (g > NEGLIGIBLE) {
                share_out(length, x->L + row + s, x->B + column + s, x->L[row + t], g, x->gL + row + s,
                          x->gB + column + s);
            }
            outside_arcs(n, scores, trios, s, t, x);
            g = x->gS[row + t] + x->gST[column + s];
            if (g > NEGLIGIBLE) {
                share_out(length, x->R + row + s, x->LT + column + s + 1, x->S[row + t], g, x->gR + row + s,
                          x->gLT + column + s + 1);
            }
        }
    }
}

f64 siblings_marginals(i64 n, const f64 *scores, i64 n_trios, f64 *trios, f64 *stops, SiblingSpans *spans, f64 *out) {
    if (!n) return 0.0;
    f64 log_z = siblings_inside(n, scores, n_trios, trios, stops, spans);
    Squares x = squares_of(n, spans);
    memset(x.gR, 0, (size_t)(8 * n * n) * sizeof(f64)); /* all eight of them */
    for (i64 r = 0; r < n; r++) {
        f64 p = exp(scores[r] + x.L[r] + x.RT[(n - 1) * n + r] - log_z);
        out[r] = p;
        x.gL[r] += p;
        x.gRT[(n - 1) * n + r] += p;
    }
    outside(n, scores, trios, &x);
    memcpy(out + n, x.gA, (size_t)(n * n) * sizeof(f64));
    memcpy(stops, x.gB, (size_t)(n * n) * sizeof(f64));
    for (i64 s = 0; s < n; s++) {
        stops[s * n + s] = x.gR[s * n + s] + x.gRT[s * n + s];
        stops[n * n + s] = x.gL[s * n + s] + x.gLT[s * n + s];
    }
    return log_z;
}

/* The place of the largest a[q] + b[q] + c[q], the first of several, and its value; -1 where `first` is as large. */
static i64 best_after(f64 first, i64 n, const f64 *restrict a, const f64 *restrict b, const f64 *restrict c, f64 *value) {
    i64 best = -1;
    for (i64 q = 0; q < n; q++) {
        f64 one = a[q] + b[q] + c[q];
        if (one > first) first = one, best = q;
    }
    *value = first;
    return best;
}

/* Where the best of each span is split: of arcs by head and child the sibling before (the head: none). */
typedef struct {
    i32 *arcs, *siblings, *right, *left;
} Splits;

static Splits splits_of(i64 n, const SiblingSpans *x) {
    return (Splits){x->splits, x->splits + n * n, x->splits + 2 * n * n, x->splits + 3 * n * n};
}

/* Heads inside the span of words s to t that is complete: of head s, or (left) of head t. */
static void trace_span(i64 n, const Splits *x, i64 s, i64 t, int left, i32 *heads) {
    while (s < t) {
        i64 h = left ? t : s, c = left ? x->left[s * n + t] : x->right[s * n + t], child = c;
        for (i64 q = x->arcs[h * n + c];; c = q, q = x->arcs[h * n + c]) {
            heads[c] = (i32)(1 + h);
            if (q == h) break;
            i64 low = smaller_i(q, c), high = larger_i(q, c), middle = x->siblings[low * n + high];
            trace_span(n, x, low, middle, 0, heads);
            trace_span(n, x, middle + 1, high, 1, heads);
        }
        if (left) trace_span(n, x, c, h - 1, 0, heads);
        else trace_span(n, x, h + 1, c, 1, heads);
        if (left) t = child;
        else s = child;
    }
}

f64 siblings_best(i64 n, const f64 *scores, i64 n_trios, const f64 *trios, const f64 *stops, SiblingSpans *spans,
                  i32 *heads) {
    (void)n_trios;
    if (!n) return 0.0;
    Squares x = squares_of(n, spans);
    Splits to = splits_of(n, spans);
    begin_spans(n, stops, &x);
    for (i64 length = 1; length < n; length++) {
        for (i64 s = 0; s + length < n; s++) {
            i64 t = s + length, row = s * n, column = t * n;
            i64 q = s + best_split(length, x.R + row + s, x.LT + column + s + 1);
            to.siblings[row + t] = (i32)q;
            x.S[row + t] = x.ST[column + s] = x.R[row + q] + x.LT[column + q + 1];
            const f64 *trio = trios + trio_row(n, s, t);
            f64 value;
            q = s + 1 + best_after(x.LT[column + s + 1] + trio[0], length - 1, x.A + row + s + 1, x.ST + column + s + 1,
                                   trio + 1, &value);
            to.arcs[row + t] = (i32)q;
            x.A[row + t] = value + scores[row + n + t];
            trio = trios + trio_row(n, t, s);
            q = best_after(x.R[row + t - 1] + trio[length - 1], length - 1, x.S + row + s + 1, x.A + column + s + 1, trio,
                           &value);
            to.arcs[column + s] = (i32)(q < 0 ? t : s + 1 + q);
            x.A[column + s] = value + scores[column + n + s];
            x.B[row + t] = x.A[row + t] + stops[row + t];
            x.B[column + s] = x.A[column + s] + stops[column + s];
            q = s + 1 + best_split(length, x.B + row + s + 1, x.RT + column + s + 1);
            to.right[row + t] = (i32)q;
            x.R[row + t] = x.RT[column + s] = x.B[row + q] + x.RT[column + q];
            q = s + best_split(length, x.L + row + s, x.B + column + s);
            to.left[row + t] = (i32)q;
            x.L[row + t] = x.LT[column + s] = x.L[row + q] + x.B[column + q];
        }
    }
    i64 root = 0;
    f64 best = -INFINITY;
    for (i64 r = 0; r < n; r++) {
        f64 value = scores[r] + x.L[r] + x.RT[(n - 1) * n + r];
        if (value > best) best = value, root = r;
    }
    heads[root] = 0;
    trace_span(n, &to, 0, root, 1, heads);
    trace_span(n, &to, root, n - 1, 0, heads);
    return best;
}
