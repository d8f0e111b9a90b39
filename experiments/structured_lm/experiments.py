"""Experiments on perplexity and size (Figure 2), and training online (section 7).

A strength is chosen once for each norm, with and without depth weights, at one order, by the mean log-perplexity over
held-out parts of the four training texts together. The fits of rising order start from the weights of the order
before (``carry_over``); the problems are convex and solved to a tolerance, so this saves time only. As in the
paper, penalties without depth weights work on the collapsed tree, tree-l2 excepted.

Online, the training text of a split is a stream in parts of equal length. The first part is fitted; each further one is
learnt by ``LogLinearLM.partial_fit``, at a strength chosen before. Words are those of the whole text from the start, so
that perplexities along the stream are of the same words.

Differs from the paper: gradients are exact. Depth weights A multiply the strength of a pair by A^depth, inside the tree
norms as well; the paper multiplies features by alpha^depth instead: alpha = 1 / A (for squared weights A^-1/2).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from epigram.lm.corpus import Corpus
from epigram.lm.loglinear.model import LogLinearLM
from epigram.lm.loglinear.penalties import Strength
from epigram.lm.loglinear.problem import Problem
from epigram.lm.loglinear.tree import ContextTree, Located, Positions
from epigram.protocols import Floats
from epigram.solvers.proximal import FISTA, StochasticProximal
from epigram.tuning import simplex
from experiments.structured_lm.text import choosing_text, split_text

FIRST_STRENGTHS = {
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
    depth_weights: str = "features",
) -> dict[str, Any]:
    """The strength of least mean held-out log-perplexity over some splits, by Nelder-Mead on a log scale."""
    first = replace(FIRST_STRENGTHS[penalty], depth_weights=depth_weights)
    free = ("strength", "depth_weight") if weighted else ("strength",)
    problems = []
    for split in splits:
        train, rest = choosing_text(data, split, words, held_out)
        problems.append(_problem(train, order, penalty, weighted, nonnegative, rest))
    fits = {first: [problem.first_weights(first) for problem in problems]}
    trials: list[tuple[Strength, float]] = []
    solver = FISTA(tolerance, MAX_ITERATIONS)

    def judge(penalty_strength: Strength, best: Strength) -> float:
        starts = fits[best]
        found = [
            problem.solve(solver, penalty_strength, w).w for problem, w in zip(problems, starts, strict=True)
        ]
        logs = [float(np.log(problem.perplexity(w))) for problem, w in zip(problems, found, strict=True)]
        fits.clear()
        fits.update({best: starts, penalty_strength: found})
        trials.append((penalty_strength, float(np.mean(logs))))
        return trials[-1][1]

    steps = {name: FIRST_STEPS[name] for name in free}
    penalty_strength = simplex(judge, first, steps, max_trials=max_trials, x_tolerance=0.03, f_tolerance=1e-4)
    return {
        "strength": penalty_strength.strength,
        "depth_weight": penalty_strength.depth_weight,
        "held_out_perplexity": float(np.exp(min(found for _, found in trials))),
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
    depth_weights: str = "features",
) -> dict[str, Any]:
    """Test perplexity and size of the models of rising order; order 0 is unbounded."""
    train, test = split_text(data, split, words)
    penalty_strength = Strength(strength, depth_weight, depth_weights=depth_weights)
    asked = Positions.of(test)
    rows, before = [], None
    for order in orders:
        began = time.process_time()
        problem = _problem(train, order, penalty, depth_weight != 1.0, nonnegative)
        tree = problem.tree
        start: Floats | None = None if before is None else tree.carry_over(*before)
        result = problem.solve(FISTA(tolerance, MAX_ITERATIONS), penalty_strength, start)
        seconds = time.process_time() - began
        logp = Located(tree, asked).log_probabilities(problem.loss, result.w)
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
    return {"strength": asdict(penalty_strength), "rows": rows}


def kneser_ney(*, data: str, split: int, orders: list[int], words: int | None) -> dict[str, Any]:
    """Test perplexity and n-grams of interpolated and modified Kneser-Ney; KenLM's reading of one of them."""
    from epigram.lm.ngram.kneser_ney import KneserNeyLM

    train, test = split_text(data, split, words)
    rows = []
    for order in orders:
        interpolated = KneserNeyLM(order, modified=False, open_vocabulary=False).fit(train)
        modified = KneserNeyLM(order, open_vocabulary=False).fit(train)
        rows.append(
            {
                "order": order,
                "interpolated": interpolated.perplexity(test),
                "modified": modified.perplexity(test),
                "modified_without_end": modified.perplexity(test, end=False),
                "ngrams": modified.backoff_.n_ngrams,
            }
        )
    checked = KneserNeyLM(5, open_vocabulary=False).fit(train)
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
    problem, penalty_strength = (
        _problem(train, order, "tree-linf", False, True, test),
        Strength(strength, 1.0),
    )
    rows = []
    for number in passes:
        began = time.process_time()
        result = problem.solve(StochasticProximal(BATCH, number, tolerance=0.0), penalty_strength)
        rows.append(
            {
                "passes": number,
                "seconds": time.process_time() - began,
                "objective": result.objective,
                "perplexity": problem.perplexity(result.w),
            }
        )
    return {"rows": rows, "words": train.n_tokens}


def _problem(
    train: Corpus, order: int, penalty: str, weighted: bool, nonnegative: bool, held_out: Corpus | None = None
) -> Problem:
    """On the collapsed tree where it is exact (sections 3.2 and 4.4): all norms but tree-l2, without depth weights.

    On the trie the minimum of l1 is not unique: contexts that always occur together share a weight in any way.
    """
    collapse = penalty != "tree-l2" and not weighted
    return Problem.of(train, order, penalty, nonnegative=nonnegative, collapse=collapse, held_out=held_out)


def _constant_paths(tree: ContextTree, w: Floats) -> int:
    """Constant value non-branching paths (Definition 3) of fitted weights: the values a model must store."""
    from epigram.penalties.tree import collapse

    return int(collapse(tree.pair_parent, w.round(9))[0].size)


def _perplexity(logp: Floats) -> float:
    return float(np.exp(-logp.mean()))


def _bytes(tree: ContextTree) -> int:
    """Memory of the nodes: all arrays of the tree but the text itself."""
    arrays = [getattr(tree, field.name) for field in fields(tree) if field.name != "history"]
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


def online(
    *,
    data: str,
    split: int,
    words: int | None,
    order: int,
    penalty: str,
    strength: float,
    depth_weight: float,
    parts: int,
    exact_parts: list[int],
    tolerance: float,
) -> dict[str, Any]:
    """Test perplexity and CPU seconds after each part, online, and of exact training on all text so far."""
    train, test = split_text(data, split, words)
    cuts = np.searchsorted(train.sentence_ptr, np.linspace(0, train.n_tokens, parts + 1)).tolist()
    penalty_strength = {"penalty": penalty, "strength": strength, "depth_weight": depth_weight}
    settings: dict[str, Any] = {
        "order": order,
        **penalty_strength,
        "tolerance": tolerance,
        "vocabulary": train.vocabulary,
        "open_vocabulary": False,
    }
    model, rows = LogLinearLM(**settings), []
    for number, (first, last) in enumerate(pairwise(cuts), 1):
        part = list(train.take(first, last).sentences())
        began = time.process_time()
        model.partial_fit(part) if number > 1 else model.fit(part)
        seconds = time.process_time() - began
        row = {"words": int(train.sentence_ptr[last]), "online": model.perplexity(test), "seconds": seconds}
        if number in exact_parts:
            began = time.process_time()
            exact = LogLinearLM(**settings).fit(list(train.take(0, last).sentences()))
            row |= {"exact": exact.perplexity(test), "exact_seconds": time.process_time() - began}
        rows.append(row)
    return {"rows": rows, "order": order, **penalty_strength}
