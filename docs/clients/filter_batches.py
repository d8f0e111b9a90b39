"""Scores in batches of other programs: Hugging Face datasets, Ray Data and Spark.

A ``ScorerRecipe`` can be sent to other processes, each of which opens its models once::

    recipe = ScorerRecipe("perplexity", "en.arpa.bin", pieces="en.sp.model", ccnet=True)
    dataset = dataset.map(BatchScorer(recipe), batched=True, batch_size=500)              # datasets
    dataset = dataset.map_batches(BatchScorer(recipe), batch_format="numpy")              # Ray Data
    frame = frame.mapInPandas(FrameScorer(recipe), frame.schema.add("perplexity", "double"))  # Spark
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from epigram.filter import ScorerRecipe


@dataclass(frozen=True)
class BatchScorer:
    """Adds the scores of a column of texts to a batch: a mapping of names to columns."""

    recipe: ScorerRecipe
    text: str = "text"

    def __call__(self, batch: Any) -> Any:
        """The batch with one more column."""
        return {**batch, self.recipe.name: self.recipe([str(text) for text in batch[self.text]])}


@dataclass(frozen=True)
class FrameScorer:
    """Adds the scores of a column of texts to data frames, one after the other."""

    recipe: ScorerRecipe
    text: str = "text"

    def __call__(self, frames: Iterator[Any]) -> Iterator[Any]:
        """Frames with one more column."""
        for frame in frames:
            yield frame.assign(**{self.recipe.name: self.recipe(frame[self.text].tolist())})
