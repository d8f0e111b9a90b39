"""What a parser learns from: sentences with their trees, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from epigram.errors import InputError
from epigram.parsing.conllu import Treebank
from epigram.parsing.surroundings import surroundings
from epigram.parsing.words import heads_of, sentences_of
from epigram.protocols import Ints, each
from epigram.tagging.formats import Columns
from epigram.tagging.trees import depths_of


class Gold(NamedTuple):
    """Sentences with heads and relations."""

    columns: Columns
    heads: Ints
    relations: list[list[str]]

    def trees(self) -> Any:
        """The trees as the model of relations sees them."""
        return surroundings(self.columns, np.maximum(self.heads - 1, -1).astype(np.int32))


def observed(X: Any, names: Sequence[str]) -> Columns:
    """The sentences of what a parser is given; of a treebank the columns of these names."""
    return X.observed(names) if isinstance(X, Treebank) else sentences_of(X)


def gold_of(X: Any, y: Any, names: Sequence[str]) -> Gold:
    """Sentences with their trees, checked."""
    if isinstance(X, Treebank):
        X.check_heads()
        return Gold(X.observed(names), X.heads, X.relations())
    if y is None:
        raise InputError(
            "requires y to be passed, but the target y is None: give (head, relation) of every word"
        )
    columns, trees = sentences_of(X), [list(tree) for tree in each(y, "y", "trees")]
    heads = heads_of([[head for head, _ in tree] for tree in trees], columns)
    gold = Gold(columns, heads, [[str(name) for _, name in tree] for tree in trees])
    _check_trees(gold)
    return gold


def _check_trees(gold: Gold) -> None:
    """Refuse what is no tree with one root."""
    ptr = gold.columns.sentence_ptr
    sentence = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    lengths = np.diff(ptr)[sentence]
    wrong = np.flatnonzero((gold.heads < 0) | (gold.heads > lengths))
    if len(wrong):
        t = int(wrong[0])
        raise InputError(f"sentence {sentence[t]}: heads are 0 to {lengths[t]}, not {gold.heads[t]}")
    cyclic = np.flatnonzero(depths_of(np.maximum(gold.heads - 1, -1).astype(np.int32), ptr) < 0)
    if len(cyclic):
        raise InputError(f"sentence {sentence[cyclic[0]]}: the heads go round in a cycle: no tree")
    roots = np.bincount(sentence[gold.heads == 0], minlength=len(ptr) - 1)
    several = np.flatnonzero(roots > 1)
    if len(several):
        raise InputError(f"sentence {several[0]}: {roots[several[0]]} roots; one word has the head 0")
