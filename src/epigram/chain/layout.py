"""Which weights a chain model has, and where they are in one long vector.

Attributes seen with many labels own a dense row (one weight per label, so that loops over labels are vectors),
the others only the weights of the labels they were seen with. With ``pairs="all"`` every row is dense and free.
``_core/chain.h`` says how C reads the arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from epigram._core import bindings
from epigram._core.arrays import offsets
from epigram._core.threads import Parts
from epigram.chain.seen_pairs import SeenPairs, padded, triple_keys, unique_triples
from epigram.errors import InputError
from epigram.features.sequences import SegmentRows, Sequences
from epigram.outofcore.memory import available
from epigram.protocols import Floats, Ints, Offsets

Rows: TypeAlias = tuple[Offsets, Ints, Ints, Ints]
"""What :class:`epigram.chain.loss.DistinctRows` has."""
MOST_LABELS = 65_535  # the label of a weight has 16 bits in kernels
SMALL = 1 << 28  # bytes of working memory that nobody is asked for
MOST_TRIPLES = 1 << 27  # of pairs="all"
DENSE_SHARE = 8  # a row is dense if at least one label in eight has a weight: measured on CoNLL-2000


class ChainWeights(NamedTuple):
    """The weights of a chain model by what they belong to, those that are zero left out."""

    attributes: Ints
    """Attribute, label and weight of each (attribute, label) pair."""
    labels: Ints
    values: Floats
    transitions: Floats
    """Weight of each label after each other, L x L."""
    edge_attributes: Ints
    """Attribute, label before, label and weight of each observed transition."""
    before: Ints
    after: Ints
    edge_values: Floats
    triples: Ints = np.zeros((0, 3), dtype=np.int32)
    """The three labels, in the order of the text, and the weight of each label triple: a model of second order."""
    triple_values: Floats = np.zeros(0)

    @property
    def n_nonzero(self) -> int:
        """Number of non-zero weights."""
        n_pairs = int(np.count_nonzero(self.transitions))
        return len(self.values) + n_pairs + len(self.edge_values) + len(self.triple_values)

    def renumber(self, new_ids: Ints) -> ChainWeights:
        """Attribute ``i`` becomes ``new_ids[i]``."""
        return self._replace(
            attributes=new_ids[self.attributes], edge_attributes=new_ids[self.edge_attributes]
        )

    def reorder(self, order: npt.NDArray[np.intp]) -> ChainWeights:
        """Label ``order[j]`` becomes label ``j``."""
        rank = np.argsort(order).astype(np.int32)
        return self._replace(
            labels=rank[self.labels],
            transitions=self.transitions[np.ix_(order, order)],
            before=rank[self.before],
            after=rank[self.after],
            triples=rank[self.triples],
        )


@dataclass(frozen=True)
class WeightLayout:
    """Maps every weight of a chain model to its index in the weight vector.

    Attributes
    ----------
    n_labels, width : number of labels, and the length of a row of them, a multiple of eight.
    row_of : where each attribute's row starts, -1 if it has none.
    dense_end, state_end : dense rows are before the first, sparse rows before the second, then come transitions.
    codes : of each sparse weight, its label and how many weights are left in its row.
    free : 1 where a weight is part of the model, 0 for padding and for what training may not change.
    has_transitions : False for models of single tokens.
    allowed : n_labels x width, 0 where a transition is forbidden.
    edge_row_ptr, edge_pair : the label pairs (i * width + j) with weights of each attribute of a transition.
    types : of the segments of a semi-Markov model; None for a chain.
    triples : the label triples with weights, sorted by the last label, the first, the second; n x 3.
    """

    n_labels: int
    width: int
    row_of: Ints = field(repr=False)
    dense_end: int
    state_end: int
    codes: Ints = field(repr=False)
    free: npt.NDArray[np.uint8] = field(repr=False)
    has_transitions: bool
    allowed: Floats = field(repr=False)
    edge_row_ptr: Offsets = field(repr=False)
    edge_pair: Ints = field(repr=False)
    types: SegmentTypes | None = None
    triples: Ints = field(default_factory=lambda: np.zeros((0, 3), dtype=np.int32), repr=False)

    @property
    def n_weights(self) -> int:
        """Length of the vector of weights that C takes."""
        return len(self.free)

    @cached_property
    def _places(self) -> Ints:
        """Positions of the model's weights in the vector that C takes."""
        return np.flatnonzero(self.free).astype(np.int32)

    @property
    def n_features(self) -> int:
        """Number of weights that are part of the model: what solvers see."""
        return len(self._places)

    @property
    def allowed_transitions(self) -> npt.NDArray[np.bool_]:
        """L x L: which label may follow which."""
        square: npt.NDArray[np.bool_] = self.allowed.reshape(self.n_labels, -1)[:, : self.n_labels] > 0
        return square

    def spread(self, features: Floats, parts: Parts | None = None, out: Floats | None = None) -> Floats:
        """The weights of the model at their places; zeros between, or what ``out`` has there."""
        w, places = aligned(self.n_weights) if out is None else out, self._places
        features = np.ascontiguousarray(features, dtype=np.float64)
        if features.shape != places.shape:
            raise ValueError(f"expected {len(places)} weights, not an array of shape {features.shape}.")

        def put(part: slice) -> None:
            bindings.chain_layout_spread(places[part], features[part], w)

        (parts or Parts(len(places))).each(put)
        return w

    def gather(self, w: Floats) -> Floats:
        """The weights of the model; the inverse of :meth:`spread`."""
        return w[self._places]

    def gather_sum(self, vectors: Sequence[Floats], out: Floats, parts: Parts) -> None:
        """The sum of several vectors of weights as :meth:`gather` gives it."""

        def add(part: slice) -> None:
            places = self._places[part]
            bindings.chain_layout_gather(places, vectors[0], out[part])
            for vector in vectors[1:]:
                bindings.chain_layout_add_gathered(places, vector, out[part])

        parts.each(add)

    def weights(self, w: Floats, values: Floats | None = None) -> ChainWeights:
        """Return the non-zero weights by what they belong to, or ``values`` in their place."""
        values = w if values is None else values
        active = np.flatnonzero(w[: self.state_end])
        order = np.argsort(self.row_of, kind="stable")
        order = order[np.searchsorted(self.row_of, 0, sorter=order) :]
        owner = order[np.searchsorted(self.row_of[order], active, side="right") - 1]
        dense = active < self.dense_end
        labels = np.where(dense, active % self.width, self.codes[active] & 0xFFFF)
        square, edge_base = np.zeros((self.n_labels, self.n_labels)), self.state_end
        if self.has_transitions:
            square[:] = np.where(self._square(w) != 0.0, self._square(values), 0.0)
            edge_base += self.n_labels * self.width
        end = self.n_weights - len(self.triples)
        edges, triples = np.flatnonzero(w[edge_base:end]), np.flatnonzero(w[end:])
        before, after = np.divmod(self.edge_pair[edges], self.width)
        return ChainWeights(
            owner.astype(np.int32),
            labels.astype(np.int32),
            values[active],
            square,
            (np.searchsorted(self.edge_row_ptr, edges, side="right") - 1).astype(np.int32),
            before.astype(np.int32),
            after.astype(np.int32),
            values[edge_base + edges],
            self.triples[triples],
            values[end + triples],
        )

    def _square(self, w: Floats) -> Floats:
        """The L x L matrix of transition weights, as a view."""
        rows = w[self.state_end : self.state_end + self.n_labels * self.width]
        return rows.reshape(self.n_labels, self.width)[:, : self.n_labels]

    def pack(self, weights: ChainWeights) -> Floats:
        """The weight vector with these weights; those without a place here must be zero."""
        w = aligned(self.n_weights)
        rows = self.row_of[weights.attributes].astype(np.int64)
        dense = rows < self.dense_end
        w[rows[dense] + weights.labels[dense]] = weights.values[dense]
        codes = (rows[~dense] << 16) | weights.labels[~dense]
        lengths = self.codes[self.dense_end :] >> 16
        first = np.ones(len(lengths), dtype=bool)
        first[1:] = lengths[1:] >= lengths[:-1]
        starts = np.arange(self.dense_end, self.state_end)[first][np.cumsum(first) - 1]
        index = (starts << 16) | (self.codes[self.dense_end :] & 0xFFFF)
        w[self.dense_end + np.searchsorted(index, codes)] = weights.values[~dense]
        if self.has_transitions:
            self._square(w)[:] = weights.transitions
        if len(weights.edge_values):
            size = self.n_labels * self.width
            owners = np.repeat(np.arange(len(self.edge_row_ptr) - 1), np.diff(self.edge_row_ptr))
            pairs = weights.before.astype(np.int64) * self.width + weights.after
            pairs += weights.edge_attributes.astype(np.int64) * size
            at = np.searchsorted(owners * size + self.edge_pair, pairs)
            w[self.state_end + size + at] = weights.edge_values
        if len(weights.triple_values):
            at = np.searchsorted(self._triple_keys, triple_keys(weights.triples, self.n_labels))
            w[self.n_weights - len(self.triples) + at] = weights.triple_values
        return w

    @property
    def _triple_keys(self) -> Offsets:
        return triple_keys(self.triples, self.n_labels)

    def total(self) -> WeightLayout:
        """Return a layout with a row for every attribute; those without one share a zero weight.

        C can then follow any id. Attributes of transitions have no row otherwise, nor do those that a damaged file
        names without a weight.
        """
        if self.row_of.min(initial=0) >= 0:
            return self
        at = self.state_end
        return replace(
            self,
            row_of=np.where(self.row_of < 0, at, self.row_of).astype(np.int32),
            state_end=at + 1,
            codes=np.append(self.codes, np.int32(1 << 16)),
            free=np.insert(self.free, at, 0),
        )

    def struct(self) -> Any:
        """The layout as C takes it."""
        return bindings.Layout(
            self.n_labels,
            self.width,
            self.dense_end,
            self.has_transitions,
            self.codes,
            self.free,
            self.allowed,
            self.edge_row_ptr,
            self.edge_pair,
            *triple_fields(self.triples, self.n_labels, self.width),
        )

    def chains(self, sequences: Sequences, rows: Rows | None = None, sets: Floats | None = None) -> Any:
        """Return sentences as the C structure; with ``rows``, occurrences by their row number.

        ``sets`` has a row for each set of labels that tokens may have (:mod:`epigram.chain.partial_labels`).
        """
        sets = np.zeros((0, self.width)) if sets is None else sets
        if rows is None:
            none = np.zeros(sequences.n_sentences + 1, dtype=np.int64), np.zeros(0, dtype=np.int32)
            rows = *none, self.row_of, sequences.attributes
        segments = [*segment_fields(sequences.segments, self.types), *sets.shape, sets]
        return bindings.Chains(
            int(len(sequences.values) == len(sequences.attributes)),
            sequences.sentence_ptr,
            sequences.attribute_ptr,
            *rows,
            sequences.values,
            sequences.edge_ptr,
            sequences.edge_attributes,
            sequences.parents,
            *segments,
        )

    def scratch(self, sequences: Sequences, with_sets: bool = False) -> Any:
        """Working memory of C for the longest sentence, and one matrix per step with edges."""
        room = 0
        if self.types is not None and sequences.segments is not None:
            n_words, types = int(sequences.segments.n_words.max(initial=0)), self.types
            room = bindings.segment_room(n_words, self.width, types.longest, len(types.begin))
        n, L, width = int(sequences.lengths.max(initial=1)), self.n_labels, self.width
        if with_sets:
            room = 2 * n * width
        if len(self.triples):
            room = bindings.second_order_room(n, L, width, len(self.triples))
        k = 1
        if len(sequences.edge_attributes):
            has_edges = np.diff(sequences.edge_ptr) > 0
            per_sentence = np.diff(offsets(has_edges)[sequences.sentence_ptr])
            k += int(per_sentence.max(initial=0))
        size = 8 * (3 * n * width + k * (2 * L + width) * width + room)
        check_room(
            size,
            f"a sentence of {n:,} tokens, with {L:,} labels"
            + (f" and {k - 1:,} tokens whose transitions have features of their own" if k > 1 else ""),
            "cut it into shorter ones, or take fewer labels",
        )
        return bindings.Scratch(
            L,
            width,
            k,
            scores=aligned(n * width),
            alpha=aligned(n * width),
            beta=aligned(n * width),
            c=np.empty(n),
            matrices=aligned(k * L * width),
            transposed=aligned(k * width * width),
            pair_sums=aligned(k * L * width),
            which=np.zeros(n, dtype=np.int32),
            order=np.zeros(2 * n, dtype=np.int32),
            room=aligned(room),
        )


def aligned(n: int) -> Floats:
    """Return zeros that start on a cache line."""
    raw = np.zeros(n * 8 + 64, dtype=np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + 8 * n].view(np.float64)


def check_room(size: int, what: str, way_out: str) -> None:
    """Refuse work that needs more memory than there is; what is small is not looked at.

    Examples
    --------
    >>> check_room(1 << 50, "a sentence of 10,000,000 tokens", "cut it")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    epigram.errors.InputError: a sentence of 10,000,000 tokens needs 1,125,899.9 GB of memory, and ... are free; cut it
    """
    if size > SMALL and size > (free := available()):
        raise InputError(
            f"{what} needs {size / 1e9:,.1f} GB of memory, and {free / 1e9:,.1f} are free; {way_out}"
        )


Pairs = Literal["seen", "all"]


def lay_out(
    seen: SeenPairs,
    pairs: str = "seen",
    has_transitions: bool = True,
    allowed: npt.NDArray[np.bool_] | None = None,
    bare: bool = True,
    order: int = 1,
) -> WeightLayout:
    """Give every seen pair (or all pairs) its place.

    Parameters
    ----------
    seen : what the training text holds.
    pairs : ``"seen"`` for those only, ``"all"`` for every attribute with every label and every transition.
    has_transitions : False for models of single tokens.
    allowed : L x L matrix of permitted transitions; all by default.
    bare : False where transitions have weights only with an observation (no plain ``B`` in the template).
    order : 2 for weights on label triples besides.
    """
    if pairs not in ("seen", "all"):
        raise ValueError(f"pairs must be 'seen' or 'all', not {pairs!r}.")
    L, width = seen.n_labels, padded(seen.n_labels)
    if L > MOST_LABELS:
        raise ValueError(f"{L:,} labels; a chain model has at most {MOST_LABELS:,}.")
    row_of, dense_end, state_end = _rows(seen, pairs)
    n_transitions = L * width if has_transitions else 0
    edges = _edges(seen, pairs) if has_transitions else np.empty(0, dtype=np.int64)
    triples = seen.triples[:0]
    if order == 2 and has_transitions:
        triples = seen.triples if pairs == "seen" else _all_triples(L, allowed)
    n_weights = state_end + n_transitions + len(edges) + len(triples)
    if n_weights >= 2**31:
        raise MemoryError(f"{n_weights:,} weights; raise min_count or use pairs='seen' to have fewer")
    codes = np.zeros(state_end, dtype=np.int32)
    free = np.zeros(n_weights, dtype=np.uint8)
    if pairs == "seen":
        bindings.chain_layout_fill_rows(
            seen.bits.shape[1], seen.bits, row_of, dense_end, codes, free[:state_end]
        )
    else:
        free[:state_end].reshape(-1, width)[:, :L] = 1
    permitted = np.zeros((L, width))
    permitted[:, :L] = 1.0 if allowed is None else allowed
    if has_transitions:
        square = free[state_end : state_end + n_transitions].reshape(L, width)
        square[:, :L] = seen.transitions if pairs == "seen" else 1
        square[permitted == 0] = 0
        square *= np.uint8(bare)
        free[state_end + n_transitions :] = 1
    edge_row_ptr = np.searchsorted(edges // (L * width), np.arange(len(seen.bits) + 1))
    edge_pair = (edges % (L * width)).astype(np.int32)
    return WeightLayout(
        L,
        width,
        row_of,
        dense_end,
        state_end,
        codes,
        free,
        has_transitions,
        permitted.ravel(),
        edge_row_ptr.astype(np.int64, copy=False),
        edge_pair,
        triples=triples,
    )


def _rows(seen: SeenPairs, pairs: str) -> tuple[Ints, int, int]:
    """Return each attribute's row offset (-1: none) and the ends of dense and sparse rows."""
    n_seen = np.empty(len(seen.bits), dtype=np.int64)
    bindings.chain_layout_count_bits(seen.bits.shape[1], seen.bits, n_seen)
    dense = (n_seen > 0) & ((n_seen * DENSE_SHARE >= seen.n_labels) | (pairs == "all"))
    sparse = ~dense & (n_seen > 0)
    width, dense_end = padded(seen.n_labels), int(padded(seen.n_labels) * dense.sum())
    starts = np.full(len(n_seen), -1, dtype=np.int64)
    starts[dense] = np.arange(dense.sum()) * width
    ends = dense_end + np.cumsum(n_seen[sparse])
    starts[sparse] = ends - n_seen[sparse]
    return starts.astype(np.int32), dense_end, int(ends[-1]) if len(ends) else dense_end


def _edges(seen: SeenPairs, pairs: str) -> Offsets:
    if pairs == "seen" or not len(seen.edges):
        return seen.edges
    L, width = seen.n_labels, padded(seen.n_labels)
    every = (np.arange(L)[:, None] * width + np.arange(L)).ravel()
    return (np.unique(seen.edges // (L * width))[:, None] * (L * width) + every).ravel()


def _all_triples(n_labels: int, allowed: npt.NDArray[np.bool_] | None) -> Ints:
    """All whose pairs are permitted."""
    if n_labels**3 > MOST_TRIPLES:
        raise ValueError(
            f"{n_labels:,} labels have {n_labels**3:,} triples; use pairs='seen' to have weights for those met."
        )
    permitted = np.ones((n_labels, n_labels), dtype=bool) if allowed is None else allowed
    every = np.argwhere(permitted[:, :, None] & permitted[None])
    return unique_triples(every.astype(np.int32), n_labels)


def triple_fields(triples: Ints, n_labels: int, width: int) -> tuple[Any, ...]:
    """Return the fields of the C structure for label triples."""
    first, second, third = triples.T
    pairs, ptr = second * width + third, np.zeros(1, dtype=np.int64)
    by_pair = np.lexsort((first, pairs)).astype(np.int32)
    if len(pairs):
        ptr = np.searchsorted(pairs[by_pair], np.arange(n_labels * width + 1)).astype(np.int64, copy=False)
    return ptr, first[by_pair], by_pair, first * width + second, pairs


def segment_fields(rows: SegmentRows | None, types: SegmentTypes | None) -> tuple[Any, ...]:
    """Return the fields of the C structure for segments; none for chains."""
    if rows is None or types is None:
        none = np.empty(0, dtype=np.int32)
        return 0, none, none, none, none, none
    return types.longest, rows.n_words, rows.begin, rows.length, types.begin, types.inside


class SegmentTypes(NamedTuple):
    """Segment types by their IOB2 labels (``B-x``, ``I-x`` or -1), and the longest length."""

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
