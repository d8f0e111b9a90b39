"""Explains a word by the weights of each part's choice against the next best one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from epigram.features.columns import Columns
from epigram.pipeline.analysis import Analysis
from epigram.pipeline.stages import distinct_rows

if TYPE_CHECKING:
    from epigram.pipeline.pipeline import Pipeline


def explain_word(pipeline: Pipeline, analysis: Analysis, sentence: int, word: int) -> dict[str, Any]:
    """Return an explanation by the name of each part; ``word`` counts from 1."""
    from epigram.chain.explain import explain

    ptr = analysis.sentence_ptr
    if not 0 <= sentence < len(ptr) - 1 or not 1 <= word <= ptr[sentence + 1] - ptr[sentence]:
        raise IndexError(f"no word {word} of sentence {sentence}.")
    found: dict[str, Any] = {}
    for stage in pipeline.stages_:
        if stage.name == "words":
            continue
        observed = Columns(ptr, stage.observed(analysis.columns)).take([sentence])
        at = word - 1
        if stage.name == "lemmas":
            rows, number = distinct_rows(observed)
            observed, at = rows.take([int(number[at])]), 0
        model = stage.tagger.fitted_model()
        found[stage.name] = explain(model, model.encode(observed), at)
    if pipeline.parser_ is not None and analysis.heads is not None:
        rows = analysis.observed(pipeline.parser_.observed.split(",")).take([sentence])
        found["trees"] = pipeline.parser_.explain(next(rows.rows()), word)
    return found
