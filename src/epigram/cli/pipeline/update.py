"""``epigram pipeline update``: trains a pipeline on more sentences."""

from __future__ import annotations

from pathlib import Path

from epigram.cli.options import Json, ModelOutput
from epigram.cli.pipeline.arguments import PipelineModel, load_pipeline


def command(
    model: PipelineModel,
    more: Path,
    output: ModelOutput,
    json: Json = False,
) -> None:
    """Train a pipeline on more sentences; each part starts from its present weights.

    Parameters
    ----------
    more : CoNLL-U with the same columns as in training.
    """
    from epigram.cli.run import TrainingRun

    run = TrainingRun(output, None, json, checkpoint=0)
    pipeline = load_pipeline(model)
    with run.progress("learning"):
        pipeline.partial_fit(more)
    run.finish({"more": str(more), **pipeline.fit_}, save=lambda: pipeline.save(output))
