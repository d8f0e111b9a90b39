"""The loss of third order: as :mod:`epigram.parsing.arc_loss`, over the trees whose arcs are kept (``_core/forest_loss.h``)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from epigram._core.native import family
from epigram.parsing.arc_features import encode_arcs
from epigram.parsing.arc_loss import ArcLoss
from epigram.parsing.forests import ForestMemory, Kept, forest_sizes
from epigram.parsing.templates import ArcTemplate
from epigram.parsing.words import Words
from epigram.protocols import Ints, Offsets
from epigram.tagging.attributes import AttributeTable, Fingerprints

core, forests, features = family("forest_loss"), family("forest"), family("part_features")


@dataclass(frozen=True)
class PartFeatures:
    """The feature ids of all parts of sentences: those of part p are ``features[part_ptr[p]]`` to ``[part_ptr[p + 1]]``.

    The parts of a sentence are all arcs, of which some are kept, then trios, grands and links as ``_core/forest.h`` has
    them, these last only where the template looks at them. ``sizes`` says how much each sentence has of everything.
    """

    sentence_ptr: Offsets
    first_arc: Offsets
    keep: Kept = field(repr=False)
    first_part: Offsets = field(repr=False)
    part_ptr: Offsets = field(repr=False)
    features: Ints = field(repr=False)
    sizes: Offsets = field(repr=False)

    @property
    def n_sentences(self) -> int:
        """Number of sentences."""
        return len(self.sentence_ptr) - 1

    @property
    def longest(self) -> int:
        """Words of the longest sentence."""
        return int(np.diff(self.sentence_ptr).max(initial=1))


def encode_parts(
    words: Words, template: ArcTemplate, table: AttributeTable, slots: Fingerprints, keep: Kept
) -> PartFeatures:
    """The ids of the known features of every part whose arcs are kept; ``slots`` has those of second and third order."""
    arcs = encode_arcs(words, template, table, keep)
    lengths, longest = words.lengths.tolist(), arcs.longest
    sizes = forest_sizes(lengths, arcs.first_arc, keep)
    forest = ForestMemory(longest, sizes.max(0, initial=1))
    lines = {own.rank: own for own in template.part_lines}
    memory = {rank: own.memory(longest) for rank, own in lines.items()}
    ptrs, ids, first_part = [np.zeros(1, dtype=np.int64)], [np.empty(0, dtype=np.int32)], [0]
    n_ids = 0
    for s, n in enumerate(lengths):
        a, b = arcs.first_arc[s : s + 2].tolist()
        own = arcs.arc_ptr[a : b + 1]
        ptrs.append(own[1:] - own[0] + n_ids)
        ids.append(arcs.features[own[0] : own[-1]])
        n_ids += int(own[-1] - own[0])
        n_parts = b - a
        if n:
            forests.build(n, keep[a:b], forest.struct)
            for rank, many in enumerate(forest.counts[: 3 if 2 in lines else 2]):
                ptr = np.full(many + 1, n_ids, dtype=np.int64)
                if rank in lines:
                    found = np.empty(many * len(lines[rank]), dtype=np.int32)
                    used = features.encode(
                        lines[rank].struct,
                        words.struct,
                        memory[rank],
                        s,
                        len(slots),
                        slots,
                        many,
                        forest.parts[rank],
                        ptr,
                        len(found),
                        found,
                    )
                    ids.append(found[:used].copy())
                    n_ids += used
                ptrs.append(ptr[1:])
                n_parts += many
        first_part.append(first_part[-1] + n_parts)
    return PartFeatures(
        words.sentence_ptr,
        arcs.first_arc,
        keep,
        np.array(first_part, dtype=np.int64),
        np.concatenate(ptrs),
        np.concatenate(ids),
        sizes,
    )


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

    def _encoded(self, weights: Any) -> Any:
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
