"""Stages: taggers that read some columns of words and write others.

Tags that a later stage reads in training are cross-validated predictions (:func:`predict_folds`), because a tagger
makes fewer errors on the sentences that it was trained on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from epigram.chain.crf import CRFEstimator
from epigram.features.columns import Column, Columns
from epigram.pipeline.analysis import as_column
from epigram.pipeline.edits import apply_lemma, apply_words, lemma_script, word_script
from epigram.pipeline.splitter import template_text
from epigram.protocols import Ints, Offsets
from epigram.solvers.history import Listener
from epigram.tagging.crf import CRFTagger
from epigram.tagging.stacked.cross_prediction import parts_of

BETWEEN = "\t"  # in labels of several columns
LONGEST_CELL = 200  # characters that templates see of a word
MOST_JOINT = 120  # labels of a chain model; its time grows with their square


@dataclass(frozen=True)
class Stage:
    """A trained tagger with the columns that it reads and writes.

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

    def predict(
        self, columns: Mapping[str, Column], sentence_ptr: Offsets, threads: int = 1
    ) -> dict[str, Column]:
        """Return the written columns of some words."""
        ids = self.label(columns, sentence_ptr, threads)
        names = [str(name).split(BETWEEN) for name in self.tagger.fitted_model().labels]
        return {
            name: Column(ids, [cells[k] if k < len(cells) else "_" for cells in names])
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
        return lemma_columns(own) if self.writes == ("lemma",) else own


def lemma_columns(own: list[Column]) -> list[Column]:
    """Return the word, its first tag, and all its tags joined."""
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


@dataclass(frozen=True, slots=True)
class StageSettings:
    """Template, penalty weight and passes of a stage before training."""

    name: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    template: str
    l1: float
    passes: int
    random_state: int | None = 0

    def fit(
        self,
        columns: Mapping[str, Column],
        gold: Column,
        sentence_ptr: Offsets,
        callback: Listener | None = None,
    ) -> Stage:
        """Train on columns and the labels of the words."""
        from epigram.solvers.sgd import SGD

        solver = SGD(passes=self.passes, random_state=self.random_state)
        stage = Stage(self.name, self.reads, self.writes, CRFTagger(self.template, l1=self.l1, solver=solver))
        observed = Columns(sentence_ptr, stage.observed(columns))
        stage.tagger.fit(observed, gold, callback=callback)
        return stage


def predict_folds(
    settings: StageSettings,
    columns: Mapping[str, Column],
    gold: Column,
    sentence_ptr: Offsets,
    folds: int,
    callback: Callable[[str], None] = lambda _: None,
) -> dict[str, Column]:
    """Label every sentence by a stage trained on the other folds; return the written columns."""
    names = list(columns)
    everything = Columns(sentence_ptr, [*columns.values(), gold])
    part_of = parts_of(everything, everything, folds)
    cells: dict[str, list[str]] = {name: [] for name in settings.writes}
    for part in range(folds):
        callback(f"{settings.name}, fold {part + 1} of {folds}")
        train, held_out = (
            everything.take(np.flatnonzero(part_of != part)),
            everything.take(np.flatnonzero(part_of == part)),
        )
        stage = settings.fit(
            dict(zip(names, train.columns, strict=False)), train.columns[-1], train.sentence_ptr
        )
        found = stage.predict(dict(zip(names, held_out.columns, strict=False)), held_out.sentence_ptr)
        for name, column in found.items():
            cells[name] += [column.strings[k] for k in column.ids.tolist()]
    return {name: as_column(own) for name, own in cells.items()}


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


def tag_settings(
    name: str, writes: tuple[str, ...], l1: float, passes: int, seed: int | None
) -> StageSettings:
    """Return the settings of a stage that reads words alone."""
    return StageSettings(name, ("form",), writes, template_text("tags"), l1, passes, seed)


def plan_tags(
    columns: Mapping[str, Column], l1: float, passes: int, random_state: int | None
) -> list[StageSettings]:
    """Choose the stages of a treebank's tags: UPOS with XPOS if they have few pairs, then FEATS."""
    names = [name for name in ("upos", "xpos", "feats") if name in columns]
    if not names:
        return []
    first: tuple[str, ...] = ("upos",) if "upos" in names else (names[0],)
    if "upos" in names and "xpos" in names:
        pairs = joined([columns["upos"], columns["xpos"]])
        if len(pairs.strings) <= MOST_JOINT:
            first = ("upos", "xpos")
    stages = [tag_settings("tags", first, l1, passes, random_state)]
    known = list(first)
    for name in names:
        if name not in known:
            reads = ("form", known[-1] if name == "feats" else first[0])
            stages.append(
                StageSettings(name, reads, (name,), template_text("more"), l1, passes, random_state)
            )
            known.append(name)
    return stages
