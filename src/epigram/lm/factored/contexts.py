"""Contexts of class-factored models: classes and words of earlier positions."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

import numpy as np

from epigram._core import bindings
from epigram.errors import InputError
from epigram.lm.loglinear.tree import Positions
from epigram.protocols import Ints

_SYMBOL = re.compile(r"([cw])([1-9]\d*)")


@dataclass(frozen=True, slots=True)
class Contexts:
    """Context symbols in a stated order: words (w) and classes (c) of earlier positions.

    For each tree its symbols, newest first: kind and how many words back. ``c1 w1 c2 w2; c2 w2`` names two context
    trees. The first grows by the class of the last word, then the word itself, then the class of the word before it,
    and so on; the second skips the last word. Scores of the trees add up. The first is the main tree.

    Examples
    --------
    >>> Contexts.parse("c1 w1 c2; c2 w2").trees
    ((('c', 1), ('w', 1), ('c', 2)), (('c', 2), ('w', 2)))
    >>> str(Contexts.parse("c1  w1 ;c2"))
    'c1 w1; c2'
    """

    trees: tuple[tuple[tuple[str, int], ...], ...]

    @classmethod
    def parse(cls, text: str) -> Contexts:
        """From a string; semicolons between trees."""
        trees = []
        for part in text.split(";"):
            symbols = []
            for name in part.split():
                match = _SYMBOL.fullmatch(name)
                if match is None:
                    raise InputError(
                        f"{name!r} in the contexts {text!r} is no symbol; expected c or w and how many words "
                        "back, as in 'c1 w1 c2 w2; c2 w2'."
                    )
                if len(match[2]) > 9:
                    raise InputError(f"{name!r} in the contexts {text!r} is too far back for any text.")
                symbols.append((match[1], int(match[2])))
            if not symbols:
                raise InputError(f"the contexts {text!r} have an empty tree; leave out the semicolon.")
            trees.append(tuple(symbols))
        return cls(tuple(trees))

    @classmethod
    def alternating(cls, n_words: int, *skips: str) -> Contexts:
        """``c1 w1 c2 w2 ...`` over some words, and side trees.

        Examples
        --------
        >>> str(Contexts.alternating(2, "c2 w2"))
        'c1 w1 c2 w2; c2 w2'
        """
        main = " ".join(f"c{lag} w{lag}" for lag in range(1, n_words + 1))
        return cls.parse("; ".join((main, *skips)))

    def __str__(self) -> str:
        return "; ".join(" ".join(f"{kind}{lag}" for kind, lag in tree) for tree in self.trees)

    @property
    def n_words(self) -> int:
        """Number of words back that they reach."""
        return max(lag for tree in self.trees for _, lag in tree)

    def of(self, words: Positions, class_of: Ints, n_classes: int) -> tuple[Ints, Ints, Ints]:
        """Symbols, ends and lengths (both n positions x trees) of the contexts of positions.

        Classes are the symbols ``0 .. n_classes - 1``, words follow.
        """
        n, sizes = words.end.size, [len(tree) for tree in self.trees]
        if n * sum(sizes) >= 2**31:
            raise InputError("over 2^31 context symbols; use shorter contexts or less text.")
        named = [symbol for tree in self.trees for symbol in tree]
        symbols = np.empty(n * len(named), np.int32)
        ends, lengths = np.empty((2, n, len(sizes)), np.int32)
        wrong = bindings.factored_scorer_contexts(
            words.end,
            words.length,
            words.history,
            class_of,
            n_classes,
            np.cumsum([0, *sizes], dtype=np.int32),
            np.array([lag for _, lag in named], np.int32),
            np.array([kind == "c" for kind, _ in named]),
            symbols,
            ends,
            lengths,
        )
        if wrong >= 0:
            raise InputError(f"a word before position {wrong} has an id outside 0 .. {class_of.size - 1}.")
        return symbols, ends, lengths


@dataclass(frozen=True, slots=True)
class FactorExamples:
    """Positions of a text: root, candidate, and contexts (a column for each tree)."""

    root: Ints = field(repr=False)
    candidate: Ints = field(repr=False)
    history: Ints = field(repr=False)
    end: Ints = field(repr=False)
    length: Ints = field(repr=False)
    n_symbols: int

    def take(self, kept: np.ndarray) -> FactorExamples:
        """Some of the positions."""
        return replace(
            self,
            root=self.root[kept],
            candidate=self.candidate[kept],
            end=np.ascontiguousarray(self.end[kept]),
            length=np.ascontiguousarray(self.length[kept]),
        )

    def positions(self, n_roots: int, n_targets: int) -> Positions:
        """One position for each tree, end to end; tree t has the roots ``t * n_roots ..``."""
        n_trees = self.end.shape[1]
        return Positions(
            self.history,
            self.end.T.ravel(),
            self.length.T.ravel(),
            np.tile(self.candidate, n_trees),
            n_targets=n_targets,
            n_symbols=self.n_symbols,
            root=np.concatenate([self.root + np.int32(t * n_roots) for t in range(n_trees)]),
            n_roots=n_trees * n_roots,
        )
