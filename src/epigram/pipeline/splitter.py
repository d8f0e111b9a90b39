"""Splitter: tokens and sentences by a linear-chain CRF over characters that are not blank.

Each character begins a sentence (S), begins a token (T), or goes on (I), also after a blank: words may hold blanks. A
paragraph is one sequence; long ones are labelled in overlapping windows, so that time and memory are linear.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import pairwise

import numpy as np

from epigram._core.arrays import ranges
from epigram.features.columns import Column, Columns
from epigram.pipeline.characters import Characters
from epigram.pipeline.tokenization import Tokenization
from epigram.protocols import Ints, Offsets
from epigram.solvers.history import Listener
from epigram.tagging.crf import CRFTagger

GOES_ON, SENTENCE, TOKEN = "I", "S", "T"
LABELS = [GOES_ON, SENTENCE, TOKEN]
WINDOW, OVERLAP = 1 << 14, 1 << 8  # characters
BATCH = 1 << 18  # characters that are labelled at a time
SENTENCES = 10  # in a training sequence that knows no paragraphs
LIKELY = 0.4  # probability from which a sentence begins: half of F1 maximises it (Lipton et al. 2014)
LONGEST = 200  # tokens of a sentence; longer ones are cut, because parsing time grows with the cube


def template_text(name: str) -> str:
    """Return a built-in template of pipelines."""
    return files("epigram.pipeline").joinpath(f"templates/{name}.txt").read_text("utf-8")


@dataclass(frozen=True, slots=True)
class Splitter:
    """Finds tokens and sentences in raw text.

    Examples
    --------
    >>> from epigram.pipeline.tokenization import tokenization_of
    >>> gold = tokenization_of([[("Hi", ""), ("!", " ")], [("Yes", ""), (".", " ")]] * 20, [True] * 40)
    >>> splitter = Splitter.fit(gold, l1=0.01, passes=5)
    >>> found = splitter.split("Yes. Hi!")
    >>> found.forms(), found.sentence_ptr.tolist()
    (['Yes', '.', 'Hi', '!'], [0, 2, 4])
    """

    tagger: CRFTagger = field(repr=False)
    keeps_blanks: bool = True  # whether a token may hold blanks, as some did in training

    @classmethod
    def fit(
        cls,
        gold: Tokenization,
        document_ptr: Sequence[int] = (),
        l1: float = 0.25,
        passes: int = 8,
        random_state: int | None = 0,
        callback: Listener | None = None,
    ) -> Splitter:
        """Train on a text whose tokens and sentences are known; documents are runs of sentences."""
        from epigram.solvers.sgd import SGD

        solver = SGD(passes=passes, random_state=random_state)
        tagger = CRFTagger(template_text("tokens"), l1=l1, solver=solver)
        keeps_blanks = any(not form.isalnum() and len(form.split()) > 1 for form in gold.forms())
        tagger.fit(*_samples(gold, document_ptr), callback=callback)
        return cls(copy(tagger), keeps_blanks)  # the copy leaves the memory of training behind

    def update(self, gold: Tokenization, document_ptr: Sequence[int] = ()) -> None:
        """Train on more text (``partial_fit``)."""
        self.tagger.partial_fit(*_samples(gold, document_ptr))

    def split(self, text: str, threads: int = 1) -> Tokenization:
        """Find the tokens and sentences of a text."""
        characters = Characters.of(text)
        positions, paragraphs = characters.positions, characters.paragraph_ptr
        labels = self.label(characters, paragraphs, threads)
        labels[paragraphs[:-1]] = 1
        first = np.flatnonzero(labels)  # rows that begin a token
        starts = positions[first]
        last = np.concatenate([first[1:] - 1, [len(positions) - 1]])[: len(first)]
        ends = positions[last] + 1
        begins = _cut_long(np.flatnonzero(labels[first] == 1), starts, ends, text)
        opens = np.isin(first[begins], paragraphs[:-1])
        return Tokenization(text, starts, ends, np.append(begins, len(starts)), opens)

    def label(self, characters: Characters, paragraph_ptr: Offsets, threads: int = 1) -> Ints:
        """Return the number in ``LABELS`` of every character that is not blank."""
        model, positions = self.tagger.fitted_model(), characters.positions
        number = np.array([LABELS.index(name) for name in model.labels], dtype=np.int32)
        out = np.empty(len(positions), dtype=np.int32)
        for windows in _batches(_windows(paragraph_ptr)):
            low, high = windows[:, 2], windows[:, 3]
            columns = characters.columns(positions[low], positions[high - 1] + 1)
            sequences = model.encode(columns)
            found = number[model.decode(sequences, None, threads)]
            found[model.marginals(sequences)[0][:, number == 1].sum(1) >= LIKELY] = 1
            skipped = columns.sentence_ptr[:-1] + windows[:, 0] - low
            rows = ranges(skipped, skipped + windows[:, 1] - windows[:, 0])
            out[ranges(windows[:, 0], windows[:, 1])] = found[rows]
        if not self.keeps_blanks:
            after_blank = 1 + np.flatnonzero(np.diff(positions) > 1)
            out[after_blank] = np.where(out[after_blank] == 0, LABELS.index(TOKEN), out[after_blank])
        return out


def _windows(paragraph_ptr: Offsets) -> Offsets:
    """Cut paragraphs into windows: rows (begin, end, begin with overlap, end with overlap)."""
    found = []
    for begin, end in pairwise(paragraph_ptr.tolist()):
        for at in range(begin, end, WINDOW):
            stop = min(at + WINDOW, end)
            found.append((at, stop, max(begin, at - OVERLAP), min(end, stop + OVERLAP)))
    return np.array(found, dtype=np.int64).reshape(-1, 4)


def _batches(windows: Offsets) -> list[Offsets]:
    """Group windows into batches of about ``BATCH`` characters."""
    if not len(windows):
        return []
    cut = np.flatnonzero(np.diff(windows[:, 1] // BATCH)) + 1
    return np.split(windows, cut)


def _cut_long(begins: Offsets, starts: Offsets, ends: Offsets, text: str) -> Offsets:
    """Cut sentences longer than ``LONGEST``, after punctuation where there is any."""
    lengths = np.diff(np.append(begins, len(starts)))
    if not (lengths > LONGEST).any():
        return begins
    found = []
    for begin, length in zip(begins.tolist(), lengths.tolist(), strict=True):
        found.append(begin)
        at, end = begin, begin + length
        while end - at > LONGEST:
            places = range(at + LONGEST, at + LONGEST // 2, -1)
            marks = (k for k in places if not text[ends[k - 1] - 1].isalnum())
            at = next(marks, at + LONGEST)
            found.append(at)
    return np.array(found, dtype=np.int64)


def _samples(gold: Tokenization, document_ptr: Sequence[int]) -> tuple[Columns, Column]:
    """Return the characters and labels of the training sequences of a text."""
    begins, ends = _training_sequences(gold, document_ptr)
    characters = Characters.of(gold.text)
    labels = np.zeros(len(gold.text), dtype=np.int32)
    labels[gold.starts] = LABELS.index(TOKEN)
    labels[gold.starts[gold.sentence_ptr[:-1]]] = LABELS.index(SENTENCE)
    positions = characters.positions
    rows = ranges(np.searchsorted(positions, begins), np.searchsorted(positions, ends))
    return characters.columns(begins, ends), Column(labels[positions[rows]], LABELS)


def _training_sequences(gold: Tokenization, document_ptr: Sequence[int]) -> tuple[Offsets, Offsets]:
    """Return slices of a text: paragraphs, and runs of sentences that know no paragraphs.

    A document of one paragraph is cut into runs only.
    """
    slices: list[tuple[int, int]] = []
    for first, last in pairwise([0, *document_ptr, gold.n_sentences]):
        runs = list(range(first, last, SENTENCES))
        opens = (first + np.flatnonzero(gold.opens_paragraph[first:last])).tolist()
        paragraphs = sorted({first, *opens}) if last > first else []
        for marks in (runs,) if len(paragraphs) < 2 else (paragraphs, runs):
            slices += pairwise([*marks, last])
    bounds = np.array(slices, dtype=np.int64).reshape(-1, 2)
    ptr = gold.sentence_ptr
    return gold.starts[ptr[bounds[:, 0]]], gold.ends[ptr[bounds[:, 1]] - 1]
