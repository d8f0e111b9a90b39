"""``epigram rerank path``: prints or draws the path of models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from epigram.cli import console
from epigram.cli.options import Json

if TYPE_CHECKING:
    from epigram.rerank import Reranker
from epigram.cli.rerank.arguments import percent


def command(
    models: list[Path],
    plot: Path | None = None,
    every: int | None = None,
    json: Json = False,
) -> None:
    """Print loss, L1 norm, non-zero weights and dev error along the path.

    Parameters
    ----------
    models MODEL... : Rerankers whose paths are shown.
    plot FILE.png|svg : Draw L1 norm and error rate into this file.
    every >= 1 : Number of steps between rows [default: a twentieth of the path]
    """
    from epigram.cli.plots import check_plot, plot_paths
    from epigram.rerank import Reranker

    if plot is not None:
        check_plot(plot)
    loaded = {str(path.stem if len(models) > 1 else path): Reranker.load(path) for path in models}
    if plot is not None:
        plot_paths(loaded, plot)
    tables = {name: _path_rows(model, every) for name, model in loaded.items()}
    if json:
        console.print_json({"models": tables})
        return
    for name, rows in tables.items():
        console.table(name, tuple(rows[0]), [tuple(row.values()) for row in rows])


def _path_rows(model: Reranker, every: int | None) -> list[dict[str, Any]]:
    curves, n = model.curves_, len(model.path_)
    stride = every or max(1, n // 20)
    return [
        {
            "step": t,
            "loss": float(curves.losses[t]),
            "l1_norm": float(curves.l1_norms[t]),
            "nonzero": int(curves.nonzeros[t]),
            f"{model.measure}_dev": percent(float(curves.dev_errors[t]), model.dev_length_),
            "chosen": t == model.step_,
        }
        for t in sorted({*range(0, n + 1, stride), n, model.step_})
    ]
