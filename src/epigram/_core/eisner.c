#include "eisner.h"

#include "eisner_inline.h"

i64 sizeof_Spans(void) { return sizeof(Spans); }
i64 sizeof_Lists(void) { return sizeof(Lists); }

f64 eisner_inside(i64 n, const f64 *scores, Spans *x) {
    if (!n) return 0.0;
    for (i64 s = 0; s < n; s++) x->R[s * n + s] = x->RT[s * n + s] = x->L[s * n + s] = x->LT[s * n + s] = 0.0;
    for (i64 length = 1; length < n; length++) {
        for (i64 s = 0; s + length < n; s++) {
            i64 t = s + length, row = s * n, column = t * n;
            f64 base = log_sum(length, x->R + row + s, x->LT + column + s + 1);
            x->I[row + t] = base;
            x->AR[row + t] = base + scores[(s + 1) * n + t];
            x->ALT[column + s] = base + scores[(t + 1) * n + s];
            x->R[row + t] = x->RT[column + s] = log_sum(length, x->AR + row + s + 1, x->RT + column + s + 1);
            x->L[row + t] = x->LT[column + s] = log_sum(length, x->L + row + s, x->ALT + column + s);
        }
    }
    f64 log_z = NEVER;
    for (i64 r = 0; r < n; r++) {
        f64 one = scores[r] + x->L[r] + x->RT[(n - 1) * n + r], top = larger(one, log_z);
        log_z = top + log(exp(one - top) + exp(log_z - top));
    }
    return log_z;
}

/* Derivatives of log Z of all spans, from the whole sentence down to single words: marginals of spans. */
static void outside(i64 n, Spans *x) {
    for (i64 length = n - 1; length > 0; length--) {
        for (i64 s = 0; s + length < n; s++) {
            i64 t = s + length, row = s * n, column = t * n;
            f64 g = x->gR[row + t] + x->gRT[column + s];
            if (g > NEGLIGIBLE) {
                share_out(length, x->AR + row + s + 1, x->RT + column + s + 1, x->R[row + t], g,
                          x->gAR + row + s + 1, x->gRT + column + s + 1);
            }
            g = x->gL[row + t] + x->gLT[column + s];
            if (g > NEGLIGIBLE) {
                share_out(length, x->L + row + s, x->ALT + column + s, x->L[row + t], g, x->gL + row + s,
                          x->gALT + column + s);
            }
            g = x->gAR[row + t] + x->gALT[column + s];
            if (g > NEGLIGIBLE) {
                share_out(length, x->R + row + s, x->LT + column + s + 1, x->I[row + t], g, x->gR + row + s,
                          x->gLT + column + s + 1);
            }
        }
    }
}

f64 eisner_marginals(i64 n, const f64 *scores, Spans *x, f64 *out) {
    if (!n) return 0.0;
    f64 log_z = eisner_inside(n, scores, x);
    size_t size = (size_t)(n * n) * sizeof(f64);
    memset(x->gR, 0, size), memset(x->gRT, 0, size), memset(x->gL, 0, size), memset(x->gLT, 0, size);
    memset(x->gAR, 0, size), memset(x->gALT, 0, size);
    for (i64 r = 0; r < n; r++) {
        f64 p = exp(scores[r] + x->L[r] + x->RT[(n - 1) * n + r] - log_z);
        out[r] = p;
        x->gL[r] += p;
        x->gRT[(n - 1) * n + r] += p;
    }
    outside(n, x);
    for (i64 s = 0; s < n; s++) {
        out[(s + 1) * n + s] = 0.0;
        for (i64 t = s + 1; t < n; t++) {
            out[(s + 1) * n + t] = x->gAR[s * n + t];
            out[(t + 1) * n + s] = x->gALT[t * n + s];
        }
    }
    return log_z;
}

/* Heads inside a complete span: to the right of its head s, or (left) to the left of its head t. */
static void trace(i64 n, const Spans *x, i64 s, i64 t, int left, i32 *heads) {
    const i32 *base = x->splits, *right = base + n * n, *to_left = right + n * n;
    while (s < t) {
        i64 q = left ? to_left[s * n + t] : right[s * n + t], from = left ? q : s, to = left ? t : q;
        heads[left ? q : to] = (i32)(1 + (left ? t : s));
        i64 middle = base[from * n + to];
        trace(n, x, from, middle, 0, heads);
        trace(n, x, middle + 1, to, 1, heads);
        if (left) t = q;
        else s = q;
    }
}

f64 eisner_best(i64 n, const f64 *scores, Spans *x, i32 *heads) {
    if (!n) return 0.0;
    i32 *base = x->splits, *right = base + n * n, *left = right + n * n;
    for (i64 s = 0; s < n; s++) x->R[s * n + s] = x->RT[s * n + s] = x->L[s * n + s] = x->LT[s * n + s] = 0.0;
    for (i64 length = 1; length < n; length++) {
        for (i64 s = 0; s + length < n; s++) {
            i64 t = s + length, row = s * n, column = t * n;
            i64 q = s + best_split(length, x->R + row + s, x->LT + column + s + 1);
            f64 value = x->R[row + q] + x->LT[column + q + 1];
            base[row + t] = (i32)q;
            x->AR[row + t] = value + scores[(s + 1) * n + t];
            x->ALT[column + s] = value + scores[(t + 1) * n + s];
            q = s + 1 + best_split(length, x->AR + row + s + 1, x->RT + column + s + 1);
            right[row + t] = (i32)q;
            x->R[row + t] = x->RT[column + s] = x->AR[row + q] + x->RT[column + q];
            q = s + best_split(length, x->L + row + s, x->ALT + column + s);
            left[row + t] = (i32)q;
            x->L[row + t] = x->LT[column + s] = x->L[row + q] + x->ALT[column + q];
        }
    }
    i64 root = 0;
    f64 best = -INFINITY;
    for (i64 r = 0; r < n; r++) {
        f64 value = scores[r] + x->L[r] + x->RT[(n - 1) * n + r];
        if (value > best) best = value, root = r;
    }
    heads[root] = 0;
    trace(n, x, 0, root, 1, heads);
    trace(n, x, root, n - 1, 0, heads);
    return best;
}

/* Heads inside the r-th best of a complete span. */
static void trace_list(i64 n, const Lists *x, i64 s, i64 t, int left, i64 r, i32 *heads) {
    i64 k = x->k, size = n * n * k;
    while (s < t) {
        i64 from = x->back[(left ? 2 : 1) * size + (s * n + t) * k + r], q = from / (k * k);
        i64 inner = left ? from % k : from / k % k, rest = left ? from / k % k : from % k;
        i64 a = left ? q : s, b = left ? t : q;
        heads[q] = (i32)(1 + (left ? t : s));
        i64 below = x->back[(a * n + b) * k + inner], middle = below / (k * k);
        trace_list(n, x, a, middle, 0, below / k % k, heads);
        trace_list(n, x, middle + 1, b, 1, below % k, heads);
        if (left) t = q;
        else s = q;
        r = rest;
    }
}

i64 eisner_k_best(i64 n, const f64 *scores, Lists *x, i64 k, f64 *values, i64 *origins, i32 *heads) {
    i64 size = n * n * k;
    f64 *base = x->scores, *right = base + size, *left = right + size;
    i64 *back = x->back;
    for (i64 m = 0; m < 3 * size; m++) x->scores[m] = NEVER;
    for (i64 s = 0; s < n; s++) right[(s * n + s) * k] = left[(s * n + s) * k] = 0.0;
    for (i64 length = 1; length < n; length++) {
        for (i64 s = 0; s + length < n; s++) {
            i64 t = s + length, own = (s * n + t) * k;
            for (i64 q = s; q < t; q++) {
                add_sums(k, right + (s * n + q) * k, left + ((q + 1) * n + t) * k, 0.0, q, base + own, back + own);
            }
            for (i64 q = s + 1; q <= t; q++) {
                add_sums(k, base + (s * n + q) * k, right + (q * n + t) * k, scores[(s + 1) * n + q], q, right + own,
                         back + size + own);
            }
            for (i64 q = s; q < t; q++) {
                add_sums(k, left + (s * n + q) * k, base + (q * n + t) * k, scores[(t + 1) * n + q], q, left + own,
                         back + 2 * size + own);
            }
        }
    }
    for (i64 r = 0; r < k; r++) values[r] = NEVER;
    for (i64 r = 0; r < n; r++) {
        add_sums(k, left + r * k, right + (r * n + n - 1) * k, scores[r], r, values, origins);
    }
    i64 found = 0;
    for (; found < k && values[found] > NEVER / 2; found++) {
        i64 root = origins[found] / (k * k);
        i32 *own = heads + found * n;
        own[root] = 0;
        trace_list(n, x, 0, root, 1, origins[found] / k % k, own);
        trace_list(n, x, root, n - 1, 0, origins[found] % k, own);
    }
    return found;
}
