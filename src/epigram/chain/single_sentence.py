"""Tags one sentence with a single C call and reused buffers.

Decoding a whole corpus at once (:meth:`ChainModel.decode`) costs less a sentence; this is for callers that have one
sentence and want its labels now. Not to be shared between threads: each has its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from epigram._core import bindings
from epigram.chain.model import ChainModel
from epigram.features.feature_dicts import NO_ROOM, ReadBuffers, as_bytes
from epigram.features.sequences import Sequences


class SentenceTagger:
    """The labels of a sentence given as features, by a model without template and constraints.

    Examples
    --------
    >>> from epigram import CRFTagger
    >>> tagger = CRFTagger(l1=0.01).fit([[["w=a"], ["w=cat"]]], [["DT", "NN"]])
    >>> SentenceTagger(tagger.model_).label([["w=a"], ["w=cat"]])
    ['DT', 'NN']
    """

    def __init__(self, model: ChainModel) -> None:
        self.model = model
        self._layout = model.layout.struct()
        self._slots = model.table.slots
        self._make(64, 2048)

    def _make(self, n_tokens: int, n_occurrences: int) -> None:
        """Working memory for sentences of so many tokens and features."""
        self._room = ReadBuffers(n_tokens, n_occurrences)
        self._ids, self._labels = np.empty(n_occurrences, dtype=np.int32), np.empty(n_tokens, dtype=np.int32)
        longest = Sequences.of([0, n_tokens], np.zeros(n_tokens + 1), [])
        self._scratch = self.model.layout.scratch(longest)

    def label(self, sentence: Any) -> list[str]:
        """The best labels."""
        if self.model.template is None and not self.model.constrained:
            content = as_bytes(sentence)
            if content is not None and (n := self._call(content)) >= 0:
                names = self.model.labels
                return [names[k] for k in self._labels[:n].tolist()]
        sequences = self.model.encode([sentence])
        return [self.model.labels[k] for k in self.model.decode(sequences).tolist()]

    def _call(self, content: bytes) -> int:
        """Labels to ``_labels``; returns their number, negative for what C does not read."""
        model, raw = self.model, np.frombuffer(content, dtype=np.uint8)
        while True:
            n: int = bindings.features_label(
                raw,
                self._room.found,
                self._slots,
                model.layout.row_of,
                self._layout,
                model.w,
                self._scratch,
                self._ids,
                self._labels,
            )
            if n != NO_ROOM:
                return n
            self._make(2 * len(self._labels), 2 * len(self._ids))
