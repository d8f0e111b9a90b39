"""Wapiti's models (``wapiti train``, which writes them as text) as models of ours, patterns included.

The file has a line ``#mdl#type#weights``, then ``#rdr#patterns/columns/...`` and the patterns, ``#qrk#n`` and the
labels, ``#qrk#n`` and the observations (strings as ``length:bytes,``), and ``number=weight`` a line, hexadecimal or
decimal. In the order of the observations, one that begins with ``u`` has a weight for each label, ``b`` one for each
pair of labels, ``*`` both. A pattern is a line of CRF++'s templates but for its first letter, ``%X`` (small letters),
and ``_x-1`` for what is outside.
"""

from __future__ import annotations

import re
from array import array
from os import PathLike

import numpy as np

from epigram.chain.model import ChainModel
from epigram.chain.storage import check_labels, to_model_file
from epigram.compat.crfpp import Block, chain_model
from epigram.errors import InputError, ModelFileError
from epigram.features.template import Template
from epigram.protocols import Floats, Offsets
from epigram.storage import ModelFile
from epigram.tagging.crf import CRFTagger

TYPES = {b"0": "maxent", b"1": "memm", b"2": "crf"}
KINDS = {"u": "U", "b": "B", "*": "UB"}
FURTHEST = 4
"""Wapiti gives all places further outside than this the same name."""
_LENGTH = re.compile(rb"(\d{1,10}):")
_WEIGHT = re.compile(rb"(\d{1,18})=(\S{1,60})(?:\s+|\Z)")
_COMMAND = re.compile(r"%(.)\[([^\]]*)\]")
_OUTSIDE = re.compile(r"_x([+-][1-4])")


def read_model(content: bytes, path: str | PathLike[str] | None = None) -> ModelFile:
    """The content of a Wapiti model as a model file of ours; anything wrong is one sentence."""
    try:
        tagger = CRFTagger()
        tagger.model_ = _model(_Parts(content))
        tagger.template = tagger.model_.template
    except (ValueError, IndexError, OverflowError, InputError) as error:
        raise ModelFileError(f"damaged Wapiti model, or one of another kind ({error})", path=path) from error
    return to_model_file(tagger)


class _Parts:
    """Goes through the file from its beginning."""

    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0

    def line(self, begins: bytes) -> list[bytes]:
        """The fields of a head line, after the name it begins with."""
        end = self.content.find(b"\n", self.at)
        text = self.content[self.at : end if end >= 0 else len(self.content)]
        if not text.startswith(begins):
            raise ValueError(f"expected {begins.decode()} at byte {self.at}")
        self.at += len(text) + 1
        return re.split(rb"[#/]", text[len(begins) :])

    def strings(self, begins: bytes) -> list[str]:
        """A head line with a number, and so many strings, each with its length before it."""
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
        """Numbers of weights, rising, and the weights; all others are zero."""
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


def _model(parts: _Parts) -> ChainModel:
    """The chain model of a file."""
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
    return _chain(labels, template, observations, parts, int(n_weights))


def _lines(pattern: str) -> list[str]:
    """The lines of our template that a pattern is."""
    kinds = KINDS.get(pattern[:1].lower())
    if kinds is None:
        raise ValueError(f"pattern {pattern!r} begins with none of u, b and *")

    def cell(found: re.Match[str]) -> str:
        place = re.fullmatch(r"\s*([+-]?\d{1,4}),\s*(\d{1,4})", found[2])
        if found[1] not in "xX" or place is None:
            raise ValueError(
                f"pattern {pattern!r}: only %x and %X with a row and a column have a counterpart"
            )
        if abs(int(place[1])) > FURTHEST:
            raise ValueError(f"pattern {pattern!r} looks further than {FURTHEST} tokens")
        return f"%x[{int(place[1])},{int(place[2])}{'|lower' * (found[1] == 'X')}]"

    rest = _COMMAND.sub(cell, pattern[1:])
    return [kind + rest for kind in kinds]


def _chain(
    labels: list[str], template: Template, observations: list[str], parts: _Parts, n: int
) -> ChainModel:
    """Weights by observation: those of labels first, then those of pairs of labels."""
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
    return chain_model(labels, template, names, blocks, *parts.weights(n))
