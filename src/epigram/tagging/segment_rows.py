"""What a corpus and a layout of weights know of segments, as ``_core/segment_inline.h`` takes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from epigram.protocols import Ints


class SegmentRows(NamedTuple):
    """Rows beside those of tokens, for segments of several tokens: see ``_core/segment_inline.h``.

    In each sentence the first ``n_words[s]`` rows are its tokens; row ``r`` of the others is the segment of
    ``length[r]`` tokens that begins at token ``begin[r]`` of the sentence.
    """

    n_words: Ints
    begin: Ints
    length: Ints


def segment_fields(rows: SegmentRows | None, types: SegmentTypes | None) -> tuple[Any, ...]:
    """What C is told of segments: nothing where there are none."""
    if rows is None or types is None:
        none = np.empty(0, dtype=np.int32)
        return 0, 0, 0, 0, none, none, none, none, none
    counts = len(types.begin), types.longest, len(rows.n_words), len(rows.begin)
    return *counts, rows.n_words, rows.begin, rows.length, types.begin, types.inside


class SegmentTypes(NamedTuple):
    """The types of segments by their labels in IOB2: ``B-x``, and ``I-x`` or -1; and the most tokens of one."""

    longest: int
    begin: Ints
    inside: Ints

    @classmethod
    def of(cls, labels: Sequence[str], longest: int) -> SegmentTypes:
        """Those of some labels, in their order.

        Examples
        --------
        >>> SegmentTypes.of(["B-NP", "B-X", "I-NP", "O"], 3)
        SegmentTypes(longest=3, begin=array([0, 1], dtype=int32), inside=array([ 2, -1], dtype=int32))
        """
        number = {label: k for k, label in enumerate(labels)}
        begin = [k for k, label in enumerate(labels) if label.startswith("B-")]
        inside = [number.get("I-" + labels[k][2:], -1) for k in begin]
        return cls(longest, np.array(begin, dtype=np.int32), np.array(inside, dtype=np.int32))
