"""A trained chain model: labels, features, weights; encoding, decoding and marginals.

Immutable; every call has its own working memory and the kernels release the GIL, so threads may share one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram.chain.decoding import Scored, best_labels, k_best, marginals, no_labelling
from epigram.chain.layout import ChainWeights, SegmentTypes, WeightLayout, lay_out
from epigram.chain.seen_pairs import SeenPairs, padded
from epigram.errors import InputError
from epigram.features.attributes import AttributeTable, compacting
from epigram.features.encoding import encode_known
from epigram.features.sequences import Sequences
from epigram.features.template import Template
from epigram.protocols import Floats, Ints

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
        """Keep only non-zero weights and their attributes; ``order`` reorders the labels."""
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
        new_ids = compacting(kept, len(table))
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

    def __reduce__(self) -> tuple[Any, ...]:
        from epigram.chain.storage import pack_model, unpack_model

        return unpack_model, pack_model(self)

    @property
    def weights(self) -> ChainWeights:
        """The weights that are not zero, by what they belong to."""
        return self.layout.weights(self.w)

    def encode(self, X: Any) -> Sequences:
        """Encode sentences: columns if the model has a template, else feature dicts."""
        types = self.layout.types
        return encode_known(X, self.template, self.table, 0 if types is None else types.longest)

    def decode(self, sequences: Sequences, allowed: Allowed | None = None, threads: int = 1) -> Ints:
        """Best label id of every token."""
        mask = self.mask(sequences, allowed)
        best = best_labels(self.layout, self.w, sequences, mask, threads)
        if self.layout.types is None:
            self._check_possible(sequences, mask, best)
        return best

    def marginals(
        self, sequences: Sequences, allowed: Allowed | None = None, with_edges: bool = False
    ) -> tuple[Floats, Floats, Floats]:
        """Return p(label) (n x L), p(label pair) (n x L x L) and log Z per sentence."""
        segments = self.layout.types is not None
        if segments and with_edges:
            raise ValueError("probabilities of label pairs are for chains without segments.")
        if segments or self.constrained:
            self.decode(sequences, allowed)  # raises if a sentence has no permitted labelling
        return marginals(self.layout, self.w, sequences, self.mask(sequences, allowed), with_edges)

    def n_best(self, sequences: Sequences, k: int, allowed: Allowed | None = None) -> Scored:
        """For each sentence the k best labellings with their probabilities, best first."""
        return [
            [(labels, float(np.exp(score))) for labels, score in found]
            for found in self.scored_n_best(sequences, k, allowed)
        ]

    def scored_n_best(self, sequences: Sequences, k: int, allowed: Allowed | None = None) -> Scored:
        """Return the k best labellings with log p, which does not underflow in long sentences."""
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k!r}.")
        _, _, log_z = self.marginals(sequences, allowed)
        lists = k_best(self.layout, self.w, sequences, self.mask(sequences, allowed), k)
        return [
            [(labels, value - z) for labels, value in found]
            for found, z in zip(lists, log_z.tolist(), strict=True)
        ]

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
                choices = [choices] if isinstance(choices, str) else [str(label) for label in choices]
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
            raise no_labelling(s)
