/* Contexts are found in a tree, matched with those of another, and spread over the nodes of a back-off model. */
#include "loglinear.h"

static inline i64 find_word(const Tree *t, i64 c, i32 u) {
    return search_rising(t->word, t->pair_ptr[c], t->pair_ptr[c + 1], u);
}

static inline i64 find_child(const Tree *t, i64 c, i32 symbol) {
    return search_rising(t->symbol, t->child_ptr[c], t->child_ptr[c + 1], symbol);
}

/* The node of a context of d symbols with `wanted` before it: further along a chain, or a child; else -1. */
static i64 step_down(const Tree *t, i64 node, i64 d, i32 wanted) {
    if (node < 0) return -1;
    if (d < t->depth[node]) return t->history[t->example[node] - 1 - d] == wanted ? node : -1;
    return find_child(t, node, wanted);
}

/* The longest known context of each position, and where its target was last seen on the way: context gets the deepest
 * node that matches, matched how many of its symbols do (less than its depth inside a collapsed node), pair the deepest
 * pair of the target on the path, -1 for none. */
void loglinear_locate(const Tree *t, const Positions *at, i64 n, i32 *context, i32 *matched, i32 *pair) {
    for (i64 i = 0; i < n; i++) {
        const i32 *newest = at->history + at->end[i] - 1;
        i32 length = at->length[i], u = at->target[i], d = 0;
        i64 c = at->root[i], p = find_word(t, c, u);
        while (d == t->depth[c] && d < length) {
            i64 below = find_child(t, c, newest[-d]);
            if (below < 0) break;
            c = below;
            d++;
            const i32 *own = t->history + t->example[c] - 1;
            while (d < t->depth[c] && d < length && newest[-d] == own[-d]) d++;
            i64 deeper = p >= 0 ? find_word(t, c, u) : -1;
            if (deeper >= 0) p = deeper;
        }
        context[i] = (i32)c;
        matched[i] = d;
        pair[i] = (i32)p;
    }
}

/* Copies the weights of an old tree to the pairs of a new one: those of the first context of each node. node gets the old
 * node that holds the deepest context of each new one, -1 where there is none. An old node may stand for more contexts
 * than the new one (its chain was split), or for fewer. */
void loglinear_match_trees(const Tree *t, const Tree *old, const f64 *old_w, i64 n_contexts, i32 *node, i64 n_pairs,
                           f64 *out) {
    (void)n_pairs;
    for (i64 c = 0; c < n_contexts; c++) {
        i64 first = c < old->n_roots ? c : -1, last = first;
        if (c >= t->n_roots) {
            i32 above = t->parent[c], d = t->depth[above];
            first = last = step_down(old, node[above], d, t->symbol[c]);
            for (i32 k = d + 1; k < t->depth[c]; k++) last = step_down(old, last, k, t->history[t->example[c] - 1 - k]);
        }
        node[c] = (i32)last;
        if (first < 0) continue;
        for (i64 p = t->pair_ptr[c]; p < t->pair_ptr[c + 1]; p++) {
            i64 q = find_word(old, first, t->word[p]);
            if (q >= 0) out[p] = old_w[q];
        }
    }
}

/* The nearest ancestor pair of the same word, for trees with one root from which pairs of weight 0 were dropped. Returns 0
 * where the root lacks a word. */
u8 loglinear_link_pairs(i64 n_contexts, i64 n_pairs, const i32 *parent, const i64 *pair_ptr, const i32 *word,
                        i32 *pair_parent) {
    (void)n_pairs;
    for (i64 c = 1; c < n_contexts; c++) {
        for (i64 p = pair_ptr[c]; p < pair_ptr[c + 1]; p++) {
            i64 q = -1;
            for (i32 above = parent[c]; q < 0 && above >= 0; above = parent[above])
                q = search_rising(word, pair_ptr[above], pair_ptr[above + 1], word[p]);
            if (q < 0) return 0;
            pair_parent[p] = (i32)q;
        }
    }
    return 1;
}

/* Pairs (c, u) of a trie that were never seen though u was seen after the context above, and of which the sweeps expect more
 * than least: e[c',u] R[c]. Writes the first n, by context and word; returns how many there are. most gets the largest e
 * of each context, by which most contexts are passed over. */
i64 loglinear_unseen(const Tree *t, const Sums *sums, f64 least, i64 n_contexts, f64 *most, i64 n, i32 *context, i32 *word) {
    const f64 *e = sums->e;
    i64 found = 0;
    for (i64 c = 0; c < n_contexts; c++) {
        i64 above = t->parent[c], own = t->pair_ptr[c], end = t->pair_ptr[c + 1];
        most[c] = 0.0;
        for (i64 p = own; p < end; p++) most[c] = e[p] > most[c] ? e[p] : most[c];
        if (above < 0 || most[above] * sums->r[c] <= least) continue;
        for (i64 q = t->pair_ptr[above]; q < t->pair_ptr[above + 1]; q++) {
            if (e[q] * sums->r[c] <= least) continue;
            while (own < end && t->word[own] < t->word[q]) own++;
            if (own < end && t->word[own] == t->word[q]) continue;
            if (found < n) {
                context[found] = (i32)c;
                word[found] = t->word[q];
            }
            found++;
        }
    }
    return found;
}

/* Whether the context s_k .. s_1 u is needed; path holds s_k .. s_1. What a needed context is below is needed too. */
static u8 is_needed(const Tree *t, i64 k, const i32 *path, i32 u, const u8 *needed) {
    i64 node = find_child(t, 0, u);
    for (i64 j = k - 1; j >= 0 && node >= 0 && needed[node]; j--) node = find_child(t, node, path[j]);
    return node >= 0 && needed[node];
}

/* Keeps what kept pairs are spelled with: the suffixes of their contexts, and each context as an n-gram. For a trie with
 * one root, which is needed. The pair of u after s_k .. s_1 spells the context s_k .. s_1 u, which is deeper. */
void loglinear_close_prefixes(const Tree *t, i64 n_levels, i32 *path, i64 n_contexts, u8 *needed, i64 n_pairs, u8 *kept) {
    (void)n_levels;
    (void)n_pairs;
    i32 deepest = n_contexts > 0 ? t->depth[n_contexts - 1] : 0;
    for (i64 c = n_contexts - 1; c > 0; c--) {
        i64 k = 0;
        u8 any = 0;
        for (i64 p = t->pair_ptr[c]; p < t->pair_ptr[c + 1]; p++) {
            if (!kept[p] && t->depth[c] < deepest) {
                for (i64 x = k ? 0 : c; x > 0; x = t->parent[x]) path[k++] = t->symbol[x];
                kept[p] = is_needed(t, k, path, t->word[p], needed);
            }
            any |= kept[p];
        }
        for (i64 x = c; any && !needed[x]; x = t->parent[x]) needed[x] = 1;
    }
}

/* Contexts and non-zero pairs of the kept nodes but the root, chains counted in full. */
void loglinear_count_spread(const Tree *t, i64 n, const i32 *nodes, i64 n_pairs, const f64 *w, i64 *out) {
    (void)n_pairs;
    out[0] = out[1] = 0;
    for (i64 k = 1; k < n; k++) {
        i32 c = nodes[k], m = t->multiplicity[c];
        out[0] += m;
        for (i64 p = t->pair_ptr[c]; p < t->pair_ptr[c + 1]; p++)
            if (w[p] != 0.0) out[1] += m;
    }
}

/* One node for each context of the kept nodes; number comes to name the deepest of each. Of a node that stands for m
 * contexts, the one of `part` symbols more than its parent has `part` times the weights. */
void loglinear_spread(const Tree *t, const Sums *sums, i64 n, const i32 *nodes, i64 n_pairs, const f64 *w, i64 n_contexts,
                      i32 *number, i64 n_new, i32 *parent, i32 *label, i64 *pair_ptr, i64 n_new_pairs, i32 *word, f64 *logp,
                      f64 *bow) {
    (void)n_pairs;
    (void)n_contexts;
    (void)n_new;
    (void)n_new_pairs;
    i64 node = 1, to = pair_ptr[1];
    number[0] = 0;
    for (i64 k = 1; k < n; k++) {
        i32 c = nodes[k], above = t->parent[c];
        f64 last_z = sums->z[above];
        for (i32 part = 1; part <= t->multiplicity[c]; part++, node++) {
            f64 z = sums->z[above];
            for (i64 p = t->pair_ptr[c]; p < t->pair_ptr[c + 1]; p++) {
                f64 before = sums->e[t->pair_parent[p]];
                z += before * exp(part * w[p]) - before;
            }
            for (i64 p = t->pair_ptr[c]; p < t->pair_ptr[c + 1]; p++) {
                if (w[p] == 0.0) continue;
                word[to] = t->word[p];
                logp[to++] = log(sums->e[t->pair_parent[p]]) + part * w[p] - log(z);
            }
            parent[node] = part == 1 ? number[above] : (i32)(node - 1);
            label[node] = t->history[t->example[c] - t->depth[above] - part];
            bow[node] = log(last_z / z);
            pair_ptr[node + 1] = to;
            last_z = z;
        }
        number[c] = (i32)(node - 1);
    }
}
