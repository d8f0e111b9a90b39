"""``epigram pipeline eval``: the CoNLL 2018 scores of a pipeline."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from epigram.cli import console
from epigram.cli.options import Json, Threads
from epigram.cli.pipeline.arguments import PipelineModel, load_pipeline, score_file


def command(
    model: PipelineModel,
    gold: Path,
    no_paragraphs: bool = False,
    gold_tokens: bool = False,
    threads: Threads = 1,
    json: Json = False,
) -> None:
    """Compare the analysis of a treebank's raw text with it, as the CoNLL 2018 shared task did.

    Parameters
    ----------
    gold : CoNLL-U with the right analysis.
    no_paragraphs : Leave blank lines at # newpar out of the raw text.
    gold_tokens : Start from the words of the file, not from its raw text.
    """
    scores = score_file(load_pipeline(model, threads), gold, not no_paragraphs, gold_tokens)
    if json:
        console.print_json({name: asdict(score) for name, score in scores.items()})
        return
    rows = [
        (
            name,
            *(f"{100 * value:.2f}" for value in (score.precision, score.recall, score.f1)),
            "" if score.aligned is None else f"{100 * score.aligned:.2f}",
        )
        for name, score in scores.items()
    ]
    console.table(str(gold), ("metric", "precision", "recall", "F1", "aligned accuracy"), rows)
