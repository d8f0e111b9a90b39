"""The choice of a class, or of a word in its class, made ready for training; and the search for what is left open.

Open may be the number of classes and the strength of each part, within a budget of CPU seconds. The number is tried
at a fifth of the root of the number of words, then at half and double of that while the budget allows; then each
number of a strength moves up or down as long as held-out perplexity falls (compass search on a log scale). Every fit
starts from the best weights so far, so most cost a few iterations.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from epigram.checkpoint import State, noted, piece, restored_result
from epigram.lm.corpus import Corpus
from epigram.lm.factored.classes import WordClasses
from epigram.lm.factored.exchange import ExchangePass
from epigram.lm.factored.loss import Factor, FactorExamples, FactorLoss
from epigram.lm.factored.scorer import FactorScorer
from epigram.lm.loglinear.model import split_known
from epigram.lm.loglinear.penalties import FIRST_STRENGTHS, Strength, build_penalty, named
from epigram.lm.loglinear.problem import first_weights
from epigram.lm.loglinear.search import as_written, written
from epigram.lm.loglinear.select import MaskedPenalty, largest, weight_importance
from epigram.lm.loglinear.tree import Positions
from epigram.protocols import Callback, Floats, Iteration, Result, Solver
from epigram.tuning import Remembered, Trial, TrialCallback, compass

if TYPE_CHECKING:
    from epigram.lm.factored.model import ClassFactoredLM

PARTS = ("class", "word")
BEST_ON_NEWSWIRE = {"class": Strength(0.25, 1.3, 0.13, 4.0), "word": Strength(0.4, 1.3, 0.09, 3.0)}
"""The elastic net's strengths where the search starts, chosen on the validation part of the Penn Treebank."""

STEPS = {"side": 0.7, "strength": 0.4, "ridge": 0.4, "depth_weight": 0.12}
"""First moves of each number, natural log; halved twice."""


@dataclass(frozen=True)
class FactorProblem:
    """The loss of one choice over a text under a penalty of some kind, and held-out text that weights are judged on.

    Examples
    --------
    >>> from epigram.lm.factored.loss import Contexts
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
    penalty: str = "elastic"
    nonnegative: bool = True
    held_out: FactorExamples | None = field(default=None, repr=False)

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
        """The choices made at the positions of a text, and of other text; trees have the pairs of ``others`` too."""
        other = None if held_out is None else factor.examples(held_out)
        return cls(factor, factor.loss(words, threads, others), penalty, nonnegative, other)

    def first_weights(self, strength: Strength) -> Floats:
        """Weights to start from: the best of the main tree's roots alone, 0 elsewhere."""
        start = first_weights(self.loss.tree, strength, self.nonnegative)
        start[int(self.loss.tree.pair_ptr[self.loss.n_roots]) :] = 0.0
        return start

    def solve(
        self,
        solver: Solver,
        strength: Strength,
        start: Floats | None = None,
        callback: Callback | None = None,
        kept: npt.NDArray[np.bool_] | None = None,
    ) -> Result:
        """Minimise loss + penalty, from given weights or from :meth:`first_weights`; weights not ``kept`` are 0."""
        loss = self.loss
        penalty = build_penalty(self.penalty, loss.tree, strength, self.nonnegative, loss.is_side)
        if kept is not None:
            penalty = MaskedPenalty(penalty, kept)
        return solver.solve(loss, penalty, self.first_weights(strength) if start is None else start, callback)

    def scorer(self, w: Floats) -> FactorScorer:
        """The fitted choice that weights make."""
        return FactorScorer.of(self.loss, self.factor.contexts, w)

    def log_likelihood(self, w: Floats) -> float:
        """Sum of the log-probabilities of the held-out choices; NaN without any."""
        if self.held_out is None:
            return float("nan")
        return float(self.scorer(w).log_probabilities(self.held_out).sum())


@dataclass(frozen=True)
class Fitted:
    """A problem with its solution and, where there is held-out text, the log-probability of that."""

    problem: FactorProblem
    strength: Strength
    result: Result
    log_likelihood: float = float("nan")


def first_strength(penalty: str, part: str) -> Strength:
    """Where the search for the strength of a part starts."""
    return BEST_ON_NEWSWIRE[part] if penalty == "elastic" else FIRST_STRENGTHS[penalty]


class Search:
    """One fit of a :class:`~epigram.lm.factored.model.ClassFactoredLM`."""

    def __init__(
        self,
        model: ClassFactoredLM,
        corpus: Corpus,
        valid: Corpus | None,
        callback: Callback | None = None,
        on_trial: TrialCallback | None = None,
    ) -> None:
        self.model, self.corpus, self.valid = model, corpus, valid
        self.callback, self.on_trial = callback, on_trial
        self.trials: list[Trial] = []
        self.began = time.process_time()
        self.stopped = False

    def run(self) -> tuple[Fitted, Fitted]:
        """Both parts, fitted on the whole text."""
        model, whole = self.model, self.corpus
        self.penalty, strength = named(model.penalty)
        given = {"class": model.class_strength or strength, "word": model.word_strength or strength}
        first = {part: given[part] or first_strength(self.penalty, part) for part in PARTS}
        is_open = model.classes == "auto" or None in given.values()
        if not is_open or model.budget == 0 or (self.valid is None and whole.n_sentences < 2):
            return self._fit_both(self._learn(whole, self._first_number(whole)), Positions.of(whole), first)
        text, held_out = (whole, self.valid) if self.valid is not None else split_known(whole, model.held_out)
        self.words, self.held_out = Positions.of(text), Positions.of(held_out)
        best = self._choose_number(text, first)
        for part, share in zip(PARTS, (0.7, 1.0), strict=True):
            if given[part] is None:
                best[part] = self._choose_strength(best, part, share * model.budget)
        if self.valid is not None:
            return best["class"], best["word"]
        strengths = {part: best[part].strength for part in PARTS}
        classes = self._learn(whole, best["class"].problem.factor.classes.n_classes)
        return self._fit_both(classes, Positions.of(whole), strengths)

    def select(self, parts: tuple[Fitted, Fitted], n_weights: int) -> tuple[Fitted, Fitted]:
        """Keep so many weights of both parts, those worth most, and fit them again."""
        worth = [weight_importance(part.problem.loss, part.result.w) for part in parts]
        kept = np.split(largest(np.concatenate(worth), n_weights), [worth[0].size])
        fewer = []
        for part, mask in zip(parts, kept, strict=True):
            start = np.where(mask, part.result.w, 0.0)
            result = part.problem.solve(self.model.make_solver(), part.strength, start, self._watch, mask)
            fewer.append(Fitted(part.problem, part.strength, result))
        return fewer[0], fewer[1]

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
        self, classes: WordClasses, words: Positions, strengths: dict[str, Strength]
    ) -> tuple[Fitted, Fitted]:
        parts = [self._first_fit(classes, part, words, strengths[part]) for part in PARTS]
        return parts[0], parts[1]

    def _first_fit(
        self,
        classes: WordClasses,
        part: str,
        words: Positions,
        strength: Strength,
        held_out: Positions | None = None,
    ) -> Fitted:
        model = self.model
        factor = Factor(part, classes, model.contexts_of(part))
        problem = FactorProblem.of(
            factor,
            words,
            self.penalty,
            nonnegative=model.nonnegative,
            held_out=held_out,
            threads=model.threads,
        )
        return self._fit(problem, strength, None)

    def _fit(self, problem: FactorProblem, strength: Strength, start: Floats | None) -> Fitted:
        result = problem.solve(self.model.make_solver(), strength, start, self._watch)
        return Fitted(problem, strength, result, problem.log_likelihood(result.w))

    def _watch(self, iteration: Iteration) -> bool:
        self.stopped = self.stopped or bool(self.callback is not None and self.callback(iteration))
        return self.stopped

    def _watch_classes(self, now: ExchangePass) -> bool:
        return self._watch(Iteration(now.number, -now.log_likelihood, 0, now.seconds, np.empty(0)))

    def _choose_number(self, text: Corpus, first: dict[str, Strength]) -> dict[str, Fitted]:
        """Both parts with the best number of classes, and at the first strength."""
        number = self._first_number(text)
        best: dict[str, Fitted] = {}
        others: list[int] = [max(2, number // 2), 2 * number] if self.model.classes == "auto" else []
        for n_classes in (number, *others):
            spent = noted("seconds", self._spent)
            self.began = time.process_time() - spent
            if best and (self.stopped or 1.5 * spent > 0.5 * self.model.budget):
                break
            classes = self._learn(text, n_classes)
            parts = {
                part: self._first_fit(classes, part, self.words, first[part], self.held_out) for part in PARTS
            }
            perplexity = self._perplexity(parts)
            if not best or perplexity < self._perplexity(best):
                best = parts
            self._tell("both", list(parts.values()), perplexity)
        return best

    def _choose_strength(self, best: dict[str, Fitted], part: str, budget: float) -> Fitted:
        """Move one number of the strength at a time, on and on while that lowers held-out perplexity."""
        fits, n_before = {best[part].strength: best[part]}, len(self.trials)

        def judge(strength: Strength, so_far: Strength) -> float:
            now = fits[so_far]
            moved = self._fit(now.problem, strength, now.result.w)
            fits.clear()
            fits.update({so_far: now, strength: moved})
            perplexity = self._perplexity({**best, part: moved})
            self._tell(part, [moved], perplexity)
            return float(np.log(perplexity))

        def state() -> State:
            names = ("objective", "iterations", "reason", "optimality")
            numbers = [
                [
                    asdict(one.strength),
                    one.log_likelihood,
                    {name: getattr(one.result, name) for name in names},
                ]
                for one in fits.values()
            ]
            weights = {f"fit {k}": one.result.w for k, one in enumerate(fits.values())}
            new = written(self.trials[n_before:])
            return {"fits": numbers, "trials": new, "seconds": self._spent(), **weights}

        steps = {name: STEPS[name] for name in self._free(best[part].problem.factor)}
        least = float(np.log(self._perplexity(best)))
        with piece(f"search of the strength of the {part} part") as kept:
            if saved := kept.state:
                self.trials += as_written(saved["trials"])
                self.began = time.process_time() - saved["seconds"]
                fits.clear()
                for k, (strength, log_likelihood, numbers) in enumerate(saved["fits"]):
                    values = {"w": saved[f"fit {k}"], **numbers}
                    result = restored_result(values, best[part].result.w.size)
                    one = Fitted(best[part].problem, Strength(**strength), result, log_likelihood)
                    fits[one.strength] = one
            known = Remembered(kept, judge, state, lambda: self.stopped)

            def stop() -> bool:
                return known.is_over(lambda: self.stopped or self._spent() > budget)

            found = compass(known, best[part].strength, least, steps, stop)
            known.close()
        return fits[found]

    def _free(self, factor: Factor) -> list[str]:
        """The numbers that are searched, in that order."""
        names = ["strength", "depth_weight"]
        if len(factor.contexts.trees) > 1:
            names.insert(0, "side")
        if self.penalty == "elastic":
            names.insert(1, "ridge")
        return names

    def _perplexity(self, parts: dict[str, Fitted]) -> float:
        total = sum(parts[part].log_likelihood for part in PARTS)
        return float(np.exp(-total / max(self.held_out.target.size, 1)))

    def _spent(self) -> float:
        return time.process_time() - self.began

    def _tell(self, part: str, fitted: list[Fitted], perplexity: float) -> None:
        results = [each.result for each in fitted]
        trial = Trial(
            fitted[0].strength,
            perplexity,
            min([perplexity, *(trial.perplexity for trial in self.trials)]),
            sum(result.objective for result in results),
            sum(int(np.count_nonzero(result.w)) for result in results),
            sum(result.iterations for result in results),
            self._spent(),
            part,
            fitted[0].problem.factor.classes.n_classes,
        )
        self.trials.append(trial)
        if self.on_trial is not None and self.on_trial(trial):
            self.stopped = True
