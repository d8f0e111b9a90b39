"""``epigram tag``: train, update, pool, rerank, convert, evaluate and run taggers, and show the built-in templates."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from epigram import cli
from epigram.cli.cluster import Cluster
from epigram.cli.tag_chaining import chain
from epigram.cli.tag_convert import convert
from epigram.cli.tag_explain import explain
from epigram.cli.tag_reranking import pool, rerank
from epigram.cli.tag_training import Format, train
from epigram.cli.tag_updating import update
from epigram.errors import InputError

if TYPE_CHECKING:
    from epigram.tagging.files import FileTagger

app = typer.Typer(no_args_is_help=True)
for command in (train, update, pool, rerank, chain, convert, explain):
    app.command()(command)

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A *.epigram file.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]
Threads = Annotated[int, typer.Option(min=1, help="Threads.")]


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

    from epigram.cli import tag_items
    from epigram.cli.tag_output import show_report
    from epigram.text import read_bytes

    if tag_items.is_meant(model):
        tag_items.evaluate(model, test, threads, json)
        return
    tagger = _load(model)
    reading = tagger.reading
    if label_column is not None:
        reading = replace(reading, label_column=label_column)
    raw = read_bytes(test)
    watch = cli.Stopwatch()
    corpus = reading.parse(raw, str(test))
    observations, gold = reading.split(corpus)
    predicted = tagger.decode(tagger.model.encode(observations), observations, threads)
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
        cli.print_json(record)
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
    reach: Annotated[
        int,
        typer.Option(
            min=0, help="Add what the same word is called in so many sentences before and after, too."
        ),
    ] = 0,
    threads: Threads = 1,
    cluster: Cluster = None,
    json: Annotated[bool, typer.Option("--json", help="JSON lines, one per sentence.")] = False,
) -> None:
    """Tag a file or standard input: the input again, with the predicted column or columns added."""
    import sys

    from epigram.cli import tag_items
    from epigram.cli.tag_output import add_labels, add_nbest, add_nearby, json_lines
    from epigram.tagging.formats import Column, add_columns

    if tag_items.is_meant(model):
        tag_items.run(model, source, marginals, threads, json)
        return
    if nbest is not None and (marginals or all_marginals):
        raise InputError("--nbest and --marginals add different probabilities; choose one")
    if reach and (nbest is not None or cluster is not None):
        raise InputError("--reach is about the best labels of a whole text: leave out --nbest and --cluster")
    tagger = _load(model)
    if tagger.kind == "history" and (nbest is not None or marginals or all_marginals):
        raise InputError("a history-based model has no marginals and no n-best; train with --model crf")
    if cluster is not None:
        options = {"--marginals": marginals, "--all-marginals": all_marginals, "--json": json}
        words = [name for name, chosen in options.items() if chosen]
        words += [] if nbest is None else ["--nbest", str(nbest)]
        _run_on(cluster, tagger, model, source, format, words)
        return
    corpus = tagger.read(source, format)
    if format is None and corpus.lines is None:
        cli.stderr().print("[dim]read as plain text, a sentence a line; --format says otherwise[/dim]")
    observations = tagger.reading.observations(corpus)
    sequences = tagger.model.encode(observations)
    if nbest is not None:
        added, records = add_nbest(tagger, sequences, observations, nbest)
    else:
        ids = tagger.decode(sequences, observations, threads)
        added, records = add_labels(tagger, sequences, ids, marginals, all_marginals)
        if reach:
            add_nearby(added, records, observations, Column(ids, list(tagger.model.labels)), reach)
    if json:
        lines = json_lines(observations, sequences, records)
    else:
        lines = iter(add_columns(corpus, added, tagger.reading.separator))
    sys.stdout.buffer.write(cli.echoed("".join(lines)).encode())
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
    print(cli.echoed(Template.load(name).text), end="")


def _run_on(
    cluster: str, tagger: FileTagger, model: Path, source: Path, format: str | None, options: list[str]
) -> None:
    """Tag the pieces of a file on a cluster; its beginning says how all of it is read."""
    from epigram.cli.cluster import run_in_pieces
    from epigram.scale.pieces import BLANK_LINE, LINE, cut

    head = [] if str(source) == "-" else cut([source], BLANK_LINE, 1 << 16)
    if format is None and head:
        plain = tagger.read_bytes(head[0].read(), str(source)).lines is None
        format = "text" if plain and tagger.reading.format not in ("text", "slash") else tagger.reading.format
    words = ["tag", "run", str(model.resolve()), "-", *options]
    words += [] if format is None else ["--format", format]
    run_in_pieces(words, source, cluster, LINE if format in ("text", "slash") else BLANK_LINE)


def _load(path: Path) -> FileTagger:
    from epigram.tagging.files import FileTagger

    return FileTagger.load(path)
