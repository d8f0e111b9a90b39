#include "eisner_inline.h"
#include "sibling_rows.h"
#include "siblings.h"

/* The lists of a kind of spans, by rows of the left end or, of arcs, of the head. */
typedef struct {
    f64 *scores;
    i64 *back;
} Kind;

typedef struct {
    i64 n, k;
    Kind arcs, siblings, right, left;
} Kinds;

static Kinds kinds_of(i64 n, const SiblingLists *x) {
    i64 size = n * n * x->k;
    Kind kinds[4];
    for (i64 j = 0; j < 4; j++) kinds[j] = (Kind){x->scores + j * size, x->back + j * size};
    return (Kinds){n, x->k, kinds[0], kinds[1], kinds[2], kinds[3]};
}

static void trace_kind(const Kinds *x, i64 s, i64 t, int left, i64 r, i32 *heads);

/* Heads inside the r-th best span of head h and its child c, whose sibling is taken from the list, then its sibling's, ... */
static void trace_children(const Kinds *x, i64 h, i64 c, i64 r, i32 *heads) {
    i64 n = x->n, k = x->k;
    for (;;) {
        i64 from = x->arcs.back[(h * n + c) * k + r], q = from / (k * k), rest = from / k % k, inner = from % k;
        heads[c] = (i32)(1 + h);
        if (q == h) {
            if (h < c) trace_kind(x, h + 1, c, 1, inner, heads);
            else trace_kind(x, c, h - 1, 0, inner, heads);
            return;
        }
        i64 low = smaller_i(q, c), high = larger_i(q, c);
        i64 below = x->siblings.back[(low * n + high) * k + inner], middle = below / (k * k);
        trace_kind(x, low, middle, 0, below / k % k, heads);
        trace_kind(x, middle + 1, high, 1, below % k, heads);
        c = q, r = rest;
    }
}

/* Heads inside the r-th best of a complete span. */
static void trace_kind(const Kinds *x, i64 s, i64 t, int left, i64 r, i32 *heads) {
    i64 n = x->n, k = x->k;
    while (s < t) {
        i64 from = (left ? x->left : x->right).back[(s * n + t) * k + r], q = from / (k * k);
        trace_children(x, left ? t : s, q, from / k % k, heads);
        r = from % k;
        if (left) t = q;
        else s = q;
    }
}

/* The lists of the arc from h to c: of every sibling, and of none. */
static void list_arc(const Kinds *x, i64 h, i64 c, f64 score, const f64 *trio) {
    i64 n = x->n, k = x->k, own = (h * n + c) * k, low = smaller_i(h, c), high = larger_i(h, c);
    const f64 *inner = h < c ? x->left.scores + ((h + 1) * n + c) * k : x->right.scores + (c * n + h - 1) * k;
    f64 plus = score + trio[h < c ? 0 : high - low - 1];
    add_sums(k, x->arcs.scores + (h * n + h) * k, inner, plus, h, x->arcs.scores + own, x->arcs.back + own);
    for (i64 q = low + 1; q < high; q++) {
        const f64 *between = x->siblings.scores + (smaller_i(q, c) * n + larger_i(q, c)) * k;
        plus = score + trio[h < c ? q - h : q - c - 1];
        add_sums(k, x->arcs.scores + (h * n + q) * k, between, plus, q, x->arcs.scores + own, x->arcs.back + own);
    }
}

static void list_span(const Kinds *x, const f64 *scores, const f64 *trios, const f64 *stops, i64 s, i64 t) {
    i64 n = x->n, k = x->k, own = (s * n + t) * k;
    const f64 *arcs = x->arcs.scores, *right = x->right.scores, *left = x->left.scores;
    for (i64 q = s; q < t; q++) {
        add_sums(k, right + (s * n + q) * k, left + ((q + 1) * n + t) * k, 0.0, q, x->siblings.scores + own,
                 x->siblings.back + own);
    }
    list_arc(x, s, t, scores[(s + 1) * n + t], trios + trio_row(n, s, t));
    list_arc(x, t, s, scores[(t + 1) * n + s], trios + trio_row(n, t, s));
    for (i64 q = s + 1; q <= t; q++) {
        add_sums(k, arcs + (s * n + q) * k, right + (q * n + t) * k, stops[s * n + q], q, x->right.scores + own,
                 x->right.back + own);
    }
    for (i64 q = s; q < t; q++) {
        add_sums(k, arcs + (t * n + q) * k, left + (s * n + q) * k, stops[t * n + q], q, x->left.scores + own,
                 x->left.back + own);
    }
}

i64 siblings_k_best(i64 n, const f64 *scores, i64 n_trios, const f64 *trios, const f64 *stops, SiblingLists *lists, i64 k,
                    f64 *values, i64 *origins, i32 *heads) {
    (void)n_trios;
    Kinds x = kinds_of(n, lists);
    for (i64 m = 0; m < 4 * n * n * k; m++) lists->scores[m] = NEVER;
    for (i64 s = 0; s < n; s++) {
        i64 own = (s * n + s) * k;
        x.arcs.scores[own] = 0.0; /* no sibling */
        x.right.scores[own] = stops[s * n + s];
        x.left.scores[own] = stops[n * n + s];
    }
    for (i64 length = 1; length < n; length++) {
        for (i64 s = 0; s + length < n; s++) list_span(&x, scores, trios, stops, s, s + length);
    }
    for (i64 r = 0; r < k; r++) values[r] = NEVER;
    for (i64 r = 0; r < n; r++) {
        add_sums(k, x.left.scores + r * k, x.right.scores + (r * n + n - 1) * k, scores[r], r, values, origins);
    }
    i64 found = 0;
    for (; found < k && values[found] > NEVER / 2; found++) {
        i64 root = origins[found] / (k * k);
        i32 *own = heads + found * n;
        own[root] = 0;
        trace_kind(&x, 0, root, 1, origins[found] / k % k, own);
        trace_kind(&x, root, n - 1, 0, origins[found] % k, own);
    }
    return found;
}
