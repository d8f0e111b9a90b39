"""``epigram parse train``: trains a dependency parser or a tree tagger."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from epigram.cli.options import EVERY, Json, ModelOutput, Resume, Seconds, Threads
from epigram.errors import InputError

if TYPE_CHECKING:
    from epigram.parsing.treebank import Treebank

LEARNING, STOPPING = "Learning", "Rates and stopping"


def command(
    context: typer.Context,
    train: Annotated[Path, typer.Argument(metavar="TRAIN", help="CoNLL-U with heads; - is stdin.")],
    output: ModelOutput,
    dev: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Held-out CoNLL-U that chooses the pass.")
    ] = None,
    model: Annotated[
        Literal["parser", "labels"],
        typer.Option(
            help="The trees and their relations, or a column on given trees.", rich_help_panel=LEARNING
        ),
    ] = "parser",
    column: Annotated[
        str,
        typer.Option(help="With --model labels: the column to be predicted.", rich_help_panel=LEARNING),
    ] = "deprel",
    observed: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,NAME",
            help="The columns that are looked at (form,upos,xpos; of a parser also feats).",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    template: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Features of arcs, or of labels.", rich_help_panel=LEARNING),
    ] = None,
    classes: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Of a parser: word classes, as epigram lm classes writes them.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    order: Annotated[
        int,
        typer.Option(
            min=1,
            max=3,
            help="Of a parser: 1 scores arcs alone, 2 also siblings, 3 also grandparents.",
            rich_help_panel=LEARNING,
        ),
    ] = 3,
    prune: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=0.99,
            help="Orders 2 and 3: prune heads below this share of the probability of the likeliest; 0: none.",
            rich_help_panel=LEARNING,
        ),
    ] = 0.003,
    solver: Annotated[
        Literal["sgd", "owlqn", "lbfgs"] | None,
        typer.Option(help="By default what fits the penalty.", rich_help_panel=LEARNING),
    ] = None,
    l1: Annotated[
        float | None,
        typer.Option(
            metavar="C", min=0.0, help="C * sum |w| (without --l2: 1.2, labels 1).", rich_help_panel=LEARNING
        ),
    ] = None,
    l2: Annotated[
        float | None,
        typer.Option(metavar="C", min=0.0, help="C * sum w^2 (1 for lbfgs).", rich_help_panel=LEARNING),
    ] = None,
    label_l1: Annotated[
        float | None,
        typer.Option(
            metavar="C",
            min=0.0,
            help="That of a parser's relations (0.8 times --l1).",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    min_count: Annotated[
        int | None,
        typer.Option(min=1, help="Occurrences a feature needs (2; labels 1).", rich_help_panel=LEARNING),
    ] = None,
    passes: Annotated[
        int | None,
        typer.Option(min=1, help="Passes of SGD (12), most iterations of others.", rich_help_panel=STOPPING),
    ] = None,
    eta0: Annotated[
        float | None,
        typer.Option(
            help="First rate of SGD, which falls to zero (0.1; 0.03 for trees of 2,000 sentences and more).",
            rich_help_panel=STOPPING,
        ),
    ] = None,
    patience: Annotated[
        int | None,
        typer.Option(
            min=1, help="Stop after so many passes without a better --dev score.", rich_help_panel=STOPPING
        ),
    ] = None,
    threads: Threads = 1,
    seed: Annotated[int, typer.Option(help="Same seed, same bits.")] = 0,
    checkpoint: Seconds = EVERY,
    resume: Resume = False,
    json: Json = False,
) -> None:
    """Learn a parser, or labels on given trees, from a treebank. Ctrl-C keeps the best model so far."""
    from epigram.cli.run import TrainingRun
    from epigram.cli.tag.train import solver_of
    from epigram.files import read_text
    from epigram.parsing.arc_training import RATE, choose_rate
    from epigram.parsing.parser import PASSES, STRENGTH
    from epigram.parsing.treebank import OBSERVED, read_treebank
    from epigram.tagging.column_tagger import warn_of_labels, warn_of_lengths, warn_of_unknown

    run = TrainingRun(output, None, json, checkpoint, resume, context=context)
    if patience is not None and dev is None:
        raise InputError("--patience needs --dev, held-out trees whose score says when to stop")
    if eta0 is not None and not 0.0 < eta0 < float("inf"):
        raise InputError(f"--eta0 is a number above 0, not {eta0!r}")
    if l1 is None and not l2 and solver != "lbfgs" and model == "parser":
        l1 = STRENGTH
    labels = "deprel" if model == "parser" else column
    banks = [read_treebank(path) for path in (train, dev) if path is not None]
    for bank in banks:
        bank.check_heads(single_root=model == "parser")
    warn_of_labels(train, banks[0].column(labels).strings, len(banks[0].column("form").strings))
    warn_of_lengths(train, banks[0].n_sentences, banks[0].n_tokens)
    for bank in banks[1:]:
        warn_of_unknown(bank.column(labels).strings, banks[0].column(labels).strings, dev)
    if eta0 is None:
        eta0 = choose_rate(banks[0].n_sentences) if model == "parser" else RATE
    sgd = solver == "sgd" or (solver is None and not l2)
    chosen, l1, l2 = solver_of(solver, l1, l2, {
        "method": "cumulative", "schedule": "linear", "eta0": str(eta0), "decay": None, "batch_size": 1,
        "passes": passes or (PASSES if sgd else None), "tolerance": 1e-4, "seed": seed,
        "threads": threads,
    })  # fmt: skip
    settings: dict[str, Any] = {
        "l1": l1, "l2": l2, "solver": chosen, "patience": patience, "threads": threads, "random_state": seed,
        "template": None if template is None else read_text(template),
    }  # fmt: skip
    if min_count is not None:
        settings["min_count"] = min_count
    if model == "parser":
        settings |= {"label_l1": label_l1, "order": order, "prune": prune, "classes": classes}
        if observed is not None:
            settings["observed"] = observed
        record = _fit_parser(run, banks, settings, passes)
    else:
        if label_l1 is not None:
            raise InputError("--label-l1 is for --model parser; here it is --l1")
        if classes is not None:
            raise InputError("--classes is for --model parser; here a --template may ask for class:FILE")
        names = [name.strip() for name in (observed or ",".join(OBSERVED)).split(",")]
        record = _fit_labels(run, banks, settings, column, names, str(train))
    run.finish(record[1], save=lambda: record[0].save(output))


def _fit_parser(
    run: Any, banks: list[Treebank], settings: dict[str, Any], passes: int | None
) -> tuple[Any, dict[str, Any]]:
    from epigram.parsing.parser import DependencyParser

    parser = DependencyParser(**settings)
    with run.progress("arcs", total=passes, step="pass") as show:
        parser.fit(banks[0], dev=banks[1] if len(banks) > 1 else None, callback=_shown(show))
    return parser, parser.fit_


def _fit_labels(
    run: Any, banks: list[Treebank], settings: dict[str, Any], column: str, observed: list[str], path: str
) -> tuple[Any, dict[str, Any]]:
    from epigram.features.formats import ColumnSpec
    from epigram.parsing.tree_columns import default_template
    from epigram.parsing.tree_tagger import TreeTagger
    from epigram.parsing.treebank import FIELDS

    if column in observed:
        raise InputError(f"--observed: {column} is what is to be predicted; name other columns")
    for name in (column, *observed):
        banks[0].column(name)
    if settings["template"] is None:
        settings["template"] = default_template(len(observed))
    tagger = TreeTagger(**settings)
    trees = [(bank.trees(observed), bank.column(column)) for bank in banks]
    with run.progress("labels", step="pass") as show:
        tagger.fit(*trees[0], dev=trees[1] if len(trees) > 1 else None, callback=_shown(show))
    numbers = tuple(FIELDS.index(name) for name in observed)
    if empty := banks[0].empty_columns(observed):
        tagger.fit_["empty_columns"] = empty
    tagger.columns_ = ColumnSpec(
        "conllu", label_column=FIELDS.index(column), observed=numbers, n_columns=len(FIELDS)
    )
    return tagger, {"column": column, "train": path, **tagger.fit_}


def _shown(show: Any) -> Any:
    """The callback that moves the progress bar."""

    def callback(entry: dict[str, Any]) -> bool:
        score = f", dev {entry['dev_score']:.4f}" if "dev_score" in entry else ""
        status = f"objective {entry['objective']:,.0f}, {entry['nonzero']:,} active{score}"
        asked: bool = show(entry["iteration"], status, entry.get("stage"))
        return asked

    return callback
