"""Treebanks: CoNLL-U files read into columns and heads, and written again with other heads and relations.

Comments, multiword tokens and empty nodes stay as they are. Heads are those of the file: words are counted from 1,
and 0 is the root.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from os import PathLike

import numpy as np

from epigram._core.native import gather
from epigram.errors import InputError
from epigram.parsing.surroundings import surroundings
from epigram.protocols import Ints, Offsets
from epigram.tagging.formats import Column, Columns, parse_columns
from epigram.tagging.trees import Trees, depths_of
from epigram.text import read_bytes

FIELDS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
OBSERVED = ("form", "upos", "xpos")
MISSING = -1


def read_treebank(path: str | PathLike[str]) -> Treebank:
    """A CoNLL-U file, gzip or not; ``-`` is standard input."""
    return parse_treebank(read_bytes(path), str(path))


def parse_treebank(raw: bytes, path: str = "input") -> Treebank:
    r"""The same from bytes.

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
        bank.refuse(int(wrong[0]), f"expected the word with id {bank.positions[wrong[0]]}")
    return bank


@dataclass(frozen=True, slots=True)
class Treebank:
    """Sentences of a CoNLL-U file: its ten columns, and the head of every word (-1 where the file has none)."""

    columns: Columns = field(repr=False)
    heads: Ints

    @property
    def n_sentences(self) -> int:
        """Number of sentences."""
        return self.columns.n_sentences

    @property
    def n_tokens(self) -> int:
        """Number of words: multiword tokens and empty nodes do not count."""
        return self.columns.n_tokens

    @property
    def sentence_ptr(self) -> Offsets:
        """Where sentences begin and end."""
        return self.columns.sentence_ptr

    @property
    def positions(self) -> Offsets:
        """The number of each word in its sentence, from 1."""
        return 1 + np.arange(self.n_tokens) - np.repeat(self.sentence_ptr[:-1], np.diff(self.sentence_ptr))

    def column(self, name: str) -> Column:
        """A column by its name in CoNLL-U, such as ``form``, ``upos``, ``deprel``."""
        if name not in FIELDS:
            raise InputError(f"CoNLL-U has no column {name!r}; it has {', '.join(FIELDS)}")
        return self.columns.columns[FIELDS.index(name)]

    def take(self, sentences: Iterable[int]) -> Treebank:
        """Some sentences."""
        rows = np.fromiter(sentences, dtype=np.int64)
        return Treebank(self.columns.take(rows), self.heads[gather(self.sentence_ptr, rows)[1]])

    def check_heads(self, single_root: bool = True) -> None:
        """Refuse heads that are missing or outside the sentence, cycles and, unless permitted, several roots."""
        lengths = np.repeat(np.diff(self.sentence_ptr), np.diff(self.sentence_ptr))
        for wrong, why in (
            (self.heads == MISSING, "has no head; a tree needs one for every word"),
            (self.heads > lengths, "has a head outside the sentence"),
            (self.heads == self.positions, "is its own head"),
        ):
            if wrong.any():
                self.refuse(int(np.flatnonzero(wrong)[0]), f"the word {why}")
        cyclic = np.flatnonzero(depths_of(self.parents(), self.sentence_ptr) < 0)
        if len(cyclic):
            self.refuse(int(cyclic[0]), "the heads go round in a cycle: no tree")
        if not single_root:
            return
        roots = np.flatnonzero(self.heads == 0)
        sentence = np.searchsorted(self.sentence_ptr, roots, side="right")
        again = roots[1:][sentence[1:] == sentence[:-1]]
        if len(again):
            self.refuse(int(again[0]), "a second root: a sentence has one word whose head is 0")

    def refuse(self, token: int, why: str) -> None:
        """Raise an error that names the line of a word."""
        line = None
        if self.columns.lines is not None:
            line = self.columns.lines.raw.count(b"\n", 0, int(self.columns.lines.ends[token])) + 1
        raise InputError(why, path=self.columns.path, line=line)

    def parents(self) -> Ints:
        """Heads counted from 0, -1 for roots (and for words without a head)."""
        return np.maximum(self.heads - 1, -1).astype(np.int32)

    def observed(self, names: Sequence[str] = OBSERVED) -> Columns:
        """Some columns, as observations."""
        return Columns(self.sentence_ptr, [self.column(name) for name in names], self.columns.path)

    def relations(self, universal: bool = False) -> list[list[str]]:
        """The relation of every word, a list a sentence; ``universal`` leaves subtypes (after the colon) out."""
        column = self.column("deprel")
        names = [name.partition(":")[0] if universal else name for name in column.strings]
        flat = [names[k] for k in column.ids.tolist()]
        return [flat[a:b] for a, b in pairwise(self.sentence_ptr.tolist())]

    def given(self) -> tuple[list[list[list[int] | None]], list[list[list[str] | None]]]:
        """What a parser may be asked to keep: the heads and relations of the file, None where it has ``_``."""
        heads = [None if head == MISSING else [head] for head in self.heads.tolist()]
        bounds = list(pairwise(self.sentence_ptr.tolist()))
        relations = [[None if name == "_" else [name] for name in own] for own in self.relations()]
        return [heads[a:b] for a, b in bounds], relations

    def trees(self, names: Sequence[str] = OBSERVED) -> Trees:
        """The trees, with columns that a :class:`~epigram.parsing.TreeTagger` may look at: see ``surroundings``."""
        return surroundings(self.observed(names), self.parents())

    def written(
        self, heads: Ints | None = None, changed: dict[str, Sequence[str]] | None = None
    ) -> Iterator[str]:
        """The file again, with these heads and columns (by name, a string a word) in place of its own."""
        lines = self.columns.lines
        if lines is None:
            raise ValueError("only a treebank that was read from a file is written again.")
        new: dict[int, Sequence[str]] = {} if heads is None else {6: [str(head) for head in heads.tolist()]}
        new |= {FIELDS.index(name): column for name, column in (changed or {}).items()}
        at = 0
        for t, end in enumerate(lines.ends.tolist()):
            start = lines.raw.rfind(b"\n", at, end) + 1
            start = max(start, at)
            cells = lines.raw[start:end].decode().split("\t")
            for k, column in new.items():
                cells[k] = column[t]
            yield lines.raw[at:start].decode()
            yield "\t".join(cells)
            at = end
        rest = lines.raw[at:].decode()
        yield rest if rest.endswith("\n\n") else rest.rstrip("\n") + "\n\n"


def _numbers(column: Column) -> Ints:
    """The whole numbers of a column, -1 for anything else."""
    values = [int(cell) if cell.isdecimal() and len(cell) < 9 else MISSING for cell in column.strings]
    return np.array(values, dtype=np.int32)[column.ids]


def _first_line(columns: Columns) -> int | None:
    if columns.lines is None:
        return None
    return columns.lines.raw.count(b"\n", 0, int(columns.lines.ends[0])) + 1
