"""Arguments that the commands of ``epigram rerank`` share, and input of n-best lists."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from epigram.rerank import Reranker
    from epigram.rerank.nbest import NBest


LearnerName = Literal["blasso", "boosting", "fslr", "f-boosting", "softmax", "perceptron", "lasso"]


Lists = Annotated[
    Path,
    typer.Argument(
        metavar="NBEST",
        help="N-best lists: JSON lines, blocks, Moses, SRILM, NeMo, ESPnet, Kaldi, HyPoradise, LETOR; - is stdin.",
    ),
]


References = Annotated[
    Path | None, typer.Option(metavar="FILE", help="References, one a line, for formats that carry none.")
]


Eps = Annotated[
    float | None, typer.Option(help="Step size of blasso, f-boosting and fslr.  [default: chosen]")
]


Smoothing = Annotated[
    float | None, typer.Option(help="Smoothing of boosting, equation 16.  [default: chosen]")
]


Shrinkage = Annotated[
    float | None, typer.Option(help="Shrinkage of boosting, equation 9.  [default: chosen]")
]


Theta = Annotated[
    float | None,
    typer.Option(help="Least fall of the lasso loss for a step back, blasso.  [default: chosen]"),
]


Rate = Annotated[float | None, typer.Option(help="Size of the perceptron's updates.  [default: chosen]")]


Strongest = Annotated[float | None, typer.Option(help="First l2 penalty weight of softmax.  [default: 10]")]


Weakest = Annotated[
    float | None,
    typer.Option(
        help="Last penalty weight of softmax; of lasso, as a share of its first.  [default: 0.01; 0.001]"
    ),
]


Steps = Annotated[
    int | None,
    typer.Option(help="Length of the path: steps, passes or penalties.  [default: as long as it helps]"),
]


Lm = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="MODEL",
        help="A language model (*.epigram or ARPA) whose score is a feature; may be given more than once.",
    ),
]


def draw_paths(models: dict[str, Reranker], target: Path) -> None:
    from epigram.cli.plots import plot_paths

    plot_paths(models, target)


def percent(errors: float, length: float | None) -> float | None:
    return 100.0 * errors / length if length else None


def read_lists(path: Path, references: Path | None, lm: list[Path] | None, models: list[Reranker]) -> NBest:
    """Lists with the features of the language models that the rerankers learnt with."""
    from epigram.rerank import read_nbest, with_language_models
    from epigram.rerank.lm_features import check_models

    for model in models:
        check_models(model.space_.names, len(lm or ()))
    return with_language_models(read_nbest(path, references), open_language_models(lm))


def open_language_models(paths: list[Path] | None) -> list[Any]:
    """The language models of these files."""
    from epigram.cli.lm.models import open_word_scorer

    return [open_word_scorer(path) for path in paths or ()]
