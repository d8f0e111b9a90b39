"""Pictures of a training: held-out perplexity of the trials, and convergence of the last fit."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Protocol

from epigram.lm.loglinear.penalty import Strength
from epigram.protocols import Iteration


class Trial(Protocol):
    """A fit of a search, of either family of models: ``Trial`` or ``FactoredTrial``."""

    @property
    def strength(self) -> Strength: ...

    @property
    def perplexity(self) -> float: ...


def plot_training(path: Sequence[Trial], history: list[Iteration], target: str | PathLike[str]) -> None:
    """Write a picture; the trials are left out where the strength was given."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11 if path else 6, 4), layout="constrained")
    axes = figure.subplots(1, 2 if path else 1, squeeze=False)[0]
    if path:
        numbers = range(1, len(path) + 1)
        axes[0].plot(numbers, [trial.perplexity for trial in path], "o-", ms=4)
        best = min(path, key=lambda trial: trial.perplexity)
        axes[0].axhline(best.perplexity, ls=":", color="grey")
        axes[0].set(xlabel="fit", ylabel="held-out perplexity", title=_label(best))
    starts = [k for k, now in enumerate(history) if now.number == 1]
    last = history[starts[-1] :] if starts else history
    axes[-1].semilogy([now.number for now in last], [now.optimality or float("nan") for now in last])
    axes[-1].set(
        xlabel="iteration", ylabel="optimality (share of objective)", title="convergence of the last fit"
    )
    figure.savefig(target, dpi=150)


def _label(trial: Trial) -> str:
    strength = trial.strength
    ridge = f", ridge {strength.ridge:.3g}" if strength.ridge else ""
    return f"best: strength {strength.strength:.3g}, depth weight {strength.depth_weight:.3g}{ridge}"
