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
        help="N-best lists: JSON lines, blocks, Moses, SRILM, NeMo, ESPnet, Kaldi, HyPoradise, LETOR; - reads standard "
        "input.",
    ),
]
References = Annotated[
    Path | None, typer.Option(metavar="FILE", help="References, one per line, for formats without them.")
]
Lm = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="MODEL",
        help="Language model (*.epigram or ARPA) whose score is a feature; may be given several times.",
    ),
]


def percent(errors: float, length: float | None) -> float | None:
    """Return an error rate, if the number of words or characters is known."""
    return 100.0 * errors / length if length else None


def read_lists(path: Path, references: Path | None, lm: list[Path] | None, models: list[Reranker]) -> NBest:
    """Read lists, with the scores of the language models that the rerankers were trained with."""
    from epigram.rerank import read_nbest, with_language_models
    from epigram.rerank.lm_features import check_models

    for model in models:
        check_models(model.space_.names, len(lm or ()))
    return with_language_models(read_nbest(path, references), open_language_models(lm))


def open_language_models(paths: list[Path] | None) -> list[Any]:
    """Load language models as word scorers."""
    from epigram.cli.lm.models import open_word_scorer

    return [open_word_scorer(path) for path in paths or ()]
