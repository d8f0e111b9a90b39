"""Analysis: tokens of a text, and words with columns of tags, lemmas and relations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from epigram._core.arrays import offsets
from epigram.features.columns import Column, Columns
from epigram.files import counting_dict
from epigram.parsing.treebank import FIELDS, parse_treebank
from epigram.pipeline.tokenization import Tokenization, tokenization_of
from epigram.protocols import Ints, Offsets

TAGS = ("upos", "xpos", "feats")
NO_SPACE, PARAGRAPH = "SpaceAfter=No", "\n\n"


@dataclass(slots=True)
class Analysis:
    """A tokenized text with words and what is known of them.

    Attributes
    ----------
    tokens : the tokens of the text.
    word_ptr : token ``t`` consists of the words ``word_ptr[t]`` to ``word_ptr[t + 1]``.
    columns : for words, columns by their names in CoNLL-U: ``form`` always, others where known.
    heads : the head of each word, counted from 1 in its sentence; None where not known.
    """

    tokens: Tokenization
    word_ptr: Offsets = field(repr=False)
    columns: dict[str, Column]
    heads: Ints | None = field(default=None, repr=False)

    @property
    def n_words(self) -> int:
        """Number of words."""
        return int(self.word_ptr[-1])

    @property
    def sentence_ptr(self) -> Offsets:
        """Sentence ``s`` has the words ``sentence_ptr[s]`` to ``sentence_ptr[s + 1]``."""
        return self.word_ptr[self.tokens.sentence_ptr]

    def bare(self) -> Analysis:
        """Return the words without what is known of them."""
        return Analysis(self.tokens, self.word_ptr, {"form": self.columns["form"]})

    def cells(self, name: str, missing: str = "_") -> list[str]:
        """Return a column as a list of strings."""
        if name not in self.columns:
            return [missing] * self.n_words
        column = self.columns[name]
        return [column.strings[k] for k in column.ids.tolist()]

    def observed(self, names: Sequence[str]) -> Columns:
        """Return some columns as sentences."""
        return Columns(self.sentence_ptr, [self.columns[name] for name in names])


def as_column(cells: Sequence[str]) -> Column:
    """Number the distinct strings of a list."""
    numbers = counting_dict()
    ids = np.fromiter(map(numbers.__getitem__, cells), dtype=np.int32, count=len(cells))
    return Column(ids, list(numbers))


def single_words(tokens: Tokenization) -> Analysis:
    """Make words of tokens; a run of blanks in a token becomes one space."""
    forms = [form if form.isalnum() else " ".join(form.split()) for form in tokens.forms()]
    return Analysis(tokens, np.arange(tokens.n_tokens + 1), {"form": as_column(forms)})


def read_gold(raw: bytes, path: str, paragraphs: bool = True) -> tuple[Analysis, list[int]]:
    r"""Return the analysis that a CoNLL-U file holds, and the sentences that open a document.

    The text is that of the tokens, with a blank where ``SpaceAfter=No`` is missing and a blank line at ``# newdoc``
    and, with ``paragraphs``, at ``# newpar``. Empty nodes and enhanced dependencies are left out.

    Examples
    --------
    >>> rows = ["1-2 aux _", "1 à à", "2 les le", "3 rues rue"]
    >>> lines = ["\t".join((row.split() + ["_"] * 10)[:10]) + "\n" for row in rows]
    >>> gold, _ = read_gold("".join(lines).encode(), "tiny.conllu")
    >>> gold.tokens.text, gold.word_ptr.tolist(), gold.cells("lemma")
    ('aux rues\n', [0, 2, 3], ['à', 'le', 'rue'])
    """
    bank = parse_treebank(raw, path)
    sentences, sizes, documents, opens = _tokens(raw.decode("utf-8-sig"), paragraphs)
    tokens = tokenization_of(sentences, opens)
    columns = dict(zip(FIELDS, bank.columns.columns, strict=True))
    known = {
        name: columns[name]
        for name in ("lemma", *TAGS, "deprel")
        if columns[name].strings != ["_"]
    }  # fmt: skip
    gold = Analysis(tokens, offsets(sizes), {"form": columns["form"], **known}, bank.heads)
    if len(gold.sentence_ptr) != len(bank.sentence_ptr) or (gold.sentence_ptr != bank.sentence_ptr).any():
        bank.refuse(0, "the ranges of multiword tokens do not fit the words")
    return gold, documents


def _tokens(
    text: str, paragraphs: bool
) -> tuple[list[list[tuple[str, str]]], list[int], list[int], list[bool]]:
    """Read sentences of tokens, words per token, and where documents and paragraphs begin."""
    sentences: list[list[tuple[str, str]]] = []
    sizes: list[int] = []
    documents: list[int] = []
    opens: list[bool] = []
    rows: list[list[str]] = []
    opening = document = False
    for line in (*text.split("\n"), ""):
        line = line.removesuffix("\r")
        if line.startswith("#"):
            document |= line.startswith("# newdoc")
            opening |= document or (paragraphs and line.startswith("# newpar"))
        elif line:
            cells = line.split("\t")
            if "." not in cells[0]:
                rows.append(cells)
        elif rows:
            if document and sentences:
                documents.append(len(sentences))
            if opening and sentences:
                sentences[-1][-1] = (sentences[-1][-1][0], PARAGRAPH)
            opens.append(opening or not sentences)
            sentences.append(_sentence(rows, sizes))
            rows, opening, document = [], False, False
    if sentences:
        sentences[-1][-1] = (sentences[-1][-1][0], "\n")
    return sentences, sizes, documents, opens


def _sentence(rows: list[list[str]], sizes: list[int]) -> list[tuple[str, str]]:
    """Return the tokens of a sentence with the blanks after them; append their numbers of words."""
    tokens, last = [], 0
    for row in rows:
        first, _, end = row[0].partition("-")
        if int(first) <= last:
            continue  # a word of a multiword token
        last = int(end or first)
        sizes.append(last - int(first) + 1)
        blank = "" if NO_SPACE in row[9].split("|") else " "
        tokens.append((" ".join(row[1].split()) or "_", blank))
    return tokens
