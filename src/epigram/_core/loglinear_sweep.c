/* The loss over a context tree: the two sweeps of the exact gradient, whole or of a mini-batch. */
#include "loglinear.h"

enum {
    TOGETHER = 512, /* pairs whose exponentials are taken side by side */
    NEAR = 16384,   /* pairs whose numbers stay in a core's own cache from the way down to the way up */
    DEEPEST = 8     /* levels below which subtrees are taken whole, whatever their size */
};

/* e = exp(m w) of the pairs of contexts c to `last`. */
static void exp_weights(const Tree *t, i64 c, i64 last, const f64 *restrict w, f64 *restrict e) {
    i64 first = t->pair_ptr[c], end = t->pair_ptr[last];
    f64 largest = 0.0;
    for (; c < last; c++) {
        f64 m = t->multiplicity[c];
        for (i64 p = t->pair_ptr[c]; p < t->pair_ptr[c + 1]; p++) e[p] = m * w[p];
    }
    for (i64 p = first; p < end; p++) largest = larger(largest, fabs(e[p]));
    if (largest < 700.0) {
        for (i64 p = first; p < end; p++) e[p] = fast_exp(e[p]);
    } else {
        for (i64 p = first; p < end; p++) e[p] = exp(e[p]);
    }
}

/* The context after c and the next ones, as long as they have no more than TOGETHER pairs, and not after `high`. */
static i64 some_contexts(const Tree *t, i64 c, i64 high) {
    i64 limit = t->pair_ptr[c] + TOGETHER;
    for (c++; c < high && t->pair_ptr[c + 1] <= limit;) c++;
    return c;
}

/* e = exp s and Z of contexts c to `high` of one level: Z[c] = Z[c'] + sum_u (e[c,u] - e[c',u]). Returns sum
 * term[c] log Z[c] less each weight as often as it was seen. */
static f64 level_down(const Tree *t, const Sums *sums, i64 c, i64 high, const f64 *w) {
    f64 *e = sums->e, *z = sums->z, logs = 0.0, fitted = 0.0;
    for (i64 last = c; c < high; c++) {
        if (c == last) exp_weights(t, c, last = some_contexts(t, c, high), w, e);
        f64 m = t->multiplicity[c], zc = z[t->parent[c]];
        for (i64 p = t->pair_ptr[c]; p < t->pair_ptr[c + 1]; p++) {
            f64 before = e[t->pair_parent[p]], now = before * e[p];
            fitted += t->count[p] * m * w[p];
            e[p] = now;
            zc += now - before;
        }
        z[c] = zc;
        if (t->terminal[c]) logs += t->terminal[c] * log(zc);
    }
    return logs - fitted;
}

/* The loss of the subtrees of contexts c to `high` of one level. */
f64 loglinear_sweep_down(const Tree *t, const Sums *sums, i64 c, i64 high, i64 n_pairs, const f64 *w) {
    (void)n_pairs;
    f64 total = 0.0;
    for (; c < high; c = t->child_ptr[c], high = t->child_ptr[high]) total += level_down(t, sums, c, high, w);
    return total;
}

/* What a sweep down and up again reads and writes: what comes up to the roots, from level 1 and from pairs that those between
 * do not have, is added to top_r and top_g, its own copy of the roots' sums. */
typedef struct {
    const Tree *t;
    const Sums *sums;
    const f64 *w;
    f64 *g, *top_r, *top_g;
    i64 n_top;   /* pairs of the roots */
    i64 *bounds; /* room for the first and the last context of each level */
} Sweep;

/* The gradient of contexts low to `high` of one level, those below them being done. With a[c,u] the expected count of (c,u):
 * R[c] = term[c]/Z[c] + sum_d R[d];  a[c,u] = e[c,u] R[c] + sum_d (a[d,u] - e[c,u] R[d]);  g = a - count. */
static void level_up(const Sweep *s, i64 low, i64 high, u8 is_top) {
    const Tree *t = s->t;
    const f64 *e = s->sums->e;
    f64 *r = s->sums->r, *up_r = is_top ? s->top_r : r;
    for (i64 c = high - 1; c >= low; c--) {
        f64 rc = r[c], m = t->multiplicity[c];
        if (t->terminal[c]) rc += t->terminal[c] / s->sums->z[c];
        r[c] = rc;
        up_r[t->parent[c]] += rc;
        for (i64 p = t->pair_ptr[c]; p < t->pair_ptr[c + 1]; p++) {
            i64 q = t->pair_parent[p];
            f64 a = s->g[p] + e[p] * rc;
            s->g[p] = m * (a - t->count[p]);
            (q < s->n_top ? s->top_g : s->g)[q] += a - e[q] * rc;
        }
    }
}

/* One level on the way down, with its sums of what comes up from below at zero. */
static f64 level_begin(const Sweep *s, i64 c, i64 high) {
    const i64 *ptr = s->t->pair_ptr;
    memset(s->sums->r + c, 0, (size_t)(high - c) * sizeof *s->sums->r);
    memset(s->g + ptr[c], 0, (size_t)(ptr[high] - ptr[c]) * sizeof *s->g);
    return level_down(s->t, s->sums, c, high, s->w);
}

/* The subtrees of contexts c to `high` of one level, all of them down, then all of them up. */
static f64 subtrees_together(const Sweep *s, i64 c, i64 high, u8 is_top) {
    f64 loss = 0.0;
    i64 level = 0;
    for (; c < high; c = s->t->child_ptr[c], high = s->t->child_ptr[high], level++) {
        loss += level_begin(s, c, high);
        s->bounds[2 * level] = c, s->bounds[2 * level + 1] = high;
    }
    for (; level-- > 0;) level_up(s, s->bounds[2 * level], s->bounds[2 * level + 1], is_top && level == 0);
    return loss;
}

/* The pairs in the subtrees of contexts c to `high` of one level; counting ends above NEAR. */
static i64 pairs_below(const Tree *t, i64 c, i64 high) {
    i64 n = 0;
    for (; c < high && n <= NEAR; c = t->child_ptr[c], high = t->child_ptr[high]) n += t->pair_ptr[high] - t->pair_ptr[c];
    return n;
}

/* The subtrees of contexts c to `high` of one level, the last ones first, as many together as stay near. A context whose
 * own subtree is larger goes down, then the subtrees of its children in the same way, then it goes up. */
static f64 subtrees(const Sweep *s, i64 low, i64 high, i64 depth) {
    f64 loss = 0.0;
    for (i64 c; high > low; high = c) {
        i64 n = pairs_below(s->t, c = high - 1, high);
        if (n <= NEAR || depth == DEEPEST) {
            while (c > low && (n += pairs_below(s->t, c - 1, c)) <= NEAR) c--;
            loss += subtrees_together(s, c, high, depth == 0);
        } else {
            loss += level_begin(s, c, high);
            loss += subtrees(s, s->t->child_ptr[c], s->t->child_ptr[high], depth + 1);
            level_up(s, c, high, depth == 0);
        }
    }
    return loss;
}

/* The loss of the subtrees of contexts c to `high` of level 1, as by loglinear_sweep_down, and its gradient. What they add
 * to the roots goes to top_r and top_g. */
f64 loglinear_sweep(const Tree *t, const Sums *sums, i64 c, i64 high, i64 n_pairs, const f64 *w, f64 *g, i64 n_roots,
                    f64 *top_r, i64 n_top, f64 *top_g, i64 n_levels, i64 *bounds) {
    (void)n_pairs;
    (void)n_levels;
    memset(top_r, 0, (size_t)n_roots * sizeof *top_r);
    memset(top_g, 0, (size_t)n_top * sizeof *top_g);
    return subtrees(&(Sweep){t, sums, w, g, top_r, top_g, n_top, bounds}, c, high, 0);
}

/* Natural log P of located positions; inside a collapsed node only the matched part of it counts. */
void loglinear_log_probabilities(const Tree *t, const Sums *sums, i64 n, const i32 *context, const i32 *matched,
                                 const i32 *pair, i64 n_pairs, const f64 *w, f64 *out) {
    (void)n_pairs;
    for (i64 i = 0; i < n; i++) {
        i32 c = context[i], p = pair[i];
        f64 score = p >= 0 ? sums->e[p] : 1.0, z = sums->z[c];
        if (matched[i] < t->depth[c]) {
            i32 above = t->parent[c], part = matched[i] - t->depth[above];
            z = sums->z[above];
            for (i64 q = t->pair_ptr[c]; q < t->pair_ptr[c + 1]; q++) {
                f64 before = sums->e[t->pair_parent[q]], now = before * exp(part * w[q]);
                z += now - before;
                if (q == p) score = now;
            }
        }
        out[i] = log(score / z);
    }
}

/* The longest contexts of some positions and their ancestors, unsorted, each once. seen counts the positions that end at
 * each context, twice, plus one mark; all zero on entry. Returns how many; -1 where a sample is none, with seen zero. */
i64 loglinear_batch_contexts(const Tree *t, i64 n, const i64 *samples, i64 n_samples, const i32 *context, i64 n_contexts,
                             i32 *seen, i32 *active) {
    (void)n_contexts;
    i64 found = 0;
    for (i64 k = 0; k < n; k++)
        if (samples[k] < 0 || samples[k] >= n_samples) return -1;
    for (i64 k = 0; k < n; k++) {
        i32 c = context[samples[k]];
        seen[c] += 2;
        for (; c >= 0 && !(seen[c] & 1); c = t->parent[c]) {
            seen[c] |= 1;
            active[found++] = c;
        }
    }
    return found;
}

/* e, Z and the positions' own part of R for the contexts of a batch; returns scale * sum log Z. */
static f64 batch_down(const Tree *t, const Sums *sums, i64 n_active, const i32 *active, const f64 *n_unseen, f64 scale,
                      const f64 *w, i32 *seen, f64 *g) {
    f64 *e = sums->e, *z = sums->z, total = 0.0;
    for (i64 k = 0; k < n_active; k++) {
        i32 c = active[k];
        u8 is_root = c < t->n_roots;
        f64 m = t->multiplicity[c], zc = is_root ? n_unseen[c] : z[t->parent[c]];
        for (i64 p = t->pair_ptr[c]; p < t->pair_ptr[c + 1]; p++) {
            f64 before = is_root ? 0.0 : e[t->pair_parent[p]], now = exp(m * w[p]);
            if (!is_root) now *= before;
            e[p] = now;
            zc += now - before;
            g[p] = 0.0;
        }
        z[c] = zc;
        f64 n_here = scale * (seen[c] >> 1);
        sums->r[c] = n_here / zc;
        if (n_here > 0.0) total += n_here * log(zc);
        seen[c] = 0;
    }
    return total;
}

/* The expected counts of a batch, from its deepest contexts to the roots. */
static void batch_up(const Tree *t, const Sums *sums, i64 n_active, const i32 *active, f64 *g) {
    const f64 *e = sums->e;
    for (i64 k = n_active - 1; k >= 0; k--) {
        i32 c = active[k];
        f64 m = t->multiplicity[c], rc = sums->r[c];
        u8 is_root = c < t->n_roots;
        if (!is_root) sums->r[t->parent[c]] += rc;
        for (i64 p = t->pair_ptr[c]; p < t->pair_ptr[c + 1]; p++) {
            f64 a = g[p] + e[p] * rc;
            g[p] = m * a;
            if (is_root) continue;
            i32 q = t->pair_parent[p];
            g[q] += a - e[q] * rc;
        }
    }
}

/* scale times the loss of some positions; its gradient to the active contexts' part of g. active rises, so that
 * ancestors come first. Other entries of g are not touched; seen is zeroed again. */
f64 loglinear_batch_sweep(const Tree *t, const Sums *sums, i64 n, const i64 *samples, i64 n_samples, const i32 *context,
                          const i32 *pair, i64 n_active, const i32 *active, i64 n_roots, const f64 *n_unseen, f64 scale,
                          i64 n_pairs, const f64 *w, i64 n_contexts, i32 *seen, f64 *g) {
    (void)n_samples;
    (void)n_roots;
    (void)n_pairs;
    (void)n_contexts;
    f64 total = batch_down(t, sums, n_active, active, n_unseen, scale, w, seen, g);
    batch_up(t, sums, n_active, active, g);
    for (i64 k = 0; k < n; k++) total -= scale * log(sums->e[pair[samples[k]]]);
    for (i64 k = 0; k < n; k++) {
        i32 c = context[samples[k]];
        for (i32 p = pair[samples[k]]; p >= 0; p = t->pair_parent[p], c = t->parent[c]) g[p] -= scale * t->multiplicity[c];
    }
    return total;
}

/* out = 0 at the pairs of some contexts */
void loglinear_clear_pairs(const Tree *t, i64 n, const i32 *contexts, i64 n_pairs, f64 *out) {
    (void)n_pairs;
    for (i64 k = 0; k < n; k++)
        for (i64 p = t->pair_ptr[contexts[k]]; p < t->pair_ptr[contexts[k] + 1]; p++) out[p] = 0.0;
}
