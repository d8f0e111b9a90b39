"""The results' results in the form that tables, figures and claims are made from: means over the splits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from epigram.lm.loglinear.penalties import Strength
from experiments.structured_lm.plan import (
    CHOSEN_AT,
    NORMS,
    TREE_NORMS,
    WEIGHTINGS,
    group_orders,
    kinds_of,
    size,
)

Found = Mapping[str, Mapping[str, Any]]
"""Results by the name of their result, without the paper's own name."""
LABELS = {
    "l1/plain": "l1",
    "l2/plain": "l2²",
    "tree-l2/plain": "tree-l2",
    "tree-linf/plain": "tree-linf",
    "l1/weighted": "weighted l1",
    "l2/weighted": "weighted l2²",
    "tree-l2/weighted": "weighted tree-l2",
    "tree-linf/weighted": "weighted tree-linf",
    "kn": "Kneser-Ney",
    "mkn": "modified Kneser-Ney",
}


@dataclass(frozen=True)
class Results:
    """Lists run over ``orders``; ``perplexity`` and others are keyed as :data:`LABELS`.

    ``again`` is the perplexity of each norm at the highest order with its strength chosen there; ``free`` that at order
    5 with weights of either sign and a strength chosen for them; ``groups`` those of the tree norms with depth weights
    on groups, at the orders of ``group_orders``; ``unbounded`` that of tree-linf without a limit of the order.
    ``counts`` has ``trie``, ``tree`` and ``collapsed`` nodes, ``ngrams``, and ``KEY/nonzero`` and ``KEY/values`` of the
    fitted models. ``by_order`` and ``by_words`` are rows of prox times, ``k_best`` of k in section 4.5; ``online`` is
    what training online found, ``passes`` what passes over novels did.
    """

    quick: bool
    orders: list[int]
    splits: int
    strengths: dict[str, Strength]
    perplexity: dict[str, list[float]]
    without_end: dict[str, list[float]]
    again: dict[str, float]
    free: dict[str, float]
    groups: dict[str, list[float]]
    unbounded: float
    counts: dict[str, list[float]]
    limits: dict[str, float]
    kenlm: tuple[float, float] | str
    by_order: list[dict[str, Any]]
    by_words: list[dict[str, Any]]
    stochastic: dict[str, Any]
    k_best: list[dict[str, Any]]
    online: dict[str, Any]
    passes: dict[str, dict[str, Any]]

    def best(self, key: str) -> tuple[int, float]:
        """The order of least perplexity, and that perplexity."""
        values = self.perplexity[key]
        at = int(np.argmin(values))
        return self.orders[at], values[at]

    def at(self, key: str, order: int) -> float:
        """Perplexity at an order; at the highest where that one was not run."""
        return self.perplexity[key][self.orders.index(order) if order in self.orders else -1]


def strengths_of(found: Found) -> dict[str, Strength]:
    """The chosen strengths, by ``NORM/KIND``."""
    return {
        f"{norm}/{kind}": Strength(choice["strength"], choice["depth_weight"])
        for norm in NORMS
        for kind in kinds_of(norm)
        for choice in [found[f"choose/{norm}/{kind}"]]
    }


def collect(found: Found, quick: bool) -> Results:
    """Means over the splits of everything that was run on each."""
    at = size(quick)
    orders = list(at.orders)

    def mean(result: str, column: str, wanted: Sequence[int] = orders) -> list[float]:
        """Of a column of rows, by order."""
        columns = []
        for split in at.splits:
            rows = {row["order"]: row for row in found[f"{result}/{split}"]["rows"]}
            columns.append([rows[order][column] for order in wanted])
        return [float(value) for value in np.mean(columns, axis=0)]

    kinds = [f"{norm}/{kind}" for kind in WEIGHTINGS for norm in NORMS]
    perplexity = {kind: mean(f"fit/{kind}", "perplexity") for kind in kinds}
    without_end = {kind: mean(f"fit/{kind}", "without_end") for kind in kinds}
    perplexity["kn"], perplexity["mkn"] = mean("kneser-ney", "interpolated"), mean("kneser-ney", "modified")
    without_end["mkn"] = mean("kneser-ney", "modified_without_end")
    shapes = ("trie", "tree", "collapsed", "trie_bytes", "collapsed_bytes")
    counts = {name: mean("sizes", name) for name in shapes}
    counts["ngrams"] = mean("kneser-ney", "ngrams")
    for kind in kinds:
        for column in ("nonzero", "values"):
            counts[f"{kind}/{column}"] = mean(f"fit/{kind}", column)
    return Results(
        quick,
        orders,
        len(at.splits),
        strengths_of(found),
        perplexity,
        without_end,
        {norm: mean(f"fit/{norm}/again", "perplexity", orders[-1:])[0] for norm in NORMS},
        {norm: mean(f"fit/{norm}/free", "perplexity", [CHOSEN_AT])[0] for norm in NORMS},
        {norm: mean(f"fit/{norm}/groups", "perplexity", group_orders(orders)) for norm in TREE_NORMS},
        mean("fit/tree-linf/plain", "perplexity", [0])[0],
        counts,
        {name: mean("sizes", name, [0])[0] for name in shapes},
        _kenlm(found, at.splits),
        found["prox/order"]["rows"],
        found["prox/words"]["rows"],
        {**found["stochastic"], "exact": _row(found["fit/tree-linf/plain/0"], CHOSEN_AT)["perplexity"]},
        found["k-best"]["rows"],
        dict(found["online"]),
        {name: dict(found[f"novels/{name}"]) for name in ("order-5", "unbounded", "stochastic")},
    )


def _row(result: Mapping[str, Any], order: int) -> dict[str, Any]:
    """The row of an order."""
    return next(row for row in result["rows"] if row["order"] == order)


def _kenlm(found: Found, splits: Sequence[int]) -> tuple[float, float] | str:
    """Mean perplexity of one model by epigram and by KenLM, or why there is none."""
    results = [found[f"kneser-ney/{split}"] for split in splits]
    for result in results:
        if "missing" in result["kenlm"]:
            return str(result["kenlm"]["missing"])
    ours = float(np.mean([result["order_5"] for result in results]))
    return ours, float(np.mean([result["kenlm"]["perplexity"] for result in results]))


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """The exponent of growth: the slope of log y over log x by least squares.

    Examples
    --------
    >>> round(slope([1, 10, 100], [2, 200, 20000]), 6)
    2.0
    """
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])
