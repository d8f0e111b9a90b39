"""Draw L1 norm and error rate against the steps of training, as Figures 3 and 4 of Gao et al. 2006 do."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike

import numpy as np

from epigram.errors import InputError
from epigram.plots import check_plot
from epigram.rerank.model import Reranker


def plot_paths(models: Mapping[str, Reranker], target: str | PathLike[str]) -> None:
    """L1 norm and dev error rate (training loss where there were no dev lists) of some paths, to a file."""
    check_plot(target)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    with_dev = all(model.dev_length_ for model in models.values())
    for name, model in models.items():
        curves = model.curves_
        steps = np.arange(len(curves.losses))
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
    try:
        figure.savefig(target, dpi=120)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot write the plot: {error}", path=target) from error
