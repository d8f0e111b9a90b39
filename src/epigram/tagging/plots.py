"""A training run as a picture: objective and active features against passes (Tsuruoka et al. 2009, Figures 3-6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from epigram.errors import InputError
from epigram.plots import check_plot


def plot_training(history: Sequence[Mapping[str, Any]], target: str | PathLike[str]) -> None:
    """Draw the history of a fit (``history_`` of the estimators) to a PNG, SVG or PDF file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> target = Path(tempfile.mkdtemp()) / "fit.svg"
    >>> plot_training([{"iteration": 1, "objective": 9.0, "nonzero": 5, "seconds": 0.1}], target)
    >>> target.read_text()[:5]
    '<?xml'
    """
    check_plot(target)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    passes = [entry["iteration"] for entry in history]
    figure = Figure(figsize=(10, 4), layout="constrained")
    FigureCanvasAgg(figure)
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
    try:
        figure.savefig(target, dpi=120)
    except OSError as error:
        raise InputError(f"cannot write the plot: {error.strerror}", path=target) from error
