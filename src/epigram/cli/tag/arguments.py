"""Arguments that the commands of ``epigram tag`` share, and the choice of a template."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from epigram.cli import console
from epigram.errors import InputError

if TYPE_CHECKING:
    from epigram.chain.crf import CRFEstimator
    from epigram.features.columns import Column, Columns
    from epigram.features.template import Template
    from epigram.protocols import Offsets

Alternatives = Annotated[
    str | None,
    typer.Option(
        metavar="C",
        help="Sign between alternative labels: with |, A|B is either label, and | alone any label.",
    ),
]
Format = Literal["auto", "conll", "conllu", "text", "slash"]


def choose_template(name: str | None, model: str, observations: Columns, labels: list[str]) -> Template:
    """Return the template given, or a built-in one; without ``B`` lines for --model maxent."""
    from epigram.chain.chunks import are_chunk_labels
    from epigram.features.template import Template

    if name is None:
        chunked = are_chunk_labels(labels)
        name = "chunking" if observations.n_columns > 1 else "ner" if chunked else "pos"
        name += "+" if model == "segment" else ""
        console.note(f"template {name}; see epigram tag template {name}")
    template = Template.load(name)
    if model != "maxent":
        return template
    lines = [line for line in template.text.splitlines() if not line.strip().startswith("B")]
    return Template.parse("\n".join(lines) + "\n", template.path)


def read_answers(labels: Column, sentence_ptr: Offsets, separator: str | None) -> Any:
    """Return labels, or sets of them where cells hold alternatives."""
    from epigram.chain.partial_labels import alternatives

    return labels if separator is None else alternatives(labels, sentence_ptr, separator)


def load_crf(model: Path) -> CRFEstimator:
    """Load a stored CRF with a template, without its reranker."""
    from epigram.chain.crf import CRFEstimator
    from epigram.chain.storage import FAMILY
    from epigram.storage import load
    from epigram.tagging.stacked.reranked import RerankedTagger

    tagger = load(model, FAMILY)
    if isinstance(tagger, RerankedTagger):
        tagger = tagger.tagger_
    if not isinstance(tagger, CRFEstimator) or tagger.model_.template is None:
        raise InputError(
            "only a CRF with a template has labellings to rerank; train with --model crf", path=model
        )
    return tagger
