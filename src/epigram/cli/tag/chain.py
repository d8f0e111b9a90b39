"""``epigram tag chain``: stacking; adds a column that other taggers predict."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from epigram.cli import console
from epigram.cli.options import Json, Output
from epigram.errors import InputError

if TYPE_CHECKING:
    from epigram.features.columns import Column, Columns


def command(
    source: Path,
    output: Output,
    learn: Path | None = None,
    use: list[Path] | None = None,
    save: Path | None = None,
    template: str | None = None,
    l1: float = 1.0,
    passes: int = 30,
    folds: int = 5,
    reach: int = 0,
    seed: int = 0,
    json: Json = False,
) -> None:
    """Add a column that a tagger predicts, before the labels: input of the next tagger.

    Parameters
    ----------
    source INPUT : Columns, labels last; - reads standard input.
    learn FILE : Training file of the tagger; sentences also in INPUT are labelled by cross-validation.
    use --with MODEL : Stored tagger that predicts the column; several are averaged.
    save MODEL : Model file to write, trained on all sentences of --learn.
    template NAME|FILE : Features of the tagger [default: chosen by the columns]
    l1 >= 0.0 : Strength of the penalty l1 * sum |w| of the tagger.
    passes >= 1 : Number of passes over the training sentences.
    folds >= 2 : Number of parts for cross-validation.
    reach >= 0 : Number of sentences around one whose labels of the same words become a column.
    seed : Seed of the random numbers; same seed, same result.
    """
    from epigram.features.columns import Columns
    from epigram.features.formats import read_columns
    from epigram.files import check_writable, write_atomically
    from epigram.tagging.stacked.context_column import context_types

    if learn is None and not use:
        raise InputError("give --learn FILE, which trains a tagger, or --with MODEL, which has one")
    if save is not None and (learn is None or use):
        raise InputError("--save is for --learn; --with has its model already")
    for target in (output, *(() if save is None else (save,))):
        check_writable(target)
    corpus = read_columns(source)
    if corpus.lines is not None and corpus.lines.is_conllu:
        raise InputError(
            "CoNLL-U has no place for a new column; give columns with the labels last, or fill one with tag run",
            path=source,
        )
    observations, labels = corpus.split(-1)
    record: dict[str, Any] = {"sentences": corpus.n_sentences, "tokens": corpus.n_tokens}
    if learn is None:
        column = _predicted(use or [], observations)
    else:
        settings = {"template": template, "l1": l1, "passes": passes, "seed": seed}
        column, record["same_sentences"] = _learnt(learn, observations, use or [], folds, settings, save)
    added = [column, *([context_types(observations, column, reach)] if reach else [])]
    whole = Columns(corpus.sentence_ptr, [*observations.columns, *added, labels])
    text = "\n".join("".join("\t".join(row) + "\n" for row in rows) for rows in whole.rows()) + "\n"
    write_atomically(output, text.encode())
    record |= {"columns": whole.n_columns, "labels": len(set(column.strings)), "bytes": output.stat().st_size}
    console.report(record, str(output), json)


def _learnt(
    path: Path, target: Columns, use: list[Path], folds: int, settings: dict[str, Any], save: Path | None
) -> tuple[Column, int]:
    """Return the column by cross-validation, and how many sentences both files share."""
    from epigram.cli.tag.arguments import choose_template, load_crf
    from epigram.features.formats import ColumnSpec
    from epigram.files import read_bytes
    from epigram.solvers.sgd import SGD
    from epigram.tagging.crf import CRFTagger
    from epigram.tagging.stacked.cross_prediction import parts_of, predict_unseen

    taggers = [load_crf(model) for model in use]
    spec = (taggers[0].columns_ if taggers else None) or ColumnSpec()
    corpus = spec.parse(read_bytes(path), str(path))
    spec = spec.completed(corpus, str(path), None, None)
    X, y = spec.split(corpus)
    target = _first_columns(target, X.n_columns)
    if not taggers:
        chosen = choose_template(settings["template"], "crf", X, y.strings)
        solver = SGD(passes=settings["passes"], random_state=settings["seed"])
        taggers = [CRFTagger(chosen, l1=settings["l1"], solver=solver)]
    column, learnt = predict_unseen(taggers, X, y, target, folds)
    if save is not None:
        learnt.columns_ = spec
        learnt.save(save)
    return column, int((parts_of(X, target, folds) >= 0).sum())


def _predicted(paths: list[Path], target: Columns) -> Column:
    """The column by a stored tagger, or a pool of them."""
    from epigram.cli.tag.arguments import load_crf
    from epigram.features.columns import Columns
    from epigram.tagging.column_tagger import ColumnTagger
    from epigram.tagging.stacked.pool import pool

    if len(paths) > 1:
        whole = pool([load_crf(path) for path in paths])
        assert whole.model_.template is not None
        needed = _first_columns(target, whole.model_.template.n_columns)
        return Columns.from_rows(whole.predict(needed)).columns[0]
    tagger = ColumnTagger.load(paths[0])
    observations = _first_columns(target, tagger.needs)
    found = tagger.decode(tagger.model.encode(observations), observations)
    return Columns.from_rows([tagger.names(found)]).columns[0]


def _first_columns(corpus: Columns, n: int) -> Columns:
    """The columns that a tagger looks at."""
    from epigram.features.columns import Columns

    if corpus.n_columns < n:
        raise InputError(
            f"the tagger looks at {n} columns, the input has {corpus.n_columns} before its labels; add the others first"
        )
    return Columns(corpus.sentence_ptr, corpus.columns[:n], corpus.path)
