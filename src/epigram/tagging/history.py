"""MaxentTagger: left-to-right maximum entropy tagging (Ratnaparkhi 1996).

Trained token by token on the true tags on the left, decoded by beam search. Cheaper to train than a CRF, as each
token is one sample; its weakness is that training never shows it its own errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram._core import bindings
from epigram.chain.estimator import Names, SentenceEstimator, naming_parameters
from epigram.chain.labels import Labels
from epigram.chain.layout import Pairs
from epigram.chain.loss import run_each
from epigram.chain.model import Allowed, ChainModel
from epigram.chain.problem import ChainProblem, Samples, Shape, class_weights
from epigram.estimator import checked_weights, product
from epigram.features.attributes import AttributeTable, Strings, fingerprints
from epigram.features.sequences import Sequences
from epigram.protocols import Floats, Ints

START = "(start)"
MOST_LABELS = 128  # with more, a table of two tags on the left would outgrow the rest of the model


@naming_parameters
@dataclass(eq=False, repr=False, kw_only=True)
class MaxentTagger(SentenceEstimator):
    """Labels tokens from left to right by features and previous tags; beam search.

    Parameters
    ----------
    template, l1, l2, penalty, solver, pairs, min_count, class_weight, patience, threads, random_state :
        as for :class:`~epigram.tagging.crf.CRFTagger`; the objective is a sum over tokens.
    beam : number of hypotheses that the beam search keeps at each token.

    Examples
    --------
    >>> X = [[["w=the"], ["w=dog"], ["w=barks"]], [["w=a"], ["w=cat"], ["w=sleeps"]]]
    >>> y = [["DT", "NN", "VB"], ["DT", "NN", "VB"]]
    >>> tagger = MaxentTagger(l1=0.01).fit(X, y)
    >>> tagger.predict([[["w=the"], ["w=cat"], ["w=barks"]]])
    [['DT', 'NN', 'VB']]
    """

    kind = "history"
    pairs: Pairs = "seen"
    beam: int = 5

    def problem(self, X: Any, y: Labels, sample_weight: npt.ArrayLike | None = None) -> ChainProblem:
        """Return the problem that ``fit`` minimises; each token is one sample."""
        if self.beam < 1:
            raise ValueError(f"beam must be at least 1, not {self.beam!r}.")
        return super().problem(X, y, sample_weight)

    def _samples(self, X: Any, y: Labels, names: Names, sample_weight: npt.ArrayLike | None) -> Samples:
        read = self._read(X, y, names)
        weights = checked_weights(sample_weight, read.sequences.n_sentences)
        if weights is not None:
            weights = np.repeat(weights, read.sequences.lengths)
        return replace(
            read,
            sequences=_with_tags(read.sequences, read.labels, read.classes.tolist(), names.table),
            shape=Shape(self.pairs, has_transitions=False),
            weights=product(weights, class_weights(self.class_weight, read.labels, read.classes)),
        )

    def predict(self, X: Any, allowed: Allowed | None = None) -> list[list[str]]:
        """The labels of each sentence; ``allowed`` as for :meth:`CRFTagger.predict`."""
        sequences = self._encode(X)
        return self.named_labels(self.decode_ids(self.model_, sequences, allowed), sequences)

    def decode_ids(self, model: ChainModel, sequences: Sequences, allowed: Allowed | None = None) -> Ints:
        return decode_history(model, sequences, self.beam, allowed, self.threads)

    def extra_header(self) -> dict[str, Any]:
        return {"beam": self.beam}


def _with_tags(sequences: Sequences, labels: Ints, classes: list[str], table: AttributeTable) -> Sequences:
    """Return every token as one chain, with the attributes of the tags on its left."""
    L = len(classes)
    position = np.arange(sequences.n_tokens) - np.repeat(sequences.sentence_ptr[:-1], sequences.lengths)
    left = np.where(position >= 1, np.roll(labels, 1), L)
    left2 = np.where(position >= 2, np.roll(labels, 2), L)
    one, two = tag_names(classes)
    columns = [(one, left)] + ([(two, left2 * (L + 1) + left)] if two else [])
    ends, inserted = sequences.attribute_ptr[1:], []
    for names, which in columns:
        used, inverse = np.unique(which, return_inverse=True)
        chosen = [names[k] for k in used.tolist()]
        counts = np.bincount(inverse).astype(np.int64)
        inserted.append(table.intern(fingerprints(chosen), Strings(chosen), counts)[inverse])
    m = len(columns)
    attributes = np.insert(sequences.attributes, np.repeat(ends, m), np.stack(inserted, axis=1).ravel())
    values = None
    if len(sequences.values) == len(sequences.attributes):
        values = np.insert(sequences.values, np.repeat(ends, m), 1.0)
    n = sequences.n_tokens
    return Sequences.of(np.arange(n + 1), sequences.attribute_ptr + m * np.arange(n + 1), attributes, values)


def decode_history(
    model: ChainModel,
    sequences: Sequences,
    beam: int = 5,
    allowed: Allowed | None = None,
    threads: int = 1,
) -> Ints:
    """Return label ids by beam search with the weights of the previous tags."""
    if beam < 1:
        raise ValueError(f"beam must be at least 1, not {beam!r}.")
    L, n = len(model.labels), int(sequences.lengths.max(initial=1))
    before, two_before = _tag_weights(model)
    chains, layout = model.layout.chains(sequences), model.layout.struct()
    mask = model.mask(sequences, allowed)
    out = np.empty(sequences.n_tokens, dtype=np.int32)

    def run(shard: Ints) -> None:
        # where scores are not numbers, nothing is written to pairs and back: be valid
        pairs, back = np.zeros((2, n + 1, beam), dtype=np.int64)
        memory = bindings.Beam(
            n_rows=n + 1,
            size=beam,
            pairs=pairs,
            score=np.empty((n + 1, beam)),
            back=back,
            known=np.full((L + 1) ** 2, -1, dtype=np.int64),
            terms=np.empty(L),
            candidates=np.empty(beam * L, dtype=np.int64),
            values=np.empty(beam * L),
            origins=np.empty(beam * L, dtype=np.int64),
        )
        bindings.decoding_beam_search(
            chains,
            layout,
            shard,
            model.w,
            mask,
            model.layout.scratch(sequences),
            L,
            before,
            two_before,
            memory,
            out,
        )

    run_each(run, sequences.shards(threads))
    return out


def tag_names(labels: Sequence[str]) -> tuple[list[str], list[str]]:
    """Attributes of one tag on the left, and of two (none where there are too many labels)."""
    tags = [*labels, START]
    one = [f"tag[-1]={tag}" for tag in tags]
    if len(labels) > MOST_LABELS:
        return one, []
    return one, [f"tag[-2,-1]={first} {second}" for first in tags for second in tags]


def _tag_weights(model: ChainModel) -> tuple[Floats, Floats]:
    """before[i, j] and two_before[h, i, j] of the beam search."""
    L = len(model.labels)
    one, two = tag_names(model.labels)
    weights = model.weights
    ids = model.table.look_up(fingerprints(one + two))
    row = np.full(len(model.table) + 1, -1)
    row[ids] = np.arange(len(ids))
    row[-1] = -1  # names the model does not have were looked up as -1
    rows = row[weights.attributes]
    table = np.zeros((len(ids), L))
    table[rows[rows >= 0], weights.labels[rows >= 0]] = weights.values[rows >= 0]
    two_before = table[L + 1 :].reshape(L + 1, L + 1, L) if two else np.zeros((0, 0, 0))
    return table[: L + 1], two_before
