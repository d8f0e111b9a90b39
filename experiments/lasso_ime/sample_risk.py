"""Minimum sample risk: coordinate-wise minimisation of errors (Gao, Yu, Yuan and Xu 2005).

"Minimum Sample Risk Methods for Language Modeling", HLT-EMNLP 2005; equation 4 of Gao et al. 2006. Features are ranked
by what each saves alone, with the base score only, and the ``top`` best of them are kept. Then their weights are
set in this order, pass after pass, each to the best point of its line: the errors as a function of one weight are
constant between a finite number of places, which are all found, so the line search is exact.

Differs from the paper: correlated features are not thinned out; instead of smoothing the errors over neighbouring
intervals, the weight moves ``reach`` into the best interval (or to its middle, if that is nearer); of equally
good intervals it takes the nearest; lambda_0 is that of the exponential loss; the step of the path, ``top`` and
``reach`` are chosen on held-out lists.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from epigram._core import bindings
from epigram.protocols import Floats, Ints, Offsets
from epigram.rerank.losses import ExponentialLoss, PairLoss
from epigram.rerank.stagewise import CHUNK, Learner, WeightPath, check_settings


class SampleRisk(ExponentialLoss):
    """Errors of the chosen candidates above those of W^R, over all lists; lambda_0 as ExpLoss.

    Examples
    --------
    >>> from epigram.rerank import FeatureSpace, NBest, Pairs
    >>> lists = NBest.from_lists([{"reference": "a", "candidates": [
    ...     {"text": "b", "score": 0.0}, {"text": "a", "score": -1.0}]}])
    >>> loss = SampleRisk(Pairs.of(lists, FeatureSpace.collect(lists, 1, 1)), 1.0)
    >>> loss.value(np.zeros(2)), loss.value(np.array([0.0, 2.0]))
    (1.0, 0.0)
    """

    def value(self, w: Floats) -> float:
        """Extra errors at ``w``."""
        return self.risk(self.margins(w))

    def risk(self, margins: Floats) -> float:
        """Extra errors of the candidates that ``margins`` choose."""
        pairs = self.pairs
        return float(bindings.rerank_sample_risk(pairs.list_pair, margins, pairs.extra))

    def lines(self, margins: Floats) -> Any:
        """Input and work arrays of line searches from ``margins``."""
        pairs = self.pairs
        counts = np.diff(pairs.list_pair)
        uses = np.diff(pairs.slot_ptr[pairs.feature_slot])
        n_events = int(uses.max(initial=0)) + 1
        return bindings.Risk(
            pairs.list_pair, np.repeat(np.arange(len(counts), dtype=np.int32), counts),
            pairs.feature_slot, pairs.slot_value, pairs.slot_ptr, pairs.slot_pair, pairs.extra,
            margins, slope=np.zeros(pairs.n_pairs),
            stamp=np.full(pairs.n_lists, -1, np.int64), touched=np.empty(pairs.n_lists, np.int32),
            place=np.empty(n_events), change=np.empty(n_events),
        )  # fmt: skip


@dataclass(frozen=True)
class MinimumSampleRisk(Learner):
    """Set one weight after the other to the value with the fewest errors on the training lists.

    Parameters
    ----------
    steps : changes of weights at most; the path ends earlier when a pass over the features saves nothing.
    top : number of features, those that save the most errors alone.
    reach : share of the interval of fewest errors by which a weight moves into it.
    least : errors that a move has to save.
    """

    steps: int | None = None
    top: int | None = None
    reach: float | None = None
    least: float = 1.0

    usual: ClassVar[Mapping[str, float]] = {"steps": 20_000, "top": 4000, "reach": 0.5}
    ladders: ClassVar[Mapping[str, tuple[float, ...]]] = {
        "top": (250, 500, 1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 128_000),
        "reach": (1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0),
    }
    most_steps = 200_000
    loss: ClassVar[type[PairLoss]] = SampleRisk

    def __post_init__(self) -> None:
        check_settings(self, steps=0, top=1, reach=1e-12)
        if not self.least > 0:
            raise ValueError(f"least must be > 0, so that the search ends, not {self.least!r}.")

    def walk(
        self, loss: SampleRisk, path: WeightPath, memory: dict[str, Any] | None = None
    ) -> Iterator[WeightPath]:
        """Yield passes over the features; a continued path begins with a new pass."""
        order = self._ranked(loss)
        margins = loss.margins(path.weights(loss.n_weights))
        left, done, before, risk, at = self.last_step - len(path), loss.n_weights, np.inf, np.inf, 0
        if memory:
            margins[:] = memory["margins"]
            done, before, risk, at = memory["numbers"]
        lines = loss.lines(margins)
        while left > 0 and len(order):
            if at == 0:
                risk = loss.risk(margins)
                if risk > before - self.least:  # a whole pass has saved nothing
                    break
                before = risk
            for first in range(at, len(order), CHUNK):
                part = order[first : first + min(CHUNK, left)]
                features: Ints = np.empty(len(part), np.int32)
                deltas, risks = np.empty(len(part)), np.empty(len(part))
                n = bindings.rerank_risk_pass(
                    lines, part, done, self.value("reach"), self.least, risk, features, deltas, risks
                )
                done += len(part)
                if n:
                    risk, left = float(risks[n - 1]), left - n
                    if memory is not None:
                        memory |= {"margins": margins, "numbers": [done, before, risk, first + CHUNK]}
                    yield WeightPath.of_changes(features[:n], deltas[:n], risks[:n])
            at = 0

    def _ranked(self, loss: SampleRisk) -> Offsets:
        """Features that save the most errors by themselves, best first."""
        saved = np.empty(loss.n_weights)
        bindings.rerank_effectiveness(loss.lines(loss.margins(np.zeros(loss.n_weights))), saved)
        best = np.argsort(-saved, kind="stable")[: int(self.value("top"))]
        return best[saved[best] >= self.least]
