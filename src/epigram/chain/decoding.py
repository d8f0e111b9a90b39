"""Viterbi, marginals and k-best labellings of first-order, second-order and segment chains."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram._core import bindings
from epigram.chain.layout import WeightLayout, check_room
from epigram.chain.loss import run_each
from epigram.errors import InputError
from epigram.features.sequences import Sequences
from epigram.protocols import Floats, Ints

Mask = npt.NDArray[np.uint8]
Scored = list[list[tuple[Ints, float]]]
"""For each sentence its labellings with a number each, best first."""


class NoLabelling(InputError):
    """The constraints of the model and of the caller exclude every labelling of a sentence."""


def no_labelling(sentence: int) -> NoLabelling:
    """Make the error of a sentence without a permitted labelling."""
    rule = "that keeps to the constraints of the model and to allowed"
    return NoLabelling(f"sentence {sentence} has no labelling {rule}; allow more")


def best_labels(layout: WeightLayout, w: Floats, sequences: Sequences, mask: Mask, threads: int) -> Ints:
    """Return the label id of every token in the best labelling, without checking constraints."""
    if layout.types is not None:
        found = k_best(layout, w, sequences, mask, 1)
        for s, (labellings, length) in enumerate(zip(found, sequences.word_lengths, strict=True)):
            if length and not labellings:
                raise no_labelling(s)
        return np.concatenate([np.empty(0, dtype=np.int32), *(one[0][0] for one in found if one)])
    chains, struct = layout.chains(sequences), layout.struct()
    out = np.empty(sequences.n_tokens, dtype=np.int32)
    viterbi = bindings.second_order_viterbi if len(layout.triples) else bindings.decoding_viterbi

    def run(shard: Ints) -> None:
        viterbi(chains, struct, shard, w, mask, layout.scratch(sequences), out)

    run_each(run, sequences.shards(threads))
    return out


def marginals(
    layout: WeightLayout, w: Floats, sequences: Sequences, mask: Mask, with_edges: bool
) -> tuple[Floats, Floats, Floats]:
    """Return p(label) of every token, p(label pair) if asked for, and log Z of every sentence."""
    n, L = sequences.n_tokens, layout.n_labels
    if with_edges:
        what = f"the probabilities of pairs of {L:,} labels at {n:,} tokens"
        check_room(8 * n * L * L, what, "ask for fewer sentences at a time, or for those of single labels")
    nodes, log_z = np.zeros((n, L)), np.zeros(sequences.n_sentences)
    edges = np.zeros((n, L, L) if with_edges else (0, 0, 0))
    everyone = np.arange(len(log_z), dtype=np.int32)
    common = (layout.chains(sequences), layout.struct(), everyone, w, mask, layout.scratch(sequences), n, L)
    if layout.types is not None:
        bindings.segment_marginals(*common, nodes, log_z)
        nodes = nodes[sequences.word_rows]
    elif len(layout.triples):
        bindings.second_order_marginals(*common, nodes, edges, log_z)
    else:
        bindings.decoding_marginals(*common, nodes, edges, log_z)
    if not np.isfinite(log_z).all():
        s = int(np.flatnonzero(~np.isfinite(log_z))[0])
        raise InputError(
            f"sentence {s} has no probabilities: weights of this model or values of its features are too large. "
            "Train the model with a penalty, or scale the values"
        )
    return nodes, edges, log_z


def k_best(layout: WeightLayout, w: Floats, sequences: Sequences, mask: Mask, k: int) -> Scored:
    """Return the k best labellings of each sentence with their scores; none if it has no tokens."""
    longest, labels = int(sequences.word_lengths.max(initial=1)), layout.n_labels
    kernel, memory, values = _k_best_kernel(layout, longest, k)
    paths = np.empty((k, longest), dtype=np.int32)
    chains, struct, scratch = layout.chains(sequences), layout.struct(), layout.scratch(sequences)
    result: Scored = []
    for s, length in enumerate(sequences.word_lengths.tolist()):
        found = length and kernel(
            chains, struct, s, w, mask, scratch, longest, labels, *memory, paths, values
        )
        result.append([(paths[r, :length].copy(), float(values[r])) for r in range(found)])
    return result


def _k_best_kernel(
    layout: WeightLayout, longest: int, k: int
) -> tuple[Callable[..., int], list[Any], Floats]:
    """Return the k-best function of a kind of model, its working memory and its score array."""
    L = layout.n_labels
    if layout.types is not None:
        n = (longest + 1) * L * k
        return bindings.segment_k_best, [*np.empty((2, n)), *np.zeros((2, n), dtype=np.int64)], np.empty(k)
    if len(layout.triples):
        n = L * L * k
        back, places = (np.zeros(size, dtype=np.int64) for size in (longest * n, 2 * L * k + L + k))
        return bindings.second_order_k_best, [np.empty(2 * n), np.empty(L * k), back, places], np.empty(k)
    n = longest * L * k
    ends = np.zeros(k, dtype=np.int64)
    return bindings.decoding_k_best, [np.empty(n), np.zeros(n, dtype=np.int64), ends], np.empty(3 * k)
