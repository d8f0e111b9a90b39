"""Reads text models of CRF++ (``crf_learn -t``) and Wapiti with their templates.

A CRF++ file has five parts with blank lines between: settings, labels, the template, ``number feature`` lines, and the
weights. A ``U`` feature has a weight for each label from its number on, a ``B`` feature one for each pair of labels.

A Wapiti file has a line ``#mdl#type#weights``, then ``#rdr#patterns/columns/...`` and the patterns, ``#qrk#n`` and the
labels, ``#qrk#n`` and the observations (strings as ``length:bytes,``), and ``number=weight`` lines, hexadecimal or
decimal. In the order of the observations, one that begins with ``u`` has a weight for each label, ``b`` one for each
pair of labels, ``*`` both. A pattern is a template line of CRF++ with another first letter, ``%X`` (lower case), and
``_x-1`` for a place outside the sentence.
"""

from __future__ import annotations

import re
from array import array
from os import PathLike

import numpy as np

from epigram.chain.layout import ChainWeights
from epigram.chain.model import ChainModel
from epigram.chain.storage import check_labels, model_file
from epigram.errors import InputError, ModelFileError
from epigram.features.attributes import AttributeTable, fingerprints
from epigram.features.template import Template
from epigram.protocols import Floats, Offsets
from epigram.storage import ModelFile

Block = tuple[int, int, bool]
"""Number of an attribute (-1: plain transitions), its first weight, and whether it has L * L of them or L."""

TYPES = {b"0": "maxent", b"1": "memm", b"2": "crf"}
KINDS = {"u": "U", "b": "B", "*": "UB"}
FURTHEST = 4
"""Wapiti names all places farther outside the sentence alike."""
_LENGTH = re.compile(rb"(\d{1,10}):")
_WEIGHT = re.compile(rb"(\d{1,18})=(\S{1,60})(?:\s+|\Z)")
_COMMAND = re.compile(r"%(.)\[([^\]]*)\]")
_OUTSIDE = re.compile(r"_x([+-][1-4])")


def read_crfpp(content: bytes, path: str | PathLike[str] | None = None) -> ModelFile:
    """Convert the content of a CRF++ text model to a model file."""
    try:
        parts = content.decode().replace("\r\n", "\n").split("\n\n", 4)
        if len(parts) < 5:
            raise ValueError(f"{len(parts)} parts of 5; was it written with crf_learn -t?")
        settings = dict(line.split(": ", 1) for line in parts[0].split("\n") if line)
        labels = parts[1].split("\n")
        check_labels(labels, len(content))
        w = np.array(
            parts[4].split(), dtype=np.float64
        )  # crf_test takes its own cost-factor, not the header's
        if len(w) != int(settings["maxid"]) or not np.isfinite(w).all():
            raise ValueError(f"{len(w)} finite weights where maxid says {settings['maxid']}")
        return model_file(_crfpp_model(labels, parts[2], parts[3].split("\n"), w))
    except (ValueError, KeyError, InputError) as error:
        raise ModelFileError(f"corrupt CRF++ text model ({error})", path=path) from error


def read_wapiti(content: bytes, path: str | PathLike[str] | None = None) -> ModelFile:
    """Convert the content of a Wapiti model to a model file."""
    try:
        return model_file(_wapiti_model(_Sections(content)))
    except (ValueError, IndexError, OverflowError, InputError) as error:
        raise ModelFileError(f"corrupt Wapiti model, or one of another kind ({error})", path=path) from error


def _crfpp_model(labels: list[str], text: str, lines: list[str], w: Floats) -> ChainModel:
    """Build the chain model of a CRF++ file from its parts."""
    L, template = len(labels), Template.parse(text + "\n")
    bare = {line.strip() for line in text.split("\n") if line.startswith("B") and "%x[" not in line}
    names: list[str] = []
    blocks: list[Block] = []
    for line in lines:
        number, _, name = line.partition(" ")
        first, is_pair = int(number), name.startswith("B")
        if name[:1] not in ("U", "B") or first < 0 or first + (L * L if is_pair else L) > len(w):
            raise ValueError(f"feature {line!r} is not a feature, or has no weights")
        blocks.append((-1 if name in bare else len(names), first, is_pair))
        if name not in bare:
            names.append(name)
    numbers = np.flatnonzero(w)
    return _chain_model(labels, template, names, blocks, numbers, w[numbers])


class _Sections:
    """Reads the sections of a Wapiti file in order."""

    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0

    def line(self, begins: bytes) -> list[bytes]:
        """Return the fields of a head line, after the name with which it begins."""
        end = self.content.find(b"\n", self.at)
        text = self.content[self.at : end if end >= 0 else len(self.content)]
        if not text.startswith(begins):
            raise ValueError(f"expected {begins.decode()} at byte {self.at}")
        self.at += len(text) + 1
        return re.split(rb"[#/]", text[len(begins) :])

    def strings(self, begins: bytes) -> list[str]:
        """Read a head line with a number, and as many strings, each after its length."""
        n, found = int(self.line(begins)[0]), list[str]()
        if not 0 <= n <= (len(self.content) - self.at) // len(b"0:,\n"):
            raise ValueError(f"{n:,} strings in {len(self.content) - self.at:,} bytes")
        for _ in range(n):
            length = _LENGTH.match(self.content, self.at)
            if length is None:
                raise ValueError(f"expected the length of a string at byte {self.at}")
            end = length.end() + int(length[1])
            if self.content[end : end + 2] != b",\n":
                raise ValueError(f"a string does not end at byte {end}")
            found.append(self.content[length.end() : end].decode())
            self.at = end + 2
        return found

    def weights(self, n: int) -> tuple[Offsets, Floats]:
        """Return the numbers of non-zero weights, in rising order, and the weights."""
        numbers, values = array("q"), array("d")
        while self.at < len(self.content):
            found = _WEIGHT.match(self.content, self.at)
            if found is None:
                raise ValueError(f"expected number=weight at byte {self.at}")
            text = found[2].decode()
            numbers.append(int(found[1]))
            values.append(float.fromhex(text) if "x" in text.lower() else float(text))
            self.at = found.end()
        if len(numbers) != n:
            raise ValueError(f"{len(numbers)} weights where the first line says {n}")
        distinct, first = np.unique(np.array(numbers), return_index=True)
        if len(distinct) < n:
            raise ValueError("one weight is given twice")
        if not np.isfinite(values).all():
            raise ValueError("a weight is not finite")
        return distinct, np.array(values)[first]


def _wapiti_model(parts: _Sections) -> ChainModel:
    """Build the chain model of a Wapiti file."""
    *kind, n_weights = parts.line(b"#mdl#")
    if kind and TYPES.get(kind[0]) not in ("crf", "maxent"):
        raise ValueError(f"a model of type {TYPES.get(kind[0], kind[0].decode())}; crf and maxent are read")
    patterns, labels = parts.strings(b"#rdr#"), parts.strings(b"#qrk#")
    if not patterns or not labels:
        raise ValueError("it has no patterns or no labels")
    check_labels(labels, len(parts.content))
    observations = parts.strings(b"#qrk#")
    if kind and TYPES[kind[0]] == "maxent" and any(pattern[:1].lower() != "u" for pattern in patterns):
        raise ValueError("a maxent model with patterns of label pairs")
    template = Template.parse("".join(line + "\n" for pattern in patterns for line in _lines(pattern)))
    return _wapiti_chain(labels, template, observations, parts, int(n_weights))


def _lines(pattern: str) -> list[str]:
    """Convert a pattern to template lines."""
    kinds = KINDS.get(pattern[:1].lower())
    if kinds is None:
        raise ValueError(f"pattern {pattern!r} begins with none of u, b and *")

    def cell(found: re.Match[str]) -> str:
        place = re.fullmatch(r"\s*([+-]?\d{1,4}),\s*(\d{1,4})", found[2])
        if found[1] not in "xX" or place is None:
            raise ValueError(f"pattern {pattern!r}: only %x and %X with a row and a column can be converted")
        if abs(int(place[1])) > FURTHEST:
            raise ValueError(f"pattern {pattern!r} looks further than {FURTHEST} tokens")
        return f"%x[{int(place[1])},{int(place[2])}{'|lower' * (found[1] == 'X')}]"

    rest = _COMMAND.sub(cell, pattern[1:])
    return [kind + rest for kind in kinds]


def _wapiti_chain(
    labels: list[str], template: Template, observations: list[str], parts: _Sections, n: int
) -> ChainModel:
    """Build the model from weights by observation: of labels first, then of label pairs."""
    L, at = len(labels), 0
    names: list[str] = []
    blocks: list[Block] = []
    for observation in observations:
        rest = _OUTSIDE.sub(r"_B\1", observation[1:])
        for kind in KINDS.get(observation[:1].lower(), ""):
            is_bare = kind == "B" and not rest
            blocks.append((-1 if is_bare else len(names), at, kind == "B"))
            if not is_bare:
                names.append(kind + rest)
            at += L if kind == "U" else L * L
    return _chain_model(labels, template, names, blocks, *parts.weights(n))


def _chain_model(
    labels: list[str],
    template: Template,
    names: list[str],
    blocks: list[Block],
    numbers: Offsets,
    values: Floats,
) -> ChainModel:
    """Build a model from attribute names, blocks of weights, and weights by rising number."""
    if len(set(names)) < len(names):
        raise ValueError("it has one feature twice")
    if not template.has_transitions and any(is_pair for _, _, is_pair in blocks):
        raise ValueError("features of label pairs, which its template does not ask for")
    weights = _weights_of_blocks(len(labels), blocks, numbers, values)
    table = AttributeTable(fingerprints(names), names)
    return ChainModel.of_weights(labels, template, table, weights, template.has_transitions)


def _weights_of_blocks(L: int, blocks: list[Block], numbers: Offsets, values: Floats) -> ChainWeights:
    """Sort weights into blocks; these may not overlap, so they are linear in the file size."""
    owners, starts, is_pair = np.array(sorted(blocks, key=lambda one: one[1]), np.int64).reshape(-1, 3).T
    ends = starts + np.where(is_pair, L * L, L)
    if (ends[:-1] > starts[1:]).any():
        raise ValueError("two features share weights")
    block = np.searchsorted(starts, numbers, side="right") - 1
    if (block < 0).any() or (numbers >= ends[block]).any():
        raise ValueError("a weight that belongs to no feature")
    before, after = np.divmod((numbers - starts[block]).astype(np.int32), np.int32(L))
    owner, state = owners[block].astype(np.int32), is_pair[block] == 0
    bare, edge = owner < 0, ~state & (owner >= 0)
    transitions = np.zeros((L, L))
    np.add.at(transitions, (before[bare], after[bare]), values[bare])
    parts = (owner[state], after[state], values[state], transitions)
    return ChainWeights(*parts, owner[edge], before[edge], after[edge], values[edge])
