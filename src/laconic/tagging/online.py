"""What partial_fit carries from call to call: attributes and labels so far, and the state of SGD."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from laconic.protocols import Ints
from laconic.solvers.sgd import SGDState
from laconic.tagging.attributes import AttributeTable
from laconic.tagging.layout import SeenPairs, WeightLayout, lay_out
from laconic.tagging.sequences import Sequences


class Online:
    """Grows with every call; weights keep their values and what they have received of the penalty."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.table = AttributeTable()
        self.index: dict[str, int] = {}
        self.seen: SeenPairs | None = None
        self.layout: WeightLayout | None = None
        self.state: SGDState | None = None

    def add_classes(self, names: list[str]) -> None:
        """Number labels in the order they come."""
        for name in names:
            self.index.setdefault(name, len(self.index))

    def grow(
        self,
        sequences: Sequences,
        labels: Ints,
        pairs: str,
        chained: bool,
        allowed: npt.NDArray[np.bool_] | None,
    ) -> None:
        """Lay the weights out anew for what has come, and carry w and q over."""
        seen = SeenPairs.of(sequences, labels, len(self.index), len(self.table))
        self.seen = seen if self.seen is None else self.seen.union(seen)
        layout = lay_out(self.seen, pairs, chained, allowed)
        state = SGDState.fresh(layout.n_features)
        if self.state is not None and self.layout is not None:
            state.u, state.k, state.eta0 = self.state.u, self.state.k, self.state.eta0
            for before, new in ((self.state.w, state.w), (self.state.q, state.q)):
                old = self.layout.spread(before)
                square = np.zeros((len(self.index), len(self.index)))
                known = self.layout.transitions(old)
                square[: len(known), : len(known)] = known
                new[:] = layout.gather(layout.pack(self.layout.states(old), square, self.layout.edges(old)))
        self.layout, self.state = layout, state
