/* Projective dependency trees of second and third order over the arcs that pruning kept: each child is scored together with
 * the child of the same head before it and with the head of its head (Koo and Collins 2010, model 1). Sums, maxima and the k
 * best are exact over all trees whose arcs are kept. Second order has no scores of grandparents.
 *
 * A sentence has n words, counted from 1; 0 is the root, and the arc from h to c is number h * n + c - 1. What can be
 * scored is a part (grandparent, head, sibling, child): the head stands for no sibling, 0 and n + 1 for the ends after the
 * last child on the left and right. A link is such a part with all four; its score is the sum of that of its arc, of the
 * trio (head, sibling, child), of the grand (grandparent, head, child) and of its own. The root's child has a link with the
 * arc alone, whose grandparent is -1.
 *
 * The trees are the derivations of one goal, the last node, from others: a node has edges, each with up to two tails and a
 * link. Of the arc a from g to h and words x there are: R[a, x] and L[a, x], what is below h on one side up
 * to x; A[a, c], h with the children from the inside up to c; S[h, q, c] between two siblings.
 */
#ifndef EPIGRAM_FOREST_H
#define EPIGRAM_FOREST_H
#include "core.h"

/* How much there may be of each, and where it is; counts[0] to counts[5] say how much there is: kept arcs, trios, grands,
 * links, nodes, edges. */
typedef struct {
    i64 n_words;
    i64 n_kept;
    i64 n_trios;
    i64 n_grands;
    i64 n_links;
    i64 n_nodes;
    i64 n_edges;
    i64 *counts; /* [6] */
    i32 *kept; /* [n_words * n_words + n_words] */
    i32 *arcs; /* [2 * n_kept] */
    i32 *first_child; /* [2 * n_words + 3] */
    i32 *above; /* [n_kept] */
    i32 *first_above; /* [n_words + 2] */
    i32 *widths; /* [2 * n_kept] */
    i32 *first_grand; /* [2 * n_kept] */
    i32 *first_link; /* [2 * n_kept] */
    i32 *first_trio; /* [n_kept] */
    i32 *first_stop; /* [2 * n_words + 2] */
    i32 *span_nodes; /* [n_kept * n_words + n_kept] */
    i32 *grand_nodes; /* [n_grands] */
    i32 *trio_nodes; /* [n_trios] */
    i32 *trios; /* [4 * n_trios] */
    i32 *grands; /* [4 * n_grands] */
    i32 *links; /* [4 * n_links] */
    i32 *link_parts; /* [3 * n_links] */
    i64 *first_edge; /* [n_nodes + 1] */
    i32 *edges; /* [3 * n_edges] */
    f64 *values; /* [n_links] */
    f64 *marginals; /* [n_links] */
    f64 *inside; /* [n_nodes] */
    f64 *outside; /* [n_nodes] */
    i64 *best; /* [n_nodes] */
} Forest;

/* How much each sentence needs of kept arcs, trios, grands, links, nodes and edges; `keep` is 1 for the arcs that are kept,
 * those of sentence s from first_arc[s] on. */
void forest_sizes(i64 n_sentences, const i64 lengths[n_sentences], const i64 first_arc[n_sentences + 1], i64 n_arcs,
                  const u8 keep[n_arcs], i64 sizes[6 * n_sentences]);

/* Nodes, edges and parts of a sentence; arcs, trios, grands of a link (or -1) are in link_parts. */
void forest_build(i64 n, const u8 keep[n * n + n], Forest *forest);

/* The values of links from the scores of arcs, trios, grands and links themselves, one after the other; the last may be
 * missing. */
void forest_score(i64 n, i64 n_scores, const f64 scores[n_scores], Forest *forest);

/* log Z of the values. */
f64 forest_inside(Forest *forest);

/* log Z, and the probabilities of links to `marginals`. */
f64 forest_marginals(Forest *forest);

/* Sums over links by arc, trio, grand and link: the reverse of forest_score. */
void forest_collect(i64 n, const Forest *forest, i64 n_scores, f64 out[n_scores]);

/* The best tree: heads of words. Returns its score, or less than -1e299 where there is none. */
f64 forest_best(i64 n, Forest *forest, i32 heads[n]);

/* The k best trees, best first; returns how many there are, at most k. */
i64 forest_k_best(i64 n, const Forest *forest, i64 k, i64 room, f64 lists[room], i64 back[room], f64 values[k],
                  i32 heads[n * k]);

#endif
