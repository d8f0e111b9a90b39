"""Best labellings and probabilities of semi-Markov models; the equations are in ``_core/segment_inline.h``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from epigram._core.native import family
from epigram.errors import InputError
from epigram.protocols import Floats, Ints
from epigram.tagging.corpus import Sequences

if TYPE_CHECKING:
    from epigram.tagging.model import ChainModel

core = family("segment")
Mask = npt.NDArray[np.uint8]


class NoLabelling(InputError):
    """No labelling of a sentence is permitted: what the caller allows and what the model allows exclude each other."""


def best_segments(model: ChainModel, sequences: Sequences, mask: Mask) -> Ints:
    """Best label id of every token."""
    return best_of_lists(segment_lists(model, sequences, 1, mask), sequences)


def best_of_lists(found: list[list[tuple[Ints, float]]], sequences: Sequences) -> Ints:
    """The first labelling of each sentence, one after another."""
    for s, (labellings, length) in enumerate(zip(found, sequences.word_lengths, strict=True)):
        if length and not labellings:
            raise NoLabelling(
                f"sentence {s} has no labelling that keeps to the constraints of the model and to allowed; allow more"
            )
    return np.concatenate([np.empty(0, dtype=np.int32), *(one[0][0] for one in found if one)])


def segment_lists(
    model: ChainModel, sequences: Sequences, k: int, mask: Mask
) -> list[list[tuple[Ints, float]]]:
    """For each sentence the k best labellings with their scores, best first; none for a sentence without tokens."""
    L, longest = len(model.labels), int(sequences.word_lengths.max(initial=0))
    chains, layout, scratch = (
        model.layout.chains(sequences),
        model.layout.struct(),
        model.layout.scratch(sequences),
    )
    n_lists = (longest + 1) * L * k
    scores, origins = np.empty((2, n_lists)), np.zeros((2, n_lists), dtype=np.int64)
    labels, values = np.empty((k, longest), dtype=np.int32), np.empty(k)
    result = []
    for s, length in enumerate(sequences.word_lengths.tolist()):
        n = core.k_best(
            chains, layout, s, len(model.w), model.w, len(mask), mask, scratch, k, longest, L,
            n_lists, *scores, *origins, labels, values,
        )  # fmt: skip
        result.append([(labels[r, :length].copy(), float(values[r])) for r in range(n)])
    return result


def segment_marginals(model: ChainModel, sequences: Sequences, mask: Mask) -> tuple[Floats, Floats]:
    """p(label) of every token, and log Z of every sentence."""
    n, L = sequences.n_tokens, len(model.labels)
    nodes, log_z = np.zeros((n, L)), np.zeros(sequences.n_sentences)
    core.marginals(
        model.layout.chains(sequences), model.layout.struct(), len(log_z), np.arange(len(log_z), dtype=np.int32),
        len(model.w), model.w, len(mask), mask, model.layout.scratch(sequences), n, L, nodes, len(log_z), log_z,
    )  # fmt: skip
    return nodes[sequences.word_rows], log_z
