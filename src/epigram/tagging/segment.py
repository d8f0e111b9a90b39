"""SegmentTagger: labels segments by a semi-Markov CRF. Sarawagi and Cohen 2004; Okanohara et al. 2006."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from epigram.errors import InputError
from epigram.protocols import Floats, Penalty, Solver
from epigram.tagging.attributes import AttributeTable
from epigram.tagging.corpus import LabelIndex, Labels
from epigram.tagging.crf import CRFTagger
from epigram.tagging.estimator import load_template
from epigram.tagging.formats import Columns
from epigram.tagging.model import Allowed
from epigram.tagging.problem import Samples
from epigram.tagging.segment_features import SegmentEncoder, intern_answers, segments_of, with_units
from epigram.tagging.template import Template


class SegmentTagger(CRFTagger):
    """Labels the tokens of sentences, in IOB2, by a chain in which whole segments have features too.

    A segment is a ``B-x`` with the ``I-x`` that follow it. Its score is what a :class:`CRFTagger` with
    ``constrain="iob2"`` gives its tokens, and the weights of the attributes that the template's ``S`` lines make of it
    (:mod:`epigram.tagging.segment_features`). Exact: all segments up to ``longest`` tokens are summed over.

    Parameters
    ----------
    template : with ``S`` lines beside its ``U`` lines; without them the model is the chain. ``B`` lines have no cells.
    longest : the most tokens of a segment; by default those of the longest one in the training sentences.
    l1, l2, penalty, solver, min_count, class_weight, patience, threads, random_state : as for :class:`CRFTagger`.

    Examples
    --------
    >>> X = [["the", "New", "York", "Times"], ["York", "sees", "the", "New"]]
    >>> y = [["O", "B-x", "I-x", "I-x"], ["B-x", "O", "O", "O"]]
    >>> tagger = SegmentTagger("U0:%x[0,0]\\nB\\nS0:%x[all,0]\\nS1:%x[length]\\n", l1=0.01).fit(X, y)
    >>> tagger.predict(X) == y
    True
    """

    _takes_sets = False

    def __init__(
        self,
        template: str | PathLike[str] | Template | None = None,
        *,
        longest: int | None = None,
        l1: float | str = 1.0,
        l2: float = 0.0,
        penalty: Penalty | None = None,
        solver: str | Solver | None = None,
        min_count: int = 1,
        class_weight: Mapping[str, float] | str | None = None,
        patience: int | None = None,
        threads: int = 1,
        random_state: int | None = 0,
    ) -> None:
        super().__init__(
            template,
            l1=l1,
            l2=l2,
            penalty=penalty,
            solver=solver,
            min_count=min_count,
            constrain="iob2",
            class_weight=class_weight,
            patience=patience,
            threads=threads,
            random_state=random_state,
        )
        self.longest = longest

    def _samples(
        self,
        X: Any,
        y: Labels,
        table: AttributeTable,
        index: LabelIndex,
        classes: Sequence[Any] | None,
        sample_weight: npt.ArrayLike | None,
    ) -> Samples:
        template = load_template(self.template)
        if template is None or template.edges:
            raise ValueError("SegmentTagger needs a template, whose B lines have no cells.")
        columns = X if isinstance(X, Columns) else Columns.from_rows(X)
        read = super()._samples(columns, y, table, index, classes, sample_weight)
        template = read.template or template
        labels, names = read.labels, [str(name) for name in read.classes.tolist()]
        answers = segments_of(labels, names, read.sequences.sentence_ptr)
        found = int(answers.length.max(initial=1))
        longest = found if self.longest is None else self.longest
        if longest < found:
            raise InputError(f"longest is {longest}, but a segment of the answers has {found} tokens")
        encoder = SegmentEncoder(columns, template.segments, template.drops_outside)
        intern_answers(encoder, answers, table)
        sequences, rows = with_units(read.sequences, encoder, table, longest)
        everyone = np.full(sequences.n_tokens, -1, dtype=np.int32)
        everyone[rows.begin < 0] = labels
        right = np.isin(
            rows.begin * (longest + 1) + rows.length, answers.begin * (longest + 1) + answers.length
        )
        everyone[right & (rows.begin >= 0)] = labels[rows.begin[right & (rows.begin >= 0)]]
        return replace(read, sequences=sequences, labels=everyone, longest=longest)

    def marginals(self, X: Any, allowed: Allowed | None = None) -> list[tuple[Floats, Floats]]:
        """Not of segments: probabilities of label pairs are those of a chain."""
        raise ValueError("probabilities of label pairs are for CRFTagger; use predict_marginals.")

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Sequence[Any] | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> Self:
        """Not for segments: which of them have features depends on all answers."""
        raise InputError("a model of segments learns from all sentences at once; train it anew")
