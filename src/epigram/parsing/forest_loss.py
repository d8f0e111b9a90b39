"""Negative log-likelihood of trees over pruned arcs, second and third order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from epigram._core import bindings
from epigram._core.arrays import offsets
from epigram.features.attributes import AttributeTable, Fingerprints
from epigram.parsing.arc_features import ArcEncoder, GrowingIds
from epigram.parsing.arc_loss import ArcLoss, SentenceArcs
from epigram.parsing.arc_templates import ArcTemplate
from epigram.parsing.arc_words import Words
from epigram.parsing.pruning import ForestMemory, Kept, forest_sizes
from epigram.protocols import Floats, Ints, Offsets


@dataclass(frozen=True)
class PartFeatures(SentenceArcs):
    """Feature ids of all parts; ``part_counts`` has the number of each part, in order.

    The parts of a sentence are all arcs, of which some are kept, then trios, grands and links as ``_core/forest.h``
    defines them, the last only if the template reads them. ``first_id`` and ``first_part`` are the offsets of
    sentences, ``sizes`` has the numbers of each sentence.
    """

    keep: Kept = field(repr=False)
    first_part: Offsets = field(repr=False)
    first_id: Offsets = field(repr=False)
    part_counts: Ints = field(repr=False)
    features: Ints = field(repr=False)
    sizes: Offsets = field(repr=False)


def encode_parts(
    words: Words, template: ArcTemplate, table: AttributeTable, slots: Fingerprints, keep: Kept
) -> PartFeatures:
    """Encode every part whose arcs are kept; ``slots`` has the features beyond those of arcs."""
    first_arc = offsets(words.lengths * (words.lengths + 1))
    sizes = forest_sizes(words.lengths.tolist(), first_arc, keep)
    longest = int(words.lengths.max(initial=1))
    forest, ids = ForestMemory(longest, sizes.max(0, initial=1)), GrowingIds()
    arcs, kinds = ArcEncoder(words, template, table), {lines.rank: lines for lines in template.part_lines}
    memory = {rank: lines.memory(longest) for rank, lines in kinds.items()}
    counts, first_id, first_part = [np.empty(0, dtype=np.int32)], [0], [0]
    for s, (a, b) in enumerate(pairwise(first_arc.tolist())):
        ptr = np.zeros(b - a + 1, dtype=np.int64)
        arcs.encode(s, keep[a:b], ptr, ids)
        own = [np.diff(ptr)]
        if a < b:
            bindings.forest_build(int(words.lengths[s]), keep[a:b], forest.struct)
            for rank, many in enumerate(forest.counts if 2 in kinds else forest.counts[:2]):
                ptr = np.zeros(many + 1, dtype=np.int64)
                if rank in kinds:
                    lines, space = kinds[rank], ids.reserve(many * len(kinds[rank]))
                    given = lines.struct, words.struct, memory[rank], s, slots
                    own_parts = forest.parts[rank][: 4 * many]
                    ids.n += bindings.part_features_encode(*given, own_parts, ptr, space)
                own.append(np.diff(ptr))
        counts += [part.astype(np.int32) for part in own]
        first_id.append(ids.n)
        first_part.append(first_part[-1] + sum(map(len, own)))
    starts = np.array(first_part, dtype=np.int64), np.array(first_id, dtype=np.int64)
    return PartFeatures(
        words.sentence_ptr, first_arc, keep, *starts, np.concatenate(counts), ids.close(), sizes
    )


class ForestLoss(ArcLoss):
    """Negative log-likelihood of trees among those of the kept arcs (``_core/forest_loss.h``).

    Parameters
    ----------
    arcs : encoded sentences (:func:`encode_parts`).
    heads, n_weights, weights, threads : as for :class:`~epigram.parsing.arc_loss.ArcLoss`. The arcs of the trees must
        be kept.
    """

    arcs: PartFeatures  # type: ignore[assignment]
    kernels: ClassVar[dict[str, Callable[..., Any]]] = {
        "gradient": bindings.forest_loss_gradient,
        "cumulative": bindings.forest_loss_cumulative,
        "heads": bindings.forest_loss_heads,
    }

    def __init__(
        self, arcs: PartFeatures, heads: Ints, n_weights: int, weights: Floats | None = None, threads: int = 1
    ) -> None:
        super().__init__(arcs, heads, n_weights, weights, threads)  # type: ignore[arg-type]

    def _encoded(self, weights: Floats) -> Any:
        arcs = self.arcs
        return bindings.ForestCorpus(
            arcs.sentence_ptr,
            arcs.first_arc,
            arcs.keep,
            arcs.first_part,
            arcs.first_id,
            arcs.part_counts,
            arcs.features,
            self.heads,
            weights,
        )

    def _scratch(self) -> tuple[Any, ...]:
        n, n_parts = self.arcs.longest, int(np.diff(self.arcs.first_part).max(initial=1))
        parts = bindings.ForestScratch(np.zeros(n_parts), np.zeros(3 * n + 3, dtype=np.int32))
        return ForestMemory(n, self.arcs.sizes.max(0, initial=1)).struct, parts
