"""Encodes a corpus into a folder of shards, in two passes over its partitions.

A partition is a piece of a file that ends where a sentence ends. The first pass encodes each by itself; then the
tables of attributes are merged in the order of the text, which gives the ids, counts and labels of the whole; the
second pass cuts the renumbered sentences into shards of about the same number of tokens. The folder is the same, bit
for bit, however the files were cut, and its sentences are those that one machine would encode.

A shard numbers its attributes by itself, in the order of their ids in the corpus (``own``), so that it needs the
weights of the features in it only. Names of attributes are in the folder, so the text is no longer needed.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram.chain.labels import encode_labels
from epigram.chain.layout import lay_out
from epigram.chain.seen_pairs import SeenPairs, padded
from epigram.errors import InputError
from epigram.features.attributes import AttributeTable, Strings, renumbering, utf8
from epigram.features.columns import Columns
from epigram.features.encoding import encode
from epigram.features.formats import ColumnSpec
from epigram.features.sequences import Sequences
from epigram.features.template import Template
from epigram.outofcore.dataset import (
    Manifest,
    Record,
    begin,
    create_array,
    map_array,
    record_of,
    shard_path,
    write_array,
    write_arrays,
)
from epigram.outofcore.engine import Engine, Here, Told, in_turn, untold
from epigram.outofcore.file_slices import BLANK_LINE, LINE, PARTITION_BYTES, FileSlice, cut
from epigram.protocols import Ints, Offsets

KIND = "tagging"
SHARD_TOKENS = 1 << 20  # at this size what an engine adds to the work of a shard is a few per cent
BLOCK, NAMES = 1 << 20, 1 << 15  # ids and names taken in one go
ARRAYS = ("sentence_ptr", "attribute_ptr", "attributes", "values", "edge_ptr", "edge_attributes")


@dataclass(frozen=True, slots=True)
class Job:
    """Settings of both passes; ``template`` is its text and path."""

    folder: str
    reading: ColumnSpec
    template: tuple[str, str | None]
    pairs: str

    def part(self, k: int) -> Path:
        """Folder of a partition after the first pass."""
        return Path(self.folder) / "parts" / f"{k:05d}"

    def parsed(self) -> Template:
        """The template."""
        return Template.parse(*self.template)


@dataclass(frozen=True, slots=True)
class EncodingStep:
    """One piece of work of the passes: a partition or a shard by its number, with what it takes."""

    job: Job
    k: int
    what: Any = None


def write_shards(
    paths: Sequence[str | PathLike[str]],
    folder: str | PathLike[str],
    template: Template,
    reading: ColumnSpec,
    *,
    n_shards: int | None = None,
    min_count: int = 1,
    pairs: str = "seen",
    engine: Engine | None = None,
    partition_bytes: int = PARTITION_BYTES,
    told: Told = untold,
) -> Manifest:
    """Encode files of sentences into a folder of shards.

    Parameters
    ----------
    paths : files of columns, read one after the other.
    folder : where the shards go; on a cluster, a folder that all machines see under this name.
    template, reading : as for one machine.
    n_shards : how many; by default one for each ``SHARD_TOKENS`` tokens.
    min_count, pairs : as of :class:`~epigram.tagging.crf.CRFTagger`; they belong to the folder.
    engine : where the work is done; by default here.
    partition_bytes : how much text is encoded at a time; changes nothing but memory and speed.
    told : called with what is being done, how much of it is done, and how much there is.
    """
    engine = engine or Here()
    home = begin(folder)
    if "-" in map(str, paths):
        raise InputError("shards are made of files, not of standard input: they are read twice")
    if template.has_masks:
        raise InputError(
            "frequent:N and rare:N are learnt from all sentences in memory; leave them out for shards"
        )
    job = Job(str(home.resolve()), reading, (template.text, template.path), pairs)
    ends = LINE if reading.format in ("text", "slash") else BLANK_LINE
    parts = [EncodingStep(job, k, piece) for k, piece in enumerate(cut(paths, ends, partition_bytes))]
    facts = in_turn(engine, encode_part, parts, "encoding", told)
    if not sum(n_tokens for _, n_tokens, *_ in facts):
        raise InputError("no tokens to train on", path=str(paths[0]) if paths else None)
    classes, counts = _label_counts(facts)
    table = _merge_tables(job, len(parts))
    new_ids = renumbering(table.counts, min_count)
    write_array(home / "parts" / "new_ids.npy", new_ids)
    in_turn(engine, name_part, parts, "naming features", told)
    table.renumber(new_ids)
    common = _write_names(home, len(parts), table, new_ids)
    runs = _runs(job, [n for n, *_ in facts], n_shards)
    shards = [EncodingStep(job, k, (run, classes)) for k, run in enumerate(runs)]
    in_turn(engine, write_shard, shards, "writing shards", told)
    common |= _write_seen(home, len(runs), len(table), len(classes))
    records: list[Record] = in_turn(engine, finish_shard, shards, "ordering shards", told)
    header = {
        "template": list(job.template),
        "reading": reading.as_dict(),
        "min_count": min_count,
        "pairs": pairs,
        "classes": classes,
        "label_counts": counts,
        "sentences": sum(n for n, *_ in facts),
        "tokens": sum(n for _, n, *_ in facts),
        "attributes": len(table),
        "sources": [_source(path) for path in paths],
    }
    manifest = Manifest(home, KIND, records, header, common)
    manifest.write()
    shutil.rmtree(home / "parts", ignore_errors=True)
    return manifest


def _source(path: str | PathLike[str]) -> list[Any]:
    """Path, size and time of a file, which tell whether it has changed."""
    found = Path(path).stat()
    return [str(Path(path).resolve()), found.st_size, found.st_mtime_ns]


def is_current(
    manifest: Manifest,
    paths: Sequence[str | PathLike[str]],
    template: Template,
    reading: ColumnSpec,
    n_shards: int | None,
    min_count: int,
    pairs: str,
) -> bool:
    """Whether a folder holds just the shards that :func:`write_shards` would write."""
    header = manifest.header
    return bool(
        header["sources"] == [_source(path) for path in paths]
        and header["template"] == [template.text, template.path]
        and ColumnSpec.of_header({"columns": header["reading"]}) == reading
        and (header["min_count"], header["pairs"]) == (min_count, pairs)
        and n_shards in (None, manifest.n_shards)
    )


def encode_part(step: EncodingStep, _: Any) -> tuple[int, int, list[str], list[int]]:
    """Encode a partition; return its sentences, tokens, labels and their counts."""
    job, piece = step.job, step.what
    table = AttributeTable()
    columns = _parse(job, piece)
    if columns is None:
        write_arrays(job.part(step.k), {
            "sentence_ptr": np.zeros(1, np.int64), "fingerprints": np.empty(0, np.uint64),
            "counts": np.empty(0, np.int64), "n_nodes": np.zeros(1, np.int64),
        })  # fmt: skip
        return 0, 0, [], []
    observations, column = job.reading.split(columns)
    sequences = _encoded(observations, job, table)
    classes, labels = encode_labels(column, sequences)
    arrays = {name: getattr(sequences, name) for name in ARRAYS}
    n_nodes = 1 + int(
        sequences.attributes.max(initial=-1)
    )  # attributes of transitions got their ids after these
    write_arrays(job.part(step.k), {
        **arrays, "labels": labels, "fingerprints": table.fingerprints, "counts": table.counts,
        "n_nodes": np.array([n_nodes]),
    })  # fmt: skip
    (job.part(step.k) / "classes.json").write_text(json.dumps(classes.tolist()), "utf-8")
    counts = np.bincount(labels, minlength=len(classes))
    return sequences.n_sentences, sequences.n_tokens, classes.tolist(), counts.tolist()


def _encoded(observations: Columns, job: Job, table: AttributeTable) -> Sequences:
    """Sentences in the ids of a table that grows with them."""
    return encode(Columns(observations.sentence_ptr, observations.columns), job.parsed(), table, grow=True)


def _parse(job: Job, piece: FileSlice) -> Columns | None:
    """Parse a slice into columns, None without tokens. Errors name the line of the file."""
    wanted, columns = job.reading.n_columns, None
    try:
        columns = job.reading.parse(piece.read(), piece.path)
        n_columns = columns.n_columns
    except InputError as error:
        if error.line is None and "no tokens" in str(error):
            return None
        if error.line is None:
            raise
        message = str(error).removeprefix(f"{error.path}:{error.line}: ")
        n_columns = int((re.match(r"expected (\d+) columns", message) or [0, 0])[1])
        if n_columns in (0, wanted):  # else the first line of the piece is the odd one
            raise InputError(message, path=error.path, line=error.line + piece.lines_before()) from None
    if wanted is not None and n_columns != wanted:
        line = piece.lines_before() + 1
        raise InputError(f"expected {wanted} columns, found {n_columns}", path=piece.path, line=line)
    return columns


def _label_counts(facts: list[tuple[int, int, list[str], list[int]]]) -> tuple[list[str], list[int]]:
    """All labels, sorted, and how often each was met."""
    total: dict[str, int] = {}
    for _, _, classes, counts in facts:
        for label, count in zip(classes, counts, strict=True):
            total[label] = total.get(label, 0) + count
    names = np.array(list(total), dtype=object)
    classes = names[np.argsort(names.astype(str), kind="stable")].tolist()
    return classes, [total[label] for label in classes]


def _merge_tables(job: Job, n_parts: int) -> AttributeTable:
    """Merge the attributes of all partitions: of tokens, then of transitions."""
    merged, nameless = AttributeTable(), Strings([])
    firsts = np.empty((n_parts, 2), dtype=np.int64)
    for edges in (False, True):
        for k in range(n_parts):
            folder = job.part(k)
            n_nodes = int(map_array(folder / "n_nodes.npy")[0])
            half = slice(n_nodes, None) if edges else slice(n_nodes)
            firsts[k, int(edges)] = len(merged)
            keys = np.array(map_array(folder / "fingerprints.npy")[half])
            found = merged.intern(keys, nameless, map_array(folder / "counts.npy")[half])
            write_array(folder / f"ids{int(edges)}.npy", found)
    for k in range(n_parts):
        write_array(job.part(k) / "firsts.npy", firsts[k])
    return merged


def _ids(folder: Path) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """Ids of a partition's attributes in the corpus, and whether it has them first."""
    firsts = map_array(folder / "firsts.npy")
    halves = [map_array(folder / f"ids{k}.npy") for k in (0, 1)]
    return np.concatenate(halves), np.concatenate([halves[k] >= firsts[k] for k in (0, 1)])


def name_part(step: EncodingStep, _: Any) -> None:
    """Write the names of frequent attributes that a partition has first.

    The partition is encoded again for it: that takes less than all its names, most of which others spell.
    """
    folder = step.job.part(step.k)
    ids, is_first = _ids(folder)
    mine = np.flatnonzero(is_first & (map_array(folder.parent / "new_ids.npy")[ids] >= 0))
    contents, lengths = [np.empty(0, np.uint8)], [np.empty(0, np.int64)]
    columns = _parse(step.job, step.what) if len(mine) else None
    if columns is not None:
        table = AttributeTable()
        observations, _ = step.job.reading.split(columns)
        _encoded(observations, step.job, table)
        if not np.array_equal(table.fingerprints, map_array(folder / "fingerprints.npy")):
            raise InputError("it was changed while it was read; make the shards again", path=step.what.path)
        for first in range(0, len(mine), NAMES):
            content, ptr = utf8(table.names(mine[first : first + NAMES].tolist()))
            contents.append(content)
            lengths.append(np.diff(ptr))
    write_arrays(folder, {
        "spelled": np.concatenate(contents), "lengths": np.concatenate(lengths), "spelled_ids": ids[mine],
    })  # fmt: skip


def _write_names(home: Path, n_parts: int, table: AttributeTable, new_ids: Ints) -> Record:
    """Write names, spans and fingerprints of all attributes, by id."""
    common = home / "common"
    common.mkdir()
    folders = [home / "parts" / f"{k:05d}" for k in range(n_parts)]
    total = sum(map_array(folder / "spelled.npy").size for folder in folders)
    names = create_array(common / "names.npy", np.uint8, max(total, 1))
    spans = np.zeros((len(table), 2), dtype=np.int64)
    at = 0
    for folder in folders:
        spelled, lengths = map_array(folder / "spelled.npy"), map_array(folder / "lengths.npy")
        names[at : at + spelled.size] = spelled
        ends = at + np.cumsum(lengths)
        mine = new_ids[map_array(folder / "spelled_ids.npy")]
        spans[mine, 0], spans[mine, 1] = ends - lengths, ends
        at += spelled.size
    names.flush()
    written = write_arrays(common, {"spans": spans, "fingerprints": table.fingerprints})
    return written | record_of(common, ("names",))


def _runs(job: Job, n_sentences: list[int], n_shards: int | None) -> list[list[tuple[int, int, int]]]:
    """Sentences of each shard as (partition, first, last), cut as threads share them."""
    ptrs = [map_array(job.part(k) / "sentence_ptr.npy") for k in range(len(n_sentences))]
    starts = np.cumsum([0, *(int(ptr[-1]) for ptr in ptrs)])
    whole = np.concatenate([[0], *(ptr[1:] + start for ptr, start in zip(ptrs, starts, strict=False))])
    n_tokens = int(whole[-1])
    wanted = n_shards or -(-n_tokens // SHARD_TOKENS)
    inner = np.searchsorted(whole, np.linspace(0, n_tokens, wanted + 1)[1:-1])
    bounds = np.unique(np.concatenate([[0], inner, [len(whole) - 1]]))
    first_of = np.cumsum([0, *n_sentences])
    runs = []
    for a, b in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        touched = [k for k in range(len(n_sentences)) if first_of[k] < b and first_of[k + 1] > a]
        runs.append([
            (k, int(max(a - first_of[k], 0)), int(min(b, first_of[k + 1]) - first_of[k])) for k in touched
        ])  # fmt: skip
    return runs


def write_shard(step: EncodingStep, _: Any) -> None:
    """Second pass: the sentences of a shard, renumbered, and which pairs are seen in it."""
    run, classes = step.what
    new_ids = map_array(Path(step.job.folder) / "parts" / "new_ids.npy")
    cut_out = [_cut_out(step.job.part(k), first, last, new_ids, classes) for k, first, last in run]
    labels = np.concatenate([labels for _, labels in cut_out])
    local = Sequences.joined([sequences for sequences, _ in cut_out])
    del cut_out
    own = _renumber_in_place((local.attributes, local.edge_attributes), len(new_ids))
    seen = SeenPairs.of(local, labels, len(classes), len(own))
    write_arrays(shard_path(Path(step.job.folder), step.k), {
        **{name: getattr(local, name) for name in ARRAYS}, "labels": labels, "own": own.astype(np.int32),
        "bits": seen.bits, "transitions": seen.transitions, "edges": seen.edges,
    })  # fmt: skip


def _renumber_in_place(arrays: tuple[Ints, ...], n: int) -> Offsets:
    """Renumber the ids that occur 0, 1, 2, ... in place; return them. numpy copies indices."""
    number = np.full(n, -1, dtype=np.int32)
    blocks = [ids[a : a + BLOCK] for ids in arrays for a in range(0, len(ids), BLOCK)]
    for block in blocks:
        number[block] = 0
    own = np.flatnonzero(number == 0)
    number[own] = np.arange(len(own))
    for block in blocks:
        block[:] = number[block]
    return own


def _cut_out(
    folder: Path, first: int, last: int, new_ids: Ints, classes: list[str]
) -> tuple[Sequences, Ints]:
    """Some sentences of a partition in the ids of the whole."""
    a = {name: map_array(folder / f"{name}.npy") for name in (*ARRAYS, "labels")}
    t0, t1 = (int(a["sentence_ptr"][s]) for s in (first, last))
    a0, a1 = (int(a["attribute_ptr"][t]) for t in (t0, t1))
    e0, e1 = (int(a["edge_ptr"][t]) for t in (t0, t1))
    ids, _ = _ids(folder)
    sequences = Sequences(
        a["sentence_ptr"][first : last + 1] - t0,
        a["attribute_ptr"][t0 : t1 + 1] - a0,
        a["attributes"][a0:a1],
        np.array(a["values"]),
        a["edge_ptr"][t0 : t1 + 1] - e0,
        a["edge_attributes"][e0:e1],
    ).renumber(new_ids[ids])
    index = {label: k for k, label in enumerate(classes)}
    own = json.loads((folder / "classes.json").read_text("utf-8"))
    return sequences, np.array([index[label] for label in own], dtype=np.int32)[a["labels"][t0:t1]]


def _write_seen(home: Path, n_shards: int, n_attributes: int, n_labels: int) -> Record:
    """The pairs of attribute and label that are seen in any shard."""
    bits = np.zeros((n_attributes, (n_labels + 63) // 64), dtype=np.int64)
    transitions = np.zeros((n_labels, n_labels), dtype=bool)
    edges, size = np.empty(0, dtype=np.int64), n_labels * padded(n_labels)
    for k in range(n_shards):
        folder = shard_path(home, k)
        own, found, among, keys = (
            map_array(folder / f"{name}.npy") for name in ("own", "bits", "transitions", "edges")
        )
        bits[own] |= found
        transitions |= among
        edges = np.union1d(edges, own[keys // size].astype(np.int64) * size + keys % size)
    return write_arrays(home / "common", {"bits": bits, "transitions": transitions, "edges": edges})


def finish_shard(step: EncodingStep, _: Any) -> Record:
    """Put occurrences with dense rows first in each token; return the shard's record."""
    from epigram.chain.loss import put_dense_first

    folder, (_, classes) = shard_path(Path(step.job.folder), step.k), step.what
    common = Path(step.job.folder) / "common"
    own = map_array(folder / "own.npy")
    seen = own_pairs(
        own, len(classes), *(map_array(common / f"{name}.npy") for name in ("bits", "transitions", "edges"))
    )
    layout = lay_out(seen, step.job.pairs, step.job.parsed().has_transitions)
    arrays: dict[str, Any] = {name: map_array(folder / f"{name}.npy") for name in ARRAYS}
    arrays["attributes"], arrays["values"] = np.array(arrays["attributes"]), np.ones(1)
    put_dense_first(Sequences(**arrays), layout)
    write_array(folder / "attributes.npy", arrays["attributes"])
    for name in ("bits", "transitions", "edges"):
        (folder / f"{name}.npy").unlink()
    return record_of(folder, (*ARRAYS, "labels", "own"))


def own_pairs(own: Ints, n_labels: int, bits: Any, transitions: Any, edges: Any) -> SeenPairs:
    """Pairs of a shard's features anywhere in the corpus, by the ids of the shard."""
    size = n_labels * padded(n_labels)
    owners = np.asarray(edges) // size
    at = np.minimum(np.searchsorted(own, owners), max(len(own) - 1, 0))
    mine = own[at] == owners if len(own) else np.zeros(len(owners), dtype=bool)
    keys = at[mine] * size + np.asarray(edges)[mine] % size
    return SeenPairs(n_labels, bits[own], np.asarray(transitions), keys.astype(np.int64))
