"""Fitting a class-factored model, and choosing on held-out text what is left open, within a budget of CPU seconds.

Open may be the number of classes and the strength of each part. The number is tried at a fifth of the root of the
number of words, then at half and double of that while the budget allows; then each number of a strength moves up or
down as long as held-out perplexity falls (compass search on a log scale). Every fit starts from the best weights
so far, so most cost a few iterations.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from epigram.lm.corpus import Corpus
from epigram.lm.factored.classes import WordClasses
from epigram.lm.factored.factor import Factor
from epigram.lm.factored.loss import FactorExamples, FactorLoss
from epigram.lm.factored.scorer import FactorScorer
from epigram.lm.loglinear.model import split_known
from epigram.lm.loglinear.penalty import FIRST_STRENGTHS, Strength, build_penalty, first_weights
from epigram.lm.loglinear.tree import Positions
from epigram.protocols import Callback, Floats, Iteration, Result
from epigram.tuning import Trial, TrialCallback, compass

if TYPE_CHECKING:
    from epigram.lm.factored.model import ClassFactoredLM

PARTS = ("class", "word")
BEST_ON_NEWSWIRE = {"class": Strength(0.25, 1.3, 0.13, 4.0), "word": Strength(0.4, 1.3, 0.09, 3.0)}
"""The elastic net's strengths where the search starts, chosen on the validation part of the Penn Treebank."""

STEPS = {"side": 0.7, "strength": 0.4, "ridge": 0.4, "depth_weight": 0.12}
"""First moves of each number, natural log; halved twice."""


@dataclass(frozen=True)
class Fitted:
    """A part with its weights and, where there is held-out text, the sum of its log-probabilities there."""

    factor: Factor
    loss: FactorLoss = field(repr=False)
    strength: Strength
    result: Result
    held_out: FactorExamples | None = field(default=None, repr=False)
    log_likelihood: float = float("nan")


def first_strength(penalty: str, part: str) -> Strength:
    """Where the search for the strength of a part starts."""
    return BEST_ON_NEWSWIRE[part] if penalty == "elastic" else FIRST_STRENGTHS[penalty]


class Search:
    """One fit of a :class:`~epigram.lm.factored.model.ClassFactoredLM`."""

    def __init__(self, model: ClassFactoredLM, corpus: Corpus, valid: Corpus | None) -> None:
        self.model, self.corpus, self.valid = model, corpus, valid
        self.trials: list[Trial] = []
        self.began = time.process_time()
        self.stopped = False

    def run(self, callback: Callback | None, on_trial: TrialCallback | None) -> tuple[Fitted, Fitted]:
        """Both parts, fitted on the whole text."""
        self.callback, self.on_trial = callback, on_trial
        model, whole = self.model, self.corpus
        given = {"class": model.class_strength, "word": model.word_strength}
        first = {part: given[part] or first_strength(model.penalty, part) for part in PARTS}
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
        classes = self._learn(whole, best["class"].factor.classes.n_classes)
        return self._fit_both(classes, Positions.of(whole), strengths)

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
        return WordClasses.learn(corpus, n_classes, threads=threads, seed=seed)

    def _fit_both(
        self, classes: WordClasses, words: Positions, strengths: dict[str, Strength]
    ) -> tuple[Fitted, Fitted]:
        parts = [self._first_fit(classes, part, words, strengths[part]) for part in PARTS]
        return parts[0], parts[1]

    def _first_fit(self, classes: WordClasses, part: str, words: Positions, strength: Strength) -> Fitted:
        factor = Factor(part, classes, self.model.contexts_of(part))
        loss = factor.loss(words, self.model.threads)
        return Fitted(factor, loss, strength, self._fit(loss, strength, None))

    def _fit(self, loss: FactorLoss, strength: Strength, start: Floats | None) -> Result:
        model = self.model
        penalty = build_penalty(model.penalty, loss.tree, strength, model.nonnegative, loss.is_side)
        if start is None:
            start = first_weights(loss.tree, strength, model.nonnegative)
            start[int(loss.tree.pair_ptr[loss.n_roots]) :] = 0.0  # the main tree's roots say it all
        return model._solver().solve(loss, penalty, start, self._watch)

    def _watch(self, iteration: Iteration) -> bool:
        self.stopped = self.stopped or bool(self.callback is not None and self.callback(iteration))
        return self.stopped

    def _choose_number(self, text: Corpus, first: dict[str, Strength]) -> dict[str, Fitted]:
        """Both parts with the best number of classes, and at the first strength."""
        number = self._first_number(text)
        best: dict[str, Fitted] = {}
        others: list[int] = [max(2, number // 2), 2 * number] if self.model.classes == "auto" else []
        for n_classes in (number, *others):
            spent = self._spent()
            if best and (self.stopped or 1.5 * spent > 0.5 * self.model.budget):
                break
            classes = self._learn(text, n_classes)
            parts: dict[str, Fitted] = {}
            for part in PARTS:
                fitted = self._first_fit(classes, part, self.words, first[part])
                parts[part] = self._judged(replace(fitted, held_out=fitted.factor.choices(self.held_out)))
            perplexity = self._perplexity(parts)
            if not best or perplexity < self._perplexity(best):
                best = parts
            self._tell("both", list(parts.values()), perplexity)
        return best

    def _choose_strength(self, best: dict[str, Fitted], part: str, budget: float) -> Fitted:
        """Move one number of the strength at a time, on and on while that lowers held-out perplexity."""
        fits = {best[part].strength: best[part]}

        def judge(strength: Strength, so_far: Strength) -> float:
            now = fits[so_far]
            moved = replace(now, strength=strength, result=self._fit(now.loss, strength, now.result.w))
            moved = self._judged(moved)
            fits.clear()
            fits.update({so_far: now, strength: moved})
            perplexity = self._perplexity({**best, part: moved})
            self._tell(part, [moved], perplexity)
            return float(np.log(perplexity))

        steps = {name: STEPS[name] for name in self._free(best[part].factor)}
        least = float(np.log(self._perplexity(best)))
        found = compass(
            judge, best[part].strength, least, steps, lambda: self.stopped or self._spent() > budget
        )
        return fits[found]

    def _free(self, factor: Factor) -> list[str]:
        """The numbers that are searched, in that order."""
        names = ["strength", "depth_weight"]
        if len(factor.contexts.trees) > 1:
            names.insert(0, "side")
        if self.model.penalty == "elastic":
            names.insert(1, "ridge")
        return names

    def _judged(self, part: Fitted) -> Fitted:
        model = FactorScorer.of(part.loss, part.factor.contexts, part.result.w)
        if part.held_out is None:
            raise ValueError("a part is judged on held-out text; it has none.")
        log_likelihood = model.log_probabilities(part.held_out).sum()
        return replace(part, log_likelihood=float(log_likelihood))

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
            fitted[0].factor.classes.n_classes,
        )
        self.trials.append(trial)
        if self.on_trial is not None and self.on_trial(trial):
            self.stopped = True
