"""``epigram pipeline train``: trains a pipeline from a treebank."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from epigram.cli.options import Json, ModelOutput, Threads
from epigram.cli.pipeline.arguments import Parts, chosen_parts

STRENGTH = "Penalty weights"


def command(
    train: Path,
    output: ModelOutput,
    dev: Path | None = None,
    only: Parts = None,
    folds: int = 4,
    token_l1: float = 0.25,
    tag_l1: float = 0.3,
    lemma_l1: float = 0.3,
    tree_l1: float = 1.2,
    threads: Threads = 1,
    seed: int = 0,
    json: Json = False,
) -> None:
    """Learn tokens, sentences, tags, lemmas and trees from a treebank, as far as it has them.

    Parameters
    ----------
    train : CoNLL-U treebank, may be gzipped.
    dev FILE : Held-out CoNLL-U: chooses the pass of the parser, and is scored.
    folds >= 0 : Folds of the tags that trees and lemmas are trained on; 0: gold tags.
    seed : Seed; equal seeds give equal bits.

    Penalty weights
    ---------------
    token_l1 >= 0.0 : Of tokens and sentences.
    tag_l1 >= 0.0 : Of tags.
    lemma_l1 >= 0.0 : Of lemmas and multiword tokens.
    tree_l1 >= 0.0 : Of trees.
    """
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
