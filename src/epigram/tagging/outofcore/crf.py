"""Trains a CRFTagger on a folder of shards (:mod:`epigram.tagging.outofcore.encode`).

Batch solvers see a :class:`~epigram.outofcore.sharded.ShardedLoss`: with K shards, the bits of
``ChainLoss(threads=K)`` on the whole corpus. SGD sees :class:`StreamedChainLoss`, which visits shards in random
order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from epigram.chain.constraints import allowed_ends, allowed_transitions, check_permitted
from epigram.chain.l1_path import follow
from epigram.chain.labels import Labels
from epigram.chain.layout import WeightLayout, lay_out
from epigram.chain.loss import ChainLoss
from epigram.chain.problem import Samples, Shape, Trained, sentence_weights, train, weights_of_labels
from epigram.chain.seen_pairs import SeenPairs
from epigram.errors import InputError
from epigram.features.attributes import AttributeTable
from epigram.features.sequences import Sequences
from epigram.features.template import Template
from epigram.outofcore.dataset import Manifest, Record, map_arrays, shard_path
from epigram.outofcore.engine import Engine, Here
from epigram.outofcore.memory import available, mapped
from epigram.outofcore.sharded import ShardedLoss
from epigram.penalties.separable import penalty_of
from epigram.protocols import Floats, Ints, Offsets, Steps
from epigram.solvers.history import Listener, Watch
from epigram.solvers.make import make
from epigram.storage.file import blaming
from epigram.storage.schema import Schema
from epigram.tagging.outofcore.encode import ARRAYS, KIND, own_pairs

if TYPE_CHECKING:
    from epigram.tagging.crf import CRFTagger


@dataclass(frozen=True, slots=True)
class Terms:
    """Terms of a training: allowed transitions and ends, and weights of labels."""

    allowed: npt.NDArray[np.bool_] | None = None
    ends: npt.NDArray[np.bool_] | None = None
    label_weights: Floats | None = None


NO_TERMS = Terms()
SHARD_BYTES, SOLVER_BYTES = 64, 256  # that a feature takes in an open shard, and in the vectors of a solver


@dataclass(frozen=True, slots=True)
class ShardRecipe:
    """Arguments to open a shard on any machine that sees its folder."""

    folder: str
    k: int
    arrays: Record
    common: Record
    classes: tuple[str, ...]
    pairs: str
    has_transitions: bool
    bare: bool
    terms: Terms
    stays: bool = True

    def open(self, checked: bool = False) -> tuple[Sequences, Ints, Ints, Floats | None]:
        """Map sentences, labels, attribute ids in the corpus, and weights of sentences."""
        a = map_arrays(shard_path(Path(self.folder), self.k), self.arrays, checked)
        parts: list[Any] = [a[name] for name in ARRAYS]
        sequences = Sequences(*parts)
        if not checked:
            try:
                names = np.array(self.classes, dtype=object)
                check_permitted(sequences, a["labels"], names, self.terms.allowed, self.terms.ends)
            except InputError as error:
                raise InputError(f"shard {self.k}, {error}") from None
        weights = None
        if self.terms.label_weights is not None:
            weights = sentence_weights(self.terms.label_weights[a["labels"]], sequences)
        return sequences, a["labels"], a["own"], weights


class ChainShard:
    """The loss of one shard on the weights of the features in it; it travels as its recipe.

    Where memory does not hold all shards (``recipe.stays`` is False), it is opened for each question.
    """

    def __init__(self, recipe: ShardRecipe) -> None:
        self.recipe = recipe
        self._loss: ChainLoss | None = None
        self._checked = False
        if recipe.stays:
            self._loss = self._opened()

    def __reduce__(self) -> tuple[Any, ...]:
        return ChainShard, (self.recipe,)

    def value_and_gradient(self, w: Floats, out: Floats) -> float:
        """As of :class:`~epigram.chain.loss.ChainLoss`."""
        return (self._loss or self._opened()).value_and_gradient(w, out)

    def summed_gradients(self, w: Floats) -> tuple[Floats, Floats]:
        """As of :class:`~epigram.chain.loss.ChainLoss`."""
        return (self._loss or self._opened()).summed_gradients(w)

    def _opened(self) -> ChainLoss:
        recipe = self.recipe
        sequences, labels, own, weights = recipe.open(self._checked)
        pairs = map_arrays(Path(recipe.folder) / "common", recipe.common, self._checked)
        self._checked = True
        seen = own_pairs(own, len(recipe.classes), pairs["bits"], pairs["transitions"], pairs["edges"])
        layout = lay_out(seen, recipe.pairs, recipe.has_transitions, recipe.terms.allowed, recipe.bare)
        return ChainLoss(sequences, labels, layout, weights)


class StoredNames:
    """Names of attributes, read from the folder when they are asked for."""

    def __init__(self, manifest: Manifest) -> None:
        self._names, self._spans = manifest.shared("names", "spans")

    def names(self, occurrences: Offsets) -> list[str]:
        """Those of some attributes."""
        spans = self._spans[occurrences].tolist()
        return [self._names[first:last].tobytes().decode() for first, last in spans]


FIELDS = Schema(
    {
        "template": [(str, None)],
        "reading": dict,
        "min_count": int,
        "pairs": str,
        "classes": [str],
        "label_counts": [int],
        "sentences": int,
        "tokens": int,
        "attributes": int,
        "sources": list,
        "common": dict.fromkeys(("bits", "transitions", "edges", "names", "spans", "fingerprints"), dict),
    }
)
"""The manifest of a tagger's shards."""


@dataclass(frozen=True)
class TaggerShards:
    """A folder of shards as a tagger's training text.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from epigram.outofcore import Here
    >>> from epigram.features.formats import ColumnSpec
    >>> from epigram.tagging.outofcore.encode import write_shards
    >>> home = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (home / "train.txt").write_text("the D\\ncat N\\n\\na D\\ndog N\\n")
    >>> template = Template.parse("U:%x[0,0]\\nB\\n")
    >>> _ = write_shards([home / "train.txt"], home / "shards", template, ColumnSpec(), n_shards=2)
    >>> shards = TaggerShards.open(home / "shards")
    >>> shards.classes, shards.manifest.n_shards, shards.layout(shards.seen()).n_features
    (['D', 'N'], 2, 5)
    """

    manifest: Manifest
    template: Template

    @classmethod
    def open(cls, folder: Any) -> TaggerShards:
        """A finished folder."""
        manifest = Manifest.read(folder, KIND)
        with blaming(folder):
            FIELDS.check_header({**manifest.header, "common": manifest.common})
            return cls(manifest, Template.parse(*manifest.header["template"]))

    @property
    def classes(self) -> list[str]:
        """The labels, sorted."""
        return list(self.manifest.header["classes"])

    def seen(self) -> SeenPairs:
        """The pairs of the whole corpus."""
        bits, transitions, edges = self.manifest.shared("bits", "transitions", "edges")
        return SeenPairs(len(self.classes), bits, transitions, edges)

    def table(self) -> AttributeTable:
        """The attributes of the corpus; names are read from the folder."""
        (fingerprints,) = self.manifest.shared("fingerprints")
        everyone = np.arange(len(fingerprints), dtype=np.int64)
        return AttributeTable.of_origins(fingerprints, [(0, StoredNames(self.manifest))], everyone)

    def layout(self, seen: SeenPairs, allowed: npt.NDArray[np.bool_] | None = None) -> WeightLayout:
        """The weights of a model of this corpus."""
        pairs = self.manifest.header["pairs"]
        return lay_out(seen, pairs, self.template.has_transitions, allowed, self.template.transitions)

    def recipes(self, terms: Terms, staying: int | None = None) -> list[ShardRecipe]:
        """Recipes of all shards; those from ``staying`` on are opened for each call."""
        common = {name: self.manifest.common[name] for name in ("bits", "transitions", "edges")}
        return [
            ShardRecipe(
                str(self.manifest.folder.resolve()),
                k,
                record,
                common,
                tuple(self.classes),
                self.manifest.header["pairs"],
                self.template.has_transitions,
                self.template.transitions,
                terms,
                staying is None or k < staying,
            )
            for k, record in enumerate(self.manifest.shards)
        ]

    def places(self, layout: WeightLayout, seen: SeenPairs) -> Iterator[Ints]:
        """For each shard, the numbers of its features among those of the corpus."""
        for k in range(self.manifest.n_shards):
            path = shard_path(self.manifest.folder, k)
            (own,) = map_arrays(path, {"own": self.manifest.shards[k]["own"]}).values()
            yield places_of(layout, seen, own, self.manifest.header["pairs"])

    def loss(
        self,
        engine: Engine,
        layout: WeightLayout,
        seen: SeenPairs,
        terms: Terms = NO_TERMS,
    ) -> ShardedLoss:
        """The loss for batch solvers, its shards wherever the engine has them."""
        free = available() - SOLVER_BYTES * layout.n_features
        places, taken, staying = [], 0, 0
        for mine in self.places(layout, seen):
            taken += SHARD_BYTES * mine.size
            staying += taken < free // 2
            places.append(mine if taken < free // 2 else mapped(mine, self.manifest.folder))
        recipes = self.recipes(terms, staying if isinstance(engine, Here) else None)
        shards = engine.make(ChainShard, recipes)
        return ShardedLoss(engine, shards, places, layout.n_features, self.manifest.header["sentences"])


def places_of(layout: WeightLayout, seen: SeenPairs, own: Ints, pairs: str) -> Ints:
    """Indices of a shard's features among those of the corpus."""
    mine = lay_out(
        own_pairs(own, layout.n_labels, seen.bits, seen.transitions, seen.edges),
        pairs,
        layout.has_transitions,
    )
    at = np.empty(mine.n_weights, dtype=np.int64)
    kept = np.flatnonzero(mine.row_of >= 0)
    kept = kept[np.argsort(mine.row_of[kept], kind="stable")]
    lengths = np.diff(np.append(mine.row_of[kept], mine.state_end))
    shift = layout.row_of[own[kept]].astype(np.int64) - mine.row_of[kept]
    at[: mine.state_end] = np.arange(mine.state_end) + np.repeat(shift, lengths)
    n_transitions = layout.n_labels * layout.width if layout.has_transitions else 0
    end = mine.state_end + n_transitions
    at[mine.state_end : end] = layout.state_end + np.arange(n_transitions)
    if mine.n_weights > end:
        lengths = np.diff(mine.edge_row_ptr)
        shift = layout.edge_row_ptr[own] - mine.edge_row_ptr[:-1]
        rest = np.arange(mine.n_weights - end) + np.repeat(shift, lengths)
        at[end:] = layout.state_end + n_transitions + rest
    number = np.cumsum(layout.free, dtype=np.int64) - 1
    mine_of_all: Ints = number[at[layout.free[at] != 0]].astype(np.int32)
    return mine_of_all


class StreamedChainLoss:
    """The loss for SGD: shards one after another, each mapped while it is visited.

    Parameters
    ----------
    shards : the folder.
    layout : of the whole corpus.
    """

    def __init__(
        self,
        shards: TaggerShards,
        layout: WeightLayout,
        seen: SeenPairs,
        terms: Terms = NO_TERMS,
        threads: int = 1,
    ) -> None:
        self._recipes = shards.recipes(terms)
        self._batch = shards.loss(Here(threads), layout, seen, terms)
        self.layout = layout
        self.n_weights, self.n_samples = layout.n_features, self._batch.n_samples
        sizes = [record["sentence_ptr"]["shape"][0] - 1 for record in shards.manifest.shards]
        self._first = np.cumsum([0, *sizes])

    def value_and_gradient(self, w: Floats, out: Floats) -> float:
        """As of :class:`~epigram.outofcore.sharded.ShardedLoss`."""
        return self._batch.value_and_gradient(w, out)

    def summed_gradients(self, w: Floats) -> tuple[Floats, Floats]:
        """As of :class:`~epigram.outofcore.sharded.ShardedLoss`."""
        return self._batch.summed_gradients(w)

    def visiting_order(self, rng: np.random.Generator) -> Ints:
        """All sentences: shards in random order, and sentences in random order inside each."""
        runs = [
            rng.permutation(np.arange(*self._first[k : k + 2])) for k in rng.permutation(len(self._recipes))
        ]
        return np.concatenate(runs).astype(np.int32)

    def sampled(self, samples: Ints) -> ChainLoss:
        """The loss of some sentences, in memory: what a trial of rates needs."""
        parts = []
        for k, recipe in enumerate(self._recipes):
            mine = np.sort(samples[(samples >= self._first[k]) & (samples < self._first[k + 1])])
            if len(mine):
                parts.append(self._opened(recipe, mine - self._first[k]))
        return ChainLoss(*_together(parts, self.layout))

    def sgd_pass(self, method: str, steps: Steps, w: Floats, q: Floats) -> float:
        """Run one pass, shard by shard; see :class:`epigram.protocols.StochasticLoss`."""
        order, rates, penalties, batch_size = steps
        if batch_size != 1:
            raise InputError(f"SGD on shards takes one sentence a step, not {batch_size}; use batch_size=1")
        home = np.searchsorted(self._first, order, side="right") - 1
        changes = np.flatnonzero(np.diff(home)) + 1
        met = 0.0
        for a, b in zip([0, *changes.tolist()], [*changes.tolist(), len(order)], strict=True):
            k = int(home[a])
            loss = ChainLoss(*self._opened(self._recipes[k]))
            local = (order[a:b] - self._first[k]).astype(np.int32)
            met += loss.sgd_pass(method, Steps(local, rates[a:b], penalties[a : b + 1]), w, q)
        return met

    def _opened(
        self, recipe: ShardRecipe, chosen: Offsets | None = None
    ) -> tuple[Sequences, Ints, WeightLayout, Floats | None]:
        """A shard, or some of its sentences, with the weights of the whole corpus."""
        sequences, labels, own, weights = recipe.open()
        sequences = replace(sequences, edge_attributes=own[sequences.edge_attributes])
        if chosen is not None:
            tokens = np.concatenate([np.arange(*sequences.sentence_ptr[s : s + 2]) for s in chosen.tolist()])
            labels, sequences = labels[tokens], sequences.take(chosen)
            weights = None if weights is None else weights[chosen]
        layout = replace(self.layout, row_of=self.layout.row_of[own])
        return sequences, labels, layout, weights


def _together(
    parts: list[tuple[Sequences, Ints, WeightLayout, Floats | None]], layout: WeightLayout
) -> tuple[Sequences, Ints, WeightLayout, Floats | None]:
    """Sentences of several shards as one corpus; their rows of weights stand one after another."""
    sizes = np.cumsum([0, *(len(part.row_of) for _, _, part, _ in parts)])
    moved = [
        replace(sequences, attributes=sequences.attributes + np.int32(size))
        for (sequences, *_), size in zip(parts, sizes[:-1].tolist(), strict=True)
    ]
    weights = (
        None if parts[0][3] is None else np.concatenate([part[3] for part in parts if part[3] is not None])
    )
    rows = np.concatenate([part.row_of for _, _, part, _ in parts])
    labels = np.concatenate([labels for _, labels, *_ in parts])
    return Sequences.joined(moved), labels, replace(layout, row_of=rows), weights


def fit_shards(
    tagger: CRFTagger,
    shards: TaggerShards,
    engine: Engine | None = None,
    dev: tuple[Any, Labels] | None = None,
    listener: Listener | None = None,
) -> tuple[Trained, dict[str, Any]]:
    """Train a tagger on a folder of shards.

    Returns also what is told of an l1 that was chosen.
    """
    classes, header = np.array(shards.classes, dtype=object), shards.manifest.header
    allowed = allowed_transitions(tagger.constrain, shards.classes)
    ends = allowed_ends(tagger.constrain, shards.classes)
    counts = np.array(header["label_counts"], dtype=np.int64)
    terms = Terms(allowed, ends, weights_of_labels(tagger.class_weight, counts, classes))
    seen = shards.seen()
    layout = shards.layout(seen, allowed)
    none = Sequences.of([0], [0], [])
    told = {"sentences": header["sentences"], "tokens": header["tokens"]}
    shape = Shape(header["pairs"], layout.has_transitions, allowed, shards.template.transitions)
    samples = Samples(
        none, np.empty(0, dtype=np.int32), AttributeTable(), classes, shape, None, shards.template, ends, told
    )
    if dev is not None:
        samples = replace(samples, table=shards.table())
    scorer = None if dev is None else samples.scorer(layout, *dev, tagger.decode_ids)

    def streamed() -> StreamedChainLoss:
        return StreamedChainLoss(shards, layout, seen, terms, tagger.threads)

    l1, chosen = _strength(tagger, streamed, scorer)
    penalty = penalty_of(tagger.penalty, l1, tagger.l2)
    solver = make(tagger.solver, penalty, random_state=tagger.random_state)
    loss: Any
    if hasattr(solver, "passes"):
        if engine is not None and not isinstance(engine, Here):
            raise InputError(
                f"{type(solver).__name__} stays on one machine: averaged weights of several would not be sparse; "
                "use OWL-QN or L-BFGS on a cluster"
            )
        loss = streamed()
    else:
        loss = shards.loss(engine or Here(tagger.threads), layout, seen, terms)
    watch = Watch(scorer, tagger.patience, listener)
    trained = train(loss, layout, samples, seen, solver, penalty, watch)
    if dev is None:  # only now: the table of all attributes takes as much memory as the solver
        trained.samples = replace(trained.samples, table=shards.table())
    return trained, chosen


def _strength(
    tagger: CRFTagger, loss: Callable[[], StreamedChainLoss], score: Callable[[Floats], float] | None
) -> tuple[float, dict[str, Any]]:
    """Return l1, chosen on ``dev`` by passes of SGD if ``"auto"``, and report fields."""
    if not isinstance(tagger.l1, str):
        return tagger.l1, {}
    if tagger.l1 != "auto" or tagger.l2 or tagger.penalty is not None:
        raise ValueError(f"l1 is a number, or 'auto' without l2 and penalty, not {tagger.l1!r}.")
    if score is None:
        raise InputError(
            "l1='auto' on shards needs held-out sentences to choose by (dev, --dev FILE), or a number"
        )
    l1, path = follow(loss(), score, tagger.random_state)
    return l1, {"l1": l1, "path": path}
