"""``epigram tag``: train, update, convert, evaluate and run taggers, and show the built-in templates."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from epigram.cli import console
from epigram.cli.tag_convert import convert
from epigram.errors import InputError

if TYPE_CHECKING:
    from epigram.tagging.files import FileTagger

app = typer.Typer(no_args_is_help=True)
app.command()(convert)

Format = Literal["auto", "conll", "conllu", "text", "slash"]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A *.epigram file.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]
Threads = Annotated[int, typer.Option(min=1, help="Threads.")]
FILES, LEARNING, STOPPING, RESULTS = "Files", "Learning", "Rates and stopping", "Results"


@app.command()
def train(
    train: Annotated[Path, typer.Argument(metavar="TRAIN", help="Sentences with labels; - is stdin.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="Where the model goes.")],
    dev: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Held-out sentences that choose the pass.", rich_help_panel=FILES),
    ] = None,
    template: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            help="chunking, ner, pos or a CRF++ template; by default what fits the columns.",
            rich_help_panel=FILES,
        ),
    ] = None,
    format: Annotated[
        Format, typer.Option(help="Of the files; auto: by their names.", rich_help_panel=FILES)
    ] = "auto",
    separator: Annotated[
        str | None,
        typer.Option(help="One character between cells (white space by default).", rich_help_panel=FILES),
    ] = None,
    comments: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PREFIX", help="Lines that begin so are no tokens; repeatable.", rich_help_panel=FILES
        ),
    ] = None,
    label_column: Annotated[
        int | None,
        typer.Option(
            help="Column of labels, from 0; from the right if negative (-1; 3 for CoNLL-U).",
            rich_help_panel=FILES,
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="N,N",
            help="Columns the template sees as its 0, 1, ... (all but the labels; 1 for CoNLL-U).",
            rich_help_panel=FILES,
        ),
    ] = None,
    model: Annotated[
        Literal["crf", "maxent", "history"],
        typer.Option(
            help="CRF; tokens one by one; maxent on the tags on the left.", rich_help_panel=LEARNING
        ),
    ] = "crf",
    solver: Annotated[
        Literal["sgd", "adagrad", "projected", "owlqn", "lbfgs"] | None,
        typer.Option(help="By default what fits the penalty.", rich_help_panel=LEARNING),
    ] = None,
    l1: Annotated[
        float | None,
        typer.Option(metavar="C", min=0.0, help="C * sum |w| (1 without --l2).", rich_help_panel=LEARNING),
    ] = None,
    l2: Annotated[
        float | None,
        typer.Option(metavar="C", min=0.0, help="C * sum w^2 (1 for lbfgs).", rich_help_panel=LEARNING),
    ] = None,
    radius: Annotated[
        float | None,
        typer.Option(
            metavar="R",
            help="With --solver projected: sum |w| is at most R, instead of --l1.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    min_count: Annotated[
        int, typer.Option(min=1, help="Occurrences a feature needs.", rich_help_panel=LEARNING)
    ] = 1,
    pairs: Annotated[
        Literal["seen", "all"],
        typer.Option(
            help="Weights for pairs of feature and label: those seen, or all.", rich_help_panel=LEARNING
        ),
    ] = "seen",
    constrain: Annotated[
        Literal["iob1", "iob2", "ioe2", "bioes"] | None,
        typer.Option(help="Forbid transitions that break the scheme.", rich_help_panel=LEARNING),
    ] = None,
    class_weight: Annotated[
        str | None,
        typer.Option(metavar="balanced|LABEL=W,...", help="Weights of labels.", rich_help_panel=LEARNING),
    ] = None,
    method: Annotated[
        Literal["cumulative", "lazy", "clipping", "naive"],
        typer.Option(help="How SGD applies l1.", rich_help_panel=STOPPING),
    ] = "cumulative",
    schedule: Annotated[
        Literal["exponential", "inverse"],
        typer.Option(help="How SGD's rate falls.", rich_help_panel=STOPPING),
    ] = "exponential",
    eta0: Annotated[
        str,
        typer.Option(
            metavar="auto|RATE", help="First rate of sgd, adagrad, projected.", rich_help_panel=STOPPING
        ),
    ] = "auto",
    decay: Annotated[
        float | None,
        typer.Option(
            help="Of the rate per pass (by the passes; adagrad 0.95, projected 0.85).",
            rich_help_panel=STOPPING,
        ),
    ] = None,
    batch_size: Annotated[
        int, typer.Option(min=1, help="Sentences a step of SGD.", rich_help_panel=STOPPING)
    ] = 1,
    passes: Annotated[
        int | None,
        typer.Option(
            min=1, help="Passes of SGD, most iterations of others (30; 2000).", rich_help_panel=STOPPING
        ),
    ] = None,
    tolerance: Annotated[
        float,
        typer.Option(help="Relative optimality at which owlqn and lbfgs stop.", rich_help_panel=STOPPING),
    ] = 1e-4,
    patience: Annotated[
        int | None,
        typer.Option(
            min=1, help="Stop after so many passes without a better --dev score.", rich_help_panel=STOPPING
        ),
    ] = None,
    threads: Threads = 1,
    seed: Annotated[int, typer.Option(help="Same seed, same bits.")] = 0,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.png|svg",
            help="Objective and active features against passes.",
            rich_help_panel=RESULTS,
        ),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="One JSON object on standard output.", rich_help_panel=RESULTS)
    ] = False,
) -> None:
    """Learn a tagger from a file. Ctrl-C keeps the best model so far."""
    from epigram.cli.tag_training import Plan, carry_out, solver_of, weights_of
    from epigram.storage.atomic import check_writable

    check_writable(output)
    if plot is not None:
        from epigram.plots import check_plot

        check_plot(plot)
        check_writable(plot)
    if patience is not None and dev is None:
        raise InputError("--patience needs --dev, a held-out file to be patient about")
    chosen, l1, l2 = solver_of(solver, l1, l2, {
        "method": method, "schedule": schedule, "eta0": eta0, "decay": decay, "batch_size": batch_size,
        "passes": passes, "tolerance": tolerance, "seed": seed, "radius": radius, "threads": threads,
    })  # fmt: skip
    settings: dict[str, Any] = {
        "l1": l1, "l2": l2, "solver": chosen, "pairs": pairs, "min_count": min_count,
        "class_weight": weights_of(class_weight), "patience": patience, "threads": threads, "random_state": seed,
    }  # fmt: skip
    if constrain is not None:
        if model != "crf":
            raise InputError(f"--constrain needs --model crf; {model} has no transitions")
        settings["constrain"] = constrain
    carry_out(
        Plan(train, output, dev, model, template, settings),
        format=format,
        separator=separator,
        comments=tuple(comments or ()),
        label_column=label_column,
        columns=columns,
        plot=plot,
        json=json,
    )


@app.command()
def update(
    model: Model,
    train: Annotated[Path, typer.Argument(metavar="TRAIN", help="More sentences with labels; - is stdin.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="MODEL", help="Where the model goes (over the old one)."),
    ] = None,
    dev: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Held-out sentences, scored before and after.")
    ] = None,
    json: Json = False,
) -> None:
    """Learn from more sentences, in files such as it was trained on. Ctrl-C keeps what is learnt so far."""
    from epigram.cli.tag_updating import carry_out
    from epigram.storage.atomic import check_writable

    output = output or model
    check_writable(output)
    carry_out(model, train, output, dev, json)


@app.command("eval")
def evaluate(
    model: Model,
    test: Annotated[Path, typer.Argument(metavar="TEST", help="Sentences with labels; - is stdin.")],
    label_column: Annotated[int | None, typer.Option(help="Column of labels (as in training).")] = None,
    threads: Threads = 1,
    json: Json = False,
) -> None:
    """Precision, recall and F1 as conlleval counts them, accuracy, and speed."""
    from dataclasses import replace

    from epigram.cli.tag_output import show_report
    from epigram.text import read_bytes

    tagger = _load(model)
    reading = tagger.reading
    if label_column is not None:
        reading = replace(reading, label_column=label_column)
    raw = read_bytes(test)
    watch = console.Stopwatch()
    corpus = reading.parse(raw, str(test))
    observations, gold = reading.split(corpus)
    predicted = tagger.decode(tagger.model.encode(observations), threads)
    seconds, cpu_seconds = watch.seconds, watch.cpu_seconds
    report = tagger.evaluate(gold, predicted, corpus)
    record = {
        **report.as_dict(),
        "sentences": corpus.n_sentences,
        "seconds": seconds,
        "tokens_per_second": corpus.n_tokens / max(seconds, 1e-9),
        "tokens_per_cpu_second": corpus.n_tokens / max(cpu_seconds, 1e-9),
        "unknown_labels": [label for label in report.labels if label not in tagger.model.labels],
        "mistakes": [{"gold": g, "predicted": p, "tokens": n} for g, p, n in report.mistakes()],
    }
    if json:
        console.print_json(record)
    else:
        show_report(report, record, f"{model} on {test}")


@app.command()
def run(
    model: Model,
    source: Annotated[
        Path,
        typer.Argument(metavar="[INPUT]", help="Columns, or a sentence a line for models of words alone."),
    ] = Path("-"),
    format: Annotated[
        Format | None, typer.Option(help="Of the input (as in training, or plain text).")
    ] = None,
    marginals: Annotated[
        bool, typer.Option("--marginals", help="Add the probability of each label chosen.")
    ] = False,
    all_marginals: Annotated[
        bool, typer.Option("--all-marginals", help="Add LABEL:probability for every label.")
    ] = False,
    nbest: Annotated[
        int | None,
        typer.Option(metavar="K", min=1, help="Add the K best labellings, each with its probability."),
    ] = None,
    threads: Threads = 1,
    json: Annotated[bool, typer.Option("--json", help="JSON lines, one per sentence.")] = False,
) -> None:
    """Tag a file or standard input: the input again, with the predicted column or columns added."""
    import sys

    from epigram.cli.tag_output import add_labels, add_nbest, json_lines

    if nbest is not None and (marginals or all_marginals):
        raise InputError("--nbest and --marginals add different probabilities; choose one")
    tagger = _load(model)
    if tagger.kind == "history" and (nbest is not None or marginals or all_marginals):
        raise InputError("a history-based model has no marginals and no n-best; train with --model crf")
    corpus = tagger.read(source, format)
    if format is None and corpus.lines is None:
        console.stderr().print("[dim]read as plain text, a sentence a line; --format says otherwise[/dim]")
    sequences = tagger.encode(corpus)
    if nbest is not None:
        added, records = add_nbest(tagger, sequences, nbest)
    else:
        ids = tagger.decode(sequences, threads)
        added, records = add_labels(tagger, sequences, ids, marginals, all_marginals)
    if json:
        lines = json_lines(tagger.reading.observations(corpus), sequences, records)
    else:
        from epigram.tagging.formats import add_columns

        lines = iter(add_columns(corpus, added, tagger.reading.separator))
    sys.stdout.buffer.write("".join(lines).encode())
    sys.stdout.buffer.flush()


@app.command()
def template(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="chunking, ner, pos, or a file to be checked.")
    ] = None,
) -> None:
    """Show a built-in template, or list their names."""
    from epigram.tagging.template import BUILT_IN, Template

    if name is None:
        print("\n".join(BUILT_IN))
        return
    print(Template.load(name).text, end="")


def _load(path: Path) -> FileTagger:
    from epigram.tagging.files import FileTagger

    return FileTagger.load(path)
