"""Negative log-likelihood of trees over pruned arcs, second and third order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from epigram._core import bindings
from epigram.parsing.arc_loss import ArcLoss
from epigram.parsing.pruning import ForestMemory


class ForestLoss(ArcLoss):
    """Negative log-likelihood of trees among those of the kept arcs (``_core/forest_loss.h``).

    Parameters
    ----------
    parts, heads, n_weights, weights, threads : as for :class:`~epigram.parsing.arc_loss.ArcLoss`. The arcs of the trees
        must be kept.
    """

    kernels: ClassVar[dict[str, Callable[..., Any]]] = {
        "gradient": bindings.forest_loss_gradient,
        "cumulative": bindings.forest_loss_cumulative,
        "heads": bindings.forest_loss_heads,
    }

    def _chart(self) -> Any:
        return ForestMemory(self.parts.longest, self.parts.sizes.max(0, initial=1)).struct
