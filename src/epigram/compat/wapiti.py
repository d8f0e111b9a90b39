"""Wapiti's models (``wapiti train``, which writes them as text) as models of ours, patterns included.

The file has a line ``#mdl#type#weights``, then ``#rdr#patterns/columns/...`` and the patterns, ``#qrk#n`` and the
labels, ``#qrk#n`` and the observations (strings as ``length:bytes,``), and ``number=weight`` a line, in hexadecimal. In
the order of the observations, one that begins with ``u`` has a weight for each label, ``b`` one for each pair of
labels, ``*`` both. A pattern is a line of CRF++'s templates but for its first letter, ``%X`` (small letters), and
``_x-1`` for what is outside.
"""

from __future__ import annotations

import re
from os import PathLike

import numpy as np

from epigram.compat.crfpp import dense_weights
from epigram.errors import InputError, ModelFileError
from epigram.storage import ModelFile
from epigram.tagging.attributes import AttributeTable, fingerprints
from epigram.tagging.crf import CRFTagger
from epigram.tagging.model import ChainModel
from epigram.tagging.storage import to_model_file
from epigram.tagging.template import Template

TYPES = {b"0": "maxent", b"1": "memm", b"2": "crf"}
KINDS = {"u": "U", "b": "B", "*": "UB"}
FURTHEST = 4
"""Wapiti gives all places further outside than this the same name."""
_COMMAND = re.compile(r"%(.)\[([^\]]*)\]")
_OUTSIDE = re.compile(r"_x([+-][1-4])")


def read_model(content: bytes, path: str | PathLike[str] | None = None) -> ModelFile:
    """The content of a Wapiti model as a model file of ours; anything wrong is one sentence."""
    try:
        tagger = CRFTagger()
        tagger.model_ = _model(_Parts(content))
        tagger.template = tagger.model_.template
    except (ValueError, IndexError, InputError) as error:
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

    def strings(self, n: int) -> list[str]:
        """So many strings, each with its length before it."""
        found = []
        for _ in range(n):
            colon = self.content.find(b":", self.at, self.at + 12)
            if colon < 0:
                raise ValueError(f"expected the length of a string at byte {self.at}")
            end = colon + 1 + int(self.content[self.at : colon])
            if self.content[end : end + 2] != b",\n":
                raise ValueError(f"a string does not end at byte {end}")
            found.append(self.content[colon + 1 : end].decode())
            self.at = end + 2
        return found

    def weights(self, n: int, n_all: int) -> np.ndarray:
        """All weights, most of which are zero."""
        lines = self.content[self.at :].decode().split()
        if len(lines) != n:
            raise ValueError(f"{len(lines)} weights where the first line says {n}")
        w = np.zeros(n_all)
        for line in lines:
            number, _, value = line.partition("=")
            if not 0 <= int(number) < n_all:
                raise ValueError(f"weight {number} of {n_all}")
            w[int(number)] = float.fromhex(value)
        if not np.isfinite(w).all():
            raise ValueError("a weight is not finite")
        return w


def _model(parts: _Parts) -> ChainModel:
    """The chain model of a file."""
    *kind, n_weights = parts.line(b"#mdl#")
    if kind and TYPES.get(kind[0]) not in ("crf", "maxent"):
        raise ValueError(f"a model of type {TYPES.get(kind[0], kind[0].decode())}; crf and maxent are read")
    patterns = parts.strings(int(parts.line(b"#rdr#")[0]))
    labels = parts.strings(int(parts.line(b"#qrk#")[0]))
    observations = parts.strings(int(parts.line(b"#qrk#")[0]))
    if not patterns or not labels:
        raise ValueError("it has no patterns or no labels")
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
        place = re.fullmatch(r"([+-]?\d+),(\d+)", found[2])
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
    L = len(labels)
    names: list[str] = []
    states: list[tuple[int, int]] = []  # attribute, and where its weights begin
    edges: list[tuple[int, int]] = []
    bare: list[int] = []
    at = 0
    for observation in observations:
        rest = _OUTSIDE.sub(r"_B\1", observation[1:])
        for kind in KINDS.get(observation[:1].lower(), ""):
            if kind == "B" and not rest:
                bare.append(at)
            else:
                (states if kind == "U" else edges).append((len(names), at))
                names.append(kind + rest)
            at += L if kind == "U" else L * L
    if len(set(names)) < len(names):
        raise ValueError("two observations differ in the case of their first letter alone")
    w = parts.weights(n, at)
    transitions = np.zeros((L, L))
    for k in bare:
        transitions += w[k : k + L * L].reshape(L, L)
    weights = dense_weights(L, w, transitions, states, edges)
    table = AttributeTable(fingerprints(names), names)
    return ChainModel.of_weights(labels, template, table, weights, template.has_transitions)
