"""CRF++'s text models (``crf_learn -t``) as models of ours, template included.

The file has five parts with blank lines between: settings, labels, the template, ``number feature`` a line, and the
weights. A ``U`` feature has a weight for each label from its number on, a ``B`` feature one for each pair of labels.
"""

from __future__ import annotations

from os import PathLike

import numpy as np

from epigram.errors import InputError, ModelFileError
from epigram.storage import ModelFile
from epigram.tagging.attributes import AttributeTable, fingerprints
from epigram.tagging.crf import CRFTagger
from epigram.tagging.layout import ChainWeights
from epigram.tagging.model import ChainModel
from epigram.tagging.storage import to_model_file
from epigram.tagging.template import Template


def read_model(content: bytes, path: str | PathLike[str] | None = None) -> ModelFile:
    """The content of a text model as a model file of ours; anything wrong is one sentence."""
    try:
        parts = content.decode().replace("\r\n", "\n").split("\n\n", 4)
        if len(parts) < 5:
            raise ValueError(f"{len(parts)} parts of 5; was it written with crf_learn -t?")
        settings = dict(line.split(": ", 1) for line in parts[0].split("\n") if line)
        w = np.array(
            parts[4].split(), dtype=np.float64
        )  # the header's cost-factor: crf_test takes its own, 1
        if len(w) != int(settings["maxid"]) or not np.isfinite(w).all():
            raise ValueError(f"{len(w)} finite weights where maxid says {settings['maxid']}")
        model = _model(parts[1].split("\n"), parts[2], parts[3].split("\n"), w)
    except (ValueError, KeyError, InputError) as error:
        raise ModelFileError(f"damaged CRF++ text model ({error})", path=path) from error
    tagger = CRFTagger(model.template)
    tagger.model_ = model
    return to_model_file(tagger)


def _model(labels: list[str], text: str, lines: list[str], w: np.ndarray) -> ChainModel:
    """The chain model of these parts."""
    L, template = len(labels), Template.parse(text + "\n")
    bare = {line.strip() for line in text.split("\n") if line.startswith("B") and "%x[" not in line}
    names: list[str] = []
    transitions = np.zeros((L, L))
    states: list[tuple[int, int]] = []  # attribute, and where its weights begin
    edges: list[tuple[int, int]] = []
    for line in lines:
        number, _, name = line.partition(" ")
        first, n = int(number), L if name.startswith("U") else L * L
        if name[:1] not in ("U", "B") or first < 0 or first + n > len(w):
            raise ValueError(f"feature {line!r} is none, or has no weights")
        if name in bare:
            transitions += w[first : first + n].reshape(L, L)
            continue
        (states if n == L and name[0] == "U" else edges).append((len(names), first))
        names.append(name)
    weights = dense_weights(L, w, transitions, states, edges)
    return ChainModel.of_weights(labels, template, AttributeTable(fingerprints(names), names), weights)


def dense_weights(
    L: int,
    w: np.ndarray,
    transitions: np.ndarray,
    states: list[tuple[int, int]],
    edges: list[tuple[int, int]],
) -> ChainWeights:
    """Those that are not zero; ``states`` and ``edges`` are (attribute, where its L or L * L weights begin)."""
    state_ids, state_at = _pairs(states)
    edge_ids, edge_at = _pairs(edges)
    by_label = w[state_at[:, None] + np.arange(L)]
    by_pair = w[edge_at[:, None] + np.arange(L * L)].reshape(-1, L, L)
    rows, columns = np.nonzero(by_label)
    owners, before, after = np.nonzero(by_pair)
    return ChainWeights(
        state_ids[rows].astype(np.int32),
        columns.astype(np.int32),
        by_label[rows, columns],
        transitions,
        edge_ids[owners].astype(np.int32),
        before.astype(np.int32),
        after.astype(np.int32),
        by_pair[owners, before, after],
    )


def _pairs(found: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Two columns of numbers."""
    table = np.array(found, dtype=np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]
