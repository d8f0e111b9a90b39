"""Which experiments are run, at two sizes. Strengths are chosen first; everything else uses them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from epigram.lm.loglinear.penalties import Strength
from experiments.runner import Experiment
from experiments.structured_lm import costs
from experiments.structured_lm.experiments import (
    FIRST_STRENGTHS,
    choose,
    fit_orders,
    kneser_ney,
    online,
    sizes,
    stochastic,
)
from experiments.structured_lm.paper import BEST_ORDER

NORMS = ("l1", "l2", "tree-l2", "tree-linf")
TREE_NORMS = ("tree-l2", "tree-linf")
WEIGHTINGS = ("plain", "weighted")
CHOSEN_AT = 5
"""The order at which strengths are chosen."""

Strengths = Mapping[str, Strength]
"""By kind: ``l1/plain``, ``l1/weighted``, ``l1/again`` for a strength chosen anew at the highest order, ``l1/free`` for
one chosen for weights of either sign, and ``tree-l2/groups`` for one whose depth weights act on groups."""


@dataclass(frozen=True)
class Size:
    """How much of everything."""

    splits: tuple[int, ...]
    orders: tuple[int, ...]
    words: int | None
    choosing_words: int
    held_out: int
    trials: tuple[int, int]
    tolerance: float
    prox_words: tuple[int, ...]
    largest_trie: int
    iterations: int
    novel_words: int | None
    batches: int
    passes: tuple[int, ...]
    parts: int
    exact_parts: tuple[int, ...]


FULL = Size(
    splits=(0, 1, 2, 3),
    orders=tuple(range(2, 13)),
    words=None,
    choosing_words=30_000,
    held_out=10_000,
    trials=(14, 30),
    tolerance=2e-8,
    prox_words=(10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000),
    largest_trie=300_000,
    iterations=10,
    novel_words=None,
    batches=40,
    passes=(1, 10),
    parts=10,
    exact_parts=(1, 2, 5, 10),
)
QUICK = Size(
    splits=(0,),
    orders=(2, 3, 5, 8),
    words=40_000,
    choosing_words=12_000,
    held_out=5_000,
    trials=(8, 14),
    tolerance=5e-7,
    prox_words=(3_000, 10_000, 30_000, 100_000),
    largest_trie=30_000,
    iterations=5,
    novel_words=300_000,
    batches=10,
    passes=(1, 5),
    parts=5,
    exact_parts=(1, 5),
)

KINDS = (*WEIGHTINGS, "again", "free", "groups")
CHOOSING_SECONDS = {
    "l1": (6, 18, 9, 6),
    "l2": (3, 12, 9, 3),
    "tree-l2": (50, 110, 130, 50, 110),
    "tree-linf": (14, 70, 20, 14, 70),
}
FITTING_SECONDS = {
    "l1": (7, 4, 2, 1),
    "l2": (4, 4, 2, 1),
    "tree-l2": (27, 43, 33, 6, 25),
    "tree-linf": (13, 12, 4, 2, 8),
}
STRENGTHS = (0.5, 1.0, 2.0)
"""k of section 4.5 is measured at these multiples of the chosen strength."""
"""Expected CPU seconds of the full run's experiments, by norm and kind."""


def size(quick: bool) -> Size:
    """The size of a run."""
    return QUICK if quick else FULL


def kinds_of(norm: str) -> tuple[str, ...]:
    """Depth weights on groups are another model for the tree norms only."""
    return KINDS if norm in TREE_NORMS else KINDS[:-1]


def group_orders(orders: Sequence[int]) -> list[int]:
    """Orders at which depth weights on groups stand beside those on features."""
    return [order for order in orders if order in (CHOSEN_AT, BEST_ORDER, orders[-1])]


def choosing(quick: bool) -> list[Experiment]:
    """Strengths of each norm: plain, weighted, plain again at the highest order, and with free signs."""
    at = size(quick)
    share = 0.05 if quick else 1.0
    experiments = []
    for norm in NORMS:
        for kind in kinds_of(norm):
            weighted = kind in ("weighted", "groups")
            settings = {
                "penalty": norm,
                "weighted": weighted,
                "order": at.orders[-1] if kind == "again" else CHOSEN_AT,
                "splits": list(at.splits),
                "words": at.choosing_words,
                "held_out": at.held_out,
                "max_trials": at.trials[weighted],
                "tolerance": 2 * at.tolerance,
                "nonnegative": kind != "free",
                **_on_groups(kind),
            }
            cost = CHOOSING_SECONDS[norm][KINDS.index(kind)] * share
            experiments.append(_experiment(f"choose/{norm}/{kind}", choose, settings, cost))
    return experiments


def fitting(quick: bool, strengths: Strengths) -> list[Experiment]:
    """Figure 2: every norm and weighting on every split, Kneser-Ney, and the sizes of trie and tree."""
    at = size(quick)
    cost = 0.15 if quick else 1.0
    experiments = []
    for split in at.splits:
        common: dict[str, Any] = {"split": split, "words": at.words}
        for norm in NORMS:
            for kind in kinds_of(norm):
                some = {"again": [at.orders[-1]], "free": [CHOSEN_AT], "groups": group_orders(at.orders)}
                orders = some.get(kind, list(at.orders))
                if norm == "tree-linf" and kind == "plain":
                    orders.append(0)
                penalty_strength = strengths[f"{norm}/{kind}"]
                settings = {
                    **common,
                    "penalty": norm,
                    "strength": penalty_strength.strength,
                    "depth_weight": penalty_strength.depth_weight,
                    "orders": orders,
                    "tolerance": at.tolerance,
                    "nonnegative": kind != "free",
                    **_on_groups(kind),
                }
                seconds = FITTING_SECONDS[norm][KINDS.index(kind)] * cost
                experiments.append(_experiment(f"fit/{norm}/{kind}/{split}", fit_orders, settings, seconds))
        orders = list(at.orders)
        experiments.append(
            _experiment(f"kneser-ney/{split}", kneser_ney, {**common, "orders": orders}, 3 * cost)
        )
        experiments.append(_experiment(f"sizes/{split}", sizes, {**common, "orders": [*orders, 0]}, 2 * cost))
    strength = strengths["tree-linf/plain"].strength
    settings = {"split": 0, "words": at.words, "order": CHOSEN_AT, "strength": strength}
    experiments.append(
        _experiment("stochastic", stochastic, {**settings, "passes": list(at.passes)}, 25 * cost)
    )
    tried = [factor * strength for factor in STRENGTHS]
    heaps = {"split": 0, "words": at.words, "order": CHOSEN_AT, "strengths": tried}
    experiments.append(_experiment("k-best", costs.k_best, {**heaps, "iterations": at.iterations}, 12 * cost))
    experiments.append(_experiment("online", online, _stream(at, strengths["tree-linf/plain"]), 60 * cost))
    return experiments


def _on_groups(kind: str) -> dict[str, str]:
    return {"depth_weights": "groups"} if kind == "groups" else {}


def _stream(at: Size, penalty_strength: Strength) -> dict[str, Any]:
    """Settings of the online experiment, with the norm that the paper means for long text."""
    return {
        "split": 0,
        "words": at.words,
        "order": CHOSEN_AT,
        "penalty": "tree-linf",
        "strength": penalty_strength.strength,
        "depth_weight": penalty_strength.depth_weight,
        "parts": at.parts,
        "exact_parts": list(at.exact_parts),
        "tolerance": 10 * at.tolerance,
    }


def measuring(quick: bool, strengths: Strengths) -> list[Experiment]:
    """Figure 3, Table 1 and the time of a pass: nothing else runs beside these."""
    at = size(quick)
    cost = 0.03 if quick else 1.0
    common: dict[str, Any] = {"strength": strengths["tree-linf/plain"].strength}
    prox = {**common, "iterations": at.iterations, "rival": True}
    by_order = {**prox, "split": 0, "orders": list(at.orders), "words": at.words}
    by_words = {**prox, "sizes": list(at.prox_words), "largest_trie": at.largest_trie, "order": at.orders[-1]}
    novels = {**common, "words": at.novel_words}
    return [
        _experiment("prox/order", costs.prox_by_order, by_order, 18 * cost, alone=True),
        _experiment("prox/words", costs.prox_by_words, by_words, 55 * cost, alone=True),
        _experiment("novels/order-5", costs.gradient_pass, {**novels, "order": 5}, 32 * cost, alone=True),
        _experiment("novels/unbounded", costs.gradient_pass, {**novels, "order": 0}, 37 * cost, alone=True),
        _experiment(
            "novels/stochastic",
            costs.stochastic_pass,
            {**novels, "order": 5, "batches": at.batches},
            90 * cost,
            alone=True,
        ),
    ]


def plan(quick: bool) -> dict[str, float]:
    """Expected CPU seconds of every experiment."""
    strengths = {f"{norm}/{kind}": FIRST_STRENGTHS[norm] for norm in NORMS for kind in kinds_of(norm)}
    experiments = [*choosing(quick), *fitting(quick, strengths), *measuring(quick, strengths)]
    return {experiment.name: experiment.cost for experiment in experiments}


def _experiment(
    name: str,
    function: Callable[..., dict[str, Any]],
    settings: dict[str, Any],
    cost: float,
    alone: bool = False,
) -> Experiment:
    return Experiment(f"structured-lm/{name}", function, settings, round(cost, 2), alone)
