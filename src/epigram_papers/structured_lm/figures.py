"""Figures 2 and 3 from the results of a run."""

from __future__ import annotations

from epigram_papers.report import Curve, Figure
from epigram_papers.structured_lm.plan import NORMS
from epigram_papers.structured_lm.results import LABELS, Results

VARIANTS = {
    "pivot": "random pivots, trie (rand-pivot)",
    "pivot-col": "random pivots, collapsed tree (rand-pivot-col)",
    "heap": "heaps, trie",
    "heap-col": "heaps, collapsed tree (k-best heap)",
    "tree-l2": "tree-l2, trie",
}


def figure_2a(results: Results) -> Figure:
    """Perplexity without depth weights."""
    curves = [_perplexity(results, f"{norm}/plain") for norm in NORMS]
    return _figure_2(results, "structured-lm-2a", "Perplexity of unweighted penalties", curves, "Figure 2a")


def figure_2b(results: Results) -> Figure:
    """Perplexity with depth weights."""
    curves = [_perplexity(results, f"{norm}/weighted") for norm in NORMS]
    return _figure_2(results, "structured-lm-2b", "Perplexity with depth weights", curves, "Figure 2b")


def figure_2c(results: Results) -> Figure:
    """Parameters of trie and tree, in the model and not 0."""
    counts, orders = results.counts, results.orders
    curves = [
        Curve("trie |S|", orders, counts["trie"]),
        Curve("collapsed tree |T|, as the paper counts", orders, counts["tree"]),
        Curve("collapsed contexts, exact", orders, counts["collapsed"]),
        Curve("weighted tree-l2, not 0", orders, counts["tree-l2/weighted/nonzero"], "dashed"),
        Curve("weighted tree-linf, values stored", orders, counts["tree-linf/weighted/values"], "dashed"),
        Curve("tree-linf, not 0", orders, counts["tree-linf/plain/nonzero"], "dashed"),
    ]
    return Figure(
        "structured-lm-2c",
        "Number of parameters",
        "order",
        "parameters",
        curves,
        note=f"Mean over {_splits(results)}. Values stored: constant value non-branching paths of the fitted weights.",
        source="Figure 2c",
    )


def figure_3a(results: Results) -> Figure:
    """Time against the order."""
    rows = results.by_order
    x = [row["order"] for row in rows]
    curves = [Curve(label, x, [1e3 * row[variant] for row in rows]) for variant, label in VARIANTS.items()]
    if all("heap" in row.get("spams", {}) for row in rows):
        y = [1e3 * row["spams"]["heap"] for row in rows]
        curves.append(Curve("SPAMS tree-linf, trie", x, y, "dashed", "rival"))
    return Figure(
        "structured-lm-3a",
        "Time of a proximal step against the order",
        "order",
        "CPU milliseconds",
        curves,
        note="One split of AP news; all variants project the same vector, taken from a fit, and agree.",
        source="Figure 3a",
    )


def figure_3b(results: Results) -> Figure:
    """Time against the length of the text."""
    curves = []
    for variant, label in VARIANTS.items():
        rows = [row for row in results.by_words if variant in row]
        curves.append(Curve(label, [row["words"] for row in rows], [1e3 * row[variant] for row in rows]))
    rows = [row for row in results.by_words if "heap" in row.get("spams", {})]
    if rows:
        y = [1e3 * row["spams"]["heap"] for row in rows]
        curves.append(Curve("SPAMS tree-linf, trie", [row["words"] for row in rows], y, "dashed", "rival"))
    return Figure(
        "structured-lm-3b",
        "Time of a proximal step against the length of the text",
        "training words",
        "CPU milliseconds",
        curves,
        x_log=True,
        y_log=True,
        note=f"English novels, order {results.orders[-1]}. Beyond a length of text only the collapsed tree is grown.",
        source="Figure 3b",
    )


def figure_online(results: Results) -> Figure:
    """Perplexity along a stream of text."""
    rows = results.online["rows"]
    exact = [row for row in rows if "exact" in row]
    curves = [
        Curve("online, part by part", [row["words"] for row in rows], [row["online"] for row in rows]),
        Curve(
            "exact, all text so far",
            [row["words"] for row in exact],
            [row["exact"] for row in exact],
            "dashed",
        ),
    ]
    return Figure(
        "structured-lm-online",
        "Training online: perplexity along a text",
        "training words so far",
        "test perplexity",
        curves,
        note=f"One split of AP news, {results.online['penalty']}, order {results.online['order']}; the first part is "
        "fitted exactly, the others are learnt one after the other.",
        source="section 7",
    )


def _figure_2(results: Results, name: str, title: str, curves: list[Curve], source: str) -> Figure:
    smoothing = [
        Curve(LABELS[key], results.orders, results.perplexity[key], "dashed") for key in ("kn", "mkn")
    ]
    return Figure(
        name,
        title,
        "order",
        "test perplexity",
        [*curves, *smoothing],
        note=f"Mean over {_splits(results)} of AP news.",
        source=source,
    )


def _perplexity(results: Results, key: str) -> Curve:
    return Curve(LABELS[key], results.orders, results.perplexity[key])


def _splits(results: Results) -> str:
    return "one split" if results.splits == 1 else f"{results.splits} splits"
