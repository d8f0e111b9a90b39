/* The loss over a context tree: the two sweeps of the exact gradient, whole or of a mini-batch. */
#include "loglinear.h"

enum { TOGETHER = 512 }; /* pairs whose exponentials are taken side by side */

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

/* e = exp s and Z of a shard: Z[c] = Z[c'] + sum_u (e[c,u] - e[c',u]). bounds holds for each level the first and the last
 * context. Returns sum term[c] log Z[c] less each weight as often as it was seen. */
f64 loglinear_sweep_down(const Tree *t, const Sums *sums, i64 n_levels, const i64 *bounds, i64 n_pairs, const f64 *w) {
    (void)n_pairs;
    f64 *e = sums->e, *z = sums->z, logs = 0.0, fitted = 0.0;
    for (i64 level = 0; level < n_levels; level++) {
        for (i64 c = bounds[2 * level], high = bounds[2 * level + 1], last = c; c < high; c++) {
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
    }
    return logs - fitted;
}

/* The gradient of a shard, bottom up. With a[c,u] the expected count of (c,u):
 * R[c] = term[c]/Z[c] + sum_d R[d];  a[c,u] = e[c,u] R[c] + sum_d (a[d,u] - e[c,u] R[d]);  g = a - count.
 * Level 1 adds to top_r and top_g, the shard's own copy of the roots' sums. */
void loglinear_sweep_up(const Tree *t, const Sums *sums, i64 n_levels, const i64 *bounds, i64 n_pairs, f64 *g, i64 n_roots,
                        f64 *top_r, i64 n_top, f64 *top_g) {
    (void)n_pairs;
    const f64 *e = sums->e;
    memset(top_r, 0, (size_t)n_roots * sizeof *top_r);
    memset(top_g, 0, (size_t)n_top * sizeof *top_g);
    for (i64 level = 0; level < n_levels; level++) {
        i64 low = bounds[2 * level], high = bounds[2 * level + 1];
        memset(sums->r + low, 0, (size_t)(high - low) * sizeof *sums->r);
        memset(g + t->pair_ptr[low], 0, (size_t)(t->pair_ptr[high] - t->pair_ptr[low]) * sizeof *g);
    }
    for (i64 level = n_levels - 1; level >= 0; level--) {
        f64 *up_r = level > 0 ? sums->r : top_r, *up_g = level > 0 ? g : top_g;
        for (i64 c = bounds[2 * level + 1] - 1; c >= bounds[2 * level]; c--) {
            f64 rc = sums->r[c], m = t->multiplicity[c];
            if (t->terminal[c]) rc += t->terminal[c] / sums->z[c];
            sums->r[c] = rc;
            up_r[t->parent[c]] += rc;
            for (i64 p = t->pair_ptr[c]; p < t->pair_ptr[c + 1]; p++) {
                i64 q = t->pair_parent[p];
                f64 a = g[p] + e[p] * rc;
                g[p] = m * (a - t->count[p]);
                up_g[q] += a - e[q] * rc;
            }
        }
    }
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
