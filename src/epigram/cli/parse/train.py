"""``epigram parse train``: trains a dependency parser or a tree tagger."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import typer

from epigram.cli.options import TRAINING, Seed, Threads, derived, options
from epigram.cli.run import TrainingRun, watch
from epigram.cli.solvers import OFFERED, SOLVERS, make_solver
from epigram.errors import InputError
from epigram.features.formats import ColumnSpec
from epigram.files import read_text
from epigram.parsing.arc_training import RATE, choose_rate
from epigram.parsing.parser import PASSES, STRENGTH, DependencyParser
from epigram.parsing.tree_columns import default_template
from epigram.parsing.tree_tagger import TreeTagger
from epigram.parsing.treebank import FIELDS, OBSERVED, Treebank, read_treebank
from epigram.tagging.column_tagger import warn_of_labels, warn_of_lengths, warn_of_unknown

LEARNING, STOPPING = "Model", "Learning rates and stopping"
PARSER = ("label_l1", "often", "classes", "order", "prune", "decoding")
"""Settings of a parser that a tree tagger does not have."""


@derived(
    options(
        DependencyParser,
        LEARNING,
        only=("l1", "l2", "min_count", "observed", "patience", *PARSER),
        bounds={"order": (1, 3), "prune": (0.0, 0.99)},
        defaults={
            "l1": f"{STRENGTH}, labels 1; 0 with --l2",
            "l2": "0; 1 with --solver lbfgs",
            "min_count": "2, labels 1",
            "observed": "form,upos,xpos,feats; labels form,upos,xpos",
        },
    ),
    options(
        {name: SOLVERS[name] for name in ("sgd", "owlqn", "lbfgs")},
        STOPPING,
        only=OFFERED,
        defaults={
            "passes": f"{PASSES}",
            "eta0": f"{RATE}; of a parser down to 0.03, by the number of sentences",
            "schedule": "linear",
        },
    ),
    [option for option in TRAINING if option.name != "plot"],
)
def command(
    context: typer.Context,
    train: Path,
    dev: Path | None = None,
    model: Literal["parser", "labels"] = "parser",
    column: str = "deprel",
    template: Path | None = None,
    solver: Literal["sgd", "owlqn", "lbfgs"] | None = None,
    threads: Threads = 1,
    seed: Seed = 0,
    **settings: Any,
) -> None:
    """Train a parser, or labels of given trees. Ctrl-C keeps the best model so far.

    Parameters
    ----------
    train : CoNLL-U with heads; - reads standard input.
    dev FILE : Held-out CoNLL-U; the pass with the best score is kept.

    Model
    -----
    model : Kind of model: trees and relations, or the labels of given trees.
    column : Column to predict with --model labels.
    template FILE : Template of the features of arcs, or of labels [default: built in]

    Learning rates and stopping
    ---------------------------
    solver : Method of training [default: sgd; owlqn with --l1 and --l2; lbfgs with --l2]
    """
    run = TrainingRun.of(context, settings)
    is_parser = model == "parser"
    if settings["patience"] is not None and dev is None:
        raise InputError("--patience needs --dev, held-out trees whose score says when to stop")
    for name in () if is_parser else PARSER:
        if settings[name] is not None:
            instead = {"label_l1": "give --l1", "classes": "a --template may ask for class:FILE"}
            way_out = instead.get(name, "leave it out")
            raise InputError(f"--{name.replace('_', '-')} is for --model parser; {way_out}")
    labels = "deprel" if is_parser else column
    banks = [read_treebank(path) for path in (train, dev) if path is not None]
    for bank in banks:
        bank.check_heads(single_root=is_parser)
    warn_of_labels(train, banks[0].column(labels).strings, len(banks[0].column("form").strings))
    warn_of_lengths(train, banks[0].n_sentences, banks[0].n_tokens)
    for bank in banks[1:]:
        warn_of_unknown(bank.column(labels).strings, banks[0].column(labels).strings, dev)
    usual = {"passes": PASSES, "schedule": "linear", "eta0": choose_rate(banks[0].n_sentences)}
    usual |= {"l1": STRENGTH} if is_parser else {"eta0": RATE}
    chosen, l1, l2 = make_solver(solver, settings, seed, threads, **usual)
    estimator = {name: settings[name] for name in ("min_count", "patience") if settings[name] is not None}
    estimator |= {
        "l1": l1, "l2": l2, "solver": chosen, "threads": threads, "random_state": seed,
        "template": None if template is None else read_text(template),
    }  # fmt: skip
    if is_parser:
        own = {name: settings[name] for name in ("observed", *PARSER) if settings[name] is not None}
        _train_parser(run, banks, estimator | own)
    else:
        names = [name.strip() for name in (settings["observed"] or ",".join(OBSERVED)).split(",")]
        _train_labels(run, banks, estimator, column, names, str(train))


def _train_parser(run: TrainingRun, banks: list[Treebank], settings: dict[str, Any]) -> None:
    parser = DependencyParser(**settings)
    with run.progress("arcs", total=getattr(parser.solver, "passes", None), step="pass") as show:
        parser.fit(banks[0], dev=banks[1] if len(banks) > 1 else None, callback=watch(show))
    run.finish(parser.fit_, save=lambda: parser.save(run.output))


def _train_labels(
    run: TrainingRun,
    banks: list[Treebank],
    settings: dict[str, Any],
    column: str,
    observed: list[str],
    path: str,
) -> None:
    if column in observed:
        raise InputError(f"--observed: {column} is what is to be predicted; name other columns")
    for name in (column, *observed):
        banks[0].column(name)
    if settings["template"] is None:
        settings["template"] = default_template(len(observed))
    tagger = TreeTagger(**settings)
    trees = [(bank.trees(observed), bank.column(column)) for bank in banks]
    with run.progress("labels", step="pass") as show:
        tagger.fit(*trees[0], dev=trees[1] if len(trees) > 1 else None, callback=watch(show))
    if empty := banks[0].empty_columns(observed):
        tagger.fit_["empty_columns"] = empty
    tagger.columns_ = ColumnSpec(
        "conllu",
        label_column=FIELDS.index(column),
        observed=tuple(FIELDS.index(name) for name in observed),
        n_columns=len(FIELDS),
    )
    record = {"column": column, "train": path, **tagger.fit_}
    run.finish(record, save=lambda: tagger.save(run.output))
