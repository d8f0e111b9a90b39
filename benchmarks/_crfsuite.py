"""The rival of the tagger's benchmarks: python-crfsuite on exactly our features, and the tasks they meet on.

Attributes are handed over by our own ids as strings, so that both learn from the same features; where the cost
of making features counts, they are made in Python as its users do (:func:`python_features`).
"""

from __future__ import annotations

import itertools
import re
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite

from epigram.chain.metrics import TaggingReport, evaluate
from epigram.datasets import fetch
from epigram.features.attributes import AttributeTable
from epigram.features.columns import Column, Columns
from epigram.features.encoding import encode
from epigram.features.formats import read_columns
from epigram.features.sequences import Sequences
from epigram.features.template import Template

WORDS = ((-2,), (-1,), (0,), (1,), (2,), (-1, 0), (0, 1))
TAGS = (
    *((-2,), (-1,), (0,), (1,), (2,), (-2, -1), (-1, 0), (0, 1), (1, 2)),
    *((-2, -1, 0), (-1, 0, 1), (0, 1, 2)),
)
RECORD_MARKERS = {"UI", "TI", "AB"}


@dataclass(frozen=True)
class Part:
    """Sentences with their labels."""

    columns: Columns
    labels: Column

    @property
    def names(self) -> list[list[str]]:
        """Labels as strings, sentence by sentence."""
        flat = [self.labels.strings[k] for k in self.labels.ids.tolist()]
        return split(flat, self.columns.sentence_ptr)

    def take(self, sentences: Any) -> Part:
        """Some of the sentences."""
        whole = Columns(self.columns.sentence_ptr, [*self.columns.columns, self.labels])
        return Part(*whole.take(sentences).split(-1))

    def cut(self, held_out: int) -> tuple[Part, Part]:
        """All but the last ``held_out`` sentences, and these."""
        n = self.columns.n_sentences
        return self.take(np.arange(n - held_out)), self.take(np.arange(n - held_out, n))


def split(flat: list[Any], ptr: np.ndarray) -> list[list[Any]]:
    bounds = ptr.tolist()
    return [flat[a:b] for a, b in itertools.pairwise(bounds)]


def conll2000(part: str) -> Part:
    """Chunking: ``train`` or ``test``."""
    return Part(*read_columns(fetch("conll2000", f"{part}.txt")).split(-1))


def jnlpba(part: str) -> Part:
    """Names of proteins, genes and cells: ``train`` or ``test``."""
    file = {"train": "Genia4ERtask1.iob2", "test": "Genia4EReval1.iob2"}[part]
    corpus = read_columns(fetch("jnlpba", file), comments=("###MEDLINE",))
    return Part(*corpus.split(-1))


def genia_pos(part: str) -> Part:
    """Parts of speech without record markers: no ``UI`` sentences, no ``TI -`` or ``AB -`` before the text."""
    sentences = []
    for sentence in read_columns(fetch("genia-pos", f"{part}.tsv")).rows():
        if (
            len(sentence) >= 2
            and sentence[0] in {(m, "LS") for m in RECORD_MARKERS}
            and sentence[1][0] == "-"
        ):
            sentence = [] if sentence[0][0] == "UI" else sentence[2:]
        if sentence:
            sentences.append(sentence)
    return Part(*Columns.from_rows(sentences).split(-1))


def ud_ewt(part: str) -> Part:
    """Penn parts of speech of web text: ``train``, ``dev`` or ``test``."""
    corpus = read_columns(
        fetch("ud-ewt", f"en_ewt-ud-{part}.conllu{'.gz' * (part == 'train')}"), format="conllu"
    )
    return Part(Columns(corpus.sentence_ptr, [corpus.columns[1]]), corpus.columns[4])


@dataclass
class Rival:
    """What one CRFsuite run gave."""

    cpu_seconds: float
    iterations: int
    objective: float | None
    active: int
    report: TaggingReport | None = None
    seconds_by_iteration: tuple[float, ...] = ()


def as_strings(sequences: Sequences) -> Iterator[list[list[str]]]:
    """Attribute ids as strings, token by token."""
    ptr = sequences.attribute_ptr
    for a, b in itertools.pairwise(sequences.sentence_ptr.tolist()):  # one by one: all at once are some GB
        flat = list(map(str, sequences.attributes[ptr[a] : ptr[b]].tolist()))
        yield split(flat, ptr[a : b + 1] - ptr[a])


def python_features(rows: list[tuple[str, ...]]) -> list[list[str]]:
    """The chunking features in plain Python, as in CRFsuite's own example."""
    n, out = len(rows), []
    for t in range(n):
        features = []
        for column, shapes in ((0, WORDS), (1, TAGS)):
            for offsets in shapes:
                if t + offsets[0] >= 0 and t + offsets[-1] < n:
                    cells = "|".join([rows[t + k][column] for k in offsets])
                    features.append(f"{'wp'[column]}{offsets}={cells}")
        if t == 0:
            features.append("__BOS__")
        if t == n - 1:
            features.append("__EOS__")
        out.append(features)
    return out


def trainer_of(
    sentences: Iterable[list[list[str]]], labels: list[list[str]], algorithm: str, **params: Any
) -> pycrfsuite.Trainer:
    """A trainer that holds the data; its ``train`` is what is timed."""
    trainer = pycrfsuite.Trainer(algorithm=algorithm, verbose=True)
    trainer.set_params(params)
    for features, tags in zip(sentences, labels, strict=True):
        trainer.append(pycrfsuite.ItemSequence(features), tags)
    return trainer


class _Log:
    """Collects CRFsuite's messages."""

    def __init__(self, trainer: pycrfsuite.Trainer) -> None:
        self.text: list[str] = []
        trainer.message = self.text.append  # type: ignore[method-assign]

    def numbers(self, name: str) -> list[float]:
        return [float(x) for x in re.findall(rf"{name}: ([-+.\d]+)", "".join(self.text))]


def run(trainer: pycrfsuite.Trainer, path: Path) -> Rival:
    """Train to a file, in CPU seconds."""
    log = _Log(trainer)
    began = time.process_time()
    trainer.train(str(path))
    spent = time.process_time() - began
    text = "".join(log.text)
    losses = log.numbers("Loss")
    active = [int(x) for x in re.findall(r"(?:Active features|Number of active features): (\d+)", text)]
    iterations = len(re.findall(r"\*{5} (?:Iteration|Epoch) #", text))
    seconds = tuple(log.numbers("Seconds required for this iteration"))
    return Rival(
        spent, iterations, losses[-1] if losses else None, active[-1] if active else 0, None, seconds
    )


def tag(path: Path, sentences: Iterable[list[list[str]]]) -> list[list[str]]:
    """Labels by a CRFsuite model."""
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    return [tagger.tag(pycrfsuite.ItemSequence(features)) for features in sentences]


def fit_and_score(train: Part, test: Part, template: str | Template, algorithm: str, **params: Any) -> Rival:
    """CRFsuite on a template's features, scored on the test part."""
    table = AttributeTable()
    parsed = Template.load(template) if isinstance(template, str) else template
    sequences = encode(train.columns, parsed, table, grow=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.crfsuite"
        trainer = trainer_of(as_strings(sequences), train.names, algorithm, **params)
        del sequences
        result = run(trainer, path)
        del trainer
        predicted = tag(path, as_strings(encode(test.columns, parsed, table, grow=False)))
    result.report = evaluate(test.names, predicted)
    return result
