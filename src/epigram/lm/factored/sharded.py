"""A class-factored model on a folder of text: the word part by its classes, the class part as a sum.

Words of different classes share no weight. So a shard of the word part is a range of classes, its part of the solver's
vectors stays with it, and what travels are a few numbers an iteration (:mod:`epigram.scale.parts`). The class part has
one root, and all positions share its side trees: a shard is a range of positions, losses and gradients are added up
(:mod:`epigram.scale.loss`), and the driver keeps tree and vectors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from epigram._core.native import gather, offsets
from epigram.errors import InputError
from epigram.lm.factored.classes import WordClasses
from epigram.lm.factored.exchange import Bigrams
from epigram.lm.factored.loss import Contexts, Factor
from epigram.lm.factored.model import ClassFactoredLM
from epigram.lm.factored.problem import PARTS, FactorProblem, first_strength
from epigram.lm.factored.scorer import FactorScorer
from epigram.lm.loglinear.problem import Strength, build_penalty, named
from epigram.lm.loglinear.sharded import SHARD_TOKENS
from epigram.lm.loglinear.splitting import BLOCK, positions_at
from epigram.lm.loglinear.tree import Positions
from epigram.lm.ngram.sharded import count_stream
from epigram.lm.sharding import KIND, read_vocabulary
from epigram.penalties.separable import L1
from epigram.protocols import Callback, Floats, Ints, Offsets, Result
from epigram.scale.engine import Engine, Here
from epigram.scale.folder import Manifest
from epigram.scale.loss import ShardedLoss
from epigram.scale.parts import Part, Separate, Talk, minimise
from epigram.solvers.proximal import FISTA

PENALTIES = ("elastic", "l1", "l2")


@dataclass(frozen=True)
class Recipe:
    """A range of classes (part ``word``) or of positions (part ``class``), on any machine that sees the folder."""

    folder: str
    part: str
    first: int
    last: int
    class_of: Ints
    contexts: str
    penalty: str
    strength: Strength
    nonnegative: bool
    pairs: tuple[Offsets, Ints] | None = None
    """Of the class part: which classes the whole text has after each context of these positions."""

    @cached_property
    def factor(self) -> Factor:
        """What is chosen from, and after what."""
        vocabulary = read_vocabulary(Manifest.read(self.folder, KIND))
        return Factor(self.part, WordClasses(vocabulary, self.class_of), Contexts.parse(self.contexts))

    def positions(self) -> Positions:
        """The positions of the text that belong to it."""
        (stream,) = Manifest.read(self.folder, KIND).shared("stream")
        if self.part == "class":
            ends = np.arange(self.first, self.last, dtype=np.int32)
        else:
            found = [np.empty(0, np.int32)]
            for low in range(1, stream.size, BLOCK):
                chosen = self.class_of[stream[low : low + BLOCK]]
                mine = (chosen >= self.first) & (chosen < self.last)
                found.append((np.flatnonzero(mine) + low).astype(np.int32))
            ends = np.concatenate(found)
        return positions_at(stream, ends, self.factor.contexts.n_words + 1, self.class_of.size)

    def problem(self) -> FactorProblem:
        """The loss of its positions."""
        return FactorProblem.of(self.factor, self.positions(), self.penalty, nonnegative=self.nonnegative)


class WordShard(Part):
    """The words of some classes with all weights that choose among them; it travels as its recipe."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe, self.problem = recipe, recipe.problem()
        loss: Any = self.problem.loss
        loss.n_shared = 0
        self.loss = loss
        self.penalty = build_penalty(
            recipe.penalty, loss.tree, recipe.strength, recipe.nonnegative, loss.is_side
        )
        super().__init__(loss.n_weights)
        self.vectors["x"][:] = self.vectors["y"][:] = self.problem.first_weights(recipe.strength)

    def __reduce__(self) -> tuple[Any, ...]:
        return WordShard, (self.recipe,)

    def kept(self, *_: Any) -> tuple[FactorScorer, int]:
        """The fitted choice among its words, and how many weights there were."""
        return self.problem.scorer(self.weights()), self.loss.n_weights


class ClassShard:
    """The loss of choosing the class at some positions; it travels as its recipe."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe, self._loss = recipe, recipe.problem().loss
        if recipe.pairs is not None:
            self._loss.widen(*recipe.pairs)

    def __reduce__(self) -> tuple[Any, ...]:
        return ClassShard, (self.recipe,)

    def value(self, w: Floats) -> float:
        """As of :class:`~epigram.lm.factored.loss.FactorLoss`."""
        return self._loss.value(w)

    def value_and_gradient(self, w: Floats, out: Floats) -> float:
        """As of :class:`~epigram.lm.factored.loss.FactorLoss`."""
        return self._loss.value_and_gradient(w, out)


def value_of(shard: ClassShard, w: Floats) -> float:
    """On a worker."""
    return shard.value(w)


class ClassLoss(ShardedLoss):
    """The loss of the class part over all shards, on the weights of the whole tree."""

    counts: Ints

    def value(self, w: Floats) -> float:
        """The loss alone."""
        return float(sum(self.engine.ask(value_of, self.shards, [w[places] for places in self.places])))

    def curvature(self, gradient: Floats) -> Floats:
        """As of :class:`~epigram.lm.factored.loss.FactorLoss`."""
        return np.asarray(self.counts + np.maximum(gradient, 0.0))


def fit_stream(
    model: ClassFactoredLM,
    manifest: Manifest,
    engine: Engine | None = None,
    n_shards: int | None = None,
    callback: Callback | None = None,
) -> ClassFactoredLM:
    """Train a class-factored model on a folder of text; strengths that are not given are the usual ones."""
    check_sharded(model)
    engine = engine or Here(model.threads)
    wanted = n_shards or max(1, -(-int(manifest.header["tokens"]) // SHARD_TOKENS))
    classes = _classes(model, manifest, engine, wanted)
    name, given = named(model.penalty)
    strengths = {
        "class": model.class_strength or given or first_strength(name, "class"),
        "word": model.word_strength or given or first_strength(name, "word"),
    }
    fits = {}
    for part, fit in zip(PARTS, (_fit_classes, _fit_words), strict=True):
        cuts = _position_cuts(manifest, wanted) if part == "class" else _class_cuts(manifest, classes, wanted)
        recipes = [
            Recipe(
                str(manifest.folder.resolve()),
                part,
                first,
                last,
                classes.class_of,
                str(model.contexts_of(part)),
                name,
                strengths[part],
                model.nonnegative,
            )
            for first, last in pairwise(cuts)
        ]
        fits[part] = fit(model, recipes, engine, callback)
    model.restore(classes, fits["class"][0], fits["word"][0], strengths["class"], strengths["word"])
    model.leave_stream()
    model.trials_ = []
    model.objective_ = sum(result.objective for _, result, _ in fits.values())
    model.n_iter_ = sum(result.iterations for _, result, _ in fits.values())
    model.n_parameters_ = sum(n for _, _, n in fits.values())
    return model


def check_sharded(model: ClassFactoredLM) -> None:
    """Refuse settings that shards cannot do."""
    model.check_settings()
    if model.classes == "auto":
        raise InputError("shards need the number of classes (--classes K), or a class file")
    if named(model.penalty)[0] not in PENALTIES:
        raise InputError(
            f"{model.penalty} stays on one machine for models with classes; use {', '.join(PENALTIES)}"
        )
    if model.solver != "fista":
        raise InputError("shards take fista")


def _classes(model: ClassFactoredLM, manifest: Manifest, engine: Engine, n_shards: int) -> WordClasses:
    """The classes given, or learnt from the bigrams of the whole text."""
    vocabulary = read_vocabulary(manifest)
    given = model.given_classes(vocabulary)
    if given is not None:
        return given
    _, pairs = count_stream(manifest, 2, engine, n_shards)
    bigrams = Bigrams.of_pairs(pairs.prefix, pairs.word, pairs.count, len(vocabulary))
    number = int(model.classes)  # type: ignore[arg-type]
    return WordClasses.of_bigrams(vocabulary, bigrams, number, threads=model.threads, seed=model.random_state)


def _position_cuts(manifest: Manifest, n_shards: int) -> list[int]:
    """Ranges of positions of about the same size."""
    n = int(manifest.header["tokens"])
    return sorted(set(np.linspace(1, n + 1, n_shards + 1).astype(int).tolist()))


def _class_cuts(manifest: Manifest, classes: WordClasses, n_shards: int) -> list[int]:
    """Ranges of classes with about as many positions that leave a choice; every range has some."""
    (counts,) = manifest.shared("counts")
    weights = np.bincount(classes.class_of, weights=counts) * (classes.sizes > 1)
    total = np.cumsum(weights)
    if not total[-1]:
        return [0, classes.n_classes]
    # Each cut stands behind a class with a choice, so every range has one; the last takes what is left.
    inner = np.searchsorted(total, total[-1] * np.arange(1, n_shards) / n_shards) + 1
    return [0, *sorted({cut for cut in inner.tolist() if total[cut - 1] < total[-1]}), classes.n_classes]


Fit = tuple[FactorScorer, Result, int]


def _fit_words(
    model: ClassFactoredLM, recipes: list[Recipe], engine: Engine, callback: Callback | None
) -> Fit:
    """The word part: all weights with the shards."""
    none = np.empty(0)
    talk = Talk(engine, engine.make(WordShard, recipes), [np.empty(0, np.int64) for _ in recipes])
    solver = model.make_solver()
    assert isinstance(solver, FISTA)
    result = minimise(talk, none, none, Separate(L1(0.0)), solver.tolerance, solver.max_iterations, callback)
    found = talk.ask("kept")
    return joined([scorer for scorer, _ in found]), result, sum(n for _, n in found)


def _fit_classes(
    model: ClassFactoredLM, recipes: list[Recipe], engine: Engine, callback: Callback | None
) -> Fit:
    """The class part: tree and vectors here, loss and gradient as sums."""
    first = recipes[0]
    problem = replace(first, last=recipes[-1].last).problem()
    tree, places, wide = problem.loss.tree, [], []
    for recipe in recipes:
        known = recipe.problem().loss.tree.contexts_in(tree)
        ptr, mine = gather(tree.pair_ptr, known)
        places.append(mine)
        wide.append(replace(recipe, pairs=(ptr, tree.word[mine])))
    loss = ClassLoss(
        engine, engine.make(ClassShard, wide), places, problem.loss.n_weights, problem.loss.n_samples
    )
    loss.counts = tree.count
    penalty = build_penalty(first.penalty, tree, first.strength, first.nonnegative, problem.loss.is_side)
    start = problem.first_weights(first.strength)
    result = model.make_solver().solve(loss, penalty, start, callback)
    return problem.scorer(result.w), result, loss.n_weights


def joined(scorers: list[FactorScorer]) -> FactorScorer:
    """The choices of several ranges of classes as one: contexts level by level, those of a context in their order."""
    first = scorers[0]
    top = first.n_roots * len(first.contexts.trees)
    number = [
        np.arange(one.parent.size) for one in scorers
    ]  # of each context in the whole; roots are the same
    depth = [one.depth for one in scorers]
    parents, symbols = [np.full(top, -1, np.int32)], [first.symbol[:top]]
    n = top
    for level in range(1, max(int(d.max(initial=0)) for d in depth) + 1):
        here = [np.flatnonzero(d == level) for d in depth]
        parent = np.concatenate([
            number[k][one.parent[mine]] for k, (one, mine) in enumerate(zip(scorers, here, strict=True))
        ])  # fmt: skip
        symbol = np.concatenate([one.symbol[mine] for one, mine in zip(scorers, here, strict=True)])
        order = np.argsort(parent, kind="stable")
        rank = np.empty(order.size, np.int64)
        rank[order] = n + np.arange(order.size)
        for k, ids in enumerate(np.split(rank, np.cumsum([mine.size for mine in here])[:-1])):
            number[k][here[k]] = ids
        parents.append(parent[order].astype(np.int32))
        symbols.append(symbol[order])
        n += order.size
    owner = np.concatenate([
        number[k][np.repeat(np.arange(one.parent.size), np.diff(one.pair_ptr))]
        for k, one in enumerate(scorers)
    ])  # fmt: skip
    order = np.argsort(owner, kind="stable")
    ends: Offsets = offsets(np.bincount(owner, minlength=n))
    candidate, w, count = (
        np.concatenate([getattr(one, name) for one in scorers])[order] for name in ("candidate", "w", "count")
    )
    return FactorScorer(
        first.contexts,
        first.n_candidates,
        np.concatenate(parents),
        np.concatenate(symbols),
        ends,
        candidate,
        w,
        count,
    )
