"""The report: Figure 2 with its table, Figure 3 and Table 1, the time of a pass, and how strengths were chosen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from experiments.report import Claim, Curve, Figure, Note, Part, Report, Section
from experiments.runner import Runner
from experiments.structured_lm.claims import perplexity_claims, size_claims, weighted_claims
from experiments.structured_lm.cost_claims import pass_claims, prox_claims
from experiments.structured_lm.paper import CITATION
from experiments.structured_lm.plan import NORMS, choosing, fitting, measuring, plan, size
from experiments.structured_lm.results import LABELS, Found, Results, collect, strengths_of
from experiments.structured_lm.tables import (
    depth_table,
    pass_table,
    perplexity_table,
    prox_table,
    size_table,
    strength_table,
    table_1,
)

__all__ = ["build", "plan", "run"]

PREFIX = "structured-lm/"
INTRO = (
    "Log-linear language models over all suffixes of the context, with non-negative weights and four "
    "penalties, against Kneser-Ney smoothing. Text: four splits of AP news, 100,000 words to train and 20,000 "
    "to test each, with the rare words, numbers and proper nouns replaced as in the paper. Perplexity counts "
    "the words of the training vocabulary and one end a sentence. Training is exact, to a tolerance, where the "
    "paper makes stochastic passes. The paper's Figures 2 and 3 print no values, so their shapes are compared. "
    "Times are CPU seconds of one thread."
)
VARIANTS = {
    "pivot": "random pivots, trie (rand-pivot)",
    "pivot-col": "random pivots, collapsed tree (rand-pivot-col)",
    "heap": "heaps, trie",
    "heap-col": "heaps, collapsed tree (k-best heap)",
    "tree-l2": "tree-l2, trie",
}


def run(runner: Runner) -> Report:
    """Choose strengths, run the fits and the measurements with them, and report."""
    found = dict(runner.run(choosing(runner.quick)))
    strengths = strengths_of(_own(found))
    found |= runner.run([*fitting(runner.quick, strengths), *measuring(runner.quick, strengths)])
    return build(_own(found), runner.quick)


def build(found: Found, quick: bool) -> Report:
    """The report of these results, by the names of their experiments without ``structured-lm/``."""
    results = collect(found, quick)
    command = "python -m experiments structured-lm" + (" --quick" if quick else "")
    return Report(
        "structured-lm",
        "Structured penalties for log-linear language models",
        CITATION,
        INTRO + (_subset(results) if quick else ""),
        [
            _section(
                "Perplexity against order (Figure 2a)",
                results,
                perplexity_claims,
                [figure_2a(results)],
                command,
            ),
            _section(
                "With depth weights (Figure 2b)",
                results,
                weighted_claims,
                [figure_2b(results), depth_table(results)],
                command,
            ),
            _section("All perplexities", results, None, [perplexity_table(results)], command),
            _section("Number of parameters (Figure 2c)", results, size_claims, _sizes(results), command),
            _section(
                "Time of proximal steps (Figures 3a and 3b, Table 1)",
                results,
                prox_claims,
                _prox(results),
                command,
            ),
            _section(
                "One pass over a large text, and training online (section 7)",
                results,
                pass_claims,
                [pass_table(results), figure_online(results)],
                command,
            ),
            _section(
                "How strengths were chosen",
                results,
                None,
                [_choice(results), strength_table(results)],
                command,
            ),
        ],
    )


def _section(
    title: str,
    results: Results,
    claims: Callable[[Results], list[Claim]] | None,
    parts: list[Part],
    command: str,
) -> Section:
    """Claims first, then what they rest on."""
    said = claims(results) if claims is not None else []
    if results.quick:
        said = [replace(claim, why=f"On the quick subset: {claim.why}") for claim in said]
    shown = [part if isinstance(part, Note | Claim) else replace(part, command=command) for part in parts]
    return Section(title, "", [*said, *shown])


def _sizes(results: Results) -> list[Part]:
    return [figure_2c(results), size_table(results)]


def _prox(results: Results) -> list[Part]:
    return [figure_3a(results), figure_3b(results), prox_table(results), table_1(results)]


def _choice(results: Results) -> Note:
    at = size(results.quick)
    return Note(
        f"As in the paper, on a smaller text: {at.choosing_words:,} words to fit and {at.held_out:,} to choose "
        "by, from the training part of each split run; never on test text. One strength for each norm, with and "
        "without depth weights, has the least mean log-perplexity over the splits at order 5, found by "
        "Nelder-Mead, and is used for all orders. The strength without depth weights was chosen once more at "
        f"order {results.orders[-1]}, to see whether a curve rises only because its strength was chosen for "
        "another order, and once more at order 5 for weights of either sign. The objective is a sum over the text, so "
        "a strength found on less text holds for more."
    )


def _subset(results: Results) -> str:
    at = size(True)
    return (
        f" Quick run: the first {at.words or 0:,} training words of one split, orders "
        f"{', '.join(map(str, results.orders))}, and {at.novel_words or 0:,} words of novels: shapes, not the "
        "figures of the full run."
    )


def _own(found: Found) -> Found:
    return {name.removeprefix(PREFIX): result for name, result in found.items()}


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
