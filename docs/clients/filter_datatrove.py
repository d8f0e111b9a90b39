"""A datatrove filter: keeps documents whose score is within bounds, and writes the score to their metadata."""

from __future__ import annotations

from typing import Any

from datatrove.pipeline.filters.base_filter import BaseFilter

from epigram.filter import ScorerRecipe


class EpigramFilter(BaseFilter):  # type: ignore[misc]
    """Scores documents in batches.

    Every process opens the models once::

        EpigramFilter(ScorerRecipe("perplexity", "en.arpa.bin", pieces="en.sp.model", ccnet=True), most=500.0)
    """

    name = "epigram"

    def __init__(
        self, recipe: ScorerRecipe, least: float = float("-inf"), most: float = float("inf"), batch_size: int = 500,
        exclusion_writer: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(exclusion_writer, batch_size)
        self.recipe, self.least, self.most = recipe, least, most

    def filter(self, doc: Any) -> bool | tuple[bool, str]:
        """Score one document."""
        return self.filter_batch([doc])[0]

    def filter_batch(self, batch: list[Any]) -> list[bool | tuple[bool, str]]:
        """Score documents; one without a word is dropped."""
        found: list[bool | tuple[bool, str]] = []
        for doc, score in zip(batch, self.recipe([doc.text for doc in batch]).tolist(), strict=True):
            doc.metadata[self.recipe.name] = score
            kept = self.least <= score <= self.most
            found.append(kept or (False, self.recipe.name if score == score else "empty"))
        return found
