"""The two choices that make a word: its class given the history, and the word given its class and the history.

    P(w | h) = P(c(w) | h)  P(w | c(w), h)

Both are a :class:`~epigram.lm.factored.loss.FactorLoss`: one root with the classes as candidates, and a root for each
class with its words as candidates. Their weights are separate, so they are fitted, and their strengths chosen, one
after the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from epigram.lm.factored.classes import WordClasses
from epigram.lm.factored.contexts import Contexts
from epigram.lm.factored.loss import FactorExamples, FactorLoss
from epigram.lm.loglinear.tree import Positions
from epigram.protocols import Ints, Offsets


@dataclass(frozen=True)
class Factor:
    """One of the two choices: ``class`` or ``word``.

    Examples
    --------
    >>> from epigram.lm.corpus import Corpus
    >>> corpus = Corpus.of(["a b", "a c"])
    >>> classes = WordClasses(corpus.vocabulary, np.array([0, 1, 2, 2], np.int32))
    >>> word = Factor("word", classes, Contexts.parse("c1 w1"))
    >>> word.n_choices.tolist(), word.rank.tolist()
    ([1, 1, 2], [0, 0, 0, 1])
    >>> chosen = word.choices(Positions.of(corpus))
    >>> chosen.root.tolist(), chosen.choice.tolist()
    ([1, 2, 0, 1, 2, 0], [0, 0, 0, 0, 1, 0])
    """

    name: str
    classes: WordClasses
    contexts: Contexts

    @cached_property
    def n_choices(self) -> Ints:
        """Candidates of each root."""
        if self.name == "class":
            return np.array([self.classes.n_classes], np.int32)
        return self.classes.sizes.astype(np.int32)

    @cached_property
    def by_class(self) -> Offsets:
        """The words, class by class."""
        return np.argsort(self.classes.class_of, kind="stable")

    @cached_property
    def rank(self) -> Ints:
        """The number of each word within its class."""
        sizes = self.classes.sizes
        out = np.empty(self.by_class.size, np.int32)
        out[self.by_class] = np.arange(self.by_class.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return out

    def choices(self, words: Positions) -> FactorExamples:
        """The choices made at the positions of a text."""
        of_class = self.classes.class_of[words.target]
        if self.name == "class":
            root, choice = np.zeros_like(of_class), of_class
        else:
            root, choice = of_class, self.rank[words.target]
        return FactorExamples.of(
            words, self.contexts, self.classes.class_of, self.classes.n_classes, root, choice
        )

    def loss(self, words: Positions, threads: int = 1) -> FactorLoss:
        """The loss over the positions that have a choice: a class of one word leaves none."""
        choices = self.choices(words)
        free = self.n_choices[choices.root] > 1
        free[0] |= not free.any()  # all classes of one word: a position of P = 1 stands for nothing to learn
        return FactorLoss(choices if free.all() else choices.take(free), self.n_choices, threads)
