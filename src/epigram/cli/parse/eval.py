"""``epigram parse eval``: UAS and LAS of a parser, or accuracy of a tree tagger."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from epigram.cli import console
from epigram.cli.options import Json, Model, Threads
from epigram.cli.parse.arguments import Decoding, load_parser, parse_all


def command(
    model: Model,
    test: Path,
    decoding: Decoding = None,
    threads: Threads = 1,
    json: Json = False,
) -> None:
    """Compute UAS and LAS as the CoNLL 2018 scorer counts them, and speed.

    Parameters
    ----------
    test : CoNLL-U with heads; - reads standard input.
    """
    import itertools

    from epigram.parsing.metrics import evaluate_trees
    from epigram.parsing.treebank import read_treebank
    from epigram.tagging.column_tagger import warn_of_unknown

    estimator = load_parser(model, decoding, threads)
    bank = read_treebank(test)
    watch = console.Stopwatch()
    predicted = parse_all(estimator, bank)
    speed = {
        "seconds": watch.seconds,
        "words_per_second": bank.n_tokens / max(watch.seconds, 1e-9),
        "words_per_cpu_second": bank.n_tokens / max(watch.cpu_seconds, 1e-9),
    }
    bank.check_heads()
    size: dict[str, Any] = {"sentences": bank.n_sentences}
    if predicted.column is not None:
        column = bank.column(predicted.column)
        warn_of_unknown(column.strings, estimator.classes_, test)
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
        console.report(record, f"{model} on {test}", json)
        return
    gold = list(itertools.chain.from_iterable(bank.relations()))
    warn_of_unknown(set(gold), estimator.classes_, test)
    report = evaluate_trees(bank.sentence_ptr, (bank.heads, predicted.heads), (gold, predicted.labels))
    if json:
        console.print_json({**size, **report.as_dict(), **speed})
        return
    overall = report.overall
    facts = {"words": overall.words, "UAS": f"{100 * overall.uas:.2f}", "LAS": f"{100 * overall.las:.2f}"}
    console.facts(
        f"{model} on {test}", {**size, **facts, "with subtypes": f"{100 * overall.exact:.2f}", **speed}
    )
    for title, groups in (("relation", report.by_relation), ("length", report.by_length)):
        rows = [
            (name, own.words, f"{100 * own.uas:.2f}", f"{100 * own.las:.2f}") for name, own in groups.items()
        ]
        console.table(f"by {title}, %", (title, "words", "UAS", "LAS"), rows)
