"""The log-linear language model of Nelakanti et al. 2013.

    minimise  sum over positions of -ln P(u | x)  +  penalty(w),   w >= 0 by default (section 3.1)

One weight for each pair of a context and a word seen after it. The estimator connects text, corpus, context tree,
loss, penalty and solver; the fitted weights become a back-off model (:mod:`epigram.lm.loglinear.to_backoff`), which
answers all questions.

Differs from the paper: exact full-batch training by default; the penalty's numbers are chosen on held-out
text of the same size of training text, not on a smaller one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from epigram.errors import InputError
from epigram.lm.corpus import Corpus
from epigram.lm.loglinear.adapt import adapt
from epigram.lm.loglinear.estimator import Auto, Text, WeightedLM
from epigram.lm.loglinear.explain import SuffixExplanation, explain
from epigram.lm.loglinear.loss import SuffixLoss
from epigram.lm.loglinear.penalties import FIRST_STRENGTHS, Given, Strength, named
from epigram.lm.loglinear.problem import Problem
from epigram.lm.loglinear.search import calibrate, search
from epigram.lm.loglinear.select import (
    largest,
    rarity_gain,
    unseen_pairs,
    weight_importance,
    with_pairs,
)
from epigram.lm.loglinear.to_backoff import to_backoff
from epigram.lm.loglinear.tree import ContextTree, Positions
from epigram.lm.ngram.backoff import BackoffModel, FittedBackoff, with_unknown
from epigram.lm.vocabulary import Vocabulary
from epigram.protocols import Callback, Floats, Result, Solver
from epigram.tuning import SearchTrial, TrialCallback

ChoiceCallback = Callable[[Corpus, Corpus, Floats], None]

NOTHING = 1e-50
ROUGH, ROUGHER = 5.0, 25.0
"""Tolerance of the fits of a search, and of a fit with the strength of another model, as multiples."""
RARE_ROUNDS = 2  # a third lowers held-out perplexity by less than a thousandth


class _Fitted(FittedBackoff, WeightedLM):
    """The state of a :class:`LogLinearLM` beside its parameters."""

    kind = "loglinear"
    most_trials = 30
    scales_: Floats | None = None
    trials_: list[SearchTrial]
    strength_: Strength
    _backoff: BackoffModel | None = None
    _vocabulary: Vocabulary | None = None
    _loss: SuffixLoss | None = None
    _weights: Floats
    _optimum: Floats
    _stored: Callable[[], tuple[SuffixLoss, Floats]] | None = None  # decodes the weights of a file


@dataclass(eq=False, repr=False)
class LogLinearLM(_Fitted):
    """A log-linear model over the suffixes of the context.

    Parameters
    ----------
    order : length of the longest n-gram; 0 is unbounded.
    penalty : penalty of the weights. Or an object that says how strong it is, such as ``L1(0.5)``: then nothing is
        searched, and ``auto`` depth weights are 1.
    strength : strength of the penalty; ``"auto"`` chooses it on held-out text
        (:mod:`epigram.lm.loglinear.penalties`).
    depth_weight : factor by which the penalty grows with each word of context; ``"auto"`` chooses it.
    ridge : strength of the squared part of the elastic penalty; ``"auto"`` chooses it on held-out text.
    depth_weights : what the depth weight acts on inside tree-l2 and tree-linf. The paper has ``"features"``.
    nonnegative : keep all weights at or above zero, as in the paper, before ``max_weights`` chooses among them.
    solver : ``fista`` (exact), ``stochastic`` (the paper's Algorithm 1), or an object with its own settings, such
        as ``StochasticProximal(batch_size=400, passes=10, lipschitz="auto", mu="auto")``.
    tolerance : share of the objective; training stops when a step promises less. Of a solver given by name; for
        ``stochastic``, when a pass changes less.
    max_iterations : most iterations of fista. 500 unless given.
    calibrate : choose a factor for the weights of each depth on held-out text. Only if the strength is chosen
        there.
    max_weights : number of weights to keep, those worth most. They are fitted again. Pairs rarer than the others make
        expect, or never seen, may have one of them, which is negative (:mod:`epigram.lm.loglinear.select`).
    collapse : work on the collapsed tree. None: for ``tree-linf`` where it is exact (depth weights up to 1) and where
        the order is unbounded.
    min_count : least number of occurrences of a word; rarer ones are read as <unk>.
    max_words : size of the vocabulary; rarer words are read as <unk>.
    vocabulary : the vocabulary; other words are read as <unk>.
    open_vocabulary : give words that were never seen a probability after training (:mod:`epigram.lm.base`).
    held_out : share of the training text, its end, that settings are chosen on without held-out text.
    threads : number of threads of the exact solver.
    random_state : seed of the stochastic solver.

    Attributes
    ----------
    weights_, tree_, strength_, trials_, scales_, objective_, n_iter_, reason_, valid_perplexity_, backoff_ :
        ``optimum_`` are the weights before ``scales_``, the minimum of the objective

    Examples
    --------
    >>> model = LogLinearLM(order=3, strength=0.1, depth_weight=1.2, ridge=0.01)
    >>> model = model.fit(["a rose is a rose", "a rose is red"])
    >>> model.next_words("a", 1)[0][0]
    'rose'
    >>> round(float(model.distribution("is a").sum()), 12)
    1.0
    """

    order: int = 5
    penalty: Given = "elastic"
    strength: float | Auto = "auto"
    depth_weight: float | Auto = "auto"
    ridge: float | Auto = "auto"
    depth_weights: Literal["features", "groups"] = "features"
    nonnegative: bool = True
    solver: str | Solver = "fista"
    tolerance: float = 2e-7
    max_iterations: int | None = None
    calibrate: bool = True
    max_weights: int | None = None
    collapse: bool | None = None
    min_count: int = 1
    max_words: int | None = None
    vocabulary: Vocabulary | None = None
    open_vocabulary: bool = True
    held_out: float = 0.1
    threads: int = 1
    random_state: int = 0

    def fit(
        self,
        sentences: Text,
        y: None = None,
        *,
        valid: Text | None = None,
        callback: Callback | None = None,
        on_trial: TrialCallback | None = None,
        on_choice: ChoiceCallback | None = None,
        like: LogLinearLM | None = None,
    ) -> LogLinearLM:
        """Train; numbers that are ``auto`` are chosen on ``valid``, or on the end of the text.

        ``callback`` hears of iterations, ``on_trial`` of the fits of the search; either ends training by
        returning True, and the model is then that of the best weights so far. Where the text is split for the search,
        ``on_choice`` gets both parts, and log-probabilities of the second by the best model of the first, before the
        model of the whole text is made. ``like`` is a fitted model whose strength and depth factors are taken;
        the fit is then rougher, which changes held-out perplexity by less than a thousandth.
        """
        self.make_solver()  # refuses wrong settings before the text is read
        strength, free = self.first_strength() if like is None else (like.strength_, ())
        corpus = Corpus.for_training(sentences, self.vocabulary, self.min_count, self.max_words)
        self.trials_ = [] if like is None else like.trials_
        self.scales_ = None if like is None else like.scales_
        start = None
        if free and valid is None:  # the problem of the search is freed before that of the whole text is made
            strength = self._choose_on_split(corpus, strength, free, callback, on_trial, on_choice)
        problem = self._problem(corpus, None if valid is None else Corpus.known(valid, corpus.vocabulary))
        if free and valid is not None:
            strength, start = self._choose(problem, strength, free, callback, on_trial)
        problem = self._train(problem, strength, start, callback, 1.0 if like is None else ROUGHER)
        if self.scales_ is not None and self.max_weights is not None and valid is not None:
            self.scales_ = calibrate(problem, self.weights_)
        self._scale()
        self.text_digest_ = corpus.digest
        self._count_text(corpus.vocabulary, corpus.n_positions)
        if valid is not None:
            self.valid_perplexity_ = problem.perplexity(self.weights_)
        elif self.trials_:
            self.valid_perplexity_ = self.trials_[-1].best
        return self

    def _choose_on_split(
        self,
        corpus: Corpus,
        strength: Strength,
        free: tuple[str, ...],
        callback: Callback | None,
        on_trial: TrialCallback | None,
        on_choice: ChoiceCallback | None,
    ) -> Strength:
        """The best strength on the end of the text."""
        parts = corpus.split_known(self.held_out)
        problem = self._problem(*parts)
        strength, w = self._choose(problem, strength, free, callback, on_trial)
        if on_choice is not None:
            logps = problem.log_probabilities(w * self._factors(problem.tree))
            del problem, w
            on_choice(*parts, logps)
        return strength

    def _refit(self, corpus: Corpus, callback: Callback | None) -> None:
        problem = self._problem(corpus, None, self.tree_.collapsed)
        start = problem.tree.carry_over(self.tree_, self.optimum_)
        self._train(problem, self.strength_, start, callback)
        self._scale()

    def _adapt(self, new: Corpus, n_before: int, callback: Callback | None) -> None:
        old, w, positions = self.tree_, self.weights_, Positions.of(new)
        both = old.positions_of(np.flatnonzero(w), positions.n_symbols).followed_by(positions)
        tree = ContextTree.grow(both, old.order, old.collapsed).recount(positions)
        is_bounded = self.nonnegative and self.max_weights is None
        loss, penalty = SuffixLoss(tree, self.threads), self._penalty_name
        problem = Problem(corpus=new, loss=loss, penalty=penalty, nonnegative=is_bounded)
        start, solver = tree.carry_over(old, w), self.adaptation_solver(1.0)
        result = adapt(problem, start, n_before, self.strength_, solver, self.max_weights, callback)
        self._keep(problem, self.strength_, result)
        self._optimum = self._weights / self._factors(tree)

    def _train(
        self,
        problem: Problem,
        strength: Strength,
        start: Floats | None,
        callback: Callback | None,
        looser: float = 1.0,
    ) -> Problem:
        """Fit the weights, and ``max_weights`` of them again; returns the problem of the weights."""
        self._keep(problem, strength, problem.solve(self.make_solver(looser), strength, start, callback))
        if self.max_weights is None:
            return problem
        return self._select(problem, strength, self.max_weights, callback)

    def _current(self) -> SuffixLoss:
        """The loss over the tree of the weights, which are decoded here where they come from a file."""
        if self._loss is None and self._stored is not None:
            (self._loss, self._weights), self._stored = self._stored(), None
            self._optimum = self._weights
            if self.scales_ is not None:
                self._optimum = self._weights / self._factors(self._loss.tree)
        if self._loss is None:
            raise AttributeError("this LogLinearLM is not fitted; call fit first.")
        return self._loss

    def _scale(self) -> None:
        """Apply the factors of the depths to the weights."""
        self._optimum = self._weights
        if self.scales_ is not None:
            self._weights = self._optimum * self._factors(self.tree_)

    def _factors(self, tree: ContextTree) -> Floats:
        """``scales_`` of the weights of a tree."""
        scales = np.ones(1) if self.scales_ is None else self.scales_
        return scales[np.minimum(tree.pair_depth, scales.size - 1)]

    @property
    def loss_(self) -> SuffixLoss:
        """The loss over the tree of the text."""
        return self._current()

    @property
    def tree_(self) -> ContextTree:
        """The contexts of the text."""
        return self._current().tree

    @property
    def weights_(self) -> Floats:
        """A weight for each pair of the tree."""
        self._current()
        return self._weights

    @property
    def optimum_(self) -> Floats:
        """The weights before ``scales_``."""
        self._current()
        return self._optimum

    @property
    def backoff_(self) -> BackoffModel:  # type: ignore[override]
        """The fitted model in back-off form, made on first use."""
        self.check_fitted()
        if self._backoff is None:
            known = to_backoff(self.known_vocabulary_, self.loss_, self.weights_)
            self._backoff = with_unknown(known, self.unknown_) if self.unknown_ else known
        return self._backoff

    @property
    def known_vocabulary_(self) -> Vocabulary:
        """The words of its text: the vocabulary without an ``<unk>`` that was added."""
        return self._fitted().vocabulary_ if self._vocabulary is None else self._vocabulary

    @property
    def n_parameters_(self) -> int:
        """Weights of the tree, zero or not."""
        return int(self.weights_.size)

    @property
    def n_positions_(self) -> int:
        """Words and ends of sentences it was trained on."""
        return self._n_positions or self.tree_.n_positions

    @property
    def n_nonzero_(self) -> int:
        """Weights that are not 0."""
        return int(np.count_nonzero(self.weights_))

    def explain(self, context: str | list[str], word: str) -> SuffixExplanation:
        """The suffix weights that made P(word | context)."""
        self._fitted()
        return explain(self.loss_, self.weights_, self.known_vocabulary_, context, word, self.unknown_)

    def restore(
        self,
        vocabulary: Vocabulary,
        stored: Callable[[], tuple[SuffixLoss, Floats]],
        strength: Strength,
        fit: dict[str, Any],
        corpus: Corpus | None = None,
        backoff: BackoffModel | None = None,
    ) -> None:
        """Take over a stored model; with a back-off form, its weights are decoded on first use."""
        self._vocabulary, self._stored, self._corpus = vocabulary, stored, corpus
        self.strength_, self.trials_, self._backoff = strength, [], backoff
        self._n_positions, self.unknown_ = int(fit.get("positions", 0)), float(fit.get("unknown", 0.0))
        if "scales" in fit:
            self.scales_ = np.array(fit["scales"])
        if backoff is None:
            self._current()
        for name in ("objective", "n_iter", "reason", "valid_perplexity", "text_digest"):
            if name in fit:
                setattr(self, f"{name}_", fit[name])

    @property
    def is_fitted(self) -> bool:
        """Whether there are weights."""
        return self._loss is not None or self._stored is not None

    def _fitted(self) -> BackoffModel:
        return self.backoff_

    @property
    def _penalty_name(self) -> str:
        return named(self.penalty)[0]

    def first_strength(self) -> tuple[Strength, tuple[str, ...]]:
        """The strength to start from, and which of its numbers are to be found."""
        depth_weight = 1.0 if self.depth_weight == "auto" else float(self.depth_weight)
        name, strength = named(self.penalty, depth_weight)
        if strength is not None:
            return replace(strength, depth_weights=self.depth_weights), ()
        names = ("strength", "depth_weight", *(("ridge",) if name == "elastic" else ()))
        given: dict[str, Any] = {name: getattr(self, name) for name in names}
        free = tuple(name for name, value in given.items() if value == "auto")
        fixed = {name: float(value) for name, value in given.items() if value != "auto"}
        return replace(FIRST_STRENGTHS[name], depth_weights=self.depth_weights, **fixed), free

    def _problem(self, corpus: Corpus, held_out: Corpus | None, collapse: bool | None = None) -> Problem:
        """The text in its contexts, and the text that decides."""
        collapse = self.collapse if collapse is None else collapse
        if collapse is None:
            grows = self.depth_weight == "auto" or float(self.depth_weight) > 1.0
            collapse = self._penalty_name == "tree-linf" and (self.order == 0 or not grows)
        return Problem.of(
            corpus,
            self.order,
            self._penalty_name,
            nonnegative=self.nonnegative,
            collapse=collapse,
            held_out=held_out,
            threads=self.threads,
        )

    def _choose(
        self,
        problem: Problem,
        first: Strength,
        free: tuple[str, ...],
        callback: Callback | None,
        on_trial: TrialCallback | None,
    ) -> tuple[Strength, Floats]:
        """The best strength on held-out text, and its weights."""
        if problem.held_out is None or problem.held_out.context.size == 0:
            raise InputError("the held-out text is empty.")
        self.trials_, strength, w = search(
            problem,
            self.make_solver(ROUGH),
            first,
            free,
            callback,
            on_trial,
            max_trials=self.most_trials,
        )
        if self.calibrate:
            self.scales_ = calibrate(problem, w)
        return strength, w

    def _select(self, problem: Problem, strength: Strength, k: int, callback: Callback | None) -> Problem:
        """Keep the k weights worth most and fit them again, also with pairs rarer than expected."""
        rounds = 0 if problem.tree.collapsed else RARE_ROUNDS
        if self.n_nonzero_ > k:
            worth = weight_importance(problem.loss, self.weights_)
            self._fit_largest(problem, strength, worth, k, self.nonnegative, rounds > 0, callback)
        for left in range(rounds - 1, -1, -1):
            if self.reason_ == "callback":
                break
            tree, where = with_pairs(problem.tree, *unseen_pairs(problem.loss, self._weights))
            problem, self._weights = problem.over(tree), np.insert(self._weights, where, 0.0)
            worth = weight_importance(problem.loss, self._weights) + rarity_gain(problem.loss, self._weights)
            self._fit_largest(problem, strength, worth, k, False, left > 0, callback)
        return problem

    def _fit_largest(
        self,
        problem: Problem,
        strength: Strength,
        worth: Floats,
        k: int,
        nonnegative: bool,
        roughly: bool,
        callback: Callback | None,
    ) -> None:
        """Fit the k weights worth most, the others at 0."""
        mask = largest(worth, k)
        start, solver = np.where(mask, self._weights, 0.0), self.make_solver(ROUGH if roughly else 1.0)
        free = replace(problem, nonnegative=nonnegative)
        self._keep(problem, strength, free.solve(solver, strength, start, callback, mask))

    def _keep(self, problem: Problem, strength: Strength, result: Result) -> None:
        # Penalties that grow with the depth leave weights such as 1e-300 far down, which change no probability.
        w = np.where(np.abs(result.w) < NOTHING, 0.0, result.w)
        self._corpus, self._loss, self._weights = problem.corpus, problem.loss, w
        self.strength_, self.objective_, self.n_iter_ = strength, result.objective, result.iterations
        self.reason_, self.optimality_ = result.reason, result.optimality
        self._backoff, self._vocabulary = None, problem.corpus.vocabulary
