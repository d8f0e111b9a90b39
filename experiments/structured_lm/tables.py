"""Tables of the report; the paper's Table 1 and others that stand beside its figures."""

from __future__ import annotations

from experiments.report import Table, Value
from experiments.structured_lm.cost_claims import (
    NAMES,
    minutes,
    node_exponent,
    order_exponents,
    word_exponents,
)
from experiments.structured_lm.paper import ALPHAS, PASS_MINUTES, PASS_WORDS, SHAPES, TABLE_1
from experiments.structured_lm.plan import NORMS, TREE_NORMS, WEIGHTINGS, group_orders
from experiments.structured_lm.results import LABELS, Results


def perplexity_table(results: Results) -> Table:
    """Test perplexity of every model and order."""
    orders = [str(order) for order in results.orders]
    rows: list[list[Value]] = []
    for key, label in LABELS.items():
        unbounded = results.unbounded if key == "tree-linf/plain" else None
        without = results.without_end.get(key)
        last = None if without is None else without[-1]
        rows.append([label, SHAPES[key], *results.perplexity[key], unbounded, last])
    columns = ["model", "shape, paper", *orders, "unbounded", f"{results.orders[-1]}, ends not counted"]
    if isinstance(results.kenlm, str):
        note = f"KenLM: {results.kenlm}."
    else:
        ours, theirs = results.kenlm
        note = f"Modified Kneser-Ney of order 5 by KenLM, through ARPA: {theirs:.3f}; by epigram: {ours:.3f}."
    return Table(
        "Test perplexity by order, epigram",
        columns,
        rows,
        note=f"Mean over {results.splits} split{'s' if results.splits > 1 else ''}. {note}",
        formats=["", "", *[".2f"] * (len(orders) + 2)],
        source="Figures 2a and 2b",
        kinds=["plain", "paper", *["epigram"] * (len(orders) + 2)],  # type: ignore[list-item]
    )


def size_table(results: Results) -> Table:
    """Trie, tree and fitted models, by order and without limit."""
    counts, limits = results.counts, results.limits
    rows: list[list[Value]] = []
    for k, order in enumerate(results.orders):
        rows.append(
            [
                str(order),
                counts["trie"][k],
                counts["tree"][k],
                counts["collapsed"][k],
                counts["tree-l2/weighted/nonzero"][k],
                counts["tree-linf/weighted/nonzero"][k],
                counts["tree-linf/weighted/values"][k],
                counts["ngrams"][k],
                counts["trie_bytes"][k] / 1e6,
                counts["collapsed_bytes"][k] / 1e6,
            ]
        )
    shapes: list[Value] = [
        "unbounded",
        limits["trie"],
        limits["tree"],
        limits["collapsed"],
        None,
        None,
        None,
        None,
    ]
    rows.append([*shapes, limits["trie_bytes"] / 1e6, limits["collapsed_bytes"] / 1e6])
    columns = [
        "order",
        "trie |S|",
        "tree |T|",
        "collapsed contexts",
        "weighted tree-l2, not 0",
        "weighted tree-linf, not 0",
        "weighted tree-linf, values stored",
        "Kneser-Ney n-grams",
        "trie MB",
        "collapsed MB",
    ]
    return Table(
        "Parameters by order, epigram",
        columns,
        rows,
        note="|T| joins chains within the trie of one word, as the paper does; collapsed contexts joins contexts "
        "that always occur together, where this changes nothing, and is what l1, l2² and tree-linf are trained "
        "on. With strengths that grow with the depth the collapsed tree is not exact, so weighted models are "
        "trained on the trie.",
        formats=["", *[",.0f"] * 7, ".1f", ".1f"],
        source="Figure 2c",
    )


def prox_table(results: Results) -> Table:
    """Time of each variant at the highest order, beside SPAMS."""
    row = results.by_order[-1]
    rival = row.get("spams", {})
    rows: list[list[Value]] = []
    for variant, name in NAMES.items():
        theirs = rival.get({"tree-l2": "tree-l2"}.get(variant, "heap")) if variant != "l1" else None
        rows.append(
            [
                name,
                row["trie"] if variant in ("tree-l2", "heap", "pivot") else row["tree"],
                1e3 * row[variant],
                None if theirs is None else 1e3 * theirs,
                None if theirs is None else row[variant] / theirs,
            ]
        )
    worst = max(each["differs"] for each in [*results.by_order, *results.by_words])
    note = f"Order {row['order']}. Results of our variants differ by at most {worst:.1e}."
    if "missing" in rival:
        note += f" SPAMS: {rival['missing']}."
    elif rival:
        note += f" SPAMS works on the trie; it differs from ours by at most {rival['differs']:.1e}."
    columns = ["proximal step", "nodes", "epigram, ms", "SPAMS on the trie, ms", "epigram / SPAMS"]
    return Table("Time of a proximal step", columns, rows, note, formats=["", ",d", ".3f", ".3f", ".2f"])


def table_1(results: Results) -> Table:
    """The paper's bounds and measured exponents of growth."""
    by_order, by_words = order_exponents(results), word_exponents(results)
    generalises = {"l1": "no", "tree-l2": "yes", "pivot-col": "yes", "heap-col": "yes"}
    rows: list[list[Value]] = []
    for variant, (memory, time, _) in TABLE_1.items():
        nodes = "trie" if variant == "tree-l2" else "tree"
        rows.append(
            [
                NAMES[variant],
                generalises[variant],
                memory,
                time,
                by_order[nodes],
                by_words[nodes],
                by_order[variant],
                by_words[variant],
                node_exponent(results, variant),
            ]
        )
    columns = [
        "penalty and algorithm",
        "generalises, paper",
        "memory, paper",
        "time, paper",
        "memory by order, epigram",
        "memory by words, epigram",
        "time by order, epigram",
        "time by words, epigram",
        "time by nodes, epigram",
    ]
    return Table(
        "Growth exponents",
        columns,
        rows,
        note="Exponents are slopes of log-log lines, by the order from 3 on, the words of the text, and the nodes "
        "that the step works on (as the text grows). The paper's are upper bounds. Memory is counted in nodes, each "
        "a weight. Whether a penalty generalises is the matter of Figure 2.",
        formats=["", "", "", "", *[".2f"] * 5],
        source="Table 1",
    )


def pass_table(results: Results) -> Table:
    """Passes over the novels, and the paper's."""
    rows: list[list[Value]] = [["paper: AP news, tree norms", PASS_WORDS, None, None, None, PASS_MINUTES]]
    for name, label in (("order-5", "exact, order 5"), ("unbounded", "exact, unbounded order")):
        result = results.passes[name]
        seconds = result["seconds"]
        spent = seconds["gradient"] + seconds["prox"]
        rows.append(
            [label, result["positions"], result["weights"], seconds["tree"], spent, minutes(results, name)]
        )
    result = results.passes["stochastic"]
    spent = result["batch_seconds"] * result["in_a_pass"]
    row: list[Value] = [
        f"stochastic, order 5, from {result['measured']} batches",
        result["positions"],
        result["weights"],
    ]
    rows.append([*row, None, spent, minutes(results, "stochastic")])
    after = results.stochastic["rows"]
    told = ", ".join(
        f"{row['perplexity']:.2f} after {row['passes']} ({row['seconds']:.1f} CPU s)" for row in after
    )
    exact = results.stochastic["exact"]
    columns = ["pass", "words", "weights", "tree s, epigram", "pass s, epigram", "minutes for 13 M words"]
    return Table(
        "One pass over a large text",
        columns,
        rows,
        note="English novels, collapsed tree, tree-linf. An exact pass is one gradient over all words and one "
        "proximal step. How far passes go: on the first split, order 5, stochastic passes have test perplexity "
        f"{told}; exact training reaches {exact:.2f}.",
        formats=["", ",d", ",d", ".1f", ",.2f", ",.2f"],
        source="section 7",
    )


def depth_table(results: Results) -> Table:
    """Depth weights on features, as the paper has them, and on groups."""
    rows: list[list[Value]] = []
    for norm in TREE_NORMS:
        for order, groups in zip(group_orders(results.orders), results.groups[norm], strict=True):
            plain, features = (results.at(f"{norm}/{kind}", order) for kind in WEIGHTINGS)
            rows.append([norm, order, plain, features, groups])
    chosen = ", ".join(
        f"{norm} {results.strengths[f'{norm}/weighted'].depth_weight:.2f} and "
        f"{results.strengths[f'{norm}/groups'].depth_weight:.2f}"
        for norm in TREE_NORMS
    )
    return Table(
        "Depth weights on features and on groups, test perplexity",
        ["norm", "order", "without", "on features", "on groups"],
        rows,
        note="On features: every weight is multiplied by A to the power of its own depth in all norms that it is part "
        "of, as in the paper. On groups: the norm of a subtree is multiplied by A to the power of its root's depth. "
        f"Strength and A are chosen for each on held-out text, all to the same tolerance; A: {chosen}.",
        formats=["", "d", ".2f", ".2f", ".2f"],
        source="not in the paper, which has weights on features",
    )


def strength_table(results: Results) -> Table:
    """Strengths and depth weights."""
    rows: list[list[Value]] = []
    for norm in NORMS:
        plain, weighted, again = (
            results.strengths[f"{norm}/{kind}"] for kind in ("plain", "weighted", "again")
        )
        last = results.perplexity[f"{norm}/plain"][-1]
        rows.append(
            [
                LABELS[f"{norm}/plain"],
                plain.strength,
                weighted.strength,
                weighted.depth_weight,
                weighted.depth_weight ** (-0.5 if norm == "l2" else -1.0),
                ALPHAS[norm],
                again.strength,
                last,
                results.again[norm],
            ]
        )
    order = results.orders[-1]
    columns = [
        "penalty",
        "strength",
        "strength, weighted",
        "depth weight",
        "as alpha, epigram",
        "alpha, paper",
        f"strength chosen at order {order}",
        f"perplexity at order {order}",
        f"the same, chosen at order {order}",
    ]
    return Table(
        "Chosen strengths, epigram",
        columns,
        rows,
        note="The depth weight A multiplies the strength for each symbol of depth, inside the tree norms; the paper's "
        "alpha multiplies the feature, so it is 1/A, and for squared weights A to the power of -1/2.",
        formats=["", *[".3f"] * 3, ".2f", "g", ".3f", ".2f", ".2f"],
        source="section 6",
    )
