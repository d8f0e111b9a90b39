"""``epigram tag chain``: a file again with a column that a tagger predicts, as input of the next tagger."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from epigram import cli
from epigram.errors import InputError

if TYPE_CHECKING:
    from epigram.tagging.formats import Column, Columns


def chain(
    source: Annotated[Path, typer.Argument(metavar="INPUT", help="Columns, labels last; - is stdin.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where the file goes.")],
    learn: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Train the tagger on this, jack-knifed where INPUT has its sentences."
        ),
    ] = None,
    use: Annotated[
        Path | None, typer.Option("--with", metavar="MODEL", help="Predict by this stored tagger instead.")
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(metavar="MODEL", help="With --learn: keep the tagger of all sentences here."),
    ] = None,
    template: Annotated[
        str | None, typer.Option(metavar="NAME|FILE", help="Of the tagger (what fits the columns).")
    ] = None,
    l1: Annotated[float, typer.Option(min=0.0, help="Of the tagger: C * sum |w|.")] = 1.0,
    passes: Annotated[int, typer.Option(min=1, help="Of its training.")] = 30,
    folds: Annotated[int, typer.Option(min=2, help="Parts of the jack-knife.")] = 5,
    seed: Annotated[int, typer.Option(help="Same seed, same file.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Add a column before the labels that a tagger predicts: training data for the next tagger, test data for it."""
    from epigram.tagging.formats import Columns, read_columns
    from epigram.text import check_writable, write_atomically

    if (learn is None) == (use is None):
        raise InputError("give --learn FILE, which trains a tagger, or --with MODEL, which has one")
    if save is not None and learn is None:
        raise InputError("--save is for --learn; --with has its model already")
    for target in (output, *(() if save is None else (save,))):
        check_writable(target)
    corpus = read_columns(source)
    observations, labels = corpus.split(-1)
    record: dict[str, Any] = {"sentences": corpus.n_sentences, "tokens": corpus.n_tokens}
    if learn is not None:
        settings = {"l1": l1, "passes": passes, "seed": seed}
        column, record["same_sentences"] = _learnt(learn, observations, template, folds, settings, save)
    else:
        assert use is not None
        column = _predicted(use, observations)
    whole = Columns(corpus.sentence_ptr, [*observations.columns, column, labels])
    text = "\n".join("".join("\t".join(row) + "\n" for row in rows) for rows in whole.rows()) + "\n"
    write_atomically(output, text.encode())
    record |= {"columns": whole.n_columns, "labels": len(set(column.strings)), "bytes": output.stat().st_size}
    if json:
        cli.print_json(record)
    else:
        cli.facts(str(output), record)


def _learnt(
    path: Path, target: Columns, template: str | None, folds: int, settings: dict[str, Any], save: Path | None
) -> tuple[Column, int]:
    """The column by a tagger trained on a file, and how many sentences it shares with the target."""
    from epigram.cli.tag_training import fitting_template
    from epigram.solvers.sgd import SGD
    from epigram.tagging.crf import CRFTagger
    from epigram.tagging.formats import ColumnSpec
    from epigram.tagging.jackknife import parts_of, predict_unseen
    from epigram.text import read_bytes

    spec = ColumnSpec()
    corpus = spec.parse(read_bytes(path), str(path))
    spec = spec.completed(corpus, str(path), None, None)
    X, y = spec.split(corpus)
    target = _first_columns(target, X.n_columns)
    chosen = fitting_template(template, "crf", X, y.strings)
    solver = SGD(passes=settings["passes"], random_state=settings["seed"])
    tagger = CRFTagger(chosen, l1=settings["l1"], solver=solver)
    column, learnt = predict_unseen(tagger, X, y, target, folds)
    if save is not None:
        learnt.columns_ = spec
        learnt.save(save)
    return column, int((parts_of(X, target, folds) >= 0).sum())


def _predicted(path: Path, target: Columns) -> Column:
    """The column by a stored tagger."""
    from epigram.tagging.files import FileTagger
    from epigram.tagging.formats import Columns

    tagger = FileTagger.load(path)
    observations = _first_columns(target, tagger.needs)
    found = tagger.decode(tagger.model.encode(observations), observations)
    return Columns.from_rows([tagger.names(found)]).columns[0]


def _first_columns(corpus: Columns, n: int) -> Columns:
    """The columns that a tagger looks at."""
    from epigram.tagging.formats import Columns

    if corpus.n_columns < n:
        raise InputError(
            f"the tagger looks at {n} columns, the input has {corpus.n_columns} before its labels; add the others first"
        )
    return Columns(corpus.sentence_ptr, corpus.columns[:n], corpus.path)
