"""Reads ARPA files, tolerantly, and writes them for KenLM, SRILM and Kaldi.

Read: tabs or spaces, any text before ``\\data\\``, ``<UNK>``, ``<S>`` and ``</S>`` in capitals, a missing
back-off column where nothing follows, n-grams that run across a sentence boundary (dropped: no sentence
reaches them), gzip. Refused, with the line: counts that differ from the header, NaN, words that are no
1-grams, an n-gram whose context is not listed or has no back-off weight, a truncated file.

Written: ``<s>`` with probability 10^-99 and its back-off weight, then every word; seven decimal places.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from os import PathLike, fspath
from typing import Any, NoReturn

import numpy as np

from epigram._core import bindings
from epigram.errors import InputError
from epigram.files import decode, read_bytes, write_atomically
from epigram.lm.ngram.backoff import BackoffModel, find_grams
from epigram.lm.vocabulary import BOUNDARY, END, START, UNKNOWN, Vocabulary
from epigram.protocols import Floats, Ints, Offsets

LOG10 = float(np.log(10.0))
_MARK = re.compile(rb"^[ \t]*\\(data|end|\d+-grams:?)\\?[ \t\r]*$", re.MULTILINE)
_COUNT = re.compile(r"ngram\s+(\d+)\s*=\s*(\d+)\s*$")
_ROUNDING = 1e-4  # log10; programs that write few digits round a probability of 1 up
_LARGEST = 99.0  # log10; the usual stand-in for minus infinity
_WRONG = {
    1: "expected a log-probability, {n} words and perhaps a back-off weight",
    2: "a log-probability or back-off weight that is not a number",
    3: "a word that is not among the 1-grams",
    4: "more {n}-grams than the header says ({count})",
}


def looks_like_arpa(content: bytes) -> bool:
    """Whether the start of a file (unpacked) is that of an ARPA file."""
    return b"\\data\\" in content[:10_000]


def read_arpa(path: str | PathLike[str]) -> BackoffModel:
    """The back-off model of an ARPA file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from epigram.lm.ngram.kneser_ney import KneserNeyLM
    >>> model = KneserNeyLM(order=2).fit(["a b", "a a b"])
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.arpa.gz"
    >>> write_arpa(model.backoff_, path)
    >>> again = read_arpa(path)
    >>> bool(np.allclose(again.word_scores("a b"), model.word_scores("a b"), atol=1e-5))
    True
    """
    return parse_arpa(read_bytes(path), path)


def parse_arpa(content: bytes, path: str | PathLike[str] = "<arpa>") -> BackoffModel:
    """The same from the bytes of a file; ``path`` is for messages."""
    decode(content, path)
    return _Reader(content.removeprefix(b"\xef\xbb\xbf"), fspath(path)).model()


@dataclass(slots=True)
class _Section:
    grams: Ints
    logp: Floats
    bow: Floats
    line: Offsets
    first_line: int


class _Reader:
    def __init__(self, content: bytes, path: str) -> None:
        self.content = content
        self.path = path
        self.raw = np.frombuffer(content, dtype=np.uint8)

    def fail(self, message: str, line: int | None = None) -> NoReturn:
        raise InputError(message, path=self.path, line=line)

    def line_at(self, offset: int) -> int:
        return self.content.count(b"\n", 0, offset) + 1

    def model(self) -> BackoffModel:
        spans, counts = self.outline()
        vocabulary, unigrams, words = self.unigrams(*spans[1], counts[1])
        sections = [unigrams]
        sections += [self.section(n, *spans[n], counts[n], words) for n in range(2, len(counts) + 1)]
        for section in sections:
            self.check_numbers(section)
        used = [np.flatnonzero(~np.isnan(section.logp)) for section in sections]
        contexts = [np.flatnonzero(np.nan_to_num(section.bow) != 0) for section in sections[:-1]]
        grams = [section.grams[rows] for section, rows in zip(sections, used, strict=True)]
        logps = [section.logp[rows] * LOG10 for section, rows in zip(sections, used, strict=True)]
        try:
            model = BackoffModel.from_ngrams(
                vocabulary,
                *with_every_word(grams, logps, len(vocabulary)),
                [section.grams[rows] for section, rows in zip(sections, contexts, strict=False)],
                [section.bow[rows] * LOG10 for section, rows in zip(sections, contexts, strict=False)],
            )
        except InputError as error:
            self.blame_repeats(sections)
            self.fail(str(error))
        if model.n_ngrams > len(vocabulary) + sum(len(rows) for rows in grams[1:]):
            self.blame_missing_context(grams, sections, used)
        self.check_weights(model, sections)
        return model

    def marks(self) -> list[re.Match[bytes]]:
        """Lines that name a section."""
        found, at = [], self.content.find(b"\\")
        while at >= 0:
            mark = _MARK.match(self.content, self.content.rfind(b"\n", 0, at) + 1)
            if mark:
                found.append(mark)
            at = self.content.find(b"\\", mark.end() if mark else at + 1)
        return found

    def outline(self) -> tuple[dict[int, tuple[int, int]], dict[int, int]]:
        """Spans of the sections, and the counts of the header."""
        marks = self.marks()
        names = [mark[1].decode().rstrip(":") for mark in marks]
        if "data" not in names:
            self.fail("no \\data\\ section; is this an ARPA file?")
        if "end" not in names:
            self.fail("no \\end\\ mark; the file is truncated")
        first, last = names.index("data"), names.index("end")
        if last < len(names) - 1 or last < first:
            self.fail("a section after the \\end\\ mark", self.line_at(marks[max(last, first)].end() + 1))
        counts: dict[int, int] = {}
        line = self.line_at(marks[first].end())
        header = self.content[marks[first].end() : marks[first + 1].start()].decode()
        for k, text in enumerate(header.split("\n")):
            found = _COUNT.match(text.strip())
            if found and max(map(len, found.groups())) < 16:
                counts[int(found[1])] = int(found[2])
            elif text.strip():
                self.fail(f"expected 'ngram N=COUNT', found {text.strip()!r}", line + k)
        if not counts or sorted(counts) != list(range(1, len(counts) + 1)):
            self.fail(f"the header must count orders 1, 2, ... without gaps; it has {sorted(counts)}", line)
        spans: dict[int, tuple[int, int]] = {}
        for name, mark, following in zip(
            names[first + 1 :], marks[first + 1 :], marks[first + 2 :], strict=False
        ):
            order = name.split("-")[0]
            n = int(order) if order.isdigit() and len(order) < 16 else 0  # 0: another \\data\\, or no order
            if n in spans or n not in counts:
                what = f"of {n}-grams" if n else f"\\{name[:20]}"
                self.fail(f"a second or unannounced section {what}", self.line_at(mark.start()))
            spans[n] = (mark.end() + 1, following.start())
        for n, count in counts.items():
            if 4 * count > len(self.content):
                self.fail(f"the header counts {count:,} {n}-grams, for which the file is too short", line)
        missing = sorted(set(counts) - set(spans))
        if missing:
            self.fail(f"the header counts {missing[0]}-grams but there is no \\{missing[0]}-grams: section")
        return spans, counts

    def unigrams(self, start: int, stop: int, count: int) -> tuple[Vocabulary, _Section, Any]:
        """The vocabulary, the 1-grams in its ids, and the table the other sections are read with."""
        first_line = self.line_at(start)
        lines = [line.split() for line in self.content[start:stop].split(b"\n")]
        rows = [(k, fields) for k, fields in enumerate(lines) if fields]
        if len(rows) != count:
            self.fail(f"{len(rows)} 1-grams where the header says {count}", first_line)
        for k, fields in rows:
            if not 2 <= len(fields) <= 3:
                self.fail(_WRONG[1].format(n=1), first_line + k)
        names = [fields[1] for _, fields in rows]
        canonical = _canonical([name.decode() for name in names])
        vocabulary = Vocabulary(canonical)
        if len(set(canonical)) < len(canonical):
            first = {name: k for k, name in reversed(list(enumerate(canonical)))}
            twice = next(k for k, name in enumerate(canonical) if first[name] < k)
            self.fail(f"the 1-gram {canonical[twice]!r} is listed twice", first_line + rows[twice][0])
        numbers = np.full((2, count), np.nan)
        for row, (k, fields) in enumerate(rows):
            for column, text in zip((0, 1), (fields[0], *fields[2:]), strict=False):
                numbers[column, row] = self.number(text, first_line + k)
        ids = vocabulary.ids(canonical)
        word_id = np.where([name == START for name in canonical], -1, ids).astype(np.int32)
        logp = np.where(word_id == -1, np.nan, numbers[0])
        section = _Section(
            ids[:, None],
            logp,
            np.where(word_id == 0, np.nan, numbers[1]),
            np.array([k for k, _ in rows]),
            first_line,
        )
        lengths = np.array([len(name) for name in names], dtype=np.int64)
        starts = np.cumsum(lengths) - lengths
        joined = np.frombuffer(b"".join(names), dtype=np.uint8)
        slots = np.full(1 << max(4, (4 * len(names)).bit_length()), -1, dtype=np.int32)
        words = bindings.ArpaWords(joined, starts, lengths, slots, word_id)
        bindings.arpa_hash_words(words)
        return vocabulary, section, words

    def number(self, text: bytes, line: int) -> float:
        try:
            value = float(text)
        except ValueError:
            value = np.nan
        if np.isnan(value):
            self.fail(f"{text.decode()!r} is not a number", line)
        return value

    def section(self, n: int, start: int, stop: int, count: int, words: Any) -> _Section:
        grams = np.empty((count, n), dtype=np.int32)
        logp, bow, line = np.empty(count), np.empty(count), np.empty(count, dtype=np.int64)
        begins, ends, found = np.empty(n + 3, np.int64), np.empty(n + 3, np.int64), np.empty(3, np.int64)
        bindings.arpa_parse_section(self.raw, start, stop, words, begins, ends, grams, logp, bow, line, found)
        rows, wrong, at = found.tolist()
        first_line = self.line_at(start)
        if wrong:
            self.fail(_WRONG[wrong].format(n=n, count=count), first_line + at)
        if rows < count:
            self.fail(f"{rows} {n}-grams where the header says {count}", first_line + at - 1)
        return _Section(grams, logp, bow, line, first_line)

    def check_numbers(self, section: _Section) -> None:
        """Refuse probabilities above 1 (up to rounding), and back-off weights of absurd size."""
        above = section.logp > _ROUNDING
        wild = np.abs(np.nan_to_num(section.bow, posinf=np.inf, neginf=-np.inf)) > _LARGEST
        for row in np.flatnonzero(above | wild)[:1].tolist():
            line = section.first_line + int(section.line[row])
            if above[row]:
                self.fail(f"log-probability {section.logp[row]:g} is above 0: a probability above 1", line)
            self.fail(
                f"back-off weight {section.bow[row]:g} is not between -{_LARGEST:g} and {_LARGEST:g}", line
            )
        np.minimum(section.logp, 0.0, out=section.logp)

    def blame_repeats(self, sections: list[_Section]) -> None:
        for section in sections[1:]:
            _, first = np.unique(section.grams, axis=0, return_index=True)
            for row in np.setdiff1d(np.arange(len(section.grams)), first)[:1].tolist():
                self.fail("this n-gram is listed twice", section.first_line + int(section.line[row]))

    def blame_missing_context(
        self, grams: list[Ints], sections: list[_Section], used: list[Offsets]
    ) -> NoReturn:
        for n in range(1, len(grams)):
            given = {row.tobytes() for row in grams[n - 1]}
            for k, row in enumerate(grams[n]):
                if n > 1 and row[:-1].tobytes() not in given:
                    self.fail(
                        f"the context of this {n + 1}-gram is not among the {n}-grams",
                        sections[n].first_line + int(sections[n].line[used[n][k]]),
                    )
        self.fail("a back-off weight belongs to an n-gram that is not listed")

    def check_weights(self, model: BackoffModel, sections: list[_Section]) -> None:
        """Every n-gram that others extend must have its back-off weight."""
        n_following = np.diff(model.pair_ptr)
        for n, section in enumerate(sections[:-1], start=1):
            rows = np.flatnonzero(np.isnan(section.bow) & ~np.isnan(section.logp))
            if n == 1:
                rows = rows[section.grams[rows, 0] != BOUNDARY]
            pairs = find_grams(section.grams[rows], n, model.pair_ptr, model.pair_word, model.pair_node_of)
            node = model.pair_node_of[pairs]
            bare = np.flatnonzero((node >= 0) & (n_following[node] > 0))
            if bare.size:
                self.fail(
                    f"no back-off weight, though longer n-grams begin with this {n}-gram",
                    section.first_line + int(section.line[rows[bare[0]]]),
                )


def _canonical(names: list[str]) -> list[str]:
    """Boundary and unknown marks in capitals are the small ones, unless both are there."""
    known = set(names)
    marks = {mark.upper(): mark for mark in (START, END, UNKNOWN) if mark not in known}
    return [marks.get(name, name) for name in names]


def with_every_word(grams: list[Ints], logps: list[Floats], n_words: int) -> tuple[list[Ints], list[Floats]]:
    """1-grams of probability 0 for words without one (a file without ``</s>``)."""
    absent = np.setdiff1d(np.arange(n_words, dtype=np.int32), grams[0][:, 0])
    grams[0] = np.concatenate((grams[0], absent[:, None]))
    logps[0] = np.concatenate((logps[0], np.full(absent.size, -np.inf)))
    return grams, logps


def write_arpa(model: BackoffModel, path: str | PathLike[str]) -> None:
    """Write a model as ARPA; a name that ends in ``.gz`` is packed."""
    packed = fspath(path).endswith(".gz")
    write_atomically(path, _packed(_written(model)) if packed else _written(model))


def _packed(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Compress chunks as one gzip stream."""
    stream = zlib.compressobj(6, zlib.DEFLATED, 31)  # 31: with the header of gzip, without a time
    for chunk in chunks:
        yield stream.compress(chunk)
    yield stream.flush()


def _written(model: BackoffModel) -> Iterator[bytes]:
    levels = np.searchsorted(model.node_depth, np.arange(model.order + 1))
    counts = np.diff(model.pair_ptr[levels])
    counts[0] += 1
    yield b"\\data\\\n"
    for n, count in enumerate(counts.tolist(), start=1):
        yield f"ngram {n}={count}\n".encode()
    names = [word.encode() + b" " for word in (*model.vocabulary_, START)]
    for n, (first, end) in enumerate(pairwise(levels.tolist()), start=1):
        yield f"\n\\{n}-grams:\n".encode()
        has_weights = n < counts.size  # some readers want every column
        if n == 1:
            start = model.pair_node_of[BOUNDARY]
            bow = model.node_bow[start] / LOG10 if start >= 0 else 0.0
            weight = f"\t{bow:.7f}" if has_weights else ""
            yield f"-99\t{START}{weight}\n".encode()
        yield from _section_lines(model, names, n, first, end, has_weights)
    yield b"\n\\end\\\n"


def _section_lines(
    model: BackoffModel, names: list[bytes], n: int, first: int, end: int, has_weights: bool
) -> Iterator[bytes]:
    """The n-grams of the contexts of one length, some megabytes at a time."""
    name_start, joined = np.cumsum([0, *map(len, names)]), np.frombuffer(b"".join(names), np.uint8)
    longest_line = 40 + n * max(map(len, names))
    at_once = (1 << 25) // longest_line
    context = np.empty(n - 1, dtype=np.int64)
    while first < end:
        last = int(np.searchsorted(model.pair_ptr, model.pair_ptr[first] + at_once, side="right")) - 1
        last = min(max(last, first + 1), end)
        out = np.empty(longest_line * int(model.pair_ptr[last] - model.pair_ptr[first]), dtype=np.uint8)
        written = bindings.arpa_lines(
            first, last, joined, name_start, context, model.node_pair, model.node_bow, model.pair_ptr,
            model.pair_word, model.pair_node_of, model.pair_logp, has_weights, out,
        )  # fmt: skip
        yield out[:written].tobytes()
        first = last
