"""``epigram pipeline update``: trains a pipeline on more sentences."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from epigram.cli.options import Json, ModelOutput
from epigram.cli.pipeline.arguments import PipelineModel, load_pipeline


def command(
    model: PipelineModel,
    more: Annotated[
        Path, typer.Argument(metavar="MORE", help="CoNLL-U with the same columns as in training.")
    ],
    output: ModelOutput,
    json: Json = False,
) -> None:
    """Learn on from more sentences: each part goes on from what it has learnt."""
    from epigram.cli.run import TrainingRun

    run = TrainingRun(output, None, json, checkpoint=0)
    pipeline = load_pipeline(model)
    with run.progress("learning"):
        pipeline.partial_fit(more)
    run.finish({"more": str(more), **pipeline.fit_}, save=lambda: pipeline.save(output))
