#include "penalties.h"

/* sum (l1 weights |w| + l2 ridge_weights w^2) */
f64 penalties_value(i64 n, const f64 *w, f64 l1, f64 l2, const f64 *weights, const f64 *ridge_weights) {
    f64 total = 0.0;
    for (i64 i = 0; i < n; i++) total += l1 * weights[i] * fabs(w[i]) + l2 * ridge_weights[i] * w[i] * w[i];
    return total;
}

/* Soft threshold by step l1 weights, then divide by 1 + 2 step l2 ridge_weights: (6) and (7). */
void penalties_prox(i64 n, const f64 *w, const f64 *step, f64 l1, f64 l2, const f64 *weights,
                    const f64 *ridge_weights, u8 nonnegative, f64 *out) {
    for (i64 i = 0; i < n; i++) {
        f64 left = larger(fabs(w[i]) - l1 * step[i] * weights[i], 0.0);
        f64 v = left / (1.0 + 2.0 * l2 * step[i] * ridge_weights[i]);
        out[i] = w[i] < 0.0 ? (nonnegative ? 0.0 : -v) : v;
    }
}

/* Nodes in pre-order, roots and children by falling number; returns how many were reached.
 * Fewer than all means a cycle; -1 that a parent is out of range. */
i64 penalties_parents_first(i64 n, const i32 *parent, i64 *first, i64 *sibling, i64 *stack, i64 *out) {
    i64 top = 0, reached = 0;
    for (i64 x = 0; x < n; x++) first[x] = sibling[x] = -1;
    for (i64 x = 0; x < n; x++) {
        i64 p = parent[x];
        if (p < -1 || p >= n) return -1;
        if (p == -1) {
            stack[top++] = x;
        } else {
            sibling[x] = first[p];
            first[p] = x;
        }
    }
    while (top > 0) {
        i64 x = stack[--top];
        out[reached++] = x;
        for (i64 child = first[x]; child >= 0; child = sibling[child]) stack[top++] = child;
    }
    return reached;
}

static inline f64 clipped(f64 v, u8 nonnegative) { return nonnegative && v < 0.0 ? 0.0 : v; }

/* Algorithm 2: scaling factors upward, their products downward.
 * gamma[x] collects the squared norms of the children as they are left, then holds the factor eta. */
void penalties_prox_l2(i64 n, const i32 *parent, const f64 *w, const f64 *weight, f64 scale, i64 n_steps,
                       const f64 *step, u8 nonnegative, f64 *gamma, f64 *out) {
    for (i64 x = 0; x < n; x++) gamma[x] = 0.0;
    for (i64 x = n - 1; x >= 0; x--) {
        f64 v = clipped(w[x], nonnegative);
        f64 kappa = scale * weight[x] * step[n_steps == 1 ? 0 : x];
        f64 size = sqrt(gamma[x] + v * v);
        f64 left = size - kappa;
        gamma[x] = left > 0.0 ? left / size : 0.0;
        if (left > 0.0 && parent[x] >= 0) gamma[parent[x]] += left * left; /* (eta size)^2 */
    }
    for (i64 x = 0; x < n; x++) {
        if (parent[x] >= 0) gamma[x] *= gamma[parent[x]];
        out[x] = clipped(w[x], nonnegative) * gamma[x];
    }
}

/* Sum of weight[x] times the l2 norm of the subtree of x. */
f64 penalties_value_l2(i64 n, const i32 *parent, const f64 *w, const f64 *weight, f64 *gamma) {
    f64 total = 0.0;
    for (i64 x = 0; x < n; x++) gamma[x] = w[x] * w[x];
    for (i64 x = n - 1; x >= 0; x--) {
        total += weight[x] * sqrt(gamma[x]);
        if (parent[x] >= 0) gamma[parent[x]] += gamma[x];
    }
    return total;
}

/* Sum of weight[x] times the largest absolute value in the subtree of x. */
f64 penalties_value_linf(i64 n, const i32 *parent, const f64 *w, const f64 *weight, f64 *largest) {
    f64 total = 0.0;
    for (i64 x = 0; x < n; x++) largest[x] = fabs(w[x]);
    for (i64 x = n - 1; x >= 0; x--) {
        total += weight[x] * largest[x];
        if (parent[x] >= 0 && largest[x] > largest[parent[x]]) largest[parent[x]] = largest[x];
    }
    return total;
}

/* Pairing heaps with the largest key on top; a node's children hang at child[x], linked by sibling. */
typedef struct {
    f64 *key;
    i32 *child, *sibling;
} Heaps;

/* The smaller root becomes the first child of the larger. */
static inline i32 meld(i32 a, i32 b, const Heaps *h) {
    if (a < 0) return b;
    if (b < 0) return a;
    if (h->key[a] < h->key[b]) {
        i32 c = a;
        a = b;
        b = c;
    }
    h->sibling[b] = h->child[a];
    h->child[a] = b;
    return a;
}

/* What remains without the root: its children melded in pairs, then from last to first. */
static i32 pop(i32 root, const Heaps *h) {
    i32 x = h->child[root], pairs = -1;
    if (x < 0) return x;
    while (x >= 0) {
        i32 y = h->sibling[x];
        if (y < 0) {
            h->sibling[x] = pairs;
            pairs = x;
            break;
        }
        i32 following = h->sibling[y];
        h->sibling[x] = h->sibling[y] = -1;
        i32 z = meld(x, y, h);
        h->sibling[z] = pairs;
        pairs = z;
        x = following;
    }
    root = pairs;
    x = h->sibling[root];
    h->sibling[root] = -1;
    while (x >= 0) {
        i32 following = h->sibling[x];
        h->sibling[x] = -1;
        root = meld(root, x, h);
        x = following;
    }
    return root;
}

/* Clip the largest entries of a heap to r so that their sum falls by kappa; returns the new root and r.
 * Clipped entries are equal from then on, so they go back as one entry with their joint count. */
static i32 clip(i32 root, f64 kappa, const Heaps *h, f64 *count, f64 *r) {
    f64 s = h->key[root] * count[root], size = count[root];
    *r = h->key[root] - kappa / size;
    i32 below = h->child[root];
    for (i32 k = 0; k < 32 && below >= 0 && h->key[below] <= *r; k++) below = h->sibling[below];
    if (below < 0) {
        h->key[root] = *r; /* only the top is clipped, and stays on top: nothing to rearrange */
        return root;
    }
    i32 pooled = root;
    root = pop(root, h);
    while (root >= 0 && h->key[root] > *r) {
        s += h->key[root] * count[root];
        size += count[root];
        *r = (s - kappa) / size;
        root = pop(root, h);
    }
    h->key[pooled] = *r;
    count[pooled] = size;
    h->child[pooled] = -1;
    return meld(pooled, root, h);
}

/* A node with nothing below, the commonest case: clip it, and hang it at its parent's heap. */
static inline void leaf(i32 x, i32 p, f64 v, f64 c, f64 kappa, const Heaps *h, i32 *heap, f64 *count, f64 *total,
                        f64 *bound) {
    f64 t = v * c - kappa;
    bound[x] = 0.0;
    if (t <= 0.0) return;
    f64 r = v - kappa / c;
    bound[x] = h->key[x] = r;
    count[x] = c;
    h->child[x] = -1;
    if (p < 0) return;
    total[p] += t;
    i32 top = heap[p];
    if (top < 0) {
        heap[p] = x;
    } else if (h->key[top] >= r) {
        h->sibling[x] = h->child[top];
        h->child[top] = x;
    } else {
        h->sibling[top] = -1;
        h->child[x] = top;
        heap[p] = x;
    }
}

/* Algorithm 4. heap[x] is the heap of the subtree of x, total[x] its l1 norm; a node counts c = 1 / step times. Each
 * entry is popped at most once more than it is pushed, so the whole costs O(n log n). What a node clips to is
 * remembered in bound and applied to its subtree on the way down. */
void penalties_prox_linf(i64 n, const i32 *parent, const f64 *w, const f64 *weight, f64 scale, i64 n_steps,
                         const f64 *step, u8 nonnegative, i32 *heap, i32 *child, i32 *sibling, f64 *key, f64 *count,
                         f64 *total, f64 *bound, f64 *out) {
    const Heaps h = {key, child, sibling};
    f64 rate = n_steps == 1 ? scale * step[0] : scale;
    for (i64 x = 0; x < n; x++) {
        heap[x] = -1;
        total[x] = 0.0;
    }
    for (i32 x = (i32)n - 1; x >= 0; x--) {
        f64 v = w[x] < 0.0 ? (nonnegative ? 0.0 : -w[x]) : w[x];
        f64 kappa = rate * weight[x], c = n_steps == 1 ? 1.0 : 1.0 / step[x];
        i32 root = heap[x], p = parent[x];
        if (root < 0) {
            leaf(x, p, v, c, kappa, &h, heap, count, total, bound);
            continue;
        }
        f64 t = total[x];
        if (v > 0.0) {
            key[x] = v;
            count[x] = c;
            child[x] = -1;
            t += v * c;
            root = meld(x, root, &h);
        }
        bound[x] = INFINITY;
        if (kappa > 0.0) {
            bound[x] = 0.0;
            if (t <= kappa) continue;
            f64 r;
            root = clip(root, kappa, &h, count, &r);
            bound[x] = larger(r, 0.0);
            t -= kappa;
        }
        if (p >= 0) {
            total[p] += t;
            heap[p] = meld(root, heap[p], &h);
        }
    }
    for (i64 x = 0; x < n; x++) {
        if (parent[x] >= 0) bound[x] = smaller(bound[x], bound[parent[x]]);
        out[x] = larger(smaller(w[x], bound[x]), nonnegative ? 0.0 : -bound[x]);
    }
}

/* The radius r to which the entries out[first:last] are clipped so that their sum falls by kappa, by random pivots. */
static f64 pivot_radius(i64 first, i64 last, f64 kappa, const f64 *c, const f64 *out, i64 *live, u64 *state) {
    i64 n_live = last - first;
    f64 s = 0.0, counted = 0.0;
    for (i64 k = first; k < last; k++) live[k - first] = k;
    while (n_live > 0) {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        f64 pivot = out[live[(*state >> 11) % (u64)n_live]], more_s = 0.0, more_c = 0.0;
        i64 n_larger = 0;
        for (i64 k = 0; k < n_live; k++) {
            i64 i = live[k];
            if (out[i] < pivot) continue;
            more_s += out[i] * c[i];
            more_c += c[i];
            live[k] = live[n_larger];
            live[n_larger++] = i;
        }
        if (s + more_s - (counted + more_c) * pivot < kappa) {
            s += more_s;
            counted += more_c;
            n_live -= n_larger;
            memmove(live, live + n_larger, (size_t)n_live * sizeof *live);
        } else {
            n_live = 0;
            for (i64 k = 0; k < n_larger; k++)
                if (out[live[k]] > pivot) live[n_live++] = live[k];
        }
    }
    return larger((s - kappa) / counted, 0.0);
}

/* Algorithm 3: project every subtree anew, pivots at random. Needs pre-order: subtrees are contiguous. */
void penalties_prox_linf_pivot(i64 n, const i32 *parent, const f64 *w, const f64 *weight, f64 scale, i64 n_steps,
                               const f64 *step, u8 nonnegative, i64 seed, f64 *c, i64 *size, i64 *live, f64 *out) {
    u64 state = 2 * (u64)seed + 1;
    f64 rate = n_steps == 1 ? scale * step[0] : scale;
    for (i64 x = 0; x < n; x++) {
        c[x] = n_steps == 1 ? 1.0 : 1.0 / step[x];
        out[x] = w[x] < 0.0 ? (nonnegative ? 0.0 : -w[x]) : w[x];
        size[x] = 1;
    }
    for (i64 x = n - 1; x >= 0; x--) {
        if (parent[x] >= 0) size[parent[x]] += size[x];
        f64 kappa = rate * weight[x], norm = 0.0, r = 0.0;
        if (kappa <= 0.0) continue;
        i64 last = x + size[x];
        for (i64 k = x; k < last; k++) norm += out[k] * c[k];
        if (norm > kappa) r = pivot_radius(x, last, kappa, c, out, live, &state);
        for (i64 k = x; k < last; k++) out[k] = smaller(out[k], r);
    }
    for (i64 x = 0; x < n; x++)
        if (w[x] < 0.0) out[x] = -out[x];
}

/* Nodes that are only children and equal to their parent join it (Definition 3); returns how many nodes remain. */
i64 penalties_collapse_chains(i64 n, const i32 *parent, const f64 *value, i32 *n_children, i32 *node, i32 *parent_out,
                              f64 *value_out, i32 *count_out) {
    i32 kept = 0;
    memset(n_children, 0, (size_t)n * sizeof *n_children);
    for (i64 x = 0; x < n; x++)
        if (parent[x] >= 0) n_children[parent[x]]++;
    for (i64 x = 0; x < n; x++) {
        i32 p = parent[x];
        if (p >= 0 && n_children[p] == 1 && value[p] == value[x]) {
            node[x] = node[p];
            count_out[node[x]]++;
        } else {
            node[x] = kept;
            parent_out[kept] = p >= 0 ? node[p] : -1;
            value_out[kept] = value[x];
            count_out[kept++] = 1;
        }
    }
    return kept;
}
