#include "forest_decode.h"

#include "eisner_inline.h"

/* The probabilities of arcs to `out`, NEVER for those that are not kept. */
static void arc_probabilities(i64 n, const u8 *keep, Forest *forest, f64 *out) {
    forest_marginals(forest);
    for (i64 a = 0; a < n * (n + 1); a++) out[a] = keep[a] ? 0.0 : NEVER;
    for (i64 l = 0; l < forest->counts[3]; l++) {
        i64 arc = forest->link_parts[3 * l];
        if (arc >= 0) out[arc] += forest->marginals[l];
    }
}

i64 forest_decode_expected(const ArcTemplates *arcs, const ArcTemplates *trios, const ArcTemplates *grands,
                           const ArcTemplates *links, const ArcWords *a, const ArcTable *weights,
                           ArcMemory *arc_memory, PartMemory *trio_memory, PartMemory *grand_memory,
                           PartMemory *link_memory, Forest *forest, Spans *spans, i64 n_chosen, const i32 *sentences,
                           i64 n_sentences, const i64 *first_arc, i64 n_arcs, const u8 *keep, i64 n_scores, f64 *scores,
                           i64 n_tokens, i32 *heads) {
    (void)n_sentences, (void)n_arcs, (void)n_tokens, (void)n_scores;
    for (i64 k = 0; k < n_chosen; k++) {
        i64 s = sentences[k], at = a->sentence_ptr[s], n = a->sentence_ptr[s + 1] - at, size = n * (n + 1);
        if (!n) continue;
        const u8 *own = keep + first_arc[s];
        forest_build(n, own, forest);
        const i64 *counts = forest->counts;
        f64 *of_trios = scores + size, *of_grands = of_trios + counts[1], *of_links = of_grands + counts[2];
        arcs_scores(arcs, a, arc_memory, s, weights, size, own, scores);
        part_features_scores(trios, a, trio_memory, s, weights, counts[1], forest->trios, of_trios);
        part_features_scores(grands, a, grand_memory, s, weights, counts[2], forest->grands, of_grands);
        part_features_scores(links, a, link_memory, s, weights, counts[3], forest->links, of_links);
        forest_score(n, size + counts[1] + counts[2] + counts[3], scores, forest);
        f64 *p = of_links + counts[3];
        arc_probabilities(n, own, forest, p);
        if (eisner_best(n, p, spans, heads + at) < NEVER / 2) return s;
    }
    return -1;
}
