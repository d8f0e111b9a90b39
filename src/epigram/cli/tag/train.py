"""``epigram tag train``: trains a CRF, segment, maxent or history-based tagger."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from epigram.chain.estimator import SentenceEstimator
from epigram.cli import console
from epigram.cli.options import TRAINING, Seed, Threads, derived, given, integers, options
from epigram.cli.plots import plot_training
from epigram.cli.run import SHARDING, Sharding, TrainingRun, watch
from epigram.cli.solvers import OFFERED, SOLVERS, make_solver
from epigram.cli.tag.arguments import Alternatives, Format, choose_template, read_answers
from epigram.errors import InputError
from epigram.features.formats import ColumnSpec
from epigram.files import read_bytes
from epigram.solvers.adagrad import AdaGrad
from epigram.tagging.column_tagger import warn_of_labels, warn_of_lengths, warn_of_unknown
from epigram.tagging.crf import CRFTagger
from epigram.tagging.history import MaxentTagger
from epigram.tagging.segment import SegmentTagger

if TYPE_CHECKING:
    from epigram.features.columns import Columns
    from epigram.features.template import Template

FILES, LEARNING, STOPPING = "Files", "Model", "Learning rates and stopping"
KINDS: dict[str, type[SentenceEstimator]] = {
    "crf": CRFTagger,
    "segment": SegmentTagger,
    "history": MaxentTagger,
}
OBJECTS = ("template", "solver", "threads", "random_state")


@derived(
    options(ColumnSpec, FILES, skip=("n_columns", "label_column", "observed", "format")),
    options(
        KINDS,
        LEARNING,
        skip=OBJECTS,
        bounds={"order": (1, 2)},
        defaults={"l1": "1; 0 with --l2", "l2": "0; 1 with --solver lbfgs"},
    ),
    options(SOLVERS, STOPPING, only=OFFERED),
    SHARDING,
    TRAINING,
)
def command(
    context: typer.Context,
    train: Path,
    dev: Path | None = None,
    model: Literal["crf", "segment", "maxent", "history"] = "crf",
    template: str | None = None,
    classes: Path | None = None,
    gazetteer: Path | None = None,
    vectors: Path | None = None,
    format: Format = "auto",
    label_column: int | None = None,
    columns: str | None = None,
    alternatives: Alternatives = None,
    solver: Literal["sgd", "adagrad", "owlqn", "lbfgs"] | None = None,
    threads: Threads = 1,
    seed: Seed = 0,
    **settings: Any,
) -> None:
    """Train a tagger from a file of sentences. Ctrl-C keeps the best model so far.

    Parameters
    ----------
    train : Sentences with labels; - reads standard input.
    dev FILE : Held-out sentences; the pass with the best score is kept.

    Model
    -----
    model : Kind of tagger: a CRF, a CRF of whole segments, each token alone, or left to right.
    template NAME|FILE : Features: chunking, ner, pos, chunking+, ner+, pos+, or a CRF++ template [default: chosen
        by the columns]

    Files
    -----
    classes FILE : Word classes of column 0, as lm classes writes them.
    gazetteer FILE : Phrases to mark in the text, one per line, or type<TAB>phrase; the longest win.
    vectors FILE : Word vectors in the text format of word2vec.
    format : Format of the files; auto decides by their names.
    label_column : Column of the labels, from 0; from the right if negative [default: -1; 3 for CoNLL-U]
    columns N,N : Columns that the template sees as 0, 1, ... [default: all but the labels; 1 for CoNLL-U]

    Learning rates and stopping
    ---------------------------
    solver : Method of training [default: sgd; owlqn with --l1 and --l2; lbfgs with --l2]
    """
    run, sharding = TrainingRun.of(context, settings), Sharding.of(settings)
    if settings["patience"] is not None and dev is None:
        raise InputError("--patience needs --dev, held-out sentences whose score says when to stop")
    if sharding.cluster is not None and solver is None and not settings["l2"]:
        solver = "owlqn"
        console.note("solver owlqn, since SGD works on one machine only; --solver chooses")
    kind = "crf" if model == "maxent" else model
    estimator = given(settings, KINDS, kind, "--model", skip=("l1", "l2"))
    if model == "maxent" and ("constrain" in estimator or "order" in estimator):
        raise InputError("--constrain and --order need --model crf; maxent has no transitions")
    chosen, l1, l2 = make_solver(solver, settings, seed, threads)
    estimator |= {"l1": l1, "l2": l2, "solver": chosen, "threads": threads, "random_state": seed}
    if alternatives is not None and (model != "crf" or estimator.get("order", 1) != 1 or sharding.asked_for):
        raise InputError("--alternatives needs --model crf and --order 1, without --shards and --cluster")
    separator, comments = settings["separator"], tuple(settings["comments"] or ())
    if separator is not None and (len(separator) != 1 or not separator.isascii()):
        raise InputError(f"--separator is one ASCII character, not {separator!r}")
    reading = Reading(
        ColumnSpec(format, separator, comments),
        str(train), label_column, None if columns is None else integers(columns, name="columns"),
        template, model, {"classes": classes, "gazetteer": gazetteer, "vectors": vectors},
    )  # fmt: skip
    if sharding.asked_for:
        _train_on_shards(run, train, dev, sharding, KINDS[kind], estimator, reading)
    else:
        _train(run, train, dev, KINDS[kind], estimator, reading, alternatives)


@dataclass(frozen=True)
class Reading:
    """Settings with which the training file is read, and its features."""

    spec: ColumnSpec
    path: str
    label_column: int | None
    columns: tuple[int, ...] | None
    template: str | None
    model: str
    lists: dict[str, Path | None]

    def completed(self, corpus: Columns) -> ColumnSpec:
        """Return the settings of the columns of a file."""
        return self.spec.completed(corpus, self.path, self.label_column, self.columns)

    def template_for(self, observations: Columns, labels: list[str]) -> Template:
        """Return the template with its word lists."""
        return choose_template(self.template, self.model, observations, labels).with_lists(**self.lists)


def _train(
    run: TrainingRun,
    train: Path,
    dev: Path | None,
    kind: type[SentenceEstimator],
    settings: dict[str, Any],
    reading: Reading,
    alternatives: str | None,
) -> None:
    """Read the files, fit a tagger with a progress bar, save it and report."""
    corpus = reading.spec.parse(read_bytes(train), str(train))
    spec = reading.completed(corpus)
    observations, labels = spec.split(corpus)
    warn_of_labels(train, labels.strings, len(observations.columns[0].strings))
    warn_of_lengths(train, corpus.n_sentences, corpus.n_tokens)
    held_out = None if dev is None else spec.split(spec.parse(read_bytes(dev), str(dev)))
    if held_out is not None:
        warn_of_unknown(held_out[1].strings, labels.strings, dev)
    parts = [cell.split(alternatives) if alternatives else [cell] for cell in labels.strings]
    template = reading.template_for(observations, [name for names in parts for name in names if name])
    template.check(observations.n_columns, str(train))
    estimator = kind(template, **settings)
    answers = read_answers(labels, observations.sentence_ptr, alternatives)
    passes = getattr(estimator.solver, "passes", None)
    total = passes if isinstance(passes, int) else None
    with run.progress("passes" if passes else "iterations", total, "pass") as show:
        show(0, "reading features")
        estimator.fit(observations, answers, dev=held_out, callback=watch(show))
    estimator.columns_ = spec
    run.finish(
        {**_record(estimator), "train_seconds": run.cost["seconds"], "template": template.path},
        save=lambda: estimator.save(run.output),
        draw=lambda target: plot_training(estimator.history_, target),
    )


def _train_on_shards(
    run: TrainingRun,
    train: Path,
    dev: Path | None,
    sharding: Sharding,
    kind: type[SentenceEstimator],
    settings: dict[str, Any],
    reading: Reading,
) -> None:
    """Train a CRF on a folder of shards."""
    from epigram.cli.sharded import tagger_on_shards

    if settings["l1"] == "auto" and dev is None:
        raise InputError(
            "--l1 auto with --shards or --cluster needs --dev FILE to choose by; or give a number"
        )
    if kind is not CRFTagger or settings.get("order", 1) != 1 or isinstance(settings["solver"], AdaGrad):
        raise InputError(
            "--shards and --cluster take --model crf or maxent, --order 1, and --solver sgd, owlqn or lbfgs"
        )
    tagger_on_shards(
        run, train, dev, sharding, {"min_count": 1, "pairs": "seen", **settings},
        reading.completed,
        lambda observations, labels: reading.template_for(observations, labels.strings),
        reading.spec, _record,
    )  # fmt: skip


def _record(estimator: Any) -> dict[str, Any]:
    """The fit as the command reports it."""
    fit, history = estimator.fit_, estimator.history_
    record = {
        "passes": fit["iterations"],
        "stopped": fit["stopped"],
        "objective": fit["objective"],
        "active_features": fit["active_features"],
        "features": fit["features"],
        "labels": len(estimator.classes_),
        "sentences": fit["sentences"],
        "tokens": fit["tokens"],
    }
    if "path" in fit:
        record["l1"] = fit["l1"]
    scored = [entry for entry in history if "dev_score" in entry]
    if scored:
        best = max(scored, key=lambda entry: entry["dev_score"])
        record |= {"dev_score": best["dev_score"], "best_pass": best["iteration"]}
    return record
