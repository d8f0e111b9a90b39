"""A trained chain model, ready to use: labels, attributes with weight, the weights, and nothing else.

Immutable; every call has its own working memory and the kernels release the GIL, so threads may share one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram._core.native import family
from epigram.errors import InputError
from epigram.protocols import Floats, Ints
from epigram.tagging.attributes import AttributeTable
from epigram.tagging.corpus import SeenPairs, Sequences, padded
from epigram.tagging.encoding import encode_known
from epigram.tagging.layout import ChainWeights, SegmentTypes, WeightLayout, check_room, lay_out
from epigram.tagging.loss import run_each
from epigram.tagging.second_order import labelling_lists, pair_marginals
from epigram.tagging.segment_decoding import NoLabelling, best_segments, segment_lists, segment_marginals
from epigram.tagging.template import Template

core = family("decoding")
Allowed = Sequence[Sequence[Iterable[str] | None] | None]


@dataclass(frozen=True, slots=True)
class ChainModel:
    """A trained model: labels, attributes, weights, and what labels may follow each other."""

    labels: tuple[str, ...]
    template: Template | None
    table: AttributeTable = field(repr=False)
    layout: WeightLayout = field(repr=False)
    w: Floats = field(repr=False)
    ends: npt.NDArray[np.bool_] | None = field(default=None, repr=False)
    """2 x L: labels that may stand first, and last, in a sentence; None for all."""
    squares: Floats | None = field(default=None, repr=False)
    """Sum of the squares of each weight's gradients in training, which learning on needs; None if not known."""

    @classmethod
    def compact(
        cls,
        labels: Sequence[str],
        template: Template | None,
        table: AttributeTable,
        layout: WeightLayout,
        w: Floats,
        ends: npt.NDArray[np.bool_] | None = None,
        order: npt.NDArray[np.intp] | None = None,
        squares: Floats | None = None,
    ) -> ChainModel:
        """Keep only the attributes and weights that are not zero; ``order`` puts the labels in another order."""
        weights, remembered = layout.weights(w), None if squares is None else layout.weights(w, squares)
        allowed = layout.allowed_transitions
        if order is not None:
            labels = [labels[k] for k in order.tolist()]
            weights, remembered = weights.reorder(order), remembered and remembered.reorder(order)
            allowed = allowed[np.ix_(order, order)]
            ends = None if ends is None else ends[:, order]
        used = np.zeros(len(table), dtype=bool)
        used[weights.attributes] = used[weights.edge_attributes] = True
        kept = np.flatnonzero(used)
        new_ids = np.full(len(table), -1, dtype=np.int32)
        new_ids[kept] = np.arange(len(kept), dtype=np.int32)
        small = AttributeTable(table.fingerprints[kept], table.names(kept.tolist()))
        weights, remembered = weights.renumber(new_ids), remembered and remembered.renumber(new_ids)
        longest = 0 if layout.types is None else layout.types.longest
        return cls.of_weights(
            labels, template, small, weights, layout.has_transitions, allowed, ends, remembered, longest
        )

    @classmethod
    def of_weights(
        cls,
        labels: Sequence[str],
        template: Template | None,
        table: AttributeTable,
        weights: ChainWeights,
        has_transitions: bool = True,
        allowed: npt.NDArray[np.bool_] | None = None,
        ends: npt.NDArray[np.bool_] | None = None,
        squares: ChainWeights | None = None,
        longest: int = 0,
    ) -> ChainModel:
        """A model of these weights, whose ids must be those of ``labels`` and ``table``.

        ``squares`` has the same ids as ``weights``; ``longest`` is the most tokens of a segment, 0 for a chain. Every
        attribute of the table may occur in text, as a feature of a token or of a transition, whatever weights it has.
        """
        seen = SeenPairs.of_weights(len(labels), len(table), weights)
        layout = lay_out(
            seen, "seen", has_transitions, allowed, order=2 if len(weights.triples) else 1
        ).total()
        if longest:
            layout = replace(layout, types=SegmentTypes.of(labels, longest))
        learnt = None if squares is None else layout.pack(squares)
        return cls(tuple(labels), template, table, layout, layout.pack(weights), ends, learnt)

    @property
    def weights(self) -> ChainWeights:
        """The weights that are not zero, by what they belong to."""
        return self.layout.weights(self.w)

    def encode(self, X: Any) -> Sequences:
        """Sentences as :class:`Sequences`: columns where the model has a template, features where not."""
        types = self.layout.types
        return encode_known(X, self.template, self.table, 0 if types is None else types.longest)

    def decode(self, sequences: Sequences, allowed: Allowed | None = None, threads: int = 1) -> Ints:
        """Best label id of every token."""
        mask = self.mask(sequences, allowed)
        if self.layout.types is not None:
            return best_segments(self, sequences, mask)
        chains, layout = self.layout.chains(sequences), self.layout.struct()
        out = np.empty(sequences.n_tokens, dtype=np.int32)
        kernel = family("second_order") if len(self.layout.triples) else core

        def run(shard: Ints) -> None:
            kernel.viterbi(
                chains,
                layout,
                len(shard),
                shard,
                len(self.w),
                self.w,
                len(mask),
                mask,
                self.layout.scratch(sequences),
                len(out),
                out,
            )

        run_each(run, sequences.shards(threads))
        self._check_possible(sequences, mask, out)
        return out

    def marginals(
        self, sequences: Sequences, allowed: Allowed | None = None, with_edges: bool = False
    ) -> tuple[Floats, Floats, Floats]:
        """p(label) of every token (n x L), p(label pair) into every token (n x L x L), log Z per sentence."""
        if self.layout.types is not None:
            if with_edges:
                raise ValueError("probabilities of label pairs are for chains without segments.")
            self.decode(sequences, allowed)
            nodes, log_z = segment_marginals(self, sequences, self.mask(sequences, allowed))
            return nodes, np.zeros((0, 0, 0)), log_z
        n, L = sequences.n_tokens, len(self.labels)
        if self.constrained:
            self.decode(sequences, allowed)  # says so if a sentence has no permitted labelling
        if len(self.layout.triples):
            return pair_marginals(self, sequences, self.mask(sequences, allowed), with_edges)
        if with_edges:
            what = f"the probabilities of pairs of {L:,} labels at {n:,} tokens"
            check_room(
                8 * n * L * L, what, "ask for fewer sentences at a time, or for those of single labels"
            )
        nodes = np.empty((n, L))
        edges = np.zeros((n, L, L) if with_edges else (0, 0, 0))
        log_z = np.zeros(sequences.n_sentences)
        mask = self.mask(sequences, allowed)
        core.marginals(
            self.layout.chains(sequences),
            self.layout.struct(),
            len(log_z),
            np.arange(len(log_z), dtype=np.int32),
            len(self.w),
            self.w,
            len(mask),
            mask,
            self.layout.scratch(sequences),
            n,
            L,
            nodes,
            edges.size,
            edges,
            len(log_z),
            log_z,
        )
        return nodes, edges, log_z

    def n_best(
        self, sequences: Sequences, k: int, allowed: Allowed | None = None
    ) -> list[list[tuple[Ints, float]]]:
        """For each sentence the k best labellings with their probabilities, best first."""
        return [
            [(labels, float(np.exp(score))) for labels, score in found]
            for found in self.scored_n_best(sequences, k, allowed)
        ]

    def scored_n_best(
        self, sequences: Sequences, k: int, allowed: Allowed | None = None
    ) -> list[list[tuple[Ints, float]]]:
        """The same with log p, which does not vanish in long sentences."""
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k!r}.")
        _, _, log_z = self.marginals(sequences, allowed)
        mask = self.mask(sequences, allowed)
        if self.layout.types is not None:
            lists = segment_lists(self, sequences, k, mask)
        elif len(self.layout.triples):
            lists = labelling_lists(self, sequences, k, mask)
        else:
            lists = self._chain_lists(sequences, k, mask)
        return [
            [(labels, value - z) for labels, value in found]
            for found, z in zip(lists, log_z.tolist(), strict=True)
        ]

    def _chain_lists(
        self, sequences: Sequences, k: int, mask: npt.NDArray[np.uint8]
    ) -> list[list[tuple[Ints, float]]]:
        """The k best labellings of a chain of first order with their scores."""
        L, n = len(self.labels), int(sequences.lengths.max(initial=1))
        x = self.layout.scratch(sequences)
        chains, layout = self.layout.chains(sequences), self.layout.struct()
        score, back = np.empty((n, L, k)), np.zeros((n, L, k), dtype=np.int64)
        ends, labels, values = np.zeros(k, dtype=np.int64), np.empty((k, n), dtype=np.int32), np.empty(3 * k)
        result: list[list[tuple[Ints, float]]] = []
        for s, length in enumerate(sequences.lengths.tolist()):
            found = 0
            if length:
                found = core.k_best(
                    chains, layout, s, len(self.w), self.w, len(mask), mask, x, k, n, L, score, back, ends,
                    labels, values,
                )  # fmt: skip
            result.append([(labels[r, :length].copy(), float(values[r])) for r in range(found)])
        return result

    def mask(self, sequences: Sequences, allowed: Allowed | None) -> npt.NDArray[np.uint8]:
        """Allowed labels as the kernels take them: empty where everything is allowed."""
        if allowed is None and self.ends is None:
            return np.empty(0, dtype=np.uint8)
        mask = np.ones((sequences.n_tokens, padded(len(self.labels))), dtype=np.uint8)
        if self.ends is not None:
            full = np.flatnonzero(sequences.word_lengths)
            L, first = len(self.labels), sequences.sentence_ptr[full]
            mask[first, :L] &= self.ends[0].astype(np.uint8)
            mask[first + sequences.word_lengths[full] - 1, :L] &= self.ends[1].astype(np.uint8)
        if allowed is None:
            return mask.ravel()
        if len(allowed) != sequences.n_sentences:
            raise InputError(
                f"allowed has {len(allowed)} sentences, the input {sequences.n_sentences}; give one list each"
            )
        index = {label: k for k, label in enumerate(self.labels)}
        for s, tokens in enumerate(allowed):
            first = sequences.sentence_ptr[s]
            last = first + sequences.word_lengths[s]
            if tokens is None:
                continue
            if len(tokens) != last - first:
                raise InputError(
                    f"allowed has {len(tokens)} tokens for sentence {s}, which has {last - first}; "
                    "use None for free ones"
                )
            for t, choices in enumerate(tokens):
                if choices is None:
                    continue
                choices = [choices] if isinstance(choices, str) else list(choices)
                unknown = [label for label in choices if label not in index]
                if unknown or not choices:
                    raise InputError(
                        f"allowed labels of sentence {s}, token {t}: "
                        + (f"the model has no label {unknown[0]!r}" if unknown else "none given")
                        + f"; it has {', '.join(self.labels[:8])}"
                    )
                permitted = np.zeros(mask.shape[1], dtype=np.uint8)
                permitted[[index[label] for label in choices]] = 1
                mask[first + t] &= permitted
        return mask.ravel()

    @property
    def constrained(self) -> bool:
        """Whether some labellings are forbidden."""
        layout = self.layout
        return self.ends is not None or (layout.has_transitions and not layout.allowed_transitions.all())

    def _check_possible(self, sequences: Sequences, mask: npt.NDArray[np.uint8], best: Ints) -> None:
        """The best labelling is a permitted one, unless there is none."""
        if not self.constrained:
            return
        wrong = np.zeros(sequences.n_tokens, dtype=bool)
        if len(mask):
            wrong |= mask.reshape(sequences.n_tokens, -1)[np.arange(len(best)), best] == 0
        if self.layout.has_transitions and len(best) > 1:
            before = sequences.tokens_before()
            wrong |= (before >= 0) & ~self.layout.allowed_transitions[best[before], best]
        if wrong.any():
            s = int(np.searchsorted(sequences.sentence_ptr, np.flatnonzero(wrong)[0], side="right")) - 1
            raise NoLabelling(
                f"sentence {s} has no labelling that keeps to the constraints of the model and to allowed; allow more"
            )
