"""DocumentFilter: scores documents of files and writes those within bounds, in their order.

Bounds that are known are applied in one pass. A share or buckets need the scores of all documents first, so that the
files are read twice. Scores, and sizes at which outputs are whole, are kept beside the output: a run that was killed
is resumed to the same bytes.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from epigram.errors import InputError
from epigram.files import parse_json, write_atomically
from epigram.filter.scorers import DocumentScorer
from epigram.filter.summary import FilterSummary
from epigram.protocols import Floats
from epigram.records import Document, Fields, Format, RecordReader, RecordWriter
from epigram.records.formats import Table

BATCH_DOCUMENTS, BATCH_CHARACTERS = 500, 1 << 20
NOTE_EVERY = 20
"""Batches after which the state of a run is noted."""
Bounds = Mapping[str, float]


class Cuts(NamedTuple):
    """Bounds of every score, and the upper ends of all buckets but the last."""

    least: Bounds
    most: Bounds
    buckets: Floats


@dataclass
class DocumentFilter:
    """Scores documents and keeps those whose scores are within bounds.

    Parameters
    ----------
    scorers : texts to numbers, by the field that gets them; shares and buckets go by the first.
    adds : whether records get fields; False leaves them as they are.
    least, most : bounds, by field.
    share : keep this share, the lowest scores, or with ``highest`` the highest.
    buckets : names of equally large buckets by score, such as head, middle and tail, in the field ``bucket``.
    threads : batches that are scored at the same time; the output does not depend on it.
    subject : text that tells this run from others; a state of another run is not resumed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.jsonl").write_text('{"text": "a rose"}\\n{"text": "is"}\\n')
    >>> def length(texts):
    ...     return np.array([float(len(text)) for text in texts])
    >>> job = DocumentFilter({"length": length}, most={"length": 4.0})
    >>> job.run([str(folder / "a.jsonl")], str(folder / "b.jsonl")).kept
    1
    >>> (folder / "b.jsonl").read_text()
    '{"text": "is", "length": 2.0}\\n'
    """

    scorers: Mapping[str, DocumentScorer]
    adds: bool = True
    least: Bounds = field(default_factory=dict)
    most: Bounds = field(default_factory=dict)
    share: float | None = None
    highest: bool = False
    buckets: Sequence[str] = ()
    threads: int = 1
    subject: str = ""

    @property
    def needs_all(self) -> bool:
        """Whether the choice of a document depends on the others."""
        return self.share is not None or len(self.buckets) > 0

    def run(
        self,
        paths: Sequence[str],
        output: str,
        fields: Fields = Fields(),  # noqa: B008 - it is frozen
        format: str | None = None,
        strict: bool = False,
        resume: bool = False,
        progress: Callable[[int], object] = lambda n: None,
        cuts: Cuts | None = None,
    ) -> FilterSummary:
        """Filter files to ``output``; ``cuts`` are those that the scores of more files gave."""
        reader = RecordReader(paths, fields, format, strict=strict, keep_malformed=True)
        state, scores_path = Path(f"{output}.epigram-state"), Path(f"{output}.epigram-scores")
        noted = self._noted(state, paths, output) if resume else {}
        if not resume and cuts is None:
            scores_path.unlink(missing_ok=True)
        stored = None
        if self.needs_all:
            noted = {}
            if cuts is None:
                stored = self.score_files(paths, output, fields, format, strict, progress)
                cuts = self.cuts(stored)
            else:
                stored = self._stored(scores_path)
        cuts = cuts or Cuts(self.least, self.most, np.empty(0))
        done, size = noted.get("read", 0), noted.get("size", 0)
        summary = FilterSummary(**noted.get("summary", {}))
        writer = RecordWriter(output, self._added(), size)
        documents = islice(iter(reader), done, None)
        try:
            for number, (batch, found) in enumerate(self._scored(documents, stored), 1):
                done += len(batch)
                self._write_batch(batch, found, cuts, reader, writer, summary)
                progress(done)
                if stored is None and number % NOTE_EVERY == 0 and (size := writer.flush()) > 0:
                    self._note(state, paths, output, read=done, size=size, summary=asdict(summary))
        except InputError:
            if not summary.kept:
                writer.discard()
                scores_path.unlink(missing_ok=True)
                state.unlink(missing_ok=True)
            raise
        writer.close()
        state.unlink(missing_ok=True)
        scores_path.unlink(missing_ok=True)
        return summary

    def _subject(self, paths: Sequence[str], output: str) -> str:
        limits = dict(self.least), dict(self.most), self.share, self.highest, tuple(self.buckets)
        return repr((list(map(str, paths)), output, list(self.scorers), self.adds, limits, self.subject))

    def _note(self, state: Path, paths: Sequence[str], output: str, **noted: Any) -> None:
        noted["subject"] = self._subject(paths, output)
        write_atomically(state, json.dumps(noted).encode())

    def _noted(self, state: Path, paths: Sequence[str], output: str) -> dict[str, Any]:
        """The state of a run that was stopped; empty where there is none."""
        if not state.exists():
            return {}
        noted: dict[str, Any] = parse_json(state.read_text("utf-8"), state)
        if noted.get("subject") != self._subject(paths, output):
            raise InputError("is of a run with other settings; remove it or run without --resume", path=state)
        return noted

    def _added(self) -> list[str]:
        return [*(self.scorers if self.adds else ()), *(["bucket"] if self.buckets else ())]

    def _write_batch(
        self, batch: list[Document], found: Floats, cuts: Cuts, reader: RecordReader, writer: RecordWriter,
        summary: FilterSummary,
    ) -> None:  # fmt: skip
        """Write the documents of a batch that are within bounds."""
        names = list(self.scorers)
        limits = [
            (k, cuts.least.get(name, -np.inf), cuts.most.get(name, np.inf)) for k, name in enumerate(names)
        ]
        limits = [(k, low, high) for k, low, high in limits if low > -np.inf or high < np.inf]
        bucket = np.searchsorted(cuts.buckets, found[:, 0], side="left").tolist()
        summary.count(names, found)
        for document, row, place in zip(batch, found.tolist(), bucket, strict=True):
            if document.error is not None:
                summary.malformed += 1
                continue
            summary.documents += 1
            is_empty = row[0] != row[0]
            summary.empty += is_empty
            if not all(low <= row[k] <= high for k, low, high in limits):
                continue
            if document.path not in writer.checked:
                self._check(reader.formats[document.path], document.path, writer)
            values: dict[str, Any] = {}
            if self.adds:
                values = {name: None if x != x else round(x, 6) for name, x in zip(names, row, strict=True)}
            if self.buckets:
                values["bucket"] = None if is_empty else self.buckets[place]
            writer.write(document, reader.formats[document.path], values)
            summary.kept += 1

    def _check(self, format: Format, path: str, writer: RecordWriter) -> None:
        """Refuse fields that the records have already, and other columns than before."""
        for name in self._added():
            if name in format.names:
                said = f"the records have a field {name!r} already; name the score in another way (--score)"
                raise InputError(said, path=path)
        if isinstance(format, Table) and writer.checked.setdefault("", format.names) != format.names:
            raise InputError("other columns than in the first file; give it another output", path=path)
        writer.checked[path] = format.names

    def score_files(
        self,
        paths: Sequence[str],
        output: str,
        fields: Fields = Fields(),  # noqa: B008 - it is frozen
        format: str | None = None,
        strict: bool = False,
        progress: Callable[[int], object] = lambda n: None,
    ) -> Floats:
        """Scores of all documents, a row each, which a file beside ``output`` keeps."""
        if "-" in map(str, paths):
            raise InputError("a share or buckets need the files twice; give a file instead of standard input")
        path, width = Path(f"{output}.epigram-scores"), len(self.scorers)
        reader = RecordReader(paths, fields, format, strict=strict, keep_malformed=True, shown=0)
        n = path.stat().st_size // (8 * width) if path.exists() else 0
        self._note(Path(f"{output}.epigram-state"), paths, output)
        with path.open("r+b" if n else "wb") as file:
            file.truncate(8 * width * n)
            file.seek(8 * width * n)
            for batch, found in self._scored(islice(iter(reader), n, None)):
                file.write(found.astype("<f8").tobytes())
                n += len(batch)
                progress(n)
        return self._stored(path)

    def _stored(self, path: Path) -> Floats:
        return np.fromfile(path, "<f8").reshape(-1, len(self.scorers))

    def cuts(self, scores: Floats, first: str | None = None) -> Cuts:
        """The bounds that scores of all documents give, those of the field ``first`` standing first."""
        first = first or next(iter(self.scorers))
        known = scores[~np.isnan(scores[:, 0]), 0]
        least, most = dict(self.least), dict(self.most)
        if self.share is not None and known.size:
            at = np.sort(known)[:: -1 if self.highest else 1][max(0, round(self.share * known.size) - 1)]
            if self.highest:
                least[first] = max(least.get(first, -np.inf), float(at))
            else:
                most[first] = min(most.get(first, np.inf), float(at))
        n = len(self.buckets)
        ends = np.quantile(known, np.arange(1, n) / n) if n > 1 and known.size else np.empty(0)
        return Cuts(least, most, ends)

    def score(self, texts: Sequence[str]) -> Floats:
        """All scores of texts, a row each."""
        return np.column_stack([scorer(texts) for scorer in self.scorers.values()])

    def _scored(
        self, documents: Iterable[Document], stored: Floats | None = None
    ) -> Iterator[tuple[list[Document], Floats]]:
        """Batches with their scores in order, several scored at a time; stored scores are looked up."""
        if stored is not None:
            done = 0
            for batch in _batches(documents):
                yield batch, stored[done : done + len(batch)]
                done += len(batch)
            return
        if self.threads == 1:
            for batch in _batches(documents):
                yield batch, self.score([document.text for document in batch])
            return
        with ThreadPoolExecutor(self.threads) as pool:
            waiting: deque[tuple[list[Document], Future[Floats]]] = deque()
            for batch in _batches(documents):
                waiting.append((batch, pool.submit(self.score, [document.text for document in batch])))
                if len(waiting) > 2 * self.threads:
                    first, found = waiting.popleft()
                    yield first, found.result()
            for batch, found in waiting:
                yield batch, found.result()


def score_documents(
    scorer: DocumentScorer, texts: Iterable[str], batch: int = BATCH_DOCUMENTS
) -> Iterator[float]:
    """Score the texts of any iterator, a batch at a time."""
    source = iter(texts)
    while found := list(islice(source, batch)):
        yield from scorer(found).tolist()


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    batch: list[Document] = []
    size = 0
    for document in documents:
        batch.append(document)
        size += len(document.text)
        if len(batch) >= BATCH_DOCUMENTS or size >= BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
