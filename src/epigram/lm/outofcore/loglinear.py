"""Trains a log-linear model on the shards of a text.

Numbers of the penalty that are ``auto`` are chosen on held-out text. Each fit of that search begins with the weights of
the best one before, so fits follow each other as on one machine, and each of them is done by all shards; a shard
judges the held-out positions whose contexts it has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from epigram.checkpoint import Tape, piece
from epigram.errors import InputError
from epigram.lm.base import added_unknown
from epigram.lm.corpus import Corpus, digest_of_counts
from epigram.lm.loglinear.estimator import Text
from epigram.lm.loglinear.loss import SuffixLoss
from epigram.lm.loglinear.model import LogLinearLM
from epigram.lm.loglinear.penalties import Strength, build_penalty, named
from epigram.lm.loglinear.problem import first_weights
from epigram.lm.loglinear.search import best_factors, search
from epigram.lm.loglinear.storage import header_of
from epigram.lm.outofcore.encode import read_vocabulary
from epigram.lm.outofcore.join import ContextLevel, Joined
from epigram.lm.outofcore.partition import Split
from epigram.lm.outofcore.shard import TreeShard
from epigram.outofcore.dataset import Manifest
from epigram.outofcore.engine import Engine, Here
from epigram.outofcore.memory import available
from epigram.outofcore.sharded import ShardedProblem, ShardLost, Shards
from epigram.protocols import Callback, Floats, Iteration, Result
from epigram.tuning import SearchTrial, TrialCallback

SHARD_TOKENS = 1 << 20
BYTES = 60  # that a token takes for each order: subtrees with their part of the solver's vectors
PENALTIES = ("elastic", "l1", "l2")


def check_sharded(model: LogLinearLM, judged: bool = False) -> tuple[Strength, tuple[str, ...]]:
    """Check that shards support a model; return its strength and the numbers to search for.

    ``judged`` tells whether there is held-out text to choose by.
    """
    strength, free = model.first_strength()
    if free and not judged:
        asked = ", ".join(f"--{name.replace('_', '-')}" for name in free)
        raise InputError(
            f"shards need the numbers of the penalty ({asked}), or held-out text that chooses them (--valid FILE)"
        )
    if named(model.penalty)[0] not in PENALTIES:
        raise InputError(
            f"shards take the penalties {', '.join(PENALTIES)}, not {model.penalty}: its groups span shards"
        )
    if model.order < 2 or model.collapse or model.max_weights is not None or model.solver != "fista":
        raise InputError("shards take an order of 2 or more, fista, and neither collapse nor max_weights")
    return strength, free


@dataclass
class StreamProblem:
    """A text in shards and held-out text, with the interface of ``Problem`` for a search.

    Weights stay with the shards, which keep those of the last fit and of the best before. Here they go by the
    shared ones, the very array that a fit returned.
    """

    split: Split
    shards: Shards
    penalty: str
    nonnegative: bool
    folder: Path
    _last: Floats | None = None
    _nonzero: int = 0
    _stored: Path | None = None

    @classmethod
    def of(
        cls,
        model: LogLinearLM,
        manifest: Manifest,
        engine: Engine,
        n_shards: int | None,
        strength: Strength,
        held_out: Corpus | None,
    ) -> StreamProblem:
        """Split a folder's text, and have the shards made."""
        tokens, name = int(manifest.header["tokens"]), named(model.penalty)[0]
        wanted = n_shards or max(1, -(-tokens // SHARD_TOKENS))
        tight = isinstance(engine, Here) and BYTES * model.order * tokens > available() // 2
        room = str(manifest.folder.resolve()) if tight else None
        split = Split.of(manifest, wanted, model.order, name, strength, model.nonnegative, room)
        if held_out is not None:
            split = split.judging(held_out.stream(), model.order)
        shards = Shards(engine, engine.make(TreeShard, split.recipes), split.places)
        return cls(split, shards, name, model.nonnegative, manifest.folder)

    def first_weights(self, strength: Strength) -> Floats:
        """The best weights of the root alone, 0 elsewhere."""
        shared = self.split.shared
        start = first_weights(shared, strength, self.nonnegative)
        start[int(shared.pair_ptr[1]) :] = 0.0
        if self._last is None:
            self._last = start  # the shards' weights are 0, too
        return start

    def solve(
        self, solver: Any, strength: Strength, start: Floats | None = None, callback: Callback | None = None
    ) -> Result:
        """Minimise loss + penalty from the last fit, from the best before, or from the start.

        Where a shard is lost, all return to the last state that all have written: of a checkpoint of this fit, or from
        before it.
        """
        shared, is_last = self.split.shared, start is not None and start is self._last
        first = self.first_weights(strength) if start is None else start
        penalty = build_penalty(self.penalty, shared, strength, self.nonnegative)

        def heard(now: Iteration) -> bool | None:
            self._nonzero = now.nonzero
            return None if callback is None else callback(now)

        with piece(f"{len(self.split.recipes)} shards that share {first.size} weights"):
            while True:
                try:
                    if start is not None:
                        self.shards.change("begin", strength, is_last)
                    problem = ShardedProblem(self.shards, first, shared.count.astype(np.float64), penalty)
                    result: Result = solver.minimise(problem, heard)
                    self._store()
                    break
                except ShardLost:
                    self.shards.restore(self._stored)
        self._last = result.w
        return result

    def read(self, name: str, *arguments: Any, asked: Sequence[int] | None = None) -> list[Any]:
        """The answers of shards to a question about the last fit."""
        while True:
            try:
                return self.shards.read(name, *arguments, asked=asked)
            except ShardLost:
                self.shards.restore(self._stored)

    def kept(self, factors: tuple[float, ...] | None) -> Iterator[list[ContextLevel]]:
        """The weights of the last fit that are not 0, shard after shard."""
        for k in range(len(self.split.recipes)):
            yield from self.read("kept", factors, asked=[k])

    def _store(self) -> None:
        """Have the shards write the state after a fit, where they may be lost."""
        if self.shards.engine.may_lose:
            if self._stored is None:
                (self.folder / "parts").mkdir(exist_ok=True)
                self._room = TemporaryDirectory(dir=self.folder.resolve() / "parts")
            last = "" if self._stored is None else self._stored.name
            folder = Path(self._room.name) / ("1" if last == "0" else "0")
            self.shards.store(folder)
            self._stored = folder

    def n_nonzero(self, w: Floats) -> int:
        """Of the last fit."""
        return self._nonzero

    def perplexity(self, w: Floats, factors: Floats | None = None) -> float:
        """Perplexity of the held-out text; ``factors`` scale the weights of each depth."""
        given = None if factors is None else tuple(factors.tolist())
        told = self.read("judged", w is not self._last, given)
        return float(np.exp(-sum(total for total, _ in told) / sum(n for _, n in told)))

    def calibrate(self, w: Floats) -> Floats:
        """One factor a depth; see :func:`~epigram.lm.loglinear.search.calibrate`."""
        sizes = sum(self.read("sizes", w is not self._last))
        sizes = sizes + np.bincount(self.split.shared.pair_depth[w != 0], minlength=sizes.size)
        return best_factors(sizes, lambda factors: float(np.log(self.perplexity(w, factors))))


@dataclass(frozen=True)
class Solution:
    """A fit whose weights are with the shards: becomes a model in memory, or a model file."""

    model: LogLinearLM
    manifest: Manifest
    strength: Strength
    problem: StreamProblem
    result: Result
    trials: list[SearchTrial] = field(default_factory=list)
    scales: Floats | None = None
    perplexity: float | None = None

    def fitted(self) -> LogLinearLM:
        """An ordinary model of the weights that are not 0."""
        model = self.model
        tree, w = self.joined.tree()
        model.scales_ = None
        model.restore(read_vocabulary(self.manifest), lambda: (SuffixLoss(tree), w), self.strength, self._fit)
        model.trials_ = self.trials
        return model

    def save(self, path: str | PathLike[str], bits: int = 0) -> None:
        """Write the file of that model; no more than one of its arrays is in memory at a time."""
        joined = self.joined
        known = {"nonzero": joined.n_nonzero, "parameters": joined.n_pairs}
        header = header_of(self.model, self.strength, bits, {**self._fit, **known})
        joined.to_model_file(read_vocabulary(self.manifest), header, bits).save(path)

    @cached_property
    def joined(self) -> Joined:
        """The trees of the shards, joined."""
        split, w, factors = self.problem.split, self.result.w, None
        if self.scales is not None:
            w, factors = w * self.scales[split.shared.pair_depth], tuple(self.scales.tolist())
        return Joined.of(split, w, self.problem.kept(factors), self.manifest.folder)

    @property
    def _fit(self) -> dict[str, Any]:
        result = self.result
        fit = {"objective": result.objective, "n_iter": result.iterations, "reason": result.reason}
        if self.perplexity is not None:
            fit["valid_perplexity"] = self.perplexity
        if self.scales is not None:
            fit["scales"] = self.scales.tolist()
        positions = int(self.manifest.header["tokens"])
        unknown = added_unknown(self.model.open_vocabulary, read_vocabulary(self.manifest), positions)
        (counts,) = self.manifest.shared("counts")
        fit |= {"unknown": unknown} if unknown else {}
        return {**fit, "text_digest": digest_of_counts(counts), "positions": positions}

    @property
    def record(self) -> dict[str, Any]:
        """The fit as the command reports it."""
        joined, strength = self.joined, self.strength
        return {
            "perplexity_valid": self.perplexity,
            "parameters": joined.n_pairs,
            "nonzero": joined.n_nonzero,
            "iterations": self.result.iterations,
            "objective": self.result.objective,
            "trials": len(self.trials),
            "words": int(self.manifest.header["words"]) + ("unknown" in self._fit),
            "positions": int(self.manifest.header["tokens"]),
            "shards": len(self.problem.split.recipes),
            "stopped": self.result.reason,
            "strength": strength.strength,
            "depth_weight": strength.depth_weight,
            "ridge": strength.ridge,
        }


def solve_stream(
    model: LogLinearLM,
    manifest: Manifest,
    engine: Engine | None = None,
    n_shards: int | None = None,
    callback: Callback | None = None,
    valid: Text | None = None,
    on_trial: TrialCallback | None = None,
) -> Solution:
    """Fit a model's weights on a folder of text; they stay with the shards.

    Numbers of the penalty that are ``auto`` are chosen on ``valid``, as :meth:`LogLinearLM.fit
    <epigram.lm.loglinear.model.LogLinearLM.fit>` does it.
    """
    strength, free = check_sharded(model, valid is not None)
    held_out = None if valid is None else Corpus.known(valid, read_vocabulary(manifest))
    problem = StreamProblem.of(model, manifest, engine or Here(model.threads), n_shards, strength, held_out)
    trials: list[SearchTrial] = []
    start, scales = None, None
    if free:
        with Tape():  # of its own, which nobody keeps: only the shards have the best weights
            trials, strength, start = search(
                problem, model.make_solver(5.0), strength, free, callback, on_trial
            )
        scales = problem.calibrate(start) if model.calibrate else None
    result = problem.solve(model.make_solver(), strength, start, callback)
    perplexity = None if held_out is None else problem.perplexity(result.w, scales)
    return Solution(model, manifest, strength, problem, result, trials, scales, perplexity)


def fit_stream(
    model: LogLinearLM,
    manifest: Manifest,
    engine: Engine | None = None,
    n_shards: int | None = None,
    callback: Callback | None = None,
    valid: Text | None = None,
    on_trial: TrialCallback | None = None,
) -> LogLinearLM:
    """Train a model on a folder of text; the result is an ordinary model in memory."""
    return solve_stream(model, manifest, engine, n_shards, callback, valid, on_trial).fitted()
