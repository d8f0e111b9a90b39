#include "forest.h"

#include "eisner_inline.h"

void forest_score(i64 n, i64 n_scores, const f64 *scores, Forest *x) {
    const f64 *trios = scores + n * n + n, *grands = trios + x->counts[1], *links = grands + x->counts[2];
    int own = links + x->counts[3] <= scores + n_scores;
    for (i64 l = 0; l < x->counts[3]; l++) {
        const i32 *part = x->link_parts + 3 * l;
        f64 sum = own ? links[l] : 0.0;
        if (part[0] >= 0) sum += scores[part[0]];
        if (part[1] >= 0) sum += trios[part[1]];
        if (part[2] >= 0) sum += grands[part[2]];
        x->values[l] = sum;
    }
}

void forest_collect(i64 n, const Forest *x, i64 n_scores, f64 *out) {
    f64 *trios = out + n * n + n, *grands = trios + x->counts[1], *links = grands + x->counts[2];
    int own = links + x->counts[3] <= out + n_scores;
    memset(out, 0, (size_t)(links - out) * sizeof *out);
    if (own) memcpy(links, x->marginals, (size_t)x->counts[3] * sizeof *links);
    for (i64 l = 0; l < x->counts[3]; l++) {
        const i32 *part = x->link_parts + 3 * l;
        if (part[0] >= 0) out[part[0]] += x->marginals[l];
        if (part[1] >= 0) trios[part[1]] += x->marginals[l];
        if (part[2] >= 0) grands[part[2]] += x->marginals[l];
    }
}

/* The score of an edge with its tails. */
static inline f64 edge_value(const Forest *x, i64 e) {
    const i32 *edge = x->edges + 3 * e;
    f64 sum = edge[2] >= 0 ? x->values[edge[2]] : 0.0;
    if (edge[0] >= 0) sum += x->inside[edge[0]];
    if (edge[1] >= 0) sum += x->inside[edge[1]];
    return sum;
}

f64 forest_inside(Forest *x) {
    i64 n_nodes = x->counts[4];
    if (!n_nodes) return 0.0;
    for (i64 v = 0; v < n_nodes; v++) {
        i64 first = x->first_edge[v], end = x->first_edge[v + 1];
        f64 top = NEVER, sum = 0.0;
        for (i64 e = first; e < end; e++) top = larger(top, edge_value(x, e));
        if (end - first == 1) {
            x->inside[v] = top;
            continue;
        }
        for (i64 e = first; e < end; e++) sum += fast_exp(larger(edge_value(x, e) - top, LOWEST_EXPONENT));
        x->inside[v] = first == end ? NEVER : top + log(sum);
    }
    return x->inside[n_nodes - 1];
}

f64 forest_marginals(Forest *x) {
    f64 log_z = forest_inside(x);
    i64 n_nodes = x->counts[4];
    if (!n_nodes) return 0.0;
    memset(x->outside, 0, (size_t)n_nodes * sizeof *x->outside);
    memset(x->marginals, 0, (size_t)x->counts[3] * sizeof *x->marginals);
    x->outside[n_nodes - 1] = 1.0;
    for (i64 v = n_nodes - 1; v >= 0; v--) {
        f64 g = x->outside[v];
        if (g <= NEGLIGIBLE) continue;
        for (i64 e = x->first_edge[v]; e < x->first_edge[v + 1]; e++) {
            const i32 *edge = x->edges + 3 * e;
            f64 part = g * fast_exp(larger(edge_value(x, e) - x->inside[v], LOWEST_EXPONENT));
            if (edge[0] >= 0) x->outside[edge[0]] += part;
            if (edge[1] >= 0) x->outside[edge[1]] += part;
            if (edge[2] >= 0) x->marginals[edge[2]] += part;
        }
    }
    return log_z;
}

/* The arc of an edge's link to its child's head. */
static inline void take_arc(i64 n, const Forest *x, i64 link, i32 *heads) {
    i64 arc = link < 0 ? -1 : x->link_parts[3 * link];
    if (arc >= 0) heads[arc % n] = (i32)(arc / n);
}

static void trace_node(i64 n, const Forest *x, i64 v, i32 *heads) {
    while (v >= 0) {
        const i32 *edge = x->edges + 3 * x->best[v];
        take_arc(n, x, edge[2], heads);
        if (edge[1] >= 0) trace_node(n, x, edge[1], heads);
        v = edge[0];
    }
}

f64 forest_best(i64 n, Forest *x, i32 *heads) {
    i64 n_nodes = x->counts[4];
    if (!n_nodes) return 0.0;
    for (i64 v = 0; v < n_nodes; v++) {
        x->inside[v] = NEVER, x->best[v] = -1;
        for (i64 e = x->first_edge[v]; e < x->first_edge[v + 1]; e++) {
            f64 value = edge_value(x, e);
            if (value > x->inside[v]) x->inside[v] = value, x->best[v] = e;
        }
    }
    if (x->best[n_nodes - 1] >= 0) trace_node(n, x, n_nodes - 1, heads);
    return x->inside[n_nodes - 1];
}

/* The r-th best of a node. */
static void trace_rank(i64 n, const Forest *x, i64 k, const i64 *back, i64 v, i64 r, i32 *heads) {
    while (v >= 0) {
        i64 from = back[v * k + r];
        const i32 *edge = x->edges + 3 * (from / (k * k));
        take_arc(n, x, edge[2], heads);
        if (edge[1] >= 0) trace_rank(n, x, k, back, edge[1], from % k, heads);
        v = edge[0], r = from / k % k;
    }
}

i64 forest_k_best(i64 n, const Forest *x, i64 k, i64 room, f64 *lists, i64 *back, f64 *values, i32 *heads) {
    i64 n_nodes = x->counts[4];
    f64 nothing[1] = {0.0};
    if (!n_nodes || n_nodes * k > room) return 0;
    for (i64 m = 0; m < n_nodes * k; m++) lists[m] = NEVER;
    for (i64 v = 0; v < n_nodes; v++) {
        for (i64 e = x->first_edge[v]; e < x->first_edge[v + 1]; e++) {
            const i32 *edge = x->edges + 3 * e;
            f64 plus = edge[2] >= 0 ? x->values[edge[2]] : 0.0;
            const f64 *a = edge[0] >= 0 ? lists + edge[0] * k : nothing;
            const f64 *b = edge[1] >= 0 ? lists + edge[1] * k : nothing;
            i64 n_a = edge[0] >= 0 ? k : 1, n_b = edge[1] >= 0 ? k : 1;
            for (i64 i = 0; i < n_a && a[i] > NEVER / 2; i++) {
                for (i64 j = 0; j < n_b && (i + 1) * (j + 1) <= k && b[j] > NEVER / 2; j++) {
                    if (!insert(k, lists + v * k, back + v * k, a[i] + b[j] + plus, (e * k + i) * k + j)) break;
                }
            }
        }
    }
    i64 found = 0, goal = n_nodes - 1;
    for (; found < k && lists[goal * k + found] > NEVER / 2; found++) {
        values[found] = lists[goal * k + found];
        trace_rank(n, x, k, back, goal, found, heads + found * n);
    }
    return found;
}
