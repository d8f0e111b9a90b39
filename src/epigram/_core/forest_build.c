#include "eisner_inline.h"
#include "forest.h"

i64 sizeof_Forest(void) { return sizeof(Forest); }

enum { RIGHT, LEFT };

/* The kept arcs, by heads and sides, children from the inside to the outside. */
static i64 list_arcs(i64 n, const u8 *keep, i32 *kept, i32 *arcs, i32 *first_child) {
    i64 found = 0;
    for (i64 h = 0; h <= n; h++) {
        for (i64 side = RIGHT; side <= LEFT; side++) {
            first_child[2 * h + side] = (i32)found;
            for (i64 c = side == RIGHT ? h + 1 : h - 1; c >= 1 && c <= n; c += side == RIGHT ? 1 : -1) {
                kept[h * n + c - 1] = keep[h * n + c - 1] ? (i32)found : -1;
                if (!keep[h * n + c - 1]) continue;
                arcs[2 * found] = (i32)h, arcs[2 * found + 1] = (i32)c;
                found++;
            }
        }
        if (h) kept[h * n + h - 1] = -1;
    }
    first_child[2 * n + 2] = (i32)found;
    return found;
}

/* How far the children of h on a side may reach where its head is g. */
static inline i64 limit_of(i64 n, i64 g, i64 h, i64 side) {
    if (side == RIGHT) return g > h ? g - 1 : n;
    return g && g < h ? g + 1 : 1;
}

/* How many of the children of h on a side are this side of its head g. */
static i64 width_of(i64 n, const i32 *arcs, const i32 *first_child, i64 g, i64 h, i64 side) {
    i64 first = first_child[2 * h + side], end = first_child[2 * h + side + 1], limit = limit_of(n, g, h, side), k = first;
    while (k < end && (side == RIGHT ? arcs[2 * k + 1] <= limit : arcs[2 * k + 1] >= limit)) k++;
    return k - first;
}

static void sizes_of(i64 n, const u8 *keep, i64 *sizes) {
    i64 kept = 0, trios = 0, grands = 0, links = 0, edges = n;
    for (i64 h = 0; h <= n; h++) {
        for (i64 c = 1; c <= n; c++) kept += c != h && keep[h * n + c - 1];
    }
    for (i64 h = 1; h <= n; h++) {
        for (i64 side = RIGHT; side <= LEFT; side++) {
            i64 step = side == RIGHT ? 1 : -1, width = 0;
            for (i64 c = h + step; c >= 1 && c <= n; c += step) {
                if (!keep[h * n + c - 1]) continue;
                trios += ++width;
                for (i64 q = h + step; q != c; q += step) edges += keep[h * n + q - 1] ? (c - q) * step : 0;
            }
            trios += width + 1;
            for (i64 g = 0; g <= n; g++) {
                if (g == h || !keep[g * n + h - 1]) continue;
                i64 limit = limit_of(n, g, h, side), m = 0;
                for (i64 c = h + step; (limit - c) * step >= 0; c += step) {
                    if (!keep[h * n + c - 1]) continue;
                    m++;
                    edges += 1 + (limit - c) * step;
                }
                grands += m;
                links += (m + 1) * (m + 2) / 2;
                edges += m * (m + 1) / 2 + 1;
            }
        }
    }
    sizes[0] = kept, sizes[1] = trios, sizes[2] = grands, sizes[3] = links + n;
    sizes[4] = kept * (n + 1) + grands + trios + 1, sizes[5] = edges;
}

void forest_sizes(i64 n_sentences, const i64 *lengths, const i64 *first_arc, i64 n_arcs, const u8 *keep, i64 *sizes) {
    (void)n_arcs;
    for (i64 s = 0; s < n_sentences; s++) {
        if (lengths[s]) sizes_of(lengths[s], keep + first_arc[s], sizes + 6 * s);
        else memset(sizes + 6 * s, 0, 6 * sizeof *sizes);
    }
}

static void set_part(i32 *to, i64 g, i64 h, i64 s, i64 c) {
    to[0] = (i32)g, to[1] = (i32)h, to[2] = (i32)s, to[3] = (i32)c;
}

/* Trios of every kept arc, and the stops after each child. */
static void list_trios(i64 n, Forest *x) {
    i64 found = 0;
    for (i64 h = 1; h <= n; h++) {
        for (i64 side = RIGHT; side <= LEFT; side++) {
            i64 first = x->first_child[2 * h + side], end = x->first_child[2 * h + side + 1];
            for (i64 k = first; k <= end; k++) {
                i64 child = k < end ? x->arcs[2 * k + 1] : side == RIGHT ? n + 1 : 0;
                if (k < end) x->first_trio[k] = (i32)found;
                else x->first_stop[2 * h + side] = (i32)found;
                set_part(x->trios + 4 * found++, 0, h, h, child);
                for (i64 q = first; q < k; q++) set_part(x->trios + 4 * found++, 0, h, x->arcs[2 * q + 1], child);
            }
        }
    }
    x->counts[1] = found;
}

static void set_link(Forest *x, i64 at, i64 g, const i32 *trio, i64 arc, i64 which_trio, i64 grand) {
    set_part(x->links + 4 * at, g, trio[1], trio[2], trio[3]);
    x->link_parts[3 * at] = (i32)arc, x->link_parts[3 * at + 1] = (i32)which_trio;
    x->link_parts[3 * at + 2] = (i32)grand;
}

/* The grands and links of arc a from g to h, on one side. */
static void list_links(i64 n, i64 a, i64 side, Forest *x) {
    i64 g = x->arcs[2 * a], h = x->arcs[2 * a + 1], at = x->counts[3], first = x->first_child[2 * h + side];
    i64 m = width_of(n, x->arcs, x->first_child, g, h, side), grand = x->counts[2];
    x->widths[2 * a + side] = (i32)m, x->first_grand[2 * a + side] = (i32)grand, x->first_link[2 * a + side] = (i32)at;
    for (i64 j = 0; j <= m; j++) {
        i64 b = first + j, trio = j < m ? x->first_trio[b] : x->first_stop[2 * h + side];
        i64 child = j < m ? x->arcs[2 * b + 1] : 0;
        if (j < m) set_part(x->grands + 4 * (grand + j), g, h, h, child);
        for (i64 q = 0; q <= j; q++, at++, trio++) {
            set_link(x, at, g, x->trios + 4 * trio, j < m ? h * n + child - 1 : -1, trio, j < m ? grand + j : -1);
        }
    }
    x->counts[2] += m, x->counts[3] = at;
}

/* Words above each word, as numbers of arcs. */
static void list_above(i64 n, Forest *x) {
    i64 found = 0;
    for (i64 h = 1; h <= n; h++) {
        x->first_above[h] = (i32)found;
        for (i64 g = 0; g <= n; g++) {
            if (x->kept[g * n + h - 1] >= 0) x->above[found++] = x->kept[g * n + h - 1];
        }
    }
    x->first_above[n + 1] = (i32)found;
}

/* The node of what is below the child h of arc a up to word w, on one side; the left one of h itself is in place 0. */
static inline i32 *span_node(Forest *x, i64 n, i64 a, i64 w, i64 side) {
    i64 h = x->arcs[2 * a + 1];
    return x->span_nodes + a * (n + 1) + (side == LEFT && w == h ? 0 : w);
}

static void add_edge(Forest *x, i64 left, i64 right, i64 link) {
    i32 *to = x->edges + 3 * x->counts[5]++;
    to[0] = (i32)left, to[1] = (i32)right, to[2] = (i32)link;
}

/* The number of a node whose edges have been added; -1 if it has none. */
static i32 end_node(Forest *x) {
    i64 node = x->counts[4];
    if (x->counts[5] == x->first_edge[node]) return -1;
    x->first_edge[++x->counts[4]] = x->counts[5];
    return (i32)node;
}

/* Nodes between siblings of the arc b, and of b below each arc to its head. */
static void build_arc(i64 n, i64 b, Forest *x) {
    i64 h = x->arcs[2 * b], c = x->arcs[2 * b + 1], side = h < c ? RIGHT : LEFT, step = h < c ? 1 : -1;
    i64 first = x->first_child[2 * h + side], j = b - first;
    for (i64 q = 0; q < j; q++) {
        i64 inner = x->arcs[2 * (first + q) + 1];
        for (i64 m = inner; m != c; m += step) {
            i64 near = *span_node(x, n, first + q, m, side), far = *span_node(x, n, b, m + step, !side);
            if (near >= 0 && far >= 0) add_edge(x, near, far, -1);
        }
        x->trio_nodes[x->first_trio[b] + 1 + q] = end_node(x);
    }
    i64 below = *span_node(x, n, b, h + step, !side);
    for (i64 k = x->first_above[h]; k < x->first_above[h + 1]; k++) {
        i64 a = x->above[k], at = 2 * a + side, link = x->first_link[at] + j * (j + 1) / 2;
        if (j >= x->widths[at]) continue;
        if (below >= 0) add_edge(x, below, -1, link);
        for (i64 q = 0; q < j; q++) {
            i64 inner = x->grand_nodes[x->first_grand[at] + q], between = x->trio_nodes[x->first_trio[b] + 1 + q];
            if (inner >= 0 && between >= 0) add_edge(x, inner, between, link + 1 + q);
        }
        x->grand_nodes[x->first_grand[at] + j] = end_node(x);
    }
}

/* The node of what is below the child h of arc a, up to the word w at a distance. */
static void build_span(i64 n, i64 a, i64 w, i64 side, Forest *x) {
    i64 h = x->arcs[2 * a + 1], at = 2 * a + side, m = x->widths[at], stop = x->first_link[at] + m * (m + 1) / 2;
    if (w == h) add_edge(x, -1, -1, stop);
    i64 first = x->first_child[2 * h + side];
    for (i64 q = 0; q < m && w != h; q++) {
        i64 c = x->arcs[2 * (first + q) + 1];
        if (side == RIGHT ? c > w : c < w) break;
        i64 inner = x->grand_nodes[x->first_grand[at] + q], rest = *span_node(x, n, first + q, w, side);
        if (inner >= 0 && rest >= 0) add_edge(x, inner, rest, stop + 1 + q);
    }
    *span_node(x, n, a, w, side) = end_node(x);
}

void forest_build(i64 n, const u8 *keep, Forest *x) {
    memset(x->counts, 0, 6 * sizeof *x->counts);
    if (!n) return;
    x->counts[0] = list_arcs(n, keep, x->kept, x->arcs, x->first_child);
    list_above(n, x);
    list_trios(n, x);
    i64 n_kept = x->counts[0];
    for (i64 a = 0; a < n_kept; a++) list_links(n, a, RIGHT, x), list_links(n, a, LEFT, x);
    x->first_edge[0] = 0;
    for (i64 far = 0; far < n; far++) {
        for (i64 h = 1; h <= n && far; h++) {
            if (h + far <= n && x->kept[h * n + h + far - 1] >= 0) build_arc(n, x->kept[h * n + h + far - 1], x);
            if (h - far >= 1 && x->kept[h * n + h - far - 1] >= 0) build_arc(n, x->kept[h * n + h - far - 1], x);
        }
        for (i64 a = 0; a < n_kept; a++) {
            i64 g = x->arcs[2 * a], h = x->arcs[2 * a + 1];
            if (h + far <= limit_of(n, g, h, RIGHT)) build_span(n, a, h + far, RIGHT, x);
            if (h - far >= limit_of(n, g, h, LEFT)) build_span(n, a, h - far, LEFT, x);
        }
    }
    for (i64 a = x->first_child[0]; a < x->first_child[2]; a++) {
        i64 r = x->arcs[2 * a + 1], left = *span_node(x, n, a, 1, LEFT), right = *span_node(x, n, a, n, RIGHT);
        i64 link = x->counts[3]++;
        i32 part[4] = {0, 0, 0, (i32)r};
        set_link(x, link, -1, part, r - 1, -1, -1);
        if (left >= 0 && right >= 0) add_edge(x, left, right, link);
    }
    x->first_edge[++x->counts[4]] = x->counts[5]; /* the goal, without edges where there is no tree */
}
