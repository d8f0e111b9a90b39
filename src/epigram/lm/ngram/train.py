"""Trains a Kneser-Ney model into a file within given memory, resumable between phases.

What fits into the memory stays there; else the text, sorted runs and finished orders are files of a working folder. A
phase is the encoding of the text, its counting, or one order. After each, ``state.json`` says what is there, so that a
later run, with another memory perhaps, begins after the last finished phase. The model file has the same bytes.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from epigram.errors import InputError, reason
from epigram.files import GZIP_MAGIC, parse_json, read_bytes, write_atomically
from epigram.lm.corpus import Corpus, digest_of_counts
from epigram.lm.ngram.estimate import (
    Counted,
    Place,
    RecordShape,
    SmoothedLevel,
    count,
    count_on,
    next_level,
    words_level,
)
from epigram.lm.ngram.kneser_ney import KneserNeyLM, check_thresholds, discounts
from epigram.lm.ngram.sorting import Spool
from epigram.lm.ngram.stream import write_in_place, write_levels
from epigram.lm.outofcore.encode import KIND, read_vocabulary, write_stream
from epigram.lm.storage import settings_of
from epigram.lm.tokenizer import Tokenizer
from epigram.lm.vocabulary import Vocabulary
from epigram.outofcore.dataset import Manifest, is_finished
from epigram.outofcore.engine import Engine, Told, untold
from epigram.outofcore.file_slices import PARTITION_BYTES
from epigram.outofcore.memory import available
from epigram.protocols import Ints, Offsets

STATE = "state.json"
LEAST_MEMORY = 64_000_000
SAMPLE = 1 << 20
BYTES_IN_MEMORY, BYTES_ON_DISK, BYTES_MAPPED = (60.0, 36.0), (60.0, 30.0), 60.0
"""Bytes for each word of the text: of the text, and of each order above 1 (measured on novels)."""
CPU_SECONDS = (0.1e-6, 0.25e-6)
"""The same for CPU seconds on one core of a server."""
PACKED = 3.0
"""Bytes of text in a byte of a gzip file, about."""


@dataclass(frozen=True)
class Need:
    """Estimated words of a text, bytes of memory and disk, and CPU seconds of its training."""

    words: int
    memory: int
    disk: int
    seconds: float

    @classmethod
    def of(cls, paths: Sequence[str | PathLike[str]], order: int, mapped: bool = False) -> Need:
        """Estimate from the sizes of the files and the beginning of the first one."""
        size, head = 0.0, b""
        for path in map(Path, paths):
            if str(path) == "-" or path.is_fifo():
                continue
            try:
                with path.open("rb") as file:
                    packed = file.read(2) == GZIP_MAGIC
                    size += path.stat().st_size * (PACKED if packed else 1.0)
                    file.seek(0)
                    head = head or (b"" if packed else file.read(SAMPLE))
            except OSError as error:
                raise InputError(f"cannot read: {reason(error)}", path=path) from error
        tokens = len(head.split()) + head.count(b"\n")
        words = int(size / (len(head) / tokens if tokens else 5.5)) + 1
        each = [fixed + step * (order - 1) for fixed, step in (BYTES_IN_MEMORY, BYTES_ON_DISK, CPU_SECONDS)]
        each[1] += BYTES_MAPPED * (order - 1) if mapped else 0.0
        return cls(words, int(words * each[0]) + (60 << 20), int(words * each[1]), words * each[2] + 0.5)


def default_memory() -> int:
    """A quarter of the memory that is free."""
    return max(available() // 4, LEAST_MEMORY)


@dataclass
class Training:
    """A training of ``model`` on text files, in a working folder that it makes and removes.

    Parameters
    ----------
    model : settings of the model.
    paths : text files, one sentence a line, in order.
    work : the working folder; it must not exist, or be that of a stopped training.
    memory : bytes to work in.
    bits : bits of a stored weight, 0 in full.
    mapped : write the file uncompressed, for memory mapping; ``bits`` do not apply.
    tokenizer : cuts lines into tokens; None at blanks.
    subject : identifies settings and files; a folder of another subject is not resumed.
    sorts : sort on disk whatever the memory, as an engine needs it.
    told : called with phase, records read and to read.
    engine : workers that encode and count, and see the same files; the rest is done here.
    """

    model: KneserNeyLM
    paths: Sequence[str | PathLike[str]]
    work: Path
    memory: int
    bits: int = 0
    mapped: bool = False
    tokenizer: Tokenizer | None = None
    subject: str = ""
    sorts: bool = False
    told: Told = untold
    engine: Engine | None = None
    n_words: int = field(default=0, init=False)
    counted: Counted | None = field(default=None, init=False)
    levels: list[SmoothedLevel] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self.need = Need.of(self.paths, self.model.order, self.mapped)
        can_wait = all(Path(path).is_file() for path in self.paths)  # a pipe is read once
        if self.sorts and not can_wait:
            raise InputError("--cluster takes a text file, not standard input: workers read it.")
        is_large = self.need.memory > self.memory or len(self.paths) > 1
        self.on_disk = can_wait and (is_large or self.sorts)
        # A third is for sorting: the rest is for the vocabulary, blocks and the pages of files being written.
        rounds = not (self.bits or self.mapped)
        self.place = Place(self.memory // 3, self.work if self.on_disk else None, rounds)

    def check_disk(self) -> None:
        """Refuse to begin where the working folder has too little space."""
        if not self.on_disk:
            return
        free = shutil.disk_usage(self.work.parent).free
        if free < self.need.disk:
            raise InputError(
                f"sorting needs about {self.need.disk / 1e9:.1f} GB of disk, and {free / 1e9:.1f} GB are free; name a "
                "folder with more by --tmp, or allow more memory by --memory",
                path=self.work.parent,
            )

    def run(self, output: str | PathLike[str], resume: bool = False) -> int:
        """Train, write the model file, return the number of n-grams.

        ``resume`` takes what an earlier run left.
        """
        if self.on_disk or self.work.exists():
            self._begin(resume)
        stream, vocabulary = self._text()
        self.n_words = len(vocabulary)
        thresholds = check_thresholds(self.model.prune, self.model.order)
        counts = _counts(stream, len(vocabulary))
        if self.counted is None:
            order = min(self.model.order, _longest(stream) + 1)
            if self.engine is None:
                self.counted = count(stream, len(vocabulary), order, thresholds, self.place, self.told)
            else:
                path = (self.work / "text" / "common" / "stream.npy").resolve()
                self.counted = count_on(self.engine, path, counts, order, thresholds, self.place, self.told)
            self._save()
        ds = [discounts(tally, self.model.modified) for tally in self.counted.tally]
        if not self.levels:
            self.levels.append(words_level(self.counted.unigrams, ds[0], self.place))
        while len(self.levels) < self.counted.shape.order:
            n, below = len(self.levels) + 1, self.levels[-1]
            level = next_level(self.counted, n, below, ds[n - 1], self.place, self.told)
            if level is None:
                break
            self.levels.append(level)
            self._save()
            below.release()
            self.counted.spools[n - 2].remove()
        self.told("writing the model", 0, 1)
        n_ngrams = sum(len(level.word) for level in self.levels)
        settings = {"model": "backoff", **settings_of(self.model), "bits": self.bits}
        if self.bits and not self.mapped:
            settings["normalised"] = True
        fit = {"ngrams": n_ngrams, "order": len(self.levels), "text_digest": digest_of_counts(counts)}
        header = {"settings": settings, "fit": fit}
        if self.mapped:
            write_in_place(output, self.levels, vocabulary, header, self.place)
        else:
            write_levels(output, self.levels, vocabulary, header, self.bits, self.place)
        self.told("writing the model", 1, 1)
        self.remove()
        return n_ngrams

    def remove(self) -> None:
        """Remove the working folder."""
        if self.work.exists() and _is_ours(self.work):
            shutil.rmtree(self.work)

    def _begin(self, resume: bool) -> None:
        if self.work.exists() and not _is_ours(self.work):
            raise InputError(
                "exists, and is no working folder of a stopped training; remove it", path=self.work
            )
        if resume and self.work.exists() and self._load():
            self.on_disk, self.place = True, Place(self.place.memory, self.work, self.place.rounds)
            return
        self.remove()
        if self.on_disk:
            self.check_disk()
            self.work.mkdir(parents=True)
            self._save()

    def _text(self) -> tuple[Ints, Vocabulary]:
        """The stream of ids and the vocabulary."""
        model = self.model
        limits: dict[str, Any] = {"min_count": model.min_count, "max_words": model.max_words}
        if not self.on_disk:
            whole = Path(self.paths[0])
            corpus = Corpus.read(whole, model.vocabulary, training=True, tokenizer=self.tokenizer, **limits)
            if not corpus.n_tokens:
                raise InputError("no words to train on.", path=whole)
            stream, vocabulary = corpus.stream(), corpus.vocabulary
        else:
            folder = self.work / "text"
            if not (folder.exists() and is_finished(folder)):
                limits |= {"vocabulary": model.vocabulary, "tokenizer": self.tokenizer}
                limits["engine"] = self.engine
                limits["partition_bytes"] = min(PARTITION_BYTES, max(self.memory // 128, 1 << 16))
                write_stream(self.paths, folder, told=self._told_parts, **limits)
            manifest = Manifest.read(folder, KIND)
            (stream,) = manifest.shared("stream")
            vocabulary = Vocabulary(read_vocabulary(manifest).words, self.tokenizer)
        return stream, vocabulary.opened() if model.open_vocabulary else vocabulary

    def _told_parts(self, what: str, at: int, of: int) -> None:
        self.told(what, at, of)

    def _save(self) -> None:
        """Say what is there, for a later run."""
        if self.place.folder is None:
            return
        state: dict[str, Any] = {"epigram": "sorting", "subject": self.subject, "sizes": {}}
        if (counted := self.counted) is not None:
            arrays = counted.unigrams.tolist(), counted.tally.tolist()
            state["counted"] = [vars(counted.shape), *arrays, counted.rank_end]
            state["ranks"] = [level.n_ranks for level in self.levels]
            spools = [*counted.spools, *(spool for level in self.levels for spool in level.spools)]
            for spool in spools:
                assert spool.path is not None
                spool.close()
                state["sizes"][spool.path.name] = spool.sizes
        write_atomically(self.work / STATE, json.dumps(state).encode())

    def _load(self) -> bool:
        """Take what an earlier run left; False where it is of another training, or nothing."""
        state = _read_state(self.work)
        if state.get("subject") != self.subject:
            return False
        if "counted" not in state:
            return True

        def spool(name: str, kind: Any) -> Spool:
            return Spool(kind, self.work / name, state["sizes"].get(name, []))

        shape, unigrams, tally, rank_end = state["counted"]
        shape = RecordShape(**shape)
        spools = [spool(f"counted{n}", np.uint64) for n in range(2, shape.order + 1)]
        self.counted = Counted(shape, np.array(unigrams), np.array(tally), spools, rank_end)
        for n, n_ranks in enumerate(state["ranks"], 1):
            level = SmoothedLevel.of(lambda name, kind, n=n: spool(f"{name}{n}", kind), n_ranks)  # type: ignore[misc]
            self.levels.append(level)
        return True


def _counts(stream: Ints, n_words: int) -> Offsets:
    """Occurrences of each word, and of the ends of sentences."""
    counts = np.zeros(n_words, np.int64)
    for first in range(1, stream.size, SAMPLE):
        words = stream[first : first + SAMPLE]
        counts += np.bincount(words[words >= 0], minlength=n_words)
    return counts


def _longest(stream: Ints) -> int:
    """Words of the longest sentence, with its end."""
    longest = last = 0
    for first in range(0, stream.size, SAMPLE):
        ends = np.flatnonzero(stream[first : first + SAMPLE] == 0) + first
        if ends.size:
            longest = max(longest, int(np.diff(ends, prepend=last).max()))
            last = int(ends[-1])
    return longest


def _read_state(work: Path) -> dict[str, Any]:
    state = parse_json(read_bytes(work / STATE).decode(), work / STATE)
    return state if isinstance(state, dict) else {}


def _is_ours(work: Path) -> bool:
    """Whether a folder is the working folder of a training."""
    return (work / STATE).is_file() and _read_state(work).get("epigram") == "sorting"
