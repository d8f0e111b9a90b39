"""CRF++'s text models (``crf_learn -t``) as models of ours, template included.

The file has five parts with blank lines between: settings, labels, the template, ``number feature`` a line, and the
weights. A ``U`` feature has a weight for each label from its number on, a ``B`` feature one for each pair of labels.
"""

from __future__ import annotations

from os import PathLike

import numpy as np

from epigram.chain.layout import ChainWeights
from epigram.chain.model import ChainModel
from epigram.chain.storage import check_labels, to_model_file
from epigram.errors import InputError, ModelFileError
from epigram.features.attributes import AttributeTable, fingerprints
from epigram.features.template import Template
from epigram.protocols import Floats, Offsets
from epigram.storage import ModelFile
from epigram.tagging.crf import CRFTagger

Block = tuple[int, int, bool]
"""Number of an attribute (-1: plain transitions), its first weight, and whether it has L * L of them or L."""


def read_model(content: bytes, path: str | PathLike[str] | None = None) -> ModelFile:
    """The content of a text model as a model file of ours; anything wrong is one sentence."""
    try:
        parts = content.decode().replace("\r\n", "\n").split("\n\n", 4)
        if len(parts) < 5:
            raise ValueError(f"{len(parts)} parts of 5; was it written with crf_learn -t?")
        settings = dict(line.split(": ", 1) for line in parts[0].split("\n") if line)
        labels = parts[1].split("\n")
        check_labels(labels, len(content))
        w = np.array(
            parts[4].split(), dtype=np.float64
        )  # the header's cost-factor: crf_test takes its own, 1
        if len(w) != int(settings["maxid"]) or not np.isfinite(w).all():
            raise ValueError(f"{len(w)} finite weights where maxid says {settings['maxid']}")
        model = _model(labels, parts[2], parts[3].split("\n"), w)
    except (ValueError, KeyError, InputError) as error:
        raise ModelFileError(f"damaged CRF++ text model ({error})", path=path) from error
    tagger = CRFTagger(model.template)
    tagger.model_ = model
    return to_model_file(tagger)


def _model(labels: list[str], text: str, lines: list[str], w: Floats) -> ChainModel:
    """The chain model of these parts."""
    L, template = len(labels), Template.parse(text + "\n")
    bare = {line.strip() for line in text.split("\n") if line.startswith("B") and "%x[" not in line}
    names: list[str] = []
    blocks: list[Block] = []
    for line in lines:
        number, _, name = line.partition(" ")
        first, is_pair = int(number), name.startswith("B")
        if name[:1] not in ("U", "B") or first < 0 or first + (L * L if is_pair else L) > len(w):
            raise ValueError(f"feature {line!r} is none, or has no weights")
        blocks.append((-1 if name in bare else len(names), first, is_pair))
        if name not in bare:
            names.append(name)
    numbers = np.flatnonzero(w)
    return chain_model(labels, template, names, blocks, numbers, w[numbers])


def chain_model(
    labels: list[str],
    template: Template,
    names: list[str],
    blocks: list[Block],
    numbers: Offsets,
    values: Floats,
) -> ChainModel:
    """A model of attributes with these names; its weights are given by their numbers, which rise."""
    if len(set(names)) < len(names):
        raise ValueError("one feature is there twice")
    if not template.has_transitions and any(is_pair for _, _, is_pair in blocks):
        raise ValueError("features of label pairs, which its template does not ask for")
    weights = _weights_of_blocks(len(labels), blocks, numbers, values)
    table = AttributeTable(fingerprints(names), names)
    return ChainModel.of_weights(labels, template, table, weights, template.has_transitions)


def _weights_of_blocks(L: int, blocks: list[Block], numbers: Offsets, values: Floats) -> ChainWeights:
    """Weights by the blocks that they are in. Blocks share no weights, so that they are linear in the file."""
    owners, starts, is_pair = np.array(sorted(blocks, key=lambda one: one[1]), np.int64).reshape(-1, 3).T
    ends = starts + np.where(is_pair, L * L, L)
    if (ends[:-1] > starts[1:]).any():
        raise ValueError("two features have the same weights")
    block = np.searchsorted(starts, numbers, side="right") - 1
    if (block < 0).any() or (numbers >= ends[block]).any():
        raise ValueError("a weight that no feature has")
    before, after = np.divmod((numbers - starts[block]).astype(np.int32), np.int32(L))
    owner, state = owners[block].astype(np.int32), is_pair[block] == 0
    bare, edge = owner < 0, ~state & (owner >= 0)
    transitions = np.zeros((L, L))
    np.add.at(transitions, (before[bare], after[bare]), values[bare])
    parts = (owner[state], after[state], values[state], transitions)
    return ChainWeights(*parts, owner[edge], before[edge], after[edge], values[edge])
