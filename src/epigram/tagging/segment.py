"""SegmentTagger: a semi-Markov CRF (Sarawagi and Cohen 2004; Okanohara et al. 2006)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from epigram.chain.crf import CRFEstimator
from epigram.chain.estimator import Names, load_template, naming_parameters
from epigram.chain.labels import Labels
from epigram.chain.problem import Samples
from epigram.errors import InputError
from epigram.features.columns import as_columns
from epigram.features.segments import SegmentEncoder, intern_answers, segments_of, with_units


@naming_parameters
@dataclass(eq=False, repr=False, kw_only=True)
class SegmentTagger(CRFEstimator):
    """Labels tokens in IOB2 by a chain with features of whole segments.

    A segment is a ``B-x`` with the ``I-x`` that follow it. Its score is what a CRFTagger with
    ``constrain="iob2"`` gives its tokens, and the weights of the attributes that the template's ``S`` lines make of it
    (:mod:`epigram.features.segments`). Exact: all segments up to ``longest`` tokens are summed over.

    Parameters
    ----------
    template : with ``S`` lines beside its ``U`` lines; without them the model is the chain. ``B`` lines have no cells.
    longest : number of tokens of the longest segment; by default that of the training sentences.
    l1, l2, penalty, solver, min_count, class_weight, patience, threads, random_state : as for
        :class:`~epigram.tagging.crf.CRFTagger`.

    Examples
    --------
    >>> X = [["the", "New", "York", "Times"], ["York", "sees", "the", "New"]]
    >>> y = [["O", "B-x", "I-x", "I-x"], ["B-x", "O", "O", "O"]]
    >>> tagger = SegmentTagger("U0:%x[0,0]\\nB\\nS0:%x[all,0]\\nS1:%x[length]\\n", l1=0.01).fit(X, y)
    >>> tagger.predict(X) == y
    True
    """

    kind = "segment"
    constrain = "iob2"
    longest: int | None = None

    def _samples(self, X: Any, y: Labels, names: Names, sample_weight: npt.ArrayLike | None) -> Samples:
        template = load_template(self.template)
        if template is None or template.edges:
            raise ValueError("SegmentTagger needs a template, whose B lines have no cells.")
        columns = as_columns(X)
        read = super()._samples(columns, y, names, sample_weight)
        template = read.template or template
        labels, classes = read.labels, [str(name) for name in read.classes.tolist()]
        answers = segments_of(labels, classes, read.sequences.sentence_ptr)
        found = int(answers.length.max(initial=1))
        longest = found if self.longest is None else self.longest
        if longest < found:
            raise InputError(f"longest is {longest}, but a segment of the answers has {found} tokens")
        encoder = SegmentEncoder(columns, template.segments, template.drops_outside)
        intern_answers(encoder, answers, names.table)
        sequences, rows = with_units(read.sequences, encoder, names.table, longest)
        everyone = np.full(sequences.n_tokens, -1, dtype=np.int32)
        everyone[rows.begin < 0] = labels
        right = np.isin(
            rows.begin * (longest + 1) + rows.length, answers.begin * (longest + 1) + answers.length
        )
        everyone[right & (rows.begin >= 0)] = labels[rows.begin[right & (rows.begin >= 0)]]
        return replace(read, sequences=sequences, labels=everyone, longest=longest)

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Sequence[Any] | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> Self:
        """Not for segments: which of them have features depends on all answers."""
        raise InputError("a model of segments learns from all sentences at once; train it anew")
