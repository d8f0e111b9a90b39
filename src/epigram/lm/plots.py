"""Pictures of a training: held-out perplexity of the trials, and convergence of the last fit."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike

from epigram.plots import check_plot
from epigram.tuning import Trial


def plot_training(
    trials: Sequence[Trial], history: Sequence[tuple[int, float | None]], target: str | PathLike[str]
) -> None:
    """Write a picture; the trials are left out where the strength was given.

    ``history`` has number and optimality of every iteration of all fits, the last one's at the end.
    """
    check_plot(target)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11 if trials else 6, 4), layout="constrained")
    axes = figure.subplots(1, 2 if trials else 1, squeeze=False)[0]
    if trials:
        numbers = range(1, len(trials) + 1)
        axes[0].plot(numbers, [trial.perplexity for trial in trials], "o-", ms=4)
        best = min(trials, key=lambda trial: trial.perplexity)
        axes[0].axhline(best.perplexity, ls=":", color="grey")
        axes[0].set(xlabel="fit", ylabel="held-out perplexity", title=_label(best))
    starts = [k for k, (number, _) in enumerate(history) if number == 1]
    last = history[starts[-1] :] if starts else history
    axes[-1].semilogy([number for number, _ in last], [gap or float("nan") for _, gap in last])
    axes[-1].set(
        xlabel="iteration", ylabel="optimality (share of objective)", title="convergence of the last fit"
    )
    figure.savefig(target, dpi=150)


def _label(trial: Trial) -> str:
    strength = trial.strength
    ridge = f", ridge {strength.ridge:.3g}" if strength.ridge else ""
    return f"best: strength {strength.strength:.3g}, depth weight {strength.depth_weight:.3g}{ridge}"
