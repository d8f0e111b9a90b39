"""Cells of Figure 2: prices chosen on held-out text, perplexities of all orders, sizes of trie and tree.

A price is chosen once for each norm, with and without depth weights, at one order, by the mean log-perplexity over
held-out parts of the four training texts together. The fits of rising order start from the weights of the order
before (``carry_over``); the problems are convex and solved to a tolerance, so this saves time only. As in the
paper, penalties without depth weights work on the collapsed tree, tree-l2 excepted.

Differs from the paper: gradients are exact. Depth weights A multiply the price of a pair by A^depth, inside the tree
norms as well; the paper multiplies features by alpha^depth instead: alpha = 1 / A (for squared weights A^-1/2).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from epigram.direct_search import nelder_mead
from epigram.lm.corpus import Corpus
from epigram.lm.loglinear.located import Located
from epigram.lm.loglinear.loss import SuffixLoss
from epigram.lm.loglinear.penalty import Strength, build_penalty, first_weights
from epigram.lm.loglinear.tree import ContextTree, Positions
from epigram.protocols import Floats
from epigram.solvers.proximal import FISTA, StochasticProximal
from epigram_papers.structured_lm.text import choosing_text, split_text

FIRST_PRICES = {
    "l1": Strength(0.7, 1.0),
    "l2": Strength(0.2, 1.0),
    "tree-l2": Strength(0.6, 1.0),
    "tree-linf": Strength(0.65, 1.0),
}
"""Where the choice starts; the paper gives no strengths."""
FIRST_STEPS = {"strength": -0.3, "depth_weight": 0.15}
MAX_ITERATIONS = 3000
BATCH = 400
"""Samples in a mini-batch of Algorithm 1 (section 2.4)."""


def choose(
    *,
    data: str,
    penalty: str,
    weighted: bool,
    order: int,
    splits: list[int],
    words: int,
    held_out: int,
    max_trials: int,
    tolerance: float,
    nonnegative: bool = True,
) -> dict[str, Any]:
    """The price of least mean held-out log-perplexity over some splits, by Nelder-Mead on a log scale."""
    first = FIRST_PRICES[penalty]
    free = ("strength", "depth_weight") if weighted else ("strength",)
    losses, held = [], []
    for split in splits:
        train, rest = choosing_text(data, split, words, held_out)
        tree = _grow(Positions.of(train), order, penalty, weighted)
        losses.append(SuffixLoss(tree))
        held.append(Located(tree, Positions.of(rest)))
    best = [first_weights(loss.tree, first, nonnegative) for loss in losses]
    trials: list[tuple[Strength, float]] = []

    def log_perplexity(point: Floats) -> float:
        nonlocal best
        price = replace(first, **dict(zip(free, np.exp(point).tolist(), strict=True)))
        solver = FISTA(tolerance, MAX_ITERATIONS)
        fits = [
            solver.solve(loss, build_penalty(penalty, loss.tree, price, nonnegative), w).w
            for loss, w in zip(losses, best, strict=True)
        ]
        logs = [np.log(h.perplexity(loss, w)) for h, loss, w in zip(held, losses, fits, strict=True)]
        value = float(np.mean(logs))
        if not trials or value < min(found for _, found in trials):
            best = fits
        trials.append((price, value))
        return value

    centre = np.log([getattr(first, name) for name in free])
    simplex = np.vstack([centre, centre + np.diag([FIRST_STEPS[name] for name in free])])
    nelder_mead(log_perplexity, simplex, max_trials, x_tolerance=0.03, f_tolerance=1e-4)
    price, value = min(trials, key=lambda trial: trial[1])
    return {
        "strength": price.strength,
        "depth_weight": price.depth_weight,
        "held_out_perplexity": float(np.exp(value)),
        "trials": [[each.strength, each.depth_weight, float(np.exp(found))] for each, found in trials],
    }


def fit_orders(
    *,
    data: str,
    split: int,
    penalty: str,
    strength: float,
    depth_weight: float,
    orders: list[int],
    words: int | None,
    tolerance: float,
    nonnegative: bool = True,
) -> dict[str, Any]:
    """Test perplexity and size of the models of rising order; order 0 is unbounded."""
    train, test = split_text(data, split, words)
    price = Strength(strength, depth_weight)
    positions, asked = Positions.of(train), Positions.of(test)
    rows, before = [], None
    for order in orders:
        began = time.process_time()
        tree = _grow(positions, order, penalty, depth_weight != 1.0)
        loss = SuffixLoss(tree)
        start = first_weights(tree, price, nonnegative) if before is None else tree.carry_over(*before)
        solver = FISTA(tolerance, MAX_ITERATIONS)
        result = solver.solve(loss, build_penalty(penalty, tree, price, nonnegative), start)
        seconds = time.process_time() - began
        logp = Located(tree, asked).log_probabilities(loss, result.w)
        rows.append(
            {
                "order": order,
                "perplexity": _perplexity(logp),
                "without_end": _perplexity(logp[asked.target != 0]),
                "weights": tree.n_pairs,
                "nonzero": int(np.count_nonzero(result.w)),
                "values": _constant_paths(tree, result.w),
                "iterations": result.iterations,
                "reason": result.reason,
                "seconds": round(seconds, 3),
            }
        )
        before = tree, result.w
    return {"price": asdict(price), "rows": rows}


def kneser_ney(*, data: str, split: int, orders: list[int], words: int | None) -> dict[str, Any]:
    """Test perplexity and n-grams of interpolated and modified Kneser-Ney; KenLM's reading of one of them."""
    from epigram.lm.ngram.kneser_ney import KneserNeyLM

    train, test = split_text(data, split, words)
    rows = []
    for order in orders:
        interpolated = KneserNeyLM(order, modified=False).fit(train)
        modified = KneserNeyLM(order).fit(train)
        rows.append(
            {
                "order": order,
                "interpolated": interpolated.perplexity(test),
                "modified": modified.perplexity(test),
                "modified_without_end": modified.perplexity(test, end=False),
                "ngrams": modified.backoff_.n_ngrams,
            }
        )
    checked = KneserNeyLM(5).fit(train)
    return {"rows": rows, "order_5": checked.perplexity(test), "kenlm": _kenlm(checked.backoff_, test)}


def sizes(*, data: str, split: int, orders: list[int], words: int | None) -> dict[str, Any]:
    """|S|, |T| as the paper counts it, and the pairs of our collapsed tree, by order (0: unbounded)."""
    train, _ = split_text(data, split, words)
    positions = Positions.of(train)
    rows = []
    for order in orders:
        trie = ContextTree.grow(positions, order)
        collapsed = ContextTree.grow(positions, order, collapse=True)
        rows.append(
            {
                "order": order,
                "trie": trie.n_trie,
                "tree": trie.n_tree,
                "collapsed": collapsed.n_pairs,
                "trie_bytes": _bytes(trie),
                "collapsed_bytes": _bytes(collapsed),
            }
        )
    return {"rows": rows, "words": train.n_tokens, "vocabulary": len(train.vocabulary)}


def stochastic(
    *, data: str, split: int, order: int, strength: float, words: int | None, passes: list[int]
) -> dict[str, Any]:
    """The paper's Algorithm 1 with unweighted tree-linf: objective and test perplexity after some passes.

    L and mu are the solver's own defaults.
    """
    train, test = split_text(data, split, words)
    positions, price = Positions.of(train), Strength(strength, 1.0)
    tree = ContextTree.grow(positions, order, collapse=True)
    loss, held_out = SuffixLoss(tree, positions=positions), Located(tree, Positions.of(test))
    penalty = build_penalty("tree-linf", tree, price)
    w, rows = first_weights(tree, price), []
    for number in passes:
        began = time.process_time()
        result = StochasticProximal(BATCH, number, tolerance=0.0).solve(loss, penalty, w)
        rows.append(
            {
                "passes": number,
                "seconds": time.process_time() - began,
                "objective": result.objective,
                "perplexity": held_out.perplexity(loss, result.w),
            }
        )
    return {"rows": rows, "words": train.n_tokens}


def _grow(positions: Positions, order: int, penalty: str, weighted: bool) -> ContextTree:
    """The collapsed tree where it is exact (sections 3.2 and 4.4): all norms but tree-l2, without depth weights.

    On the trie the minimum of l1 is not unique: contexts that always occur together share a weight in any way.
    """
    return ContextTree.grow(positions, order, collapse=penalty != "tree-l2" and not weighted)


def _constant_paths(tree: ContextTree, w: Floats) -> int:
    """Constant value non-branching paths (Definition 3) of fitted weights: the values a model must store."""
    from epigram.penalties.forest import collapse

    return int(collapse(tree.pair_parent, w.round(9))[0].size)


def _perplexity(logp: Floats) -> float:
    return float(np.exp(-logp.mean()))


def _bytes(tree: ContextTree) -> int:
    """Memory of the nodes: all arrays of the tree but the text itself."""
    arrays = [getattr(tree, name) for name in ContextTree.__slots__ if name != "history"]
    return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))


@contextmanager
def _silence() -> Iterator[None]:
    """Nothing on standard error, not even from C++."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _kenlm(model: Any, test: Corpus) -> dict[str, Any]:
    """Perplexity by KenLM of the same model, through ARPA; it skips words outside the vocabulary too."""
    try:
        import kenlm  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError:
        return {"missing": "kenlm is not installed"}
    from epigram.lm.ngram.arpa import write_arpa

    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.arpa"
        write_arpa(model, path)
        with _silence():  # it complains in C++ that there is no <unk>
            rival = kenlm.Model(str(path))
    scores = [
        score
        for sentence in test.sentences()
        for score, _, outside in rival.full_scores(" ".join(sentence))
        if not outside
    ]
    return {"perplexity": float(10.0 ** -np.mean(scores))}
