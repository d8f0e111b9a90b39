"""Reads and writes CRFsuite model files (version 100, linear chains).

All numbers are little-endian. A header of 48 bytes holds the offsets of five parts: the features (kind, source, target
and weight; kind 0 is an attribute with a label, kind 1 a transition), two string tables (labels and attributes, see
:mod:`epigram.compat.crfsuite.string_table`) and, for each label and each attribute, the numbers of its features. The
last two follow from the first: they are written, and not read.
"""

from __future__ import annotations

import struct
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram.chain.model import ChainModel
from epigram.compat.crfsuite.string_table import read_strings, write_strings
from epigram.errors import InputError, ModelFileError
from epigram.protocols import Floats, Offsets
from epigram.storage import ModelFile, pack_strings

MAGIC = b"lCRF"
_HEADER = struct.Struct("<4sI4s9I")
_CHUNK = struct.Struct("<4sII")
_FEATURE = np.dtype([("kind", "<u4"), ("source", "<u4"), ("target", "<u4"), ("weight", "<f8")])
STATE, TRANSITION = 0, 1


def read_model(content: bytes, path: str | PathLike[str] | None = None) -> ModelFile:
    """Convert the content of a ``.crfsuite`` file to a model file; weights are not rounded."""
    try:
        labels, attributes, features = _parse(content)
        return _model_file(labels, attributes, features)
    except ModelFileError as error:
        raise ModelFileError(str(error), path=path) from None
    except (struct.error, ValueError) as error:
        raise ModelFileError(f"corrupt CRFsuite model ({error})", path=path) from error


def _parse(content: bytes) -> tuple[list[str], list[str], npt.NDArray[Any]]:
    """Return labels, attributes and features, all checked."""
    if len(content) < _HEADER.size or content[:4] != MAGIC:
        raise ModelFileError("not a CRFsuite model, or a truncated one")
    _, size, kind, version, _, n_labels, n_attributes, *offsets = _HEADER.unpack_from(content)
    if kind != b"FOMC" or version != 100:
        raise ModelFileError(
            f"a CRFsuite model of kind {kind!r}, version {version}; b'FOMC', version 100 is read"
        )
    if size > len(content):
        raise ModelFileError(f"truncated CRFsuite model: {len(content):,} bytes of {size:,}")
    at_features, at_labels, at_attributes = offsets[:3]
    if at_features + _CHUNK.size > len(content):
        raise ModelFileError("corrupt CRFsuite model: the features begin beyond the end of the file")
    chunk, _, n_features = _CHUNK.unpack_from(content, at_features)
    if chunk != b"FEAT" or n_features * _FEATURE.itemsize > len(content) - at_features - _CHUNK.size:
        raise ModelFileError(
            f"corrupt CRFsuite model: the header says {n_features:,} features, but the file is smaller"
        )
    features = np.frombuffer(content, _FEATURE, n_features, at_features + _CHUNK.size)
    labels = read_strings(content, at_labels, n_labels, "labels")
    attributes = read_strings(content, at_attributes, n_attributes, "attributes")
    if not labels:
        raise ModelFileError("corrupt CRFsuite model: it has no labels")
    for what, strings in (("label", labels), ("attribute", attributes)):
        if len(set(strings)) != len(strings):
            raise ModelFileError(f"corrupt CRFsuite model: it has one {what} twice")
    sources = np.where(features["kind"] == STATE, n_attributes, n_labels)
    if (features["kind"] > TRANSITION).any() or (features["source"] >= sources).any():
        raise ModelFileError("corrupt CRFsuite model: a feature of an unknown kind, attribute or label")
    if (features["target"] >= n_labels).any():
        raise ModelFileError("corrupt CRFsuite model: a feature of an unknown label")
    if not np.isfinite(features["weight"]).all():
        raise ModelFileError("corrupt CRFsuite model: a weight that is not finite")
    return labels, attributes, features


def _model_file(labels: list[str], attributes: list[str], features: npt.NDArray[Any]) -> ModelFile:
    """The arrays and the header that :mod:`epigram.chain.storage` reads."""
    n_labels = len(labels)
    if n_labels > 65_535:
        raise ModelFileError(f"{n_labels:,} labels; a chain model has at most 65,535")
    states, transitions = (features[features["kind"] == kind] for kind in (STATE, TRANSITION))
    state_keys, state_weights = _summed(states, n_labels)
    pair_keys, pair_weights = _summed(transitions, n_labels)
    owners, state_labels = np.divmod(state_keys, n_labels)
    counts = np.bincount(owners, minlength=len(attributes))
    names, lengths = pack_strings(name for name, count in zip(attributes, counts, strict=True) if count)
    header = {
        "kind": "crf",
        "labels": labels,
        "template": None,
        "has_transitions": True,
        "settings": {},
        "fit": {"features": len(features)},
        "history": [],
        "origin": "crfsuite",
    }
    tensors: dict[str, npt.NDArray[Any]] = {
        "names": names,
        "name_lengths": lengths,
        "state_counts": counts[counts > 0].astype(np.uint16),
        "state_labels": state_labels.astype(np.uint16),
        "state_weights": state_weights,
        "transition_pairs": np.stack(np.divmod(pair_keys, n_labels), axis=1).astype(np.uint16),
        "transition_weights": pair_weights,
    }
    return ModelFile("tagger", header, {name: tensor for name, tensor in tensors.items() if tensor.size})


def _summed(features: npt.NDArray[Any], n_labels: int) -> tuple[Offsets, Floats]:
    """Return rising keys (source * n_labels + target) and the sum of the weights of each."""
    keys = features["source"].astype(np.int64) * n_labels + features["target"]
    distinct, which = np.unique(keys, return_inverse=True)
    weights = np.zeros(len(distinct))
    np.add.at(weights, which, features["weight"])
    return distinct, weights


def header_of(content: bytes) -> dict[str, str]:
    """Return the header fields of a CRFsuite file as ``crfsuite dump`` shows them."""
    magic, size, kind, version, n_features, n_labels, n_attributes, *offsets = _HEADER.unpack_from(content)
    parts = ("features", "labels", "attrs", "labelrefs", "attrrefs")
    return {
        "magic": magic.decode("latin-1"),
        "size": str(size),
        "type": kind.decode("latin-1"),
        "version": str(version),
        "num_features": str(n_features),
        "num_labels": str(n_labels),
        "num_attrs": str(n_attributes),
        **{f"off_{part}": f"0x{offset:X}" for part, offset in zip(parts, offsets, strict=True)},
    }


def write_model(model: ChainModel) -> bytes:
    """Convert a chain model to the content of a ``.crfsuite`` file.

    CRFsuite has attributes of tokens and transitions between labels: a model with features of the text on its
    transitions, or with forbidden transitions, cannot be written.
    """
    found = model.weights
    if len(found.edge_values):
        raise InputError(
            "CRFsuite has no features of a label pair with the text; train with a template without %x in its B lines"
        )
    if len(found.triples):
        raise InputError("CRFsuite has no weights of label triples; train with order=1")
    if model.constrained:
        raise InputError("CRFsuite has no forbidden transitions; train without constrain")
    labels, attributes = list(model.labels), model.table.names(range(len(model.table)))
    for what, strings in (("label", labels), ("attribute", attributes)):
        if any("\0" in string for string in strings):
            raise InputError(f"a {what} has a zero byte, which ends strings in CRFsuite files; rename it")
    order = np.lexsort((found.labels, found.attributes))
    before, after = np.nonzero(found.transitions)
    features = np.zeros(len(order) + len(before), _FEATURE)
    states, transitions = features[: len(order)], features[len(order) :]
    states["source"], states["target"] = found.attributes[order], found.labels[order]
    states["weight"] = found.values[order]
    transitions["kind"], transitions["source"], transitions["target"] = TRANSITION, before, after
    transitions["weight"] = found.transitions[before, after]
    return _assemble(labels, attributes, features, len(order))


def _assemble(labels: list[str], attributes: list[str], features: npt.NDArray[Any], n_states: int) -> bytes:
    """Concatenate the parts of the file; references are aligned to 4 bytes."""
    out = bytearray(_HEADER.size)
    at_features = len(out)
    out += _CHUNK.pack(b"FEAT", _CHUNK.size + features.nbytes, len(features)) + features.tobytes()
    at_labels = len(out)
    out += write_strings(labels)
    at_attributes = len(out)
    out += write_strings(attributes)
    out += bytes(-len(out) % 4)
    at_label_references = len(out)
    pairs = features["source"][n_states:]
    # two more than there are labels: CRFsuite reserves entries for the ends of a sentence and does not use them
    out += _references(b"LFRF", pairs, n_states, len(labels), len(labels) + 2, len(out))
    at_attribute_references = len(out)
    states = features["source"][:n_states]
    out += _references(b"AFRF", states, 0, len(attributes), len(attributes), len(out))
    if len(out) >= 2**32:
        raise InputError(
            f"the file would have {len(out):,} bytes; CRFsuite files have at most 4 GB. Raise l1 or min_count"
        )
    offsets = (at_features, at_labels, at_attributes, at_label_references, at_attribute_references)
    # CRFsuite itself leaves the number of features 0 here
    _HEADER.pack_into(out, 0, MAGIC, len(out), b"FOMC", 100, 0, len(labels), len(attributes), *offsets)
    return bytes(out)


def _references(
    name: bytes, sources: npt.NDArray[Any], first: int, n_sources: int, n_places: int, start: int
) -> bytes:
    """Return the lists of feature numbers by source, after the offset of each list."""
    counts = np.bincount(sources, minlength=n_sources)
    begins = np.arange(n_sources) + np.cumsum(counts) - counts  # in words: a count before each list
    words = np.zeros(n_sources + len(sources), dtype="<u4")
    is_count = np.zeros(len(words), dtype=bool)
    is_count[begins] = True
    words[is_count] = counts
    words[~is_count] = first + np.arange(len(sources))
    places = np.zeros(n_places, dtype="<u4")
    places[:n_sources] = start + _CHUNK.size + 4 * n_places + 4 * begins
    size = _CHUNK.size + places.nbytes + words.nbytes
    return _CHUNK.pack(name, size, n_places) + places.tobytes() + words.tobytes()
