"""Stages: taggers that read some columns of words and write others.

Tags that a later stage reads in training are cross-validated (:meth:`Stage.cross_predict`), because a tagger
makes fewer errors on the sentences that it was trained on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from epigram._core.arrays import offsets
from epigram.chain.crf import CRFEstimator
from epigram.errors import InputError
from epigram.features.columns import Column, Columns
from epigram.pipeline.analysis import TAGS, Analysis, as_column, single_words
from epigram.pipeline.edits import apply_lemma, apply_words, lemma_script, word_script
from epigram.pipeline.splitter import template_text
from epigram.protocols import Ints, Offsets
from epigram.tagging.crf import CRFTagger

BETWEEN = "\t"  # in labels of several columns
LONGEST_CELL = 200  # characters that templates see of a word
MOST_JOINT = 120  # labels of a chain model; its time grows with their square


@dataclass(frozen=True)
class Stage:
    """A tagger with the columns that it reads and writes.

    Attributes
    ----------
    name : of the stage.
    reads, writes : names of columns; a label is the cells of the written columns, with tabs between.
    tagger : the tagger.
    """

    name: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    tagger: CRFEstimator = field(repr=False)

    @classmethod
    def untrained(
        cls, name: str, reads: tuple[str, ...], writes: tuple[str, ...], template: str, *settings: Any
    ) -> Stage:
        """Return a stage before training; ``settings``: penalty weight, passes, seed."""
        from epigram.solvers.sgd import SGD

        l1, passes, seed = settings
        solver = SGD(passes=passes, random_state=seed)
        return cls(name, reads, writes, CRFTagger(template_text(template), l1=l1, solver=solver))

    def examples(self, gold: Analysis, read: Mapping[str, Column]) -> tuple[Columns, Column]:
        """Return what the tagger sees of a treebank, and its labels.

        A treebank comes twice where tags are read: with those predicted, then with its own.
        """
        if self.name == "words":
            tokens = single_words(gold.tokens).columns["form"]
            forms = [tokens.strings[k] for k in tokens.ids.tolist()]
            labels = word_labels(forms, gold.cells("form"), gold.word_ptr)
            return Columns(gold.tokens.sentence_ptr, [bounded(tokens)]), labels
        if any(name not in gold.columns for name in self.writes):
            raise InputError(f"the treebank has no column {' or '.join(self.writes)}, which the model writes")
        own = [gold.columns[name] for name in self.writes]
        labels = lemma_labels(gold.columns["form"], own[0]) if self.writes == ("lemma",) else joined(own)
        versions = (
            [read] if all(read[name] is gold.columns[name] for name in self.reads) else [read, gold.columns]
        )
        seen = [as_column([column.strings[k] for column in both for k in column.ids.tolist()])
                for both in zip(*map(self.observed, versions), strict=True)]  # fmt: skip
        lengths, ids = np.diff(gold.sentence_ptr), np.tile(labels.ids, len(versions))
        return Columns(offsets(np.tile(lengths, len(versions))), seen), Column(ids, labels.strings)

    def cross_predict(
        self, X: Columns, y: Column, n: int, folds: int, progress: Callable[[str], Any]
    ) -> dict[str, Column]:
        """Return the written columns of the first n sentences, labelled by the other folds' tagger."""
        part_of = np.resize(np.arange(n) * folds // n, X.n_sentences)
        everything, found = Columns(X.sentence_ptr, [*X.columns, y]), []
        for part in range(folds):
            progress(f"{self.name}, fold {part + 1} of {folds}")
            train = everything.take(np.flatnonzero(part_of != part))
            tagger = type(self.tagger)(**self.tagger.get_params(deep=False))
            tagger.fit(Columns(train.sentence_ptr, train.columns[:-1]), train.columns[-1])
            model = tagger.fitted_model()
            ids = model.decode(model.encode(X.take(np.flatnonzero(part_of[:n] == part))), None, 1)
            found += [str(model.labels[k]) for k in ids.tolist()]
        labels = as_column(found)
        return {
            name: _renamed(own.ids, own.strings)
            for name, own in self._written(labels.ids, labels.strings).items()
        }

    def predict(
        self, columns: Mapping[str, Column], sentence_ptr: Offsets, threads: int = 1
    ) -> dict[str, Column]:
        """Return the written columns of some words."""
        ids = self.label(columns, sentence_ptr, threads)
        return self._written(ids, list(map(str, self.tagger.fitted_model().labels)))

    def _written(self, ids: Ints, labels: list[str]) -> dict[str, Column]:
        """Return the columns of joined labels."""
        cells = [label.split(BETWEEN) for label in labels]
        return {
            name: Column(ids, [own[k] if k < len(own) else "_" for own in cells])
            for k, name in enumerate(self.writes)
        }

    def label(self, columns: Mapping[str, Column], sentence_ptr: Offsets, threads: int = 1) -> Ints:
        """Return the label id of every word."""
        observed = Columns(sentence_ptr, self.observed(columns))
        model = self.tagger.fitted_model()
        if not observed.n_tokens:
            return np.empty(0, dtype=np.int32)
        if model.template is not None and not model.template.reach and not model.template.has_transitions:
            rows, number = distinct_rows(observed)
            return model.decode(model.encode(rows), None, threads)[number]
        return model.decode(model.encode(observed), None, threads)

    def observed(self, columns: Mapping[str, Column]) -> list[Column]:
        """Return the columns that the template sees: those read, and of lemmas all tags as one."""
        own = [bounded(columns[name]) for name in self.reads]
        if self.writes != ("lemma",):
            return own
        tags = own[1:] or [Column(np.zeros(len(own[0].ids), dtype=np.int32), ["_"])]
        return [own[0], tags[0], joined(tags)]


def bounded(column: Column) -> Column:
    """Leave out the middle of cells longer than ``LONGEST_CELL``, such as addresses and noise.

    Examples
    --------
    >>> bounded(Column(np.array([0], dtype=np.int32), ["a" * 150 + "b" * 150])).strings[0][90:110]
    'aaaaaaaaaabbbbbbbbbb'
    """
    if max(map(len, column.strings), default=0) <= LONGEST_CELL:
        return column
    half = LONGEST_CELL // 2
    cut = [cell if len(cell) <= LONGEST_CELL else cell[:half] + cell[-half:] for cell in column.strings]
    return Column(column.ids, cut)


def joined(columns: list[Column]) -> Column:
    """Join the cells of columns, with tabs between.

    Examples
    --------
    >>> one, two = (Column(np.array([0, 1, 0], dtype=np.int32), strings) for strings in (["a", "b"], ["x", "y"]))
    >>> joined([one, two]).strings
    ['a\\tx', 'b\\ty']
    """
    if len(columns) == 1:
        return columns[0]
    _, first, number = np.unique(_keys(columns), return_index=True, return_inverse=True)
    strings = [BETWEEN.join(column.string(t) for column in columns) for t in first.tolist()]
    return Column(number.astype(np.int32), strings)


def distinct_rows(columns: Columns) -> tuple[Columns, Offsets]:
    """Return each distinct row as a sentence, and the number of every word's row."""
    _, first, number = np.unique(_keys(columns.columns), return_index=True, return_inverse=True)
    chosen = [Column(column.ids[first], column.strings) for column in columns.columns]
    return Columns(np.arange(len(first) + 1), chosen), number


def _keys(columns: list[Column]) -> Offsets:
    """Number rows such that equal rows have equal numbers."""
    keys, n = np.zeros(len(columns[0].ids), dtype=np.int64), 1
    for column in columns:
        if n * len(column.strings) >= 1 << 62:
            keys = np.unique(keys, return_inverse=True)[1].astype(np.int64)
            n = len(keys)
        n *= len(column.strings)
        keys = keys * len(column.strings) + column.ids
    return keys


def lemma_labels(form: Column, lemma: Column) -> Column:
    """Return the edit script of every word."""
    pairs = joined([form, lemma])
    scripts = [lemma_script(*pair.split(BETWEEN)) for pair in pairs.strings]
    return _renamed(pairs.ids, scripts)


def apply_lemmas(form: Column, scripts: Column) -> Column:
    """Return the lemmas that scripts make of forms."""
    pairs = joined([form, scripts])
    return _renamed(pairs.ids, [apply_lemma(*pair.split(BETWEEN)) for pair in pairs.strings])


def word_labels(tokens: list[str], words: list[str], word_ptr: Offsets) -> Column:
    """Return the edit script of every token into its words."""
    ptr = word_ptr.tolist()
    return as_column([
        word_script(token, tuple(words[a:b])) for token, a, b in zip(tokens, ptr, ptr[1:], strict=False)
    ])  # fmt: skip


def split_words(tokens: Column, scripts: Column) -> tuple[Column, Offsets]:
    """Return the words that scripts make of tokens, and the number of words of each token."""
    pairs = joined([tokens, scripts])
    made = [apply_words(*pair.split(BETWEEN)) for pair in pairs.strings]
    sizes = np.array([len(words) for words in made], dtype=np.int64)[pairs.ids]
    if len(sizes) == sizes.sum():
        return _renamed(pairs.ids, [words[0] for words in made]), sizes
    return as_column([word for k in pairs.ids.tolist() for word in made[k]]), sizes


def _renamed(ids: Ints, strings: list[str]) -> Column:
    """Return a column of these strings, each distinct one once."""
    own = as_column(strings)
    return Column(own.ids[ids], own.strings)


def plan_tags(columns: Mapping[str, Column], *settings: Any) -> list[Stage]:
    """Choose the stages of a treebank's tags: UPOS with XPOS if they have few pairs, then FEATS."""
    names = [name for name in TAGS if name in columns]
    first = tuple(names[:1])
    if (
        names[:2] == ["upos", "xpos"]
        and len(joined([columns["upos"], columns["xpos"]]).strings) <= MOST_JOINT
    ):
        first = ("upos", "xpos")
    stages = [Stage.untrained("tags", ("form",), first, "tags", *settings)] if first else []
    for name in names[len(first) :]:
        reads = ("form", names[names.index(name) - 1] if name == "feats" else first[0])
        stages.append(Stage.untrained(name, reads, (name,), "more", *settings))
    return stages
