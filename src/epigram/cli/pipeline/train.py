"""``epigram pipeline train``: trains a pipeline from a treebank."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from epigram.cli.options import Json, ModelOutput, Threads
from epigram.cli.pipeline.arguments import Parts, chosen_parts

STRENGTH = "Penalty weights"


def command(
    train: Annotated[Path, typer.Argument(metavar="TRAIN", help="CoNLL-U treebank, may be gzipped.")],
    output: ModelOutput,
    dev: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Held-out CoNLL-U: chooses the pass of the parser, and is scored."),
    ] = None,
    only: Parts = None,
    folds: Annotated[
        int, typer.Option(min=0, help="Folds of the tags that trees and lemmas are trained on; 0: gold tags.")
    ] = 4,
    token_l1: Annotated[
        float, typer.Option(min=0.0, help="Of tokens and sentences.", rich_help_panel=STRENGTH)
    ] = 0.25,
    tag_l1: Annotated[float, typer.Option(min=0.0, help="Of tags.", rich_help_panel=STRENGTH)] = 0.3,
    lemma_l1: Annotated[
        float, typer.Option(min=0.0, help="Of lemmas and multiword tokens.", rich_help_panel=STRENGTH)
    ] = 0.3,
    tree_l1: Annotated[float, typer.Option(min=0.0, help="Of trees.", rich_help_panel=STRENGTH)] = 1.2,
    threads: Threads = 1,
    seed: Annotated[int, typer.Option(help="Seed; equal seeds give equal bits.")] = 0,
    json: Json = False,
) -> None:
    """Learn tokens, sentences, tags, lemmas and trees from a treebank, as far as it has them."""
    from epigram.cli.pipeline.arguments import score_file
    from epigram.cli.run import TrainingRun
    from epigram.pipeline.pipeline import Pipeline

    run = TrainingRun(output, None, json, checkpoint=0)
    pipeline = Pipeline(
        chosen_parts(only), folds=folds, token_l1=token_l1, tag_l1=tag_l1, lemma_l1=lemma_l1, tree_l1=tree_l1,
        threads=threads, random_state=seed,
    )  # fmt: skip
    step = 0
    with run.progress("training", step="part") as show:

        def shown(name: str) -> None:
            nonlocal step
            step += 1
            if show(step, name):
                raise KeyboardInterrupt

        pipeline.fit(train, dev=dev, progress=shown)
    record: dict[str, Any] = {"train": str(train), **pipeline.fit_}
    if dev is not None:
        scores = score_file(pipeline, dev)
        record["dev"] = {name: round(100 * score.f1, 2) for name, score in scores.items()}
    run.finish(record, save=lambda: pipeline.save(output))
