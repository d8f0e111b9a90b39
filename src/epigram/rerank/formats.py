"""Reads n-best lists: JSON lines, blocks, Moses, SRILM, and the formats of asr_formats.py.

The format is recognised by the first line, or by what a folder holds.

JSON lines
    one list a line, ``{"id", "reference", "candidates": [...]}``, each candidate
    ``{"tokens" or "text", "score", "features", "errors", "tags"}``.
Blocks
    ``#<TAB>reference tokens``, then ``log probability<TAB>tokens`` a line, then an empty line; a token may be
    ``surface/reading``, its text is the surface.
Moses
    ``id ||| tokens ||| Name= value value Other= value ||| total``.
SRILM
    ``acoustic lm n_words word word ...`` a line, or ``NBestList1.0`` with ``(score) word word ...``; one file
    is one list, a folder of files many (ids are the file names).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from os import PathLike
from pathlib import Path

from epigram.errors import InputError
from epigram.files import parse_json, read_lines
from epigram.rerank.asr_formats import (
    is_letor,
    is_nemo,
    read_folder,
    read_hyporadise,
    read_letor,
    read_nemo,
)
from epigram.rerank.nbest import Builder, NBest


def read_nbest(
    path: str | PathLike[str], references: str | PathLike[str] | None = None, beam: int | None = None
) -> NBest:
    """Read n-best lists in any of the formats, gzip or not, ``-`` for standard input.

    ``references`` is a text file with one reference a line, in the order of the lists, for formats that carry
    none (Moses, SRILM, NeMo); it replaces those of the file. ``beam`` is the number of lines of each utterance in
    NeMo's files; with references, what fits them.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "x.nbest"
    >>> _ = file.write_text("0 ||| a b ||| lm= -1.5 ||| -3\\n0 ||| a c ||| lm= -1 ||| -4\\n")
    >>> lists = read_nbest(file)
    >>> lists.ids, lists.texts, lists.scores.tolist(), lists.names
    (['0'], ['a b', 'a c'], [-3.0, -4.0], ['lm'])
    """
    builder = Builder(path)
    if str(path) != "-" and Path(path).is_dir():
        known = read_folder(Path(path), builder)
        for file in sorted(Path(path).iterdir()):
            if not known and file.is_file() and not file.name.startswith("."):
                builder.path = file
                _read_srilm(list(read_lines(file)), builder, file.name.split(".")[0])
        builder.path = path
    else:
        lines = list(read_lines(path))
        if beam is None and references is not None:
            n = sum(1 for line in read_lines(references) if line)
            beam = sum(1 for line in lines if line) // n if n else None
        _read_file(lines, builder, path, beam)
    if not builder.ids:
        raise InputError("holds no n-best list", path=path)
    if references is not None:
        _attach(builder, references)
    return builder.build()


def parse_nbest(text: str, name: str = "input") -> NBest:
    """Parse the content of a file of n-best lists; errors call the file ``name``.

    Examples
    --------
    >>> parse_nbest("#\\ta b\\n-1.5\\ta c\\n-2\\ta b\\n").texts
    ['ac', 'ab']
    """
    builder = Builder(name)
    _read_file([line.removesuffix("\r") for line in text.split("\n")], builder, name)
    if not builder.ids:
        raise InputError("holds no n-best list", path=name)
    return builder.build()


def write_nbest(lists: NBest, path: str | PathLike[str]) -> None:
    """Write JSON lines atomically.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "x.jsonl"
    >>> write_nbest(NBest.from_lists([{"id": "1", "candidates": [{"text": "a", "score": -1}]}]), file)
    >>> file.read_text()
    '{"id": "1", "candidates": [{"tokens": ["a"], "text": "a", "score": -1.0}]}\\n'
    """
    from epigram.storage import write_atomically

    write_atomically(path, "".join(f"{line}\n" for line in json_lines(lists)).encode())


def json_lines(lists: NBest) -> Iterator[str]:
    """Each list as one line of JSON."""
    for i, id in enumerate(lists.ids):
        record: dict[str, object] = {"id": id}
        reference = lists.references[i]
        if reference is not None:
            record["reference"] = reference[1] if "".join(reference[1]) == reference[0] else reference[0]
        candidates = []
        for c in range(lists.list_ptr[i], lists.list_ptr[i + 1]):
            candidate: dict[str, object] = {
                "tokens": lists.words(c),
                "text": lists.texts[c],
                "score": float(lists.scores[c]),
            }
            span = slice(lists.named_ptr[c], lists.named_ptr[c + 1])
            if span.stop > span.start:
                values = lists.named_values[span].tolist()
                candidate["features"] = {
                    lists.names[k]: value for k, value in zip(lists.named[span], values, strict=True)
                }
            if lists.given_errors[c] == lists.given_errors[c]:
                candidate["errors"] = float(lists.given_errors[c])
            if lists.tags and lists.tags[c] is not None:
                candidate["tags"] = lists.tags[c]
            candidates.append(candidate)
        record["candidates"] = candidates
        yield json.dumps(record, ensure_ascii=False)


def _read_file(
    lines: list[str], builder: Builder, path: str | PathLike[str], beam: int | None = None
) -> None:
    first = next((line for line in lines if line.strip()), "")
    if first.lstrip().startswith("{"):
        _read_json(lines, builder)
    elif first.startswith("#\t") or first == "#":
        _read_blocks(lines, builder)
    elif " ||| " in first:
        _read_moses(lines, builder)
    elif first.lstrip().startswith("["):
        read_hyporadise("\n".join(lines), builder)
    elif is_letor(first):
        read_letor(lines, builder)
    elif is_nemo(first):
        read_nemo(lines, builder, beam)
    elif first:
        name = "1" if str(path) == "-" else Path(path).name.split(".")[0]
        _read_srilm(lines, builder, name)


def _read_json(lines: list[str], builder: Builder) -> None:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        builder.add_record(parse_json(line, builder.path, number), number)


class _Surfaces(dict[str, str]):
    """Convert ``surface/reading`` to ``surface``, with a cache."""

    def __missing__(self, word: str) -> str:
        self[word] = surface = word.rpartition("/")[0] or word
        return surface


def _read_blocks(lines: list[str], builder: Builder) -> None:
    surfaces = _Surfaces()
    inside = False
    for number, line in enumerate(lines, 1):
        if not line:
            inside = False
            continue
        head, tab, rest = line.partition("\t")
        words = rest.split()
        text = "".join(map(surfaces.__getitem__, words))
        if head == "#":
            _check_filled(builder, number)
            builder.begin(str(len(builder.ids) + 1), text, words)
            inside = True
        elif not tab or not inside:
            raise builder.fail("expected '#<TAB>reference' or 'score<TAB>tokens' after one", number)
        else:
            builder.candidate(words, builder.parse_number(head, "score", number), number, text=text)
    _check_filled(builder, len(lines))


def _read_moses(lines: list[str], builder: Builder) -> None:
    current: str | None = None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        fields = [part.strip() for part in f" {line} ".split(" ||| ")]
        if len(fields) < 4:
            raise builder.fail(
                f"expected 'id ||| tokens ||| features ||| score', found {len(fields)} fields", number
            )
        if fields[0] != current:
            current = fields[0]
            builder.begin(current, None, None)
        words = fields[1].split()
        named = _moses_features(fields[2], builder, number)
        score = builder.parse_number(fields[3].split()[0] if fields[3] else "", "score", number)
        builder.candidate(words, score, number, named)


def _moses_features(text: str, builder: Builder, line: int) -> dict[str, float]:
    """Parse ``Name= 1 2 Other= 3`` as {Name_1, Name_2, Other}; numbers values without a name."""
    groups: list[tuple[str, list[float]]] = []
    for piece in text.split():
        if piece.endswith("="):
            groups.append((piece[:-1], []))
        else:
            if not groups:
                groups.append(("feature", []))
            groups[-1][1].append(builder.parse_number(piece, f"feature {groups[-1][0]!r}", line))
    named: dict[str, float] = {}
    for name, values in groups:
        for k, value in enumerate(values, 1):
            named[name if len(values) == 1 else f"{name}_{k}"] = value
    return named


def _read_srilm(lines: list[str], builder: Builder, id: str) -> None:
    bracketed = bool(lines) and lines[0].strip() == "NBestList1.0"
    builder.begin(id, None, None)
    for number, line in enumerate(lines, 1):
        fields = line.split()
        if not fields or (bracketed and number == 1):
            continue
        if bracketed:
            words, named = fields[1:], None
            score = builder.parse_number(fields[0].strip("()"), "score", number)
        else:
            if len(fields) < 3:
                raise builder.fail(
                    "not a known n-best format: JSON lines, blocks, Moses, SRILM, NeMo, HyPoradise, LETOR",
                    number,
                )
            acoustic, lm = (builder.parse_number(field, "score", number) for field in fields[:2])
            words, score = fields[3:], acoustic + lm
            named = {"lm": lm, "words": builder.parse_number(fields[2], "word count", number)}
        builder.candidate(words, score, number, named)
    _check_filled(builder, len(lines))


def _attach(builder: Builder, references: str | PathLike[str]) -> None:
    lines = list(read_lines(references))
    if lines and not lines[-1]:
        lines.pop()
    if len(lines) != len(builder.ids):
        raise InputError(f"{len(lines)} references for {len(builder.ids)} lists", path=references)
    builder.references = [("".join(line.split()), line.split()) for line in lines]


def _check_filled(builder: Builder, line: int) -> None:
    if builder.sizes and builder.sizes[-1] == 0:
        raise builder.fail(f"list {builder.ids[-1]!r} before this line has no candidates", line)
