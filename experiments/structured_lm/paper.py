"""What Nelakanti et al. 2013 report, typed in from the paper. Figures 2 and 3 print no values, so their shapes stand
here in the words of section 6."""

from __future__ import annotations

CITATION = (
    "Anil Nelakanti, Cedric Archambeau, Julien Mairal, Francis Bach and Guillaume Bouchard. 2013. Structured "
    "Penalties for Log-Linear Language Models. In Proceedings of EMNLP 2013, pages 233-243."
)

SHAPES = {
    "l1/plain": "improves to a low order, then degrades (Fig. 2a)",
    "l2/plain": "improves to a low order, then degrades (Fig. 2a)",
    "tree-l2/plain": "no degradation, similar to Kneser-Ney (Fig. 2a)",
    "tree-linf/plain": "best of all at order 5, then degrades (Fig. 2a)",
    "l1/weighted": "improves at larger depths, worst of all (Fig. 2b)",
    "l2/weighted": "comparable to unweighted tree norms (Fig. 2b)",
    "tree-l2/weighted": "gains most; improves up to about order 9 (Fig. 2b)",
    "tree-linf/weighted": "corrected at larger depths (Fig. 2b)",
    "kn": "interpolated, by SRILM (Fig. 2a)",
    "mkn": None,
}

ALPHAS = {"l1": 0.7, "l2": 0.5, "tree-l2": 1.1, "tree-linf": 0.85}
"""Section 6: the best factors of features for each symbol of depth; below 1, deep features cost more."""

TABLE_1 = {
    "l1": ("O(|T|)", "O(|T|)", 1.0),
    "tree-l2": ("O(|S|)", "O(|S|)", 1.0),
    "pivot-col": ("O(|T|)", "O(|T|^2)", 2.0),
    "heap-col": ("O(|T|)", "O(|T| log |T|)", 1.0),
}
"""Memory, time of one proximal step, and the exponent of that time (logarithms left out)."""

K_MEAN, K_LARGEST = 2.5, (10, 20)
"""Section 4.5: entries above the threshold of a projection, on 100,000 words of AP news; the largest "is around 10 and
20, depending on the regularization level"."""

PASS_MINUTES = 7583
PASS_WORDS = 13_000_000
"""Section 7: one pass over all of AP news on a standard desktop computer."""

BEST_ORDER = 9
"""Section 6: perplexity improves up to about 9-grams with the weighted tree-l2 penalty."""
