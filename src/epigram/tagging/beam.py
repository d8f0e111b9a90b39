"""Beam search of the history-based tagger, and the attributes of the tags on the left. Ratnaparkhi 1996.

Needs the stored model only, so that tagging loads no scikit-learn.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from epigram.protocols import Floats, Ints
from epigram.tagging.attributes import fingerprints
from epigram.tagging.loss import _shards as shards
from epigram.tagging.loss import direct_chains, scratch
from epigram.tagging.model import Allowed, ChainModel, run_each
from epigram.tagging.sequences import Sequences

START = "(start)"
MOST_LABELS = 128  # with more, a table of two tags on the left would outgrow the rest of the model


def decode_history(
    model: ChainModel,
    sequences: Sequences,
    beam: int = 5,
    allowed: Allowed | None = None,
    threads: int = 1,
) -> Ints:
    """Label ids by beam search, the weights of tags on the left taken from the model's own attributes."""
    from epigram.tagging.decoding_kernels import beam_search

    if beam < 1:
        raise ValueError(f"beam must be at least 1, not {beam!r}.")
    L, n = len(model.labels), int(sequences.lengths.max(initial=1))
    before, two_before = _tag_weights(model)
    chains, mask = direct_chains(sequences, model.layout), model.mask(sequences, allowed)
    out = np.empty(sequences.n_tokens, dtype=np.int32)

    def run(shard: Ints) -> None:
        beam_search(
            chains,
            model.layout.arrays,
            shard,
            model.w,
            before,
            two_before,
            mask,
            scratch(sequences, model.layout),
            np.full((L + 1) ** 2, -1, dtype=np.int64),
            np.zeros(
                (n + 1, beam), dtype=np.int64
            ),  # where scores are not numbers, nothing is written: be valid
            np.empty((n + 1, beam)),
            np.zeros((n + 1, beam), dtype=np.int64),
            out,
        )

    run_each(run, shards(sequences, threads))
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
    ids = model.table.look_up(fingerprints(one + two))
    row = np.full(len(model.table) + 1, -1)
    row[ids] = np.arange(len(ids))
    row[-1] = -1  # names the model does not have were looked up as -1
    mine = row[attributes] >= 0
    table = np.zeros((len(ids), L))
    table[row[attributes[mine]], labels[mine]] = values[mine]
    two_before = table[L + 1 :].reshape(L + 1, L + 1, L) if two else np.zeros((0, 0, 0))
    return table[: L + 1], two_before
