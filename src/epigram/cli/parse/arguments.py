"""Arguments that the commands of ``epigram parse`` share, and prediction of trees."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from epigram.errors import InputError

if TYPE_CHECKING:
    from epigram.parsing.treebank import Treebank


Decoding = Annotated[
    Literal["best", "mbr"] | None,
    typer.Option(
        help="Tree to predict: most expected correct arcs (mbr), or the most probable [default: as trained]"
    ),
]


def load_parser(path: Path, decoding: str | None, threads: int) -> Any:
    """The parser or tree tagger of a file."""
    from epigram.parsing.parser import DependencyParser
    from epigram.parsing.tree_tagger import TreeTagger
    from epigram.storage import ModelFile, load

    estimator = load(path)
    if not isinstance(estimator, DependencyParser | TreeTagger):
        ModelFile.load(path, "parser")  # refuses the file, and says what it holds
    estimator.set_params(threads=threads)
    if decoding is not None:
        if isinstance(estimator, TreeTagger):
            raise InputError("--decoding is for parsers; this model labels the nodes of given trees")
        estimator.set_params(decoding=decoding)
    return estimator


def parse_all(estimator: Any, bank: Treebank, keep: bool = False) -> Any:
    """Heads and relations, or the labels of given trees, of every word."""
    from epigram.cli.parse.output import Parsed

    if hasattr(estimator, "arcs_"):
        allowed, relations = bank.given() if keep else (None, None)
        heads = estimator.predict_heads(bank, allowed)
        return Parsed(heads, estimator.predict_relations(bank, heads, relations), None)
    if keep:
        raise InputError("--keep is for parsers; this model labels the nodes of given trees")
    spec = estimator.columns_
    if spec is None or spec.format != "conllu" or spec.observed is None:
        raise InputError("this model was not trained by epigram parse train; use it from Python")
    from epigram.parsing.treebank import FIELDS

    bank.check_heads(single_root=False)
    names = [FIELDS[k] for k in spec.observed]
    bank.warn_of_empty(names, estimator.fit_.get("empty_columns", ()))
    trees = bank.trees(names)
    model = estimator.model_
    ids = model.decode(model.encode(trees), None, estimator.threads)
    return Parsed(bank.heads, [model.labels[k] for k in ids.tolist()], FIELDS[spec.label_column])
