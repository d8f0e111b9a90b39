"""DocumentFilter: scores documents of files and writes those within bounds, in their order.

Bounds that are known are applied in one pass. A share or buckets need the scores of all documents first, so that the
files are read twice. Scores, and sizes at which outputs are whole, are kept beside the output: a run that was killed
is resumed to the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from epigram._core.threads import Team
from epigram.errors import InputError
from epigram.files import parse_json, write_atomically
from epigram.filter.scorers import DocumentScorer
from epigram.protocols import Floats
from epigram.records import Document, Fields, RecordReader, RecordWriter

BATCH_DOCUMENTS, BATCH_CHARACTERS = 500, 1 << 20
NOTE_EVERY = 20
"""Rounds of batches after which the state of a run is noted."""
BINS = 20


@dataclass
class FilterSummary:
    """Counts of a run; ``histogram`` has equally wide bins of log10 score."""

    documents: int = 0
    kept: int = 0
    empty: int = 0
    malformed: int = 0
    quantiles: dict[str, float] = field(default_factory=dict)
    histogram: list[tuple[float, int]] = field(default_factory=list)


@dataclass
class DocumentFilter:
    """Scores documents and keeps those of at least ``least`` and at most ``most``.

    Parameters
    ----------
    scorer : texts to numbers.
    name : field that gets the score; None to leave the records as they are.
    least, most : bounds of the score.
    share : keep this share, the lowest scores, or with ``highest`` the highest.
    buckets : names of equally large buckets by score, such as head, middle and tail, in the field ``bucket``.
    threads : batches that are scored at the same time; the output does not depend on it.
    """

    scorer: DocumentScorer
    name: str | None = "score"
    least: float = -np.inf
    most: float = np.inf
    share: float | None = None
    highest: bool = False
    buckets: Sequence[str] = ()
    threads: int = 1

    def run(
        self,
        paths: Sequence[str],
        output: str,
        fields: Fields = Fields(),  # noqa: B008 - it is frozen
        format: str | None = None,
        strict: bool = False,
        resume: bool = False,
        progress: Callable[[int], object] = lambda n: None,
    ) -> FilterSummary:
        """Filter files to ``output``."""
        self._reader = RecordReader(paths, fields, format, strict=strict, keep_malformed=True)
        state, scores_path = Path(f"{output}.state"), Path(f"{output}.scores")
        subject = repr(
            (list(map(str, paths)), output, self.least, self.most, self.share, tuple(self.buckets))
        )
        if not resume:
            state.unlink(missing_ok=True)
            scores_path.unlink(missing_ok=True)
        least, most, cuts = self.least, self.most, np.empty(0)
        whole = self.share is not None or len(self.buckets) > 0
        if whole:
            if "-" in map(str, paths):
                raise InputError(
                    "a share or buckets need the files twice; give a file instead of standard input"
                )
            scores = self._score_all(paths, fields, format, scores_path, progress)
            least, most, cuts = self.bounds(scores)
        summary, done, size = FilterSummary(), 0, 0
        if resume and not whole and state.exists():
            noted = parse_json(state.read_text("utf-8"), state)
            if noted.get("subject") != subject:
                raise InputError(
                    "is of a run with other settings; remove it or run without --resume", path=state
                )
            done, size = noted["read"], noted["size"]
            summary = FilterSummary(**noted["summary"])
        added = [*([self.name] if self.name else []), *(["bucket"] if self.buckets else [])]
        writer = RecordWriter(output, added, size)
        seen: list[Floats] = []
        documents = islice(iter(self._reader), done, None)
        source = self._scored(documents) if not whole else self._stored(documents, scores)
        for number, (batch, found) in enumerate(source, 1):
            done += len(batch)
            seen.append(found)
            for document, score in zip(batch, found.tolist(), strict=True):
                self._write(document, score, least, most, cuts, writer, summary)
            progress(done)
            if not whole and number % NOTE_EVERY == 0:
                noted = {"subject": subject, "read": done, "size": writer.flush(), "summary": asdict(summary)}
                write_atomically(state, json.dumps(noted).encode())
        writer.close()
        state.unlink(missing_ok=True)
        scores_path.unlink(missing_ok=True)
        _describe(summary, np.concatenate([np.empty(0), *seen]))
        return summary

    def _write(
        self, document: Document, score: float, least: float, most: float, cuts: Floats, writer: RecordWriter,
        summary: FilterSummary,
    ) -> None:  # fmt: skip
        if document.error is not None:
            summary.malformed += 1
            return
        summary.documents += 1
        if np.isnan(score):
            summary.empty += 1
            return
        if not least <= score <= most:
            return
        values: dict[str, Any] = {self.name: round(score, 6)} if self.name else {}
        if self.buckets:
            values["bucket"] = self.buckets[int(np.searchsorted(cuts, score, side="left"))]
        writer.write(document, self._reader.formats.get(document.path), values)
        summary.kept += 1

    def _score_all(
        self,
        paths: Sequence[str],
        fields: Fields,
        format: str | None,
        path: Path,
        progress: Callable[[int], object],
    ) -> Floats:
        """Scores of all documents; scores of an earlier run are read from its file."""
        reader = RecordReader(paths, fields, format, keep_malformed=True)
        n = path.stat().st_size // 8 if path.exists() else 0
        with path.open("r+b" if n else "wb") as file:
            file.truncate(8 * n)
            file.seek(8 * n)
            for batch, found in self._scored(islice(iter(reader), n, None)):
                file.write(found.astype("<f8").tobytes())
                n += len(batch)
                progress(n)
        return np.fromfile(path, "<f8")

    def bounds(self, scores: Floats) -> tuple[float, float, Floats]:
        """Bounds of the share, and upper ends of all buckets but the last."""
        known = scores[~np.isnan(scores)]
        least, most = self.least, self.most
        if self.share is not None and known.size:
            at = np.sort(known)[:: -1 if self.highest else 1][max(0, round(self.share * known.size) - 1)]
            least, most = (max(least, at), most) if self.highest else (least, min(most, at))
        n = len(self.buckets)
        cuts = np.quantile(known, np.arange(1, n) / n) if n > 1 and known.size else np.empty(0)
        return float(least), float(most), cuts

    def _scored(self, documents: Iterable[Document]) -> Iterator[tuple[list[Document], Floats]]:
        """Batches with their scores, several at a time, in order."""
        source = _batches(documents)
        with Team(self.threads) as team:
            while waiting := list(islice(source, self.threads)):
                found = team.run(lambda batch: self.scorer([document.text for document in batch]), waiting)
                yield from zip(waiting, found, strict=True)

    def _stored(
        self, documents: Iterable[Document], scores: Floats
    ) -> Iterator[tuple[list[Document], Floats]]:
        done = 0
        for batch in _batches(documents):
            yield batch, scores[done : done + len(batch)]
            done += len(batch)


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


def _describe(summary: FilterSummary, scores: Floats) -> None:
    """Quantiles and a histogram of the scores of this run."""
    known = scores[np.isfinite(scores)]
    if not known.size:
        return
    summary.quantiles = {f"{q}%": float(np.percentile(known, q)) for q in (1, 10, 30, 50, 70, 90, 99)}
    positive = known[known > 0]
    counts, edges = np.histogram(np.log10(positive), bins=BINS)
    summary.histogram = list(zip((10 ** edges[:-1]).tolist(), counts.tolist(), strict=True))
