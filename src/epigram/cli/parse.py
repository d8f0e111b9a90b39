"""``epigram parse``: train, evaluate, run and explain parsers, and labels on the nodes of given trees."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from epigram import cli
from epigram.cli.parse_training import train
from epigram.errors import InputError

if TYPE_CHECKING:
    from epigram.parsing.conllu import Treebank

app = typer.Typer(no_args_is_help=True)
app.command()(train)

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A *.epigram file.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]
Threads = Annotated[int, typer.Option(min=1, help="Threads.")]
Decoding = Annotated[
    Literal["best", "mbr"] | None,
    typer.Option(help="The best tree, or the one with most arcs to be expected right (as in training)."),
]


@app.command("eval")
def evaluate(
    model: Model,
    test: Annotated[Path, typer.Argument(metavar="TEST", help="CoNLL-U with heads; - is stdin.")],
    decoding: Decoding = None,
    threads: Threads = 1,
    json: Json = False,
) -> None:
    """UAS and LAS as the CoNLL 2018 scorer counts them, by relation and by length of sentence, and speed."""
    import itertools

    from epigram.parsing.conllu import read_treebank
    from epigram.parsing.metrics import evaluate_trees

    estimator = _load(model, decoding, threads)
    bank = read_treebank(test)
    watch = cli.Stopwatch()
    predicted = _parsed(estimator, bank)
    speed = {
        "seconds": watch.seconds,
        "words_per_second": bank.n_tokens / max(watch.seconds, 1e-9),
        "words_per_cpu_second": bank.n_tokens / max(watch.cpu_seconds, 1e-9),
    }
    bank.check_heads()
    size: dict[str, Any] = {"sentences": bank.n_sentences}
    if predicted.column is not None:
        column = bank.column(predicted.column)
        right = [
            column.strings[k] == name for k, name in zip(column.ids.tolist(), predicted.labels, strict=True)
        ]
        record = {
            **size,
            "words": bank.n_tokens,
            "column": predicted.column,
            "accuracy": sum(right) / len(right),
            **speed,
        }
        cli.print_json(record) if json else cli.facts(f"{model} on {test}", record)
        return
    gold = list(itertools.chain.from_iterable(bank.relations()))
    report = evaluate_trees(bank.sentence_ptr, (bank.heads, predicted.heads), (gold, predicted.labels))
    if json:
        cli.print_json({**size, **report.as_dict(), **speed})
        return
    overall = report.overall
    facts = {"words": overall.words, "UAS": f"{100 * overall.uas:.2f}", "LAS": f"{100 * overall.las:.2f}"}
    cli.facts(f"{model} on {test}", {**size, **facts, "with subtypes": f"{100 * overall.exact:.2f}", **speed})
    for title, groups in (("relation", report.by_relation), ("length", report.by_length)):
        rows = [
            (name, own.words, f"{100 * own.uas:.2f}", f"{100 * own.las:.2f}") for name, own in groups.items()
        ]
        cli.table(f"by {title}, %", (title, "words", "UAS", "LAS"), rows)


@app.command()
def run(
    model: Model,
    source: Annotated[Path, typer.Argument(metavar="[INPUT]", help="CoNLL-U; - is stdin.")] = Path("-"),
    decoding: Decoding = None,
    nbest: Annotated[
        int | None,
        typer.Option(
            metavar="K", min=1, help="The K best trees of each sentence, each with its probability."
        ),
    ] = None,
    keep: Annotated[
        bool,
        typer.Option("--keep", help="Keep the heads and relations that the input has; _ where it is free."),
    ] = False,
    picture: Annotated[
        bool, typer.Option("--picture", help="Draw the trees instead of writing CoNLL-U.")
    ] = False,
    svg: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write each tree to FOLDER/1.svg, 2.svg, ... too.")
    ] = None,
    threads: Threads = 1,
    json: Annotated[bool, typer.Option("--json", help="JSON lines, one per sentence.")] = False,
) -> None:
    """Parse a CoNLL-U file: the input again, with heads and relations; comments and other lines stay."""
    import sys

    from epigram.cli.parse_output import json_lines, nbest_lines, pictures, write_svg
    from epigram.parsing.conllu import read_treebank

    estimator = _load(model, decoding, threads)
    bank = read_treebank(source)
    if nbest is not None:
        if not hasattr(estimator, "arcs_"):
            raise InputError("--nbest is for parsers; this model labels the nodes of given trees")
        lines = nbest_lines(estimator, bank, nbest, keep)
    else:
        predicted = _parsed(estimator, bank, keep)
        if svg is not None:
            write_svg(bank, predicted, svg)
        if json:
            lines = json_lines(bank, predicted)
        elif picture:
            lines = pictures(bank, predicted)
        else:
            heads = predicted.heads if predicted.column is None else None
            lines = bank.written(heads, {predicted.column or "deprel": predicted.labels})
    sys.stdout.buffer.write(cli.echoed("".join(lines)).encode())
    sys.stdout.buffer.flush()


@app.command()
def explain(
    model: Model,
    source: Annotated[Path, typer.Argument(metavar="[INPUT]", help="CoNLL-U; - is stdin.")] = Path("-"),
    sentence: Annotated[int, typer.Option(min=1, help="Which sentence of the input, from 1.")] = 1,
    word: Annotated[int | None, typer.Option(min=1, help="Which word of it, from 1 (all).")] = None,
    top: Annotated[int, typer.Option(min=1, help="Terms to show of each word.")] = 10,
    json: Annotated[bool, typer.Option("--json", help="One JSON object, with all terms.")] = False,
) -> None:
    """Show which features speak for a word's head against the runner-up; they sum to the lead."""
    from dataclasses import asdict

    from epigram.parsing.conllu import read_treebank

    estimator = _load(model, None, 1)
    if not hasattr(estimator, "arcs_"):
        raise InputError(
            "only a parser explains heads; this model labels the nodes of given trees", path=model
        )
    bank = read_treebank(source)
    if sentence > bank.n_sentences:
        raise InputError(f"there is no sentence {sentence}; the input has {bank.n_sentences}, counted from 1")
    own = bank.take([sentence - 1])
    forms = ["root", *(row[0] for row in next(iter(own.observed(["form"]).rows())))]
    chosen = range(1, len(forms)) if word is None else [word]
    found = [estimator.explain(own, k) for k in chosen]
    if json:
        cli.print_json({"sentence": sentence, "words": forms[1:], "heads": [asdict(why) for why in found]})
        return
    for why in found:
        against = "nothing" if why.other is None else f"{forms[why.other]} ({why.other_probability:.3f})"
        title = f"{forms[why.word]}: {forms[why.head]} ({why.probability:.3f}) against {against}, by {why.lead:.3f}"
        terms = [
            (forms[term.word], forms[term.head], term.feature, f"{term.lift:+.3f}")
            for term in why.terms[:top]
        ]
        cli.table(title, ("word", "head", "feature", "lift"), terms)


def _load(path: Path, decoding: str | None, threads: int) -> Any:
    """The parser or tree tagger of a file."""
    from epigram.parsing.parser import DependencyParser
    from epigram.parsing.tagger import TreeTagger
    from epigram.storage import load

    estimator = load(path)
    if not isinstance(estimator, DependencyParser | TreeTagger):
        raise InputError(
            f"holds a {type(estimator).__name__}, not a parser; train one with epigram parse train", path=path
        )
    estimator.set_params(threads=threads)
    if decoding is not None:
        if isinstance(estimator, TreeTagger):
            raise InputError("--decoding is for parsers; this model labels the nodes of given trees")
        estimator.set_params(decoding=decoding)
    return estimator


def _parsed(estimator: Any, bank: Treebank, keep: bool = False) -> Any:
    """Heads and relations, or the labels of given trees, of every word."""
    from epigram.cli.parse_output import Parsed

    if hasattr(estimator, "arcs_"):
        allowed, relations = bank.given() if keep else (None, None)
        heads = estimator.predict_heads(bank, allowed)
        return Parsed(heads, estimator.predict_relations(bank, heads, relations), None)
    if keep:
        raise InputError("--keep is for parsers; this model labels the nodes of given trees")
    spec = estimator.columns_
    if spec is None or spec.format != "conllu" or spec.observed is None:
        raise InputError("this model was not trained by epigram parse train; use it from Python")
    from epigram.parsing.conllu import FIELDS

    bank.check_heads(single_root=False)
    trees = bank.trees([FIELDS[k] for k in spec.observed])
    model = estimator.model_
    ids = model.decode(model.encode(trees), None, estimator.threads)
    return Parsed(bank.heads, [model.labels[k] for k in ids.tolist()], FIELDS[spec.label_column])
