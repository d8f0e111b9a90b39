"""Beam search of the history-based tagger, and the attributes of the tags on the left. Ratnaparkhi 1996.

Needs the stored model only, so that tagging loads no scikit-learn.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from laconic.protocols import Floats, Ints
from laconic.tagging.attributes import fingerprints
from laconic.tagging.loss import direct_chains, scratch
from laconic.tagging.model import Allowed, ChainModel
from laconic.tagging.sequences import Sequences

START = "(start)"
MOST_LABELS = 128  # with more, a table of two tags on the left would outgrow the rest of the model


def decode_history(
    model: ChainModel, sequences: Sequences, beam: int = 5, allowed: Allowed | None = None
) -> Ints:
    """Label ids by beam search, the weights of tags on the left taken from the model's own attributes."""
    from laconic.tagging.decoding_kernels import beam_search

    L, n = len(model.labels), int(sequences.lengths.max(initial=1))
    before, two_before = _tag_weights(model)
    out = np.empty(sequences.n_tokens, dtype=np.int32)
    beam_search(
        direct_chains(sequences, model.layout),
        model.layout.arrays,
        np.arange(sequences.n_sentences, dtype=np.int32),
        model.w,
        before,
        two_before,
        model.mask(sequences, allowed),
        scratch(sequences, model.layout),
        np.full((L + 1) ** 2, -1, dtype=np.int64),
        np.empty((n + 1, beam), dtype=np.int64),
        np.empty((n + 1, beam)),
        np.empty((n + 1, beam), dtype=np.int64),
        out,
    )
    return out


def tag_names(labels: Sequence[str]) -> tuple[list[str], list[str]]:
    """Attributes of one tag on the left, and of two (none where there are too many labels)."""
    tags = [*labels, START]
    one = [f"tag[-1]={tag}" for tag in tags]
    if len(labels) > MOST_LABELS:
        return one, []
    return one, [f"tag[-2,-1]={first} {second}" for first in tags for second in tags]


def _tag_weights(model: ChainModel) -> tuple[Floats, Floats]:
    """before[i, j] and two_before[h, i, j] of the beam search."""
    L = len(model.labels)
    one, two = tag_names(model.labels)
    attributes, labels, values = model.layout.states(model.w)
    square = np.zeros((len(model.table) + 1, L))  # the last row is that of attributes without weight
    square[attributes, labels] = values
    tables = [square[model.table.look_up(fingerprints(names))] for names in (one, two) if names]
    before = tables[0]
    two_before = tables[1].reshape(L + 1, L + 1, L) if two else np.zeros((0, 0, 0))
    return before, two_before
