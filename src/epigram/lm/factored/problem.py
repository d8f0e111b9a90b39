"""Training problem and search for class-factored models.

The number of classes and the strength of each part may be chosen, within a budget of CPU seconds. The number is tried
at a fifth of the root of the number of words, then at half and double of that while the budget allows; then the
strength of each part is searched as that of a log-linear model (:mod:`epigram.lm.loglinear.search`).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from epigram.checkpoint import noted
from epigram.lm.corpus import Corpus
from epigram.lm.factored.classes import WordClasses
from epigram.lm.factored.contexts import FactorExamples
from epigram.lm.factored.exchange import ExchangePass
from epigram.lm.factored.loss import PARTS, Factor, FactorLoss
from epigram.lm.factored.scorer import FactorScorer
from epigram.lm.loglinear.penalties import FIRST_STRENGTHS, Strength, named
from epigram.lm.loglinear.problem import TreeProblem
from epigram.lm.loglinear.search import search
from epigram.lm.loglinear.select import largest, weight_importance
from epigram.lm.loglinear.tree import Positions
from epigram.protocols import Callback, Floats, Iteration, Result
from epigram.tuning import SearchTrial, TrialCallback

if TYPE_CHECKING:
    from epigram.lm.factored.model import ClassFactoredLM

BEST_ON_NEWSWIRE = {"class": Strength(0.25, 1.3, 0.13, 4.0), "word": Strength(0.4, 1.3, 0.09, 3.0)}
"""The elastic net's strengths where the search starts, chosen on the validation part of the Penn Treebank."""


@dataclass(frozen=True, kw_only=True)
class FactorProblem(TreeProblem):
    """The loss of one choice over a text under a penalty of some kind, and held-out text.

    Examples
    --------
    >>> from epigram.lm.factored.contexts import Contexts
    >>> from epigram.solvers.proximal import FISTA
    >>> corpus = Corpus.of(["a b a b", "b a c"])
    >>> classes = WordClasses(corpus.vocabulary, np.array([0, 1, 2, 2], np.int32))
    >>> words = Positions.of(corpus)
    >>> problem = FactorProblem.of(Factor("class", classes, Contexts.parse("c1")), words, held_out=words)
    >>> result = problem.solve(FISTA(), Strength(0.1, 1.0, 0.01))
    >>> problem.log_likelihood(result.w) > problem.log_likelihood(0 * result.w)
    True
    """

    factor: Factor
    loss: FactorLoss = field(repr=False)
    held_out: FactorExamples | None = field(default=None, repr=False)
    other: float = 0.0
    """Log-probability of the held-out text by the other part of the model."""

    @classmethod
    def of(
        cls,
        factor: Factor,
        words: Positions,
        penalty: str = "elastic",
        *,
        nonnegative: bool = True,
        held_out: Positions | None = None,
        threads: int = 1,
        others: Positions | None = None,
    ) -> FactorProblem:
        """The choices made at the positions of texts; trees have the pairs of ``others`` too."""
        other = None if held_out is None else factor.examples(held_out)
        loss = factor.loss(words, threads, others)
        return cls(factor=factor, loss=loss, penalty=penalty, nonnegative=nonnegative, held_out=other)

    @property
    def is_side(self) -> npt.NDArray[np.bool_]:
        """Whether a context is one of a side tree."""
        return self.loss.is_side

    def first_weights(self, strength: Strength) -> Floats:
        """Weights to start from: the best of the main tree's roots alone, 0 elsewhere."""
        start = super().first_weights(strength)
        start[int(self.tree.pair_ptr[self.loss.n_roots]) :] = 0.0
        return start

    def scorer(self, w: Floats) -> FactorScorer:
        """The fitted choice that weights make."""
        return FactorScorer.of(self.loss, self.factor.contexts, w)

    def log_likelihood(self, w: Floats) -> float:
        """Sum of the log-probabilities of the held-out choices; NaN without any."""
        if self.held_out is None:
            return float("nan")
        return float(self.scorer(w).log_probabilities(self.held_out).sum())

    def perplexity(self, w: Floats) -> float:
        """Perplexity of the held-out text by both parts."""
        return self.perplexity_of(self.log_likelihood(w) + self.other)

    def perplexity_of(self, log_likelihood: float) -> float:
        """Perplexity of the held-out text."""
        n = 0 if self.held_out is None else self.held_out.candidate.size
        return float(np.exp(-log_likelihood / max(n, 1)))


@dataclass(frozen=True)
class Fitted:
    """A problem with its solution, and the log-probability of held-out text."""

    problem: FactorProblem
    strength: Strength
    result: Result
    log_likelihood: float = float("nan")


def first_strength(penalty: str, part: str) -> Strength:
    """Strength at which the search for a part starts."""
    return BEST_ON_NEWSWIRE[part] if penalty == "elastic" else FIRST_STRENGTHS[penalty]


@dataclass
class Search:
    """One fit of a :class:`~epigram.lm.factored.model.ClassFactoredLM`."""

    model: ClassFactoredLM
    corpus: Corpus
    valid: Corpus | None
    callback: Callback | None = None
    on_trial: TrialCallback | None = None
    trials: list[SearchTrial] = field(default_factory=list)
    began: float = field(default_factory=time.process_time)
    stopped: bool = False

    def run(self) -> list[Fitted]:
        """Both parts, fitted on the whole text."""
        model, whole = self.model, self.corpus
        self.penalty, strength = named(model.penalty)
        given = {"class": model.class_strength or strength, "word": model.word_strength or strength}
        first = {part: given[part] or first_strength(self.penalty, part) for part in PARTS}
        is_open = model.classes == "auto" or None in given.values()
        if not is_open or model.budget == 0 or (self.valid is None and whole.n_sentences < 2):
            return self._fit_both(self._learn(whole, self._first_number(whole)), Positions.of(whole), first)
        text, held_out = (whole, self.valid) if self.valid else whole.split_known(model.held_out)
        best = self._choose_number(text, first, Positions.of(held_out))
        for k, share in enumerate((0.7, 1.0)):
            if given[PARTS[k]] is None:
                best[k] = self._choose_strength(best[k], best[1 - k], PARTS[k], share * model.budget)
        if self.valid is not None:
            return best
        strengths = {part: fitted.strength for part, fitted in zip(PARTS, best, strict=True)}
        classes = self._learn(whole, best[0].problem.factor.classes.n_classes)
        return self._fit_both(classes, Positions.of(whole), strengths)

    def select(self, parts: list[Fitted], n_weights: int) -> list[Fitted]:
        """Keep so many weights of both parts, those worth most, and fit them again."""
        worth = [weight_importance(part.problem.loss, part.result.w) for part in parts]
        masks = np.split(largest(np.concatenate(worth), n_weights), [worth[0].size])
        fewer = []
        for part, mask in zip(parts, masks, strict=True):
            start = np.where(mask, part.result.w, 0.0)
            result = part.problem.solve(self.model.make_solver(), part.strength, start, self._watch, mask)
            fewer.append(Fitted(part.problem, part.strength, result))
        return fewer

    def _first_number(self, corpus: Corpus) -> int:
        asked = self.model.classes
        if isinstance(asked, int | np.integer):
            return int(asked)
        by_size = max(8, int(corpus.n_tokens**0.5 / 5))
        return max(2, min(by_size, len(corpus.vocabulary) // 2))

    def _learn(self, corpus: Corpus, n_classes: int) -> WordClasses:
        given = self.model.given_classes(corpus.vocabulary)
        if given is not None:
            return given
        seed, threads = self.model.random_state, self.model.threads
        return WordClasses.learn(corpus, n_classes, threads=threads, seed=seed, callback=self._watch_classes)

    def _fit_both(
        self,
        classes: WordClasses,
        words: Positions,
        strengths: dict[str, Strength],
        held_out: Positions | None = None,
    ) -> list[Fitted]:
        model, parts = self.model, []
        for part in PARTS:
            problem = FactorProblem.of(
                Factor(part, classes, model.contexts_of(part)),
                words,
                self.penalty,
                nonnegative=model.nonnegative,
                held_out=held_out,
                threads=model.threads,
            )
            parts.append(self._fit(problem, strengths[part], None))
        return parts

    def _fit(self, problem: FactorProblem, strength: Strength, start: Floats | None) -> Fitted:
        result = problem.solve(self.model.make_solver(), strength, start, self._watch)
        return Fitted(problem, strength, result, problem.log_likelihood(result.w))

    def _watch(self, iteration: Iteration) -> bool:
        self.stopped = self.stopped or bool(self.callback is not None and self.callback(iteration))
        return self.stopped

    def _watch_classes(self, now: ExchangePass) -> bool:
        return self._watch(Iteration(now.number, -now.log_likelihood, 0, now.seconds, np.empty(0)))

    def _choose_number(self, text: Corpus, first: dict[str, Strength], held_out: Positions) -> list[Fitted]:
        """Both parts with the best number of classes, and at the first strength."""
        number, words, least = self._first_number(text), Positions.of(text), np.inf
        best: list[Fitted] = []
        others: list[int] = [max(2, number // 2), 2 * number] if self.model.classes == "auto" else []
        for n_classes in (number, *others):
            spent = noted("seconds", self._spent)
            self.began = time.process_time() - spent
            if best and (self.stopped or 1.5 * spent > 0.5 * self.model.budget):
                break
            parts = self._fit_both(self._learn(text, n_classes), words, first, held_out)
            found = parts[0].problem.perplexity_of(sum(part.log_likelihood for part in parts))
            if found < least:
                best, least = parts, found
            results = [part.result for part in parts]
            trial = SearchTrial(
                parts[0].strength,
                found,
                least,
                sum(result.objective for result in results),
                sum(part.problem.n_nonzero(part.result.w) for part in parts),
                sum(result.iterations for result in results),
                self._spent(),
                "both",
                parts[0].problem.factor.classes.n_classes,
            )
            self._tell(trial)
        return best

    def _choose_strength(self, now: Fitted, other: Fitted, part: str, budget: float) -> Fitted:
        """The part with the strength that has the least held-out perplexity."""
        if self.stopped:
            return now
        free = ["strength", "depth_weight"]
        free += ["side"] if len(now.problem.factor.contexts.trees) > 1 else []
        free += ["ridge"] if self.penalty == "elastic" else []
        n_classes = now.problem.factor.classes.n_classes

        def on_trial(trial: SearchTrial) -> bool:
            least, seconds = min(trial.best, self.trials[-1].best), self._spent()
            return self._tell(replace(trial, best=least, seconds=seconds, part=part, n_classes=n_classes))

        _, strength, w = search(
            replace(now.problem, other=other.log_likelihood),
            self.model.make_solver(looser=5.0),
            now.strength,
            tuple(free),
            self._watch,
            on_trial,
            lambda: self._spent() > budget,
            start=now.result.w,
        )
        return self._fit(now.problem, strength, w)

    def _spent(self) -> float:
        return time.process_time() - self.began

    def _tell(self, trial: SearchTrial) -> bool:
        self.trials.append(trial)
        self.stopped = self.stopped or bool(self.on_trial is not None and self.on_trial(trial))
        return self.stopped
