"""``epigram demo``: a tour of the six model families on built-in sample data."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated

import typer

from epigram.cli import console
from epigram.errors import InputError

FAMILIES = {
    "pipeline": "epigram.cli.demo.pipeline",
    "tagger": "epigram.cli.demo.tagger",
    "parser": "epigram.cli.demo.parser",
    "language-model": "epigram.cli.demo.language_model",
    "reranker": "epigram.cli.demo.reranker",
    "converter": "epigram.cli.demo.converter",
}
NEXT = """
[bold]Where to go next[/]
  epigram pipeline train TRAIN.conllu -o MODEL   [dim]raw text to trees;[/] epigram pipeline run MODEL TEXT
  epigram tag train TRAIN.txt -o MODEL.epigram   [dim]a tagger of your own columns;[/] epigram tag run MODEL.epigram
  epigram parse train TRAIN.conllu -o MODEL      [dim]a parser of your own trees;[/] epigram parse run MODEL --picture
  epigram lm train TEXT.txt -o MODEL.epigram     [dim]a language model;[/] epigram lm next MODEL.epigram "once upon"
  epigram rerank train LISTS.jsonl -o MODEL      [dim]a reranker of n-best lists[/]
  epigram ime build TEXT -o MODEL.epigram        [dim]an input method;[/] epigram ime type MODEL.epigram
  epigram inspect MODEL.epigram                  [dim]what any of them has learned[/]
"""


def command(
    family: Annotated[str | None, typer.Argument(help=f"One family only: {', '.join(FAMILIES)}.")] = None,
    seed: int = 0,
) -> None:
    """Run a short tour of all model families on built-in sample data.

    Parameters
    ----------
    seed : Seed of the sample data and of the training.
    """
    if family is not None and family not in FAMILIES:
        raise InputError(f"no family {family!r}; there are {', '.join(FAMILIES)}")
    for name in [family] if family else FAMILIES:
        import_module(FAMILIES[name]).show(seed)
    console.stdout().print(NEXT, highlight=False)
