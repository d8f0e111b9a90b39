"""Reads and writes CoNLL-U treebanks, and checks the trees that a parser is trained on.

Comments, multiword tokens and empty nodes are kept. Heads are those of the file: words are counted from 1, and 0 is
the root.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from epigram._core.arrays import gather
from epigram.errors import DataWarning, InputError, each
from epigram.features.columns import Column, Columns, as_columns
from epigram.features.formats import fill_columns, parse_columns
from epigram.features.trees import Trees, depths_of
from epigram.files import read_bytes
from epigram.parsing.tree_columns import add_tree_columns, parents_of
from epigram.protocols import Ints, Offsets

FIELDS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
OBSERVED = ("form", "upos", "xpos")
MISSING = -1


def read_treebank(path: str | PathLike[str]) -> Treebank:
    """Read a CoNLL-U file, compressed by gzip or not; ``-`` is standard input."""
    return parse_treebank(read_bytes(path), str(path))


def parse_treebank(raw: bytes, path: str = "input") -> Treebank:
    r"""Parse the content of a CoNLL-U file.

    Examples
    --------
    >>> rows = ["1 dogs dog NOUN NNS _ 2 nsubj _ _", "2 bark bark VERB VBP _ 0 root _ _"]
    >>> bank = parse_treebank("".join("\t".join(row.split()) + "\n" for row in rows).encode())
    >>> bank.n_sentences, bank.heads.tolist(), bank.column("deprel").strings
    (1, [2, 0], ['nsubj', 'root'])
    """
    columns = parse_columns(raw, path, "conllu")
    if columns.n_columns != len(FIELDS):
        raise InputError(
            f"CoNLL-U has 10 columns, found {columns.n_columns}", path=path, line=_first_line(columns)
        )
    ids, heads = (_numbers(columns.columns[k]) for k in (0, 6))
    bank = Treebank(columns, heads)
    wrong = np.flatnonzero(ids != bank.positions)
    if len(wrong):
        missing = "; is the blank line before a new sentence missing?" if ids[wrong[0]] == 1 else ""
        bank.refuse(int(wrong[0]), f"expected the word with id {bank.positions[wrong[0]]}{missing}")
    return bank


@dataclass(frozen=True, slots=True)
class Treebank:
    """Sentences of a CoNLL-U file: ten columns, and the head of every word (-1 if missing)."""

    columns: Columns = field(repr=False)
    heads: Ints

    @property
    def n_sentences(self) -> int:
        """Number of sentences."""
        return self.columns.n_sentences

    @property
    def n_tokens(self) -> int:
        """Number of words, without multiword tokens and empty nodes."""
        return self.columns.n_tokens

    @property
    def sentence_ptr(self) -> Offsets:
        """Offsets of the sentences."""
        return self.columns.sentence_ptr

    @property
    def positions(self) -> Offsets:
        """Number of each word in its sentence, from 1."""
        return 1 + np.arange(self.n_tokens) - np.repeat(self.sentence_ptr[:-1], np.diff(self.sentence_ptr))

    def column(self, name: str) -> Column:
        """Return a column by its name in CoNLL-U, such as ``form``, ``upos``, ``deprel``."""
        if name not in FIELDS:
            raise InputError(f"CoNLL-U has no column {name!r}; it has {', '.join(FIELDS)}")
        return self.columns.columns[FIELDS.index(name)]

    def take(self, sentences: Iterable[int]) -> Treebank:
        """Return some sentences, by index."""
        rows = np.fromiter(sentences, dtype=np.int64)
        return Treebank(self.columns.take(rows), self.heads[gather(self.sentence_ptr, rows)[1]])

    def check_heads(self, single_root: bool = True) -> None:
        """Refuse missing heads, heads outside the sentence, cycles and, by default, several roots."""
        if error := find_tree_error(self.heads, self.sentence_ptr, single_root):
            self.refuse(*error)

    def refuse(self, token: int, why: str) -> None:
        """Raise an InputError with the line of a word."""
        line = None
        if self.columns.lines is not None:
            line = self.columns.lines.raw.count(b"\n", 0, int(self.columns.lines.ends[token])) + 1
        raise InputError(why, path=self.columns.path, line=line)

    def parents(self) -> Ints:
        """Return heads counted from 0, -1 for roots and for words without a head."""
        return parents_of(self.heads)

    def observed(self, names: Sequence[str] = OBSERVED) -> Columns:
        """Return some columns, by name."""
        return Columns(self.sentence_ptr, [self.column(name) for name in names], self.columns.path)

    def empty_columns(self, names: Sequence[str]) -> list[str]:
        """Return the names of columns that have ``_`` for every word."""
        return [name for name in names if self.column(name).strings == ["_"]]

    def warn_of_empty(self, names: Sequence[str], known: Sequence[str]) -> None:
        """Warn of columns that are empty here; ``known`` ones were empty in training too."""
        if empty := [name for name in self.empty_columns(names) if name not in known]:
            warnings.warn(
                f"{self.columns.path}: every word has _ in {', '.join(empty)}, which the model was trained on; "
                "fill it first, such as with: epigram tag run TAGGER FILE",
                DataWarning,
                stacklevel=4,
            )

    def relations(self, universal: bool = False) -> list[list[str]]:
        """Return a list of relations per sentence; ``universal`` drops subtypes (after the colon)."""
        column = self.column("deprel")
        names = [name.partition(":")[0] if universal else name for name in column.strings]
        flat = [names[k] for k in column.ids.tolist()]
        return [flat[a:b] for a, b in pairwise(self.sentence_ptr.tolist())]

    def given(self) -> tuple[list[list[list[int] | None]], list[list[list[str] | None]]]:
        """Return the heads and relations of the file, None for ``_``, as constraints for a parser."""
        heads = [None if head == MISSING else [head] for head in self.heads.tolist()]
        bounds = list(pairwise(self.sentence_ptr.tolist()))
        relations = [[None if name == "_" else [name] for name in own] for own in self.relations()]
        return [heads[a:b] for a, b in bounds], relations

    def trees(self, names: Sequence[str] = OBSERVED) -> Trees:
        """Return trees with tree-context columns, for :class:`~epigram.parsing.TreeTagger`."""
        return add_tree_columns(self.observed(names), self.parents())

    def written(
        self, heads: Ints | None = None, changed: dict[str, Sequence[str]] | None = None
    ) -> Iterator[str]:
        """Write the file with other heads and columns (by name, one string per word)."""
        new: dict[int, Sequence[str]] = {} if heads is None else {6: [str(head) for head in heads.tolist()]}
        new |= {FIELDS.index(name): column for name, column in (changed or {}).items()}
        return fill_columns(self.columns, new)


class Gold(NamedTuple):
    """Training sentences with the head and the relation of every word."""

    columns: Columns
    heads: Ints
    relations: list[list[str]]

    def trees(self) -> Trees:
        """Return the trees with the columns that the model of relations reads."""
        return add_tree_columns(self.columns, parents_of(self.heads))


def as_treebank(X: Any) -> Any:
    """Read a path as a CoNLL-U file; return anything else as it is."""
    return read_treebank(X) if isinstance(X, PathLike) else X


def observed_columns(X: Any, names: Sequence[str]) -> Columns:
    """Return the sentences that a parser is given; of a treebank the columns of these names."""
    X = as_treebank(X)
    if isinstance(X, Treebank):
        return X.observed(names)
    return as_columns(X)


def read_gold(X: Any, y: Any, names: Sequence[str]) -> Gold:
    """Pair sentences with their trees, and check the trees."""
    X = as_treebank(X)
    if isinstance(X, Treebank):
        X.check_heads()
        return Gold(X.observed(names), X.heads, X.relations())
    if y is None:
        raise InputError(
            "requires y to be passed, but the target y is None: give (head, relation) of every word"
        )
    columns, trees = observed_columns(X, names), [list(tree) for tree in each(y, "y", "trees")]
    ptr = columns.sentence_ptr
    if [len(tree) for tree in trees] != np.diff(ptr).tolist():
        raise InputError(
            f"y must have a tree for each of the {len(ptr) - 1} sentences, with a (head, relation) for every word"
        )
    heads = np.array([head for tree in trees for head, _ in tree], dtype=np.int32)
    if error := find_tree_error(heads, ptr):
        s = int(np.searchsorted(ptr, error[0], side="right")) - 1
        raise InputError(f"sentence {s}, word {error[0] - int(ptr[s]) + 1}: {error[1]}")
    return Gold(columns, heads, [[str(name) for _, name in tree] for tree in trees])


def find_tree_error(heads: Ints, sentence_ptr: Offsets, single_root: bool = True) -> tuple[int, str] | None:
    """Find the first word that keeps heads from being trees, and why; None if all are trees.

    Examples
    --------
    >>> find_tree_error(np.array([2, 3, 0]), np.array([0, 3])), find_tree_error(np.array([2, 1, 0]), np.array([0, 3]))
    (None, (0, 'the heads form a cycle; in a tree every word leads to the root'))
    """
    for wrong, why in _tree_checks(heads, sentence_ptr, single_root):
        if wrong.any():
            return int(np.flatnonzero(wrong)[0]), why
    return None


def _tree_checks(
    heads: Ints, sentence_ptr: Offsets, single_root: bool
) -> Iterator[tuple[npt.NDArray[np.bool_], str]]:
    """Yield the words that break each rule, and the rule; a rule assumes those before it."""
    lengths = np.diff(sentence_ptr)
    starts = np.repeat(sentence_ptr[:-1], lengths)
    yield heads == MISSING, "the word has no head; a tree needs one for every word"
    outside = (heads < 0) | (heads > np.repeat(lengths, lengths))
    yield outside, "the head is outside the sentence; heads are word numbers from 1, or 0 for the root"
    yield heads == 1 + np.arange(len(heads)) - starts, "the word is its own head"
    cyclic = depths_of(parents_of(heads), sentence_ptr) < 0
    yield cyclic, "the heads form a cycle; in a tree every word leads to the root"
    if single_root:
        n_before = np.cumsum([0, *(heads == 0)])
        second = (heads == 0) & (n_before[:-1] > n_before[starts])
        yield second, "a second root; exactly one word of a sentence has the head 0"


def _numbers(column: Column) -> Ints:
    """Convert a column to integers, -1 for anything else."""
    values = [int(cell) if cell.isdecimal() and len(cell) < 9 else MISSING for cell in column.strings]
    return np.array(values, dtype=np.int32)[column.ids]


def _first_line(columns: Columns) -> int | None:
    if columns.lines is None:
        return None
    return columns.lines.raw.count(b"\n", 0, int(columns.lines.ends[0])) + 1
