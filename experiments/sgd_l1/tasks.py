"""The tasks of Tsuruoka et al. 2009, section 4: which sentences train, hold out and test, and their features.

CoNLL-2000 and JNLPBA are the paper's own files. Where the paper tags JNLPBA with the GENIA tagger, :func:`tagged`
does so with taggers of ours learned from the same sources (GENIA parts of speech, CoNLL-2000 chunks). The Wall
Street Journal of section 4.3 is not free: GENIA's and UD-EWT's Penn tags stand for it, and the sample of it that NLTK
gives away, a tenth of the paper's sections.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from epigram import CRFTagger
from epigram.chain.loss import ChainLoss
from epigram.chain.problem import ChainProblem
from epigram.errors import InputError
from epigram.features.columns import Column, Columns
from epigram.features.formats import read_columns
from epigram.features.template import Template
from epigram.protocols import Floats, Iteration

RECORD_MARKERS = {("UI", "LS"), ("TI", "LS"), ("AB", "LS")}


@dataclass(frozen=True, slots=True)
class Part:
    """Sentences and the label of each token."""

    columns: Columns
    labels: Column

    def first(self, sentences: int) -> Part:
        """The first sentences."""
        whole = Columns(self.columns.sentence_ptr, [*self.columns.columns, self.labels])
        return Part(*_first(whole, sentences).split(-1))


@dataclass(frozen=True, slots=True)
class Task:
    """A data set with its features; ``held_out`` sentences are cut off the training file, 0 if it has its own.

    Of a subset, ``sentences`` are trained on, and half as many held out or tested.
    """

    name: str
    template: Callable[[], Template]
    read: Callable[[Path, str], Columns]
    held_out: int = 0
    prepare: Callable[[Columns, str, int | None], Columns] | None = None

    def choosing(self, data: str, sentences: int | None = None) -> tuple[Part, Part]:
        """Training sentences and held-out ones."""
        train = self.read(Path(data), "train")
        if not self.held_out:
            return self._cut(train, self.read(Path(data), "devel"), data, sentences)
        n = train.n_sentences - self.held_out
        held_out = train.take(np.arange(n, train.n_sentences))
        return self._cut(train.take(np.arange(n)), held_out, data, sentences)

    def final(self, data: str, sentences: int | None = None) -> tuple[Part, Part]:
        """All training sentences and the test ones."""
        return self._cut(self.read(Path(data), "train"), self.read(Path(data), "test"), data, sentences)

    def _cut(self, train: Columns, other: Columns, data: str, sentences: int | None) -> tuple[Part, Part]:
        if sentences is not None:
            train, other = _first(train, sentences), _first(other, sentences // 2)
        if self.prepare is not None:
            train, other = (self.prepare(corpus, data, sentences) for corpus in (train, other))
        return Part(*train.split(-1)), Part(*other.split(-1))


def _first(corpus: Columns, sentences: int) -> Columns:
    return corpus.take(np.arange(min(sentences, corpus.n_sentences)))


def _read(path: Path, comments: tuple[str, ...] = ()) -> Columns:
    if not path.is_file():
        raise InputError("there is no such file; --data names the folder of the data sets", path=path)
    return read_columns(path, comments=comments)


def _conll2000(data: Path, part: str) -> Columns:
    return _read(data / "conll2000" / f"{part}.txt")


def _genia_pos(data: Path, part: str) -> Columns:
    """Without record markers: no ``UI`` sentences, no ``TI -`` or ``AB -`` before the text."""
    sentences = []
    for sentence in _read(data / "genia-pos" / f"{part}.tsv").rows():
        if len(sentence) >= 2 and sentence[0] in RECORD_MARKERS and sentence[1][0] == "-":
            sentence = [] if sentence[0][0] == "UI" else sentence[2:]
        if sentence:
            sentences.append(sentence)
    return Columns.from_rows(sentences)


def _ud_ewt(data: Path, part: str) -> Columns:
    """Forms and Penn tags (XPOS)."""
    file = {"train": "train.conllu.gz", "devel": "dev.conllu", "test": "test.conllu"}[part]
    corpus = _read(data / "ud-ewt" / f"en_ewt-ud-{file}")
    return Columns(corpus.sentence_ptr, [corpus.columns[1], corpus.columns[4]])


def _wsj_sample(data: Path, part: str) -> Columns:
    """The first 80 % of the sentences train, the next 10 % are held out, the last 10 % test."""
    corpus = _read(data / "treebank-sample" / "wsj-sample.tsv")
    cuts = [0, *(corpus.n_sentences * k // 10 for k in (8, 9, 10))]
    k = ("train", "devel", "test").index(part)
    return corpus.take(np.arange(cuts[k], cuts[k + 1]))


def _jnlpba(data: Path, part: str) -> Columns:
    """Words and names."""
    file = {"train": "Genia4ERtask1.iob2", "test": "Genia4EReval1.iob2"}[part]
    return _read(data / "jnlpba" / file, ("###MEDLINE",))


@cache
def taggers(data: str, sentences: int | None = None) -> tuple[Any, Any]:
    """Of parts of speech (GENIA) and chunks (CoNLL-2000), as section 4.2 has them from the GENIA tagger."""
    from epigram import SGD, CRFTagger

    quick = SGD(eta0=0.5, decay=0.6, passes=6)
    found = []
    for read, template in ((_genia_pos, "pos"), (_conll2000, "chunking")):
        corpus = read(Path(data), "train")
        if sentences is not None:
            corpus = _first(corpus, sentences)
        found.append(CRFTagger(template, l1=1.0, solver=quick).fit(*corpus.split(-1)))
    return found[0], found[1]


def tagged(corpus: Columns, data: str, sentences: int | None = None) -> Columns:
    """Words and names with parts of speech and chunks between them."""
    words, names = corpus.columns
    columns = [words]
    for tagger in taggers(data, sentences):
        model = tagger.model_
        found = model.decode(model.encode(Columns(corpus.sentence_ptr, columns)))
        columns.append(Column(found, list(model.labels)))
    return Columns(corpus.sentence_ptr, [*columns, names])


def ner_template() -> Template:
    """Section 4.2: chunk tags, substrings shorter than 10 characters and shapes on top of the chunking features."""
    chunks = [f"U{30 + k}:%x[{k - 2},2]" for k in range(5)]
    more = [*chunks, "U40:%x[0,0|substrings:10]", "U41:%x[0,0|shape]"]
    return Template.parse("\n".join([Template.load("chunking").text, *more, ""]))


TASKS = {
    task.name: task
    for task in (
        Task("conll2000", lambda: Template.load("chunking"), _conll2000, held_out=1_000),
        Task("jnlpba", ner_template, _jnlpba, held_out=1_739, prepare=tagged),
        Task("genia-pos", lambda: Template.load("pos"), _genia_pos),
        Task("ud-ewt", lambda: Template.load("pos"), _ud_ewt),
        Task("wsj-sample", lambda: Template.load("pos"), _wsj_sample),
    )
}


def problem_of(part: Part, template: Template) -> ChainProblem:
    """Encoded sentences and their loss, which several solvers, starts and strengths share."""
    return CRFTagger(template).problem(part.columns, part.labels)


def percent(problem: ChainProblem, part: Part) -> Callable[[Floats], float]:
    """Chunk F1 where labels are chunks, else accuracy, in per cent."""
    score = problem.scorer(part.columns, part.labels)
    return lambda w: 100.0 * score(w)


class Counted:
    """A batch loss that counts how often it is asked: passes over the data."""

    def __init__(self, loss: ChainLoss) -> None:
        self.loss, self.passes = loss, 0
        self.n_weights, self.n_samples = loss.n_weights, loss.n_samples

    def value_and_gradient(self, w: Floats, out: Floats) -> float:
        """As the loss itself."""
        self.passes += 1
        return self.loss.value_and_gradient(w, out)


class Watch:
    """A solver's callback: the curve of a run, and its CPU seconds without those of looking at it.

    ``exact`` gives the objective at the weights of some passes, None at others: what SGD itself tells is summed up
    along the pass, while the weights move. Without it the solver's own objective is taken.
    """

    def __init__(
        self,
        exact: Callable[[int, Floats], float | None] | None = None,
        passes: Callable[[], int] | None = None,
        stop: Callable[[list[float]], bool] = lambda objectives: False,
    ) -> None:
        self._exact, self._passes, self._stop = exact, passes, stop
        self.curve: dict[str, list[Any]] = {"passes": [], "objective": [], "active": [], "seconds": []}
        self._looking = 0.0
        self._began = time.process_time()

    @property
    def seconds(self) -> float:
        """CPU seconds spent training so far."""
        return time.process_time() - self._began - self._looking

    def __call__(self, iteration: Iteration) -> bool:
        seconds, began = self.seconds, time.process_time()
        objective: float | None = iteration.objective
        if self._exact is not None:
            objective = self._exact(iteration.number, iteration.w)
        number = iteration.number if self._passes is None else self._passes()
        for name, value in zip(
            self.curve, (number, objective, iteration.nonzero, round(seconds, 3)), strict=True
        ):
            self.curve[name].append(value)
        self._looking += time.process_time() - began
        return self._stop(self.curve["objective"])
