"""Beam search of the history-based tagger, and the attributes of the tags on the left. Ratnaparkhi 1996.

Needs the stored model only, so that tagging loads no scikit-learn.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from epigram._core.native import family
from epigram.protocols import Floats, Ints
from epigram.tagging.attributes import fingerprints
from epigram.tagging.corpus import Sequences
from epigram.tagging.loss import run_each
from epigram.tagging.model import Allowed, ChainModel

core = family("decoding")
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
    if beam < 1:
        raise ValueError(f"beam must be at least 1, not {beam!r}.")
    L, n = len(model.labels), int(sequences.lengths.max(initial=1))
    before, two_before = _tag_weights(model)
    chains, layout = model.layout.chains(sequences), model.layout.struct()
    mask = model.mask(sequences, allowed)
    out = np.empty(sequences.n_tokens, dtype=np.int32)

    def run(shard: Ints) -> None:
        # where scores are not numbers, nothing is written to pairs and back: be valid
        pairs, back = np.zeros((2, n + 1, beam), dtype=np.int64)
        memory = core.Beam(
            n_rows=n + 1,
            size=beam,
            n_labels=L,
            pairs=pairs,
            score=np.empty((n + 1, beam)),
            back=back,
            known=np.full((L + 1) ** 2, -1, dtype=np.int64),
            terms=np.empty(L),
            candidates=np.empty(beam * L, dtype=np.int64),
            values=np.empty(beam * L),
            origins=np.empty(beam * L, dtype=np.int64),
        )
        core.beam_search(
            chains,
            layout,
            len(shard),
            shard,
            len(model.w),
            model.w,
            len(mask),
            mask,
            model.layout.scratch(sequences),
            L,
            before,
            two_before.size,
            two_before,
            memory,
            len(out),
            out,
        )

    run_each(run, sequences.shards(threads))
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
    weights = model.weights
    ids = model.table.look_up(fingerprints(one + two))
    row = np.full(len(model.table) + 1, -1)
    row[ids] = np.arange(len(ids))
    row[-1] = -1  # names the model does not have were looked up as -1
    rows = row[weights.attributes]
    table = np.zeros((len(ids), L))
    table[rows[rows >= 0], weights.labels[rows >= 0]] = weights.values[rows >= 0]
    two_before = table[L + 1 :].reshape(L + 1, L + 1, L) if two else np.zeros((0, 0, 0))
    return table[: L + 1], two_before
