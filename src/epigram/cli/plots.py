"""Matplotlib figures of training histories, hyperparameter searches and reranker paths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epigram.errors import InputError, install

if TYPE_CHECKING:
    from epigram.tuning import SearchTrial

FORMATS = (".png", ".svg", ".pdf")


def check_plot(target: str | PathLike[str]) -> None:
    """Refuse a plot that could not be drawn, before any work is done for it."""
    if Path(target).suffix.lower() not in FORMATS:
        raise InputError(f"a plot is a {', '.join(FORMATS)} file; name it so", path=target)
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise InputError(f"plots need matplotlib: {install('plot')}") from error


def _figure(target: str | PathLike[str], width: float = 10) -> Any:
    check_plot(target)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, 4), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _save(figure: Any, target: str | PathLike[str]) -> None:
    try:
        figure.savefig(target, dpi=120)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot write the plot: {error}", path=target) from error


def plot_training(history: Sequence[Mapping[str, Any]], target: str | PathLike[str]) -> None:
    """Draw objective and active features by pass (Tsuruoka et al. 2009, Figures 3 to 6).

    ``history`` is that of a fit (``history_`` of the taggers); the file is a PNG, SVG or PDF.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> target = Path(tempfile.mkdtemp()) / "fit.svg"
    >>> plot_training([{"iteration": 1, "objective": 9.0, "nonzero": 5, "seconds": 0.1}], target)
    >>> target.read_text()[:5]
    '<?xml'
    """
    passes = [entry["iteration"] for entry in history]
    figure = _figure(target)
    left, right = figure.subplots(1, 2)
    marker = "o" if len(passes) < 40 else None
    left.plot(passes, [entry["objective"] for entry in history], marker=marker, markersize=3)
    left.set(xlabel="passes", ylabel="objective", yscale="log")
    right.plot(passes, [entry["nonzero"] for entry in history], marker=marker, markersize=3, color="C2")
    right.set(xlabel="passes", ylabel="active features", ylim=(0, None))
    if any("dev_score" in entry for entry in history):
        score = right.twinx()
        score.plot(passes, [100 * entry["dev_score"] for entry in history], color="C1", linestyle="--")
        score.set_ylabel("score on the held-out set, % (dashed)")
    _save(figure, target)


def plot_trials(
    trials: Sequence[SearchTrial], history: Sequence[tuple[int, float | None]], target: str | PathLike[str]
) -> None:
    """Draw the trials of a hyperparameter search, if there was one, and the last fit.

    ``history`` has number and optimality of every iteration of all fits, the last one's at the end.
    """
    figure = _figure(target, 11 if trials else 6)
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
    _save(figure, target)


def _label(trial: SearchTrial) -> str:
    strength = trial.strength
    ridge = f", ridge {strength.ridge:.3g}" if strength.ridge else ""
    return f"best: strength {strength.strength:.3g}, depth weight {strength.depth_weight:.3g}{ridge}"


def plot_paths(models: Mapping[str, Any], target: str | PathLike[str]) -> None:
    """Draw L1 norm and dev error rate by step (Gao et al. 2006, Figures 3 and 4).

    The training loss is drawn where there were no dev lists.
    """
    figure = _figure(target)
    left, right = figure.subplots(1, 2)
    with_dev = all(model.dev_length_ for model in models.values())
    for name, model in models.items():
        curves = model.curves_
        steps = range(len(curves.losses))
        (line,) = left.plot(steps, curves.l1_norms, label=name)
        if with_dev:
            heights = 100.0 * curves.dev_errors / float(model.dev_length_ or 1.0)
        else:
            heights = curves.losses
        right.plot(steps, heights, color=line.get_color(), label=name)
        right.plot([model.step_], [heights[model.step_]], "o", color=line.get_color())
    measure = next(iter(models.values())).measure.upper()
    left.set(xlabel="steps", ylabel="L1 norm of the weights")
    right.set(xlabel="steps", ylabel=f"{measure} on development lists, %" if with_dev else "training loss")
    left.legend()
    _save(figure, target)


def plot_scores(histograms: Mapping[str, Sequence[tuple[float, int]]], target: str | PathLike[str]) -> None:
    """Draw the histogram of each score of a filter run, on a logarithmic axis."""
    figure = _figure(target, 6 * max(1, len(histograms)))
    for number, (name, bars) in enumerate(histograms.items(), 1):
        axes = figure.add_subplot(1, len(histograms), number)
        axes.stairs([n for _, n in bars[:-1]], [edge for edge, _ in bars], fill=True)
        axes.set(xscale="log", xlabel=name, ylabel="documents")
    _save(figure, target)
