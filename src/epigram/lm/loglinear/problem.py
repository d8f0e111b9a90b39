"""A text made ready for training: its contexts, its loss, and other text that weights are judged on.

What stands between an estimator, which has settings, and a loss, which knows arrays only. Training, choosing the
strength of a penalty and experiments all work on it.

The numbers of a strength that are not given are found by Nelder and Mead's search (``--strength auto``) on a log scale,
all at once, because the best strength and ridge move against each other. Every fit starts from the best weights so
far, so most cost a few iterations. Only held-out text decides; test text never enters.

Penalties have names, and a :class:`Strength` for each of their parts. Nelakanti et al. 2013, sections 3, 4 and 6: a
pair at depth d (d context symbols) costs A^d times what a pair at the root does, A = ``depth_weight`` (the paper
multiplies features by alpha = 1 / A instead). Inside a tree norm this can be meant in two ways (``depth_weights``):
``features`` multiplies each weight by A^d in all norms that it is part of, as the paper does; ``groups`` multiplies the
norm of a subtree whose root has depth d. The elastic net's depth weight acts on its squared part; its l1 part, which
discounts counts, is the same at all depths (found best on held-out text).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from epigram.errors import InputError
from epigram.lm.corpus import Corpus
from epigram.lm.loglinear.loss import SuffixLoss
from epigram.lm.loglinear.to_backoff import to_backoff
from epigram.lm.loglinear.tree import ContextTree, Located, Positions
from epigram.lm.ngram.model import BackoffModel
from epigram.penalties.separable import L1, L2, ElasticNet, depth_weights
from epigram.penalties.tree import TreeL2, TreeLinf
from epigram.protocols import Callback, Floats, ProximalPenalty, Result, Solver
from epigram.resuming import State, piece
from epigram.solvers.proximal import FISTA, StochasticProximal
from epigram.tuning import Remembered, Trial, TrialCallback, first_simplex, nelder_mead, simplex

SOLVERS: dict[str, Any] = {"fista": FISTA, "stochastic": StochasticProximal}
DEPTH_WEIGHTS = ("features", "groups")


@dataclass(frozen=True, slots=True)
class Strength:
    """Strength of a penalty, its growth with depth, and the squared part of an elastic net.

    ``depth_weights`` tells what grows with the depth inside tree norms: ``features`` or ``groups``.

    ``side`` is how much more a weight of a side tree costs, where there are any (:mod:`epigram.lm.factored.loss`).
    """

    strength: float
    depth_weight: float
    ridge: float = 0.0
    side: float = 1.0
    depth_weights: str = "features"

    def __post_init__(self) -> None:
        if self.depth_weights not in DEPTH_WEIGHTS:
            raise InputError(
                f"depth weights act on {' or '.join(DEPTH_WEIGHTS)}, not on {self.depth_weights!r}."
            )
        for name in ("strength", "depth_weight", "ridge", "side"):
            value = getattr(self, name)
            if name == "ridge" and value == 0.0:
                continue
            if not (np.isfinite(value) and value > 0):
                raise InputError(
                    f"{name.replace('_', ' ')} must be a finite number above 0, not {value:g}; "
                    "0 has no best weights (they grow without end), infinity leaves none."
                )


Builder = Callable[[ContextTree, Strength, bool, Floats], ProximalPenalty]


def _depth_weights(tree: ContextTree, strength: Strength, factors: Floats) -> Floats:
    if not tree.collapsed:
        of_depths = depth_weights(np.arange(tree.depth.max(initial=0) + 1), strength.depth_weight)
        return np.asarray(factors * of_depths[tree.pair_depth])
    return factors * depth_weights(tree.pair_depth, strength.depth_weight, tree.per_pair(tree.multiplicity))


def _l1(tree: ContextTree, strength: Strength, nonnegative: bool, factors: Floats) -> ProximalPenalty:
    return L1(strength.strength, _depth_weights(tree, strength, factors), nonnegative)


def _l2(tree: ContextTree, strength: Strength, nonnegative: bool, factors: Floats) -> ProximalPenalty:
    return L2(strength.strength, _depth_weights(tree, strength, factors), nonnegative)


def _elastic(tree: ContextTree, strength: Strength, nonnegative: bool, factors: Floats) -> ProximalPenalty:
    counts = factors * tree.per_pair(tree.multiplicity) if tree.collapsed else factors
    return ElasticNet(
        strength.strength, strength.ridge, counts, nonnegative, _depth_weights(tree, strength, factors)
    )


def _tree_l2(tree: ContextTree, strength: Strength, nonnegative: bool, factors: Floats) -> ProximalPenalty:
    if tree.collapsed:
        raise InputError("tree-l2 needs the whole trie; use tree-linf on the collapsed tree.")
    group, feature = _tree_weights(tree, strength, factors)
    return TreeL2(strength.strength, tree.pair_parent, group, nonnegative, feature)


def _tree_linf(tree: ContextTree, strength: Strength, nonnegative: bool, factors: Floats) -> ProximalPenalty:
    group, feature = _tree_weights(tree, strength, factors)
    return TreeLinf(strength.strength, tree.pair_parent, group, nonnegative, feature)


def _tree_weights(tree: ContextTree, strength: Strength, factors: Floats) -> tuple[Floats, Floats | None]:
    """Weights of groups and of features (None: all 1); the factor of a side tree acts on its groups."""
    if strength.depth_weights == "groups" or strength.depth_weight == 1.0:
        return _depth_weights(tree, strength, factors), None
    depth = tree.pair_depth
    if not tree.collapsed:
        return factors, depth_weights(depth, strength.depth_weight)
    m = tree.per_pair(tree.multiplicity).astype(np.float64)
    return factors * m, m / depth_weights(depth, 1.0 / strength.depth_weight, m)


PENALTIES: dict[str, Builder] = {
    "elastic": _elastic,
    "l1": _l1,
    "l2": _l2,
    "tree-l2": _tree_l2,
    "tree-linf": _tree_linf,
}

FIRST_STRENGTHS: dict[str, Strength] = {
    "elastic": Strength(0.4, 1.7, 0.06),
    "l1": Strength(0.5, 1.1),
    "l2": Strength(0.1, 1.5),
    "tree-l2": Strength(0.7, 0.9),
    "tree-linf": Strength(0.6, 1.15),
}
"""Where the search for a strength starts: near the best on held-out newswire."""


Given = str | L1 | L2 | ElasticNet
"""A penalty as an estimator takes it: a name, or an object with its numbers."""


def named(penalty: Given, depth_weight: float = 1.0) -> tuple[str, Strength | None]:
    """The name of a penalty and, where it is an object, how strong it is; None where that is still to be said.

    Examples
    --------
    >>> named(L1(0.5), 1.2)
    ('l1', Strength(strength=0.5, depth_weight=1.2, ridge=0.0, side=1.0, depth_weights='features'))
    >>> named("tree-l2")
    ('tree-l2', None)
    """
    if isinstance(penalty, str):
        if penalty not in PENALTIES:
            raise InputError(f"unknown penalty {penalty!r}; choose one of {', '.join(PENALTIES)}.")
        return penalty, None
    if not isinstance(penalty, L1 | L2 | ElasticNet) or penalty.weights is not None:
        raise InputError(
            f"a language model's penalty is one of {', '.join(PENALTIES)}, or an L1, L2 or ElasticNet without weights "
            f"for single coordinates, not {penalty!r}."
        )
    if isinstance(penalty, ElasticNet):
        return "elastic", Strength(penalty.l1, depth_weight, penalty.l2)
    if isinstance(penalty, L1):
        return "l1", Strength(penalty.l1, depth_weight)
    return "l2", Strength(penalty.l2, depth_weight)


def build_penalty(
    name: str,
    tree: ContextTree,
    strength: Strength,
    nonnegative: bool = True,
    is_side: npt.NDArray[np.bool_] | None = None,
    root_factors: Floats | None = None,
) -> ProximalPenalty:
    """The penalty of that name over the pairs of a tree; ``is_side`` tells which contexts are in side trees.

    ``root_factors`` multiply the penalty of the first pairs, those of the roots.

    Examples
    --------
    >>> from epigram.lm.loglinear.tree import Positions
    >>> from epigram.lm.corpus import Corpus
    >>> tree = ContextTree.grow(Positions.of(Corpus.of(["a b"])), order=2)
    >>> build_penalty("l1", tree, Strength(2.0, 0.5)).value(np.ones(tree.n_pairs))  # 3 at depth 0, 3 at 1
    9.0
    """
    if name not in PENALTIES:
        raise InputError(f"unknown penalty {name!r}; choose one of {', '.join(PENALTIES)}.")
    side = np.zeros(tree.n_contexts, bool) if is_side is None else is_side
    factors = np.repeat(np.where(side, strength.side, 1.0), np.diff(tree.pair_ptr))
    if root_factors is not None:
        factors[: root_factors.size] *= root_factors
    return PENALTIES[name](tree, strength, nonnegative, factors)


def first_weights(tree: ContextTree, strength: Strength, nonnegative: bool = True) -> Floats:
    """A start near the optimum: the best weights of the roots alone, zero elsewhere.

    The loss does not change when all weights of a root rise together, so from a start at zero a solver
    would crawl along that line. Given k = log(N / Z), each root weight solves
    exp(k + w) - n + strength sign(w) + 2 ridge w = 0, and k follows by bisection.
    """
    w = np.zeros(tree.n_pairs)
    n_roots = int(tree.level_ptr[1])
    sizes = np.diff(tree.pair_ptr[: n_roots + 1])
    # Words that were seen equally often after a root have equal weights.
    keys = np.repeat(np.arange(n_roots) << 32, sizes) + tree.count[: sizes.sum()]
    distinct, place, n_words = np.unique(keys, return_inverse=True, return_counts=True)
    root, counts = distinct >> 32, (distinct & 0xFFFFFFFF).astype(np.float64)
    prices = strength.strength, strength.ridge or 0.1 * strength.strength, nonnegative
    total = np.bincount(root, n_words * counts, n_roots)
    lo, hi = np.full(n_roots, -50.0), np.full(n_roots, 50.0)
    for _ in range(60):
        k = 0.5 * (lo + hi)
        found = _root_weights(counts, k[root], *prices)
        z = np.bincount(root, n_words * np.exp(found), n_roots) + tree.n_unseen[:n_roots]
        high = np.exp(k) * z > total
        lo, hi = np.where(high, lo, k), np.where(high, k, hi)
    w[: sizes.sum()] = found[place]
    return w


def _root_weights(counts: Floats, k: Floats, l1: float, l2: float, nonnegative: bool) -> Floats:
    """Newton's method, all words at once, but those whose weight is 0."""
    out, above = np.zeros(counts.size), counts - np.exp(k)
    some = above > l1 if nonnegative else np.abs(above) > l1
    counts, k = counts[some], k[some]
    w = np.clip(np.log(counts) - k, -30.0, 30.0)
    for _ in range(30):
        expected = np.exp(k + w)
        step = (expected - counts + l1 * np.sign(w) + 2 * l2 * w) / (expected + 2 * l2)
        w -= np.clip(step, -1.0, 1.0)
        if np.abs(step).max(initial=0.0) < 1e-13:
            break
    out[some] = np.maximum(w, 0.0) if nonnegative else w
    return out


@dataclass(frozen=True)
class Problem:
    """The loss of a text under a penalty of some kind.

    Examples
    --------
    >>> from epigram.solvers.proximal import FISTA
    >>> corpus = Corpus.of(["a rose is a rose", "a rose is red"])
    >>> problem = Problem.of(corpus, order=2, penalty="l1", held_out=corpus)
    >>> result = problem.solve(FISTA(), Strength(0.1, 1.0))
    >>> problem.model(result.w).next_words("a", 1)[0][0]
    'rose'
    >>> problem.perplexity(result.w) < 5  # even odds among five words
    True
    """

    corpus: Corpus
    loss: SuffixLoss
    penalty: str = "elastic"
    nonnegative: bool = True
    held_out: Located | None = None

    @classmethod
    def of(
        cls,
        corpus: Corpus,
        order: int,
        penalty: str = "elastic",
        *,
        nonnegative: bool = True,
        collapse: bool = False,
        held_out: Corpus | None = None,
        threads: int = 1,
    ) -> Problem:
        """Contexts up to an order (0: unbounded) of a text; ``held_out`` must be in the ids of its vocabulary."""
        positions = Positions.of(corpus)
        tree = ContextTree.grow(positions, order, collapse)
        other = None if held_out is None else Located(tree, Positions.of(held_out))
        return cls(corpus, SuffixLoss(tree, threads, positions), penalty, nonnegative, other)

    @property
    def tree(self) -> ContextTree:
        """The contexts of the text, a weight for each of its pairs."""
        return self.loss.tree

    def over(self, tree: ContextTree) -> Problem:
        """The same texts over a tree with more or fewer pairs."""
        held_out = None if self.held_out is None else Located(tree, self.held_out.positions)
        return replace(self, loss=self.loss.over(tree), held_out=held_out)

    def first_weights(self, strength: Strength) -> Floats:
        """Weights to start from: the best of the root alone, 0 elsewhere."""
        return first_weights(self.tree, strength, self.nonnegative)

    def solve(
        self,
        solver: Solver,
        strength: Strength,
        start: Floats | None = None,
        callback: Callback | None = None,
    ) -> Result:
        """Minimise loss + penalty, from given weights or from :meth:`first_weights`."""
        penalty = build_penalty(self.penalty, self.tree, strength, self.nonnegative)
        return solver.solve(
            self.loss, penalty, self.first_weights(strength) if start is None else start, callback
        )

    def log_probabilities(self, w: Floats) -> Floats:
        """Of the known words of the held-out text and its ends of sentences, natural logarithms."""
        return np.empty(0) if self.held_out is None else self.held_out.log_probabilities(self.loss, w)

    def perplexity(self, w: Floats) -> float:
        """Perplexity of the held-out text; NaN without any."""
        return float("nan") if self.held_out is None else self.held_out.perplexity(self.loss, w)

    def n_nonzero(self, w: Floats) -> int:
        """Weights that are not 0."""
        return int(np.count_nonzero(w))

    def log_perplexity(self, w: Floats) -> float:
        """Its natural logarithm."""
        return float(np.log(self.perplexity(w)))

    def model(self, w: Floats) -> BackoffModel:
        """The language model that weights make."""
        return to_backoff(self.corpus.vocabulary, self.loss, w)


FIRST_STEPS = {"strength": -0.4, "ridge": -0.4, "depth_weight": 0.15}
"""Sides of the first simplex, natural log."""


class Searched(Protocol):
    """What a search needs of a problem: :class:`Problem`, or one whose weights are elsewhere."""

    def first_weights(self, strength: Strength) -> Floats:
        """Weights to start from."""
        ...

    def solve(
        self, solver: Any, strength: Strength, start: Floats | None = None, callback: Callback | None = None
    ) -> Result:
        """The weights of a strength."""
        ...

    def perplexity(self, w: Floats) -> float:
        """Of the held-out text."""
        ...

    def n_nonzero(self, w: Floats) -> int:
        """Weights that are not 0."""
        ...


def search(
    problem: Searched,
    solver: Solver,
    first: Strength,
    free: tuple[str, ...],
    callback: Callback | None = None,
    on_trial: TrialCallback | None = None,
) -> tuple[list[Trial], Strength, Floats]:
    """All trials in the order they were made, and strength and weights of the best (least held-out perplexity)."""
    stopped, began = False, time.process_time()
    trials: list[Trial] = []
    fits: dict[Strength, Floats] = {}

    def judge(strength: Strength, best: Strength) -> float:
        nonlocal stopped
        start = fits[best]
        result = problem.solve(solver, strength, start, callback)
        fits.clear()
        fits.update({best: start, strength: result.w})
        perplexity = problem.perplexity(result.w)
        least = min([perplexity, *(trial.perplexity for trial in trials)])
        nonzero, seconds = problem.n_nonzero(result.w), time.process_time() - began
        trials.append(
            Trial(strength, perplexity, least, result.objective, nonzero, result.iterations, seconds)
        )
        stopped = result.reason == "callback" or bool(on_trial is not None and on_trial(trials[-1]))
        return float(np.log(perplexity))

    def state() -> State:
        return {"trials": written(trials), "fits": [asdict(one) for one in fits], **_numbered(fits.values())}

    with piece("search of strengths") as kept:
        if saved := kept.state:
            trials += as_written(saved["trials"])
            fits |= {Strength(**one): saved[f"fit {k}"] for k, one in enumerate(saved["fits"])}
        else:
            fits[first] = problem.first_weights(first)
        remembered = Remembered(kept, judge, state, lambda: stopped)
        best = simplex(remembered, first, {name: FIRST_STEPS[name] for name in free}, lambda: stopped)
    return trials, best, fits[best]


def _numbered(fits: Iterable[Floats]) -> State:
    return {f"fit {k}": w for k, w in enumerate(fits)}


def written(trials: Sequence[Trial]) -> list[dict[str, Any]]:
    """Trials as JSON holds them."""
    return [asdict(trial) for trial in trials]


def as_written(trials: Iterable[Mapping[str, Any]]) -> list[Trial]:
    """Trials from what :func:`written` made."""
    return [Trial(**{**trial, "strength": Strength(**trial["strength"])}) for trial in trials]


def calibrate(problem: Problem, w: Floats, max_trials: int = 120) -> Floats:
    """One factor a depth for the weights, chosen on held-out text; a penalty shrinks some depths too far.

    Depths share the factor of the last level that at least a thousandth of the weights reach.
    """
    depth = problem.tree.pair_depth

    def log_perplexity(factors: Floats) -> float:
        return problem.log_perplexity(w * factors[np.minimum(depth, factors.size - 1)])

    return best_factors(np.bincount(depth[w != 0], minlength=depth.max() + 1), log_perplexity, max_trials)


def best_factors(
    sizes: npt.NDArray[np.int64], log_perplexity: Callable[[Floats], float], max_trials: int = 120
) -> Floats:
    """One factor a depth that makes a function of them small; ``sizes``: weights that are not 0 of each depth."""
    deepest = int(np.flatnonzero(sizes >= 1e-3 * sizes.sum())[-1]) if sizes.any() else 0
    start = np.ones(deepest + 1)
    found = nelder_mead(log_perplexity, first_simplex(start), max_trials, x_tolerance=2e-3, f_tolerance=2e-5)
    better = log_perplexity(found) < log_perplexity(start)
    return np.append(found, np.full(sizes.size - 1 - deepest, found[-1])) if better else np.ones(sizes.size)


def solver_of(
    given: str | Solver, tolerance: float, max_iterations: int | None, seed: int, most: int
) -> Solver:
    """``fista`` stops after ``max_iterations`` (``most`` where none are given), ``stochastic`` after its own passes.

    Examples
    --------
    >>> solver_of("stochastic", 1e-6, None, 0, most=500).passes
    10
    >>> solver_of(StochasticProximal(passes=3), 1e-6, None, 0, most=500).passes
    3
    >>> solver_of("stochastic", 1e-6, 500, 0, most=500)
    Traceback (most recent call last):
        ...
    epigram.errors.InputError: max_iterations is for fista; say how many passes with StochasticProximal(passes=...).
    """
    if isinstance(given, str) and given not in SOLVERS:
        raise InputError(f"unknown solver {given!r}; choose one of {', '.join(SOLVERS)}, or give an object.")
    if not isinstance(given, str) and not hasattr(given, "solve"):
        raise InputError(f"a solver is a name or has a method solve; {given!r} is neither.")
    if given == "fista":
        return FISTA(tolerance, most if max_iterations is None else max_iterations)
    if max_iterations is not None:
        raise InputError(
            "max_iterations is for fista; say how many passes with StochasticProximal(passes=...)."
        )
    return StochasticProximal(tolerance=tolerance, seed=seed) if isinstance(given, str) else given


def most_iterations(solver: Solver) -> int | None:
    """Where a progress bar ends: iterations or passes."""
    return getattr(solver, "max_iterations", getattr(solver, "passes", None))


def solver_to_settings(solver: object) -> dict[str, Any]:
    """A solver with settings of its own, for the header of a model file: name and settings.

    Examples
    --------
    >>> again = with_solver(solver_to_settings(StochasticProximal(passes=3)))["solver"]
    >>> type(again).__name__, again.passes
    ('StochasticProximal', 3)
    """
    name = next((name for name, kind in SOLVERS.items() if type(solver) is kind), None)
    return {} if name is None else {"solver": name, "solver_settings": vars(solver)}


def with_solver(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings of a model file with the solver that :func:`solver_to_settings` wrote."""
    if "solver_settings" not in settings:
        return settings
    return {**settings, "solver": SOLVERS[settings["solver"]](**settings["solver_settings"])}


def settings_of(model: Any) -> dict[str, Any]:
    """Constructor arguments that a JSON header can hold."""
    plain = (bool, int, float, str, type(None))
    params: dict[str, Any] = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    own = solver_to_settings(params.get("solver"))
    return {**{name: value for name, value in params.items() if isinstance(value, plain)}, **own}
