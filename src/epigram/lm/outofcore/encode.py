"""Encodes a text into a folder: its vocabulary and one stream of word ids, in two passes.

Two passes over pieces of the files: the first numbers the words of each piece by itself, and the vocabulary is made of
all counts in the order of the text; the second writes the ids. Vocabulary and stream are those of one machine, however
the files were cut.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from epigram.errors import InputError
from epigram.files import check_sentences, decode
from epigram.lm.corpus import NumberedText
from epigram.lm.tokenizer import Tokenizer
from epigram.lm.vocabulary import UNKNOWN, UNSEEN, Vocabulary
from epigram.outofcore.dataset import Manifest, begin, create_array, map_array, record_of, write_arrays
from epigram.outofcore.engine import Engine, Here, Told, in_turn, untold
from epigram.outofcore.file_slices import LINE, PARTITION_BYTES, FileSlice, cut
from epigram.protocols import Ints, Offsets
from epigram.storage.file import pack_strings, unpack_strings

KIND = "lm"


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of the text, and where its first pass goes."""

    piece: FileSlice
    folder: str
    tokenizer: Tokenizer | None = None


def count_part(part: Part, _: Any) -> int:
    """First pass: the words of a piece, numbered by itself; returns its number of tokens."""
    raw = part.piece.read()
    if part.piece.start == 0:
        check_sentences(raw, part.piece.path)
    try:
        decode(raw, part.piece.path)
    except InputError as error:
        line = (error.line or 1) + part.piece.lines_before()
        raise InputError(str(error).split(": ", 1)[-1], path=part.piece.path, line=line) from None
    text = NumberedText.of_bytes(raw, part.tokenizer, part.piece.path)
    counts = np.bincount(text.ids, minlength=len(text.words)).astype(np.int64)
    write_arrays(Path(part.folder), {"ids": text.ids, "ptr": text.ptr, "counts": counts})
    (Path(part.folder) / "words.json").write_text(json.dumps(text.words), "utf-8")
    return int(text.ids.size)


def write_stream(
    paths: Sequence[str | PathLike[str]],
    folder: str | PathLike[str],
    *,
    min_count: int = 1,
    max_words: int | None = None,
    vocabulary: Vocabulary | None = None,
    tokenizer: Tokenizer | None = None,
    engine: Engine | None = None,
    partition_bytes: int = PARTITION_BYTES,
    told: Told = untold,
) -> Manifest:
    """Encode a text, one sentence a line, into a folder; settings as of ``Corpus.read``.

    On a cluster (``engine``) all machines must see files and folder under these names.
    """
    engine = engine or Here()
    home = begin(folder)
    pieces = cut(paths, LINE, partition_bytes)
    parts = [
        Part(piece, str(home.resolve() / "parts" / f"{k:05d}"), tokenizer) for k, piece in enumerate(pieces)
    ]
    in_turn(engine, count_part, parts, "counting words", told)
    vocabulary = _vocabulary(parts, vocabulary, min_count, max_words)
    counts = _write_ids(home, parts, vocabulary)
    content, lengths = pack_strings(vocabulary.words)
    common = write_arrays(home / "common", {"words": content, "lengths": lengths, "counts": counts})
    header = {"tokens": int(counts.sum()), "words": len(vocabulary), "min_count": min_count}
    manifest = Manifest(home, KIND, [], header, common | record_of(home / "common", ("stream",)))
    manifest.write()
    shutil.rmtree(home / "parts", ignore_errors=True)
    return manifest


def read_vocabulary(manifest: Manifest) -> Vocabulary:
    """The words of a folder."""
    return Vocabulary(unpack_strings(*manifest.shared("words", "lengths")))


def _vocabulary(
    parts: list[Part], given: Vocabulary | None, min_count: int, max_words: int | None
) -> Vocabulary:
    """Words within the limits, by falling count and then by first occurrence."""
    total: dict[str, int] = {}
    for part in parts:
        words = json.loads((Path(part.folder) / "words.json").read_text("utf-8"))
        for word, count in zip(words, map_array(Path(part.folder) / "counts.npy").tolist(), strict=True):
            if count:
                total[word] = total.get(word, 0) + count
    if not total:
        raise InputError("no words to train on.")
    if given is None:
        return Vocabulary.from_counts(list(total), np.array(list(total.values())), min_count, max_words)
    missing = any(word not in given for word in total)
    return Vocabulary([*given.words, UNKNOWN]) if missing and UNKNOWN not in given else given


def _write_ids(home: Path, parts: list[Part], vocabulary: Vocabulary) -> Offsets:
    """Write ids with boundaries around sentences; return the count of each id."""
    (home / "common").mkdir()
    sizes = []
    for part in parts:
        ids, ptr = (map_array(Path(part.folder) / f"{name}.npy") for name in ("ids", "ptr"))
        sizes.append(ids.size + ptr.size - 1)
    stream = create_array(home / "common" / "stream.npy", np.int32, 1 + sum(sizes))
    counts, at = np.zeros(len(vocabulary), np.int64), 1
    stream[0] = 0
    for part, size in zip(parts, sizes, strict=True):
        ids, ptr = (map_array(Path(part.folder) / f"{name}.npy") for name in ("ids", "ptr"))
        table: Ints = vocabulary.ids(json.loads((Path(part.folder) / "words.json").read_text("utf-8")))
        if UNKNOWN in vocabulary:
            table[table == UNSEEN] = vocabulary.id(UNKNOWN)
        out = np.zeros(size, np.int32)
        sentence = np.repeat(np.arange(ptr.size - 1), np.diff(ptr))
        out[np.arange(ids.size) + sentence] = table[ids] if ids.size else ids
        counts += np.bincount(out, minlength=counts.size)
        stream[at : at + size] = out
        at += size
    stream.flush()
    return counts
