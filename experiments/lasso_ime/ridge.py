"""Ridge: ExpLoss + l2 sum w^2, the penalty that the paper leaves open to compare with the lasso (section 3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from epigram.rerank import ExponentialLoss, Softmax
from epigram.rerank.losses import PairLoss


@dataclass(frozen=True)
class Ridge(Softmax):
    """Minimise ``ExpLoss + l2 sum w^2`` by L-BFGS, for falling penalty weights."""

    strongest: float = 1e3
    tolerance: float = 1e-4

    usual: ClassVar[Mapping[str, float]] = {"steps": 16}
    most_steps = 32
    loss: ClassVar[type[PairLoss]] = ExponentialLoss
