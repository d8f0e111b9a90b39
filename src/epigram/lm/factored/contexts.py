"""What a class-factored model looks at: words (w) and classes (c) of earlier positions, in a stated order.

``c1 w1 c2 w2; c2 w2`` names two context trees. The first grows by the class of the last word, then the word
itself, then the class of the word before it, and so on; the second skips the last word. Scores of the trees add
up. The first is the main tree.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from epigram._core.native import family
from epigram.errors import InputError
from epigram.lm.loglinear.tree import Positions
from epigram.protocols import Ints

_SYMBOL = re.compile(r"([cw])([1-9]\d*)")


@dataclass(frozen=True, slots=True)
class Contexts:
    """For each tree its symbols, newest first: kind (``c`` or ``w``) and how many words back.

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
        """How many words back they look."""
        return max(lag for tree in self.trees for _, lag in tree)

    def of(self, words: Positions, class_of: Ints, n_classes: int) -> tuple[Ints, Ints, Ints]:
        """Symbols, ends and lengths (both n positions x trees) of the contexts of positions in words.

        Classes are the symbols ``0 .. n_classes - 1``, words follow.
        """
        n, sizes = words.end.size, [len(tree) for tree in self.trees]
        if n * sum(sizes) >= 2**31:
            raise InputError("over 2^31 context symbols; use shorter contexts or less text.")
        named = [symbol for tree in self.trees for symbol in tree]
        symbols = np.empty(n * len(named), np.int32)
        ends, lengths = np.empty((2, n, len(sizes)), np.int32)
        wrong = family("factored_scorer").contexts(
            n,
            words.end,
            words.length,
            words.history.size,
            words.history,
            class_of.size,
            class_of,
            n_classes,
            len(sizes),
            np.cumsum([0, *sizes], dtype=np.int32),
            np.array([lag for _, lag in named], np.int32),
            np.array([kind == "c" for kind, _ in named]),
            len(named),
            symbols,
            ends,
            lengths,
        )
        if wrong >= 0:
            raise InputError(f"a word before position {wrong} has an id outside 0 .. {class_of.size - 1}.")
        return symbols, ends, lengths
