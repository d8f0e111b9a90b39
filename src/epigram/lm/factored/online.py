"""A class-factored model on a stream: both parts trained on, in blocks (:mod:`epigram.lm.loglinear.online`).

The word part is one problem for each class, which the others do not share: a class is fitted again, exactly and from
its present weights, when its text grew by a share. The class part is one problem, fitted again when the whole text
grew by that share. So a new position costs ``WORK`` positions on average, however long the text is; the call in which
the class part has its turn costs as much as all of its text.

Classes stay as they are. A new word joins the class in whose place it was seen: the one that makes the classes around
it likeliest, sum of ln N(before, k) + ln N(k, after) - 2 ln N(k) over its places, N from the text so far with a
half added to each.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from epigram.lm.corpus import Corpus
from epigram.lm.factored.classes import WordClasses
from epigram.lm.factored.loss import Factor
from epigram.lm.factored.problem import FactorProblem
from epigram.lm.factored.scorer import FactorScorer
from epigram.lm.loglinear.growing import Blocks, TextSoFar, WeightTable, keys_of, pair_keys
from epigram.lm.loglinear.online import LEAST_WORK, WORK
from epigram.lm.loglinear.problem import Strength
from epigram.lm.loglinear.tree import Positions
from epigram.protocols import Floats, Offsets
from epigram.solvers.proximal import FISTA

ITERATIONS = 40


@dataclass(frozen=True, slots=True)
class FactorRecipe:
    """What both parts are trained with."""

    penalty: str
    nonnegative: bool
    threads: int
    tolerance: float


@dataclass
class OnlineFactor:
    """One part: its weights by context and candidate, and its positions in blocks."""

    recipe: FactorRecipe
    factor: Factor
    strength: Strength
    text: TextSoFar
    blocks: Blocks = field(default_factory=Blocks.empty)
    table: WeightTable = field(default_factory=WeightTable)
    credit: int = 0
    log_likelihood: float = 0.0
    n_scored: int = 0

    def take_over(self, scorer: FactorScorer, words: Positions) -> None:
        """The weights of a fitted part, and the text they were fitted on."""
        self.table.put(pair_keys(scorer.parent, scorer.symbol, scorer.pair_ptr, scorer.candidate), scorer.w)
        self.blocks.add(self._block(words))
        self.blocks.learnt[:] = self.blocks.total

    def _block(self, words: Positions) -> Offsets:
        if self.factor.name == "class":
            return np.zeros(words.target.size, np.int64)
        return self.factor.classes.class_of[words.target].astype(np.int64)

    def learn(self, new: Positions) -> None:
        """Learn the blocks whose turn it is, now that the text has these positions too."""
        self.blocks.add(self._block(new))
        self.credit = min(self.credit + WORK * new.target.size, int(self.blocks.total.sum()))
        due = self.blocks.due(max(self.credit, LEAST_WORK))
        self.credit = max(self.credit - int(self.blocks.total[due].sum()), 0)
        self._solve(due)

    def settle(self) -> None:
        """Learn what waits, whatever it costs."""
        self._solve(np.flatnonzero(self.blocks.total > self.blocks.learnt))

    def _solve(self, due: Offsets) -> None:
        if not due.size:
            return
        n_words = len(self.factor.classes.vocabulary)
        at, is_old = self.blocks.of(due), self.blocks.is_old(due)
        problem = self._problem(self.text.positions(n_words, at))
        keys = keys_of(problem.loss.tree)
        start = self.table.get(keys)
        before = problem.scorer(start)
        new = self.factor.examples(self.text.positions(n_words, at[~is_old]))
        self.log_likelihood += float(before.log_probabilities(new).sum())
        self.n_scored += int((~is_old).sum())
        result = problem.solve(FISTA(self.recipe.tolerance, ITERATIONS), self.strength, start)
        self.table.put(keys, result.w)
        self.blocks.learnt[due] = self.blocks.total[due]

    def scorer(self) -> FactorScorer:
        """The part as it is now: a pass over all of its text."""
        words = self.text.positions(len(self.factor.classes.vocabulary))
        problem = self._problem(words)
        return problem.scorer(self.table.get(keys_of(problem.loss.tree)))

    def _problem(self, words: Positions) -> FactorProblem:
        recipe = self.recipe
        return FactorProblem.of(
            self.factor, words, recipe.penalty, nonnegative=recipe.nonnegative, threads=recipe.threads
        )


class OnlineFactored:
    """Both parts and the text they share."""

    def __init__(
        self,
        recipe: FactorRecipe,
        corpus: Corpus,
        classes: WordClasses,
        scorers: dict[str, FactorScorer],
        strengths: dict[str, Strength],
    ) -> None:
        self.classes, self.text = classes, TextSoFar()
        words = Positions.of(corpus)
        self.text.add(words)
        self.parts = {}
        for name, scorer in scorers.items():
            factor = Factor(name, classes, scorer.contexts)
            self.parts[name] = OnlineFactor(recipe, factor, strengths[name], self.text)
            self.parts[name].take_over(scorer, words)
        self._neighbours: Floats = np.zeros((classes.n_classes, classes.n_classes))
        self._count_neighbours(corpus)

    @property
    def stream_perplexity(self) -> float:
        """Of the text that was learnt, each part scored just before; NaN without any."""
        if not all(part.n_scored for part in self.parts.values()):
            return float("nan")
        return float(np.exp(-sum(part.log_likelihood / part.n_scored for part in self.parts.values())))

    def learn(self, corpus: Corpus) -> None:
        """Go on with new text, in words of the vocabulary of this model or of one that begins with it."""
        if len(corpus.vocabulary) > self.classes.class_of.size:
            self.classes = self._with_new_words(corpus)
            for part in self.parts.values():
                part.factor = Factor(part.factor.name, self.classes, part.factor.contexts)
        self._count_neighbours(corpus)
        new = Positions.of(corpus)
        self.text.add(new)
        for part in self.parts.values():
            part.learn(new)

    def settle(self) -> None:
        """Learn what waits in both parts."""
        for part in self.parts.values():
            part.settle()

    def scorers(self) -> dict[str, FactorScorer]:
        """Both parts as they are now."""
        return {name: part.scorer() for name, part in self.parts.items()}

    def corpus(self) -> Corpus:
        """The text so far."""
        return Corpus.of_stream(self.text.stream, self.classes.vocabulary)

    def _count_neighbours(self, corpus: Corpus) -> None:
        stream = corpus.stream()
        known = (stream[:-1] >= 0) & (stream[1:] >= 0)
        class_of = self.classes.class_of
        np.add.at(self._neighbours, (class_of[stream[:-1][known]], class_of[stream[1:][known]]), 1.0)

    def _with_new_words(self, corpus: Corpus) -> WordClasses:
        """A class for each word that has none."""
        old = self.classes.class_of
        n_new = len(corpus.vocabulary) - old.size
        stream = corpus.stream()
        # One more at the end for words outside the vocabulary; -1 is a class that is not known.
        near = np.append(old, np.full(n_new + 1, -1, np.int32))[stream]
        some = self._neighbours + 0.5
        nothing = np.zeros((1, len(some)))
        after, before = np.vstack((np.log(some), nothing)), np.vstack((np.log(some.T), nothing))
        own = np.log(some.sum(axis=1))
        found = np.empty(n_new, np.int32)
        for k in range(n_new):
            at = np.flatnonzero(stream == old.size + k)
            score = (after[near[at - 1]] + before[near[at + 1]]).sum(axis=0) - 2.0 * at.size * own
            found[k] = 1 + np.argmax(score[1:])
        return WordClasses(corpus.vocabulary, np.append(old, found))
