"""The loss of third order: as that of arcs, over the trees whose arcs are kept (``_core/forest_loss.h``)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from epigram._core.native import family
from epigram.parsing.arc_features import encode_arcs
from epigram.parsing.arc_loss import ArcLoss, SentenceArcs
from epigram.parsing.forests import ForestMemory, Kept, forest_sizes
from epigram.parsing.templates import ArcTemplate
from epigram.parsing.words import Words
from epigram.protocols import Floats, Ints, Offsets
from epigram.tagging.attributes import AttributeTable, Fingerprints

core, forests, features = family("forest_loss"), family("forest"), family("part_features")


@dataclass(frozen=True)
class PartFeatures(SentenceArcs):
    """The feature ids of all parts of sentences; those of part p are ``features[part_ptr[p] : part_ptr[p + 1]]``.

    The parts of a sentence are all arcs, of which some are kept, then trios, grands and links as ``_core/forest.h`` has
    them, these last only where the template looks at them. ``sizes`` says how much each sentence has of everything.
    """

    keep: Kept = field(repr=False)
    first_part: Offsets = field(repr=False)
    part_ptr: Offsets = field(repr=False)
    features: Ints = field(repr=False)
    sizes: Offsets = field(repr=False)


def encode_parts(
    words: Words, template: ArcTemplate, table: AttributeTable, slots: Fingerprints, keep: Kept
) -> PartFeatures:
    """The ids of the known features of every part whose arcs are kept; ``slots`` has those of trios and more."""
    arcs = encode_arcs(words, template, table, keep)
    sizes = forest_sizes(words.lengths.tolist(), arcs.first_arc, keep)
    encoder = _Encoder(words, template, slots, ForestMemory(arcs.longest, sizes.max(0, initial=1)))
    first_part = [0]
    for s in range(arcs.n_sentences):
        a, b = arcs.first_arc[s : s + 2].tolist()
        ptr = arcs.arc_ptr[a : b + 1]
        encoder.add(ptr - ptr[0], arcs.features[ptr[0] : ptr[-1]])
        if a < b:
            encoder.add_parts(s, keep[a:b])
        first_part.append(encoder.n_parts)
    found = np.concatenate(encoder.ptrs), np.concatenate(encoder.ids)
    first = np.array(first_part, dtype=np.int64)
    return PartFeatures(words.sentence_ptr, arcs.first_arc, keep, first, *found, sizes)


class _Encoder:
    """The ids of the parts so far, and where those of each part end."""

    def __init__(
        self, words: Words, template: ArcTemplate, slots: Fingerprints, memory: ForestMemory
    ) -> None:
        self._words, self._slots, self._forest = words, slots, memory
        room = int(words.lengths.max(initial=1))
        self._lines = {lines.rank: (lines, lines.memory(room)) for lines in template.part_lines}
        self.ptrs, self.ids = [np.zeros(1, dtype=np.int64)], [np.empty(0, dtype=np.int32)]
        self.n_parts = self._n_ids = 0

    def add(self, ptr: Offsets, ids: Ints) -> None:
        """Parts with their ids."""
        self.ptrs.append(ptr[1:] + self._n_ids)
        self.ids.append(ids)
        self._n_ids += len(ids)
        self.n_parts += len(ptr) - 1

    def add_parts(self, s: int, keep: Kept) -> None:
        """Trios, grands and, where any line looks at them, links of a sentence."""
        forest, words = self._forest, self._words
        forests.build(int(words.lengths[s]), keep, forest.struct)
        for rank, many in enumerate(forest.counts if 2 in self._lines else forest.counts[:2]):
            ptr, ids = np.zeros(many + 1, dtype=np.int64), np.empty(0, dtype=np.int32)
            if rank in self._lines:
                lines, memory = self._lines[rank]
                room = np.empty(many * len(lines), dtype=np.int32)
                given = lines.struct, words.struct, memory, s, len(self._slots), self._slots
                used = features.encode(*given, many, forest.parts[rank], ptr, len(room), room)
                ids = room[:used].copy()
            self.add(ptr, ids)


class ForestLoss(ArcLoss):
    """Minus the log-likelihood of trees among those of the arcs that are kept, with features of all three orders.

    Parameters
    ----------
    arcs : encoded sentences (:func:`encode_parts`).
    heads, n_weights, weights, threads : as for :class:`~epigram.parsing.arc_loss.ArcLoss`. The arcs of the trees must
        be kept.
    """

    arcs: PartFeatures  # type: ignore[assignment]
    core = core

    def __init__(
        self, arcs: PartFeatures, heads: Ints, n_weights: int, weights: Floats | None = None, threads: int = 1
    ) -> None:
        super().__init__(arcs, heads, n_weights, weights, threads)  # type: ignore[arg-type]

    def _encoded(self, weights: Floats) -> Any:
        arcs = self.arcs
        return core.ForestCorpus(
            arcs.n_sentences,
            int(arcs.sentence_ptr[-1]),
            len(arcs.keep),
            int(arcs.first_part[-1]),
            len(arcs.features),
            arcs.sentence_ptr,
            arcs.first_arc,
            arcs.keep,
            arcs.first_part,
            arcs.part_ptr,
            arcs.features,
            self.heads,
            weights,
        )

    def _scratch(self) -> tuple[Any, ...]:
        n, n_parts = self.arcs.longest, int(np.diff(self.arcs.first_part).max(initial=1))
        parts = core.ForestScratch(n, n_parts, np.zeros(n_parts), np.zeros(3 * n + 3, dtype=np.int32))
        return ForestMemory(n, self.arcs.sizes.max(0, initial=1)).struct, parts
