"""Best labellings and probabilities of chains of second order; the equations are in ``_core/second_order_inline.h``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from epigram._core.native import family
from epigram.protocols import Floats, Ints
from epigram.tagging.corpus import Sequences

if TYPE_CHECKING:
    from epigram.tagging.model import ChainModel

core = family("second_order")
Mask = npt.NDArray[np.uint8]


def labelling_lists(
    model: ChainModel, sequences: Sequences, k: int, mask: Mask
) -> list[list[tuple[Ints, float]]]:
    """For each sentence the k best labellings with their scores, best first; none for a sentence without tokens."""
    L, longest = len(model.labels), int(sequences.lengths.max(initial=0))
    chains, layout = model.layout.chains(sequences), model.layout.struct()
    scratch = model.layout.scratch(sequences)
    n_lists = L * L * k
    score, back = np.empty(2 * n_lists), np.zeros(longest * n_lists, dtype=np.int64)
    path_scores, places = np.empty(L * k), np.zeros(2 * L * k + L + k, dtype=np.int64)
    labels, values = np.empty((k, longest), dtype=np.int32), np.empty(k)
    result = []
    for s, length in enumerate(sequences.lengths.tolist()):
        n = core.k_best(
            chains, layout, s, len(model.w), model.w, len(mask), mask, scratch, k, longest, L, n_lists, score,
            path_scores, back, places, labels, values,
        )  # fmt: skip
        result.append([(labels[r, :length].copy(), float(values[r])) for r in range(n)])
    return result


def pair_marginals(
    model: ChainModel, sequences: Sequences, mask: Mask, with_edges: bool
) -> tuple[Floats, Floats, Floats]:
    """p(label) of every token, p(label pair) into every token if asked for, and log Z of every sentence."""
    n, L = sequences.n_tokens, len(model.labels)
    nodes, log_z = np.empty((n, L)), np.zeros(sequences.n_sentences)
    edges = np.zeros((n, L, L) if with_edges else (0, 0, 0))
    core.marginals(
        model.layout.chains(sequences), model.layout.struct(), len(log_z), np.arange(len(log_z), dtype=np.int32),
        len(model.w), model.w, len(mask), mask, model.layout.scratch(sequences), n, L, nodes, edges.size, edges,
        len(log_z), log_z,
    )  # fmt: skip
    return nodes, edges, log_z
