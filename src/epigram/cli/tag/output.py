"""Formats the output of taggers: columns, n-best, JSON lines and score tables."""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Iterator
from typing import Any

from epigram.chain.metrics import TaggingReport
from epigram.cli import console
from epigram.features.columns import Column, Columns
from epigram.features.sequences import Sequences
from epigram.protocols import Ints
from epigram.tagging.column_tagger import ColumnTagger


def add_labels(
    tagger: ColumnTagger, sequences: Sequences, ids: Ints, marginals: bool, all_marginals: bool
) -> tuple[list[list[str]], dict[str, list[Any]]]:
    """Return the columns to add, and their values for JSON: labels and probabilities."""
    names = tagger.names(ids)
    added: list[list[str]] = [names]
    records: dict[str, list[Any]] = {"labels": names}
    if not (marginals or all_marginals):
        return added, records
    nodes, _, _ = tagger.model.marginals(sequences)
    if marginals:
        chosen = nodes[range(len(ids)), ids].tolist()
        added.append([f"{p:.6f}" for p in chosen])
        records["probabilities"] = chosen
    if all_marginals:
        for k, label in enumerate(tagger.model.labels):
            added.append([f"{label}:{p:.6f}" for p in nodes[:, k].tolist()])
        records["marginals"] = [dict(zip(tagger.model.labels, row, strict=True)) for row in nodes.tolist()]
    return added, records


def add_nearby(
    added: list[list[str]], records: dict[str, list[Any]], observations: Columns, labels: Column, reach: int
) -> None:
    """Insert the column of the labels of the same words in nearby sentences."""
    from epigram.tagging.stacked.context_column import context_types

    column = context_types(observations, labels, reach)
    records["nearby"] = [column.strings[k] for k in column.ids.tolist()]
    added.insert(1, records["nearby"])


def add_nbest(
    tagger: ColumnTagger, sequences: Sequences, observations: Columns, k: int
) -> tuple[list[list[str]], dict[str, list[Any]]]:
    """Return two columns per labelling: labels and probability, ``-`` if there are fewer."""
    added: list[list[str]] = [[] for _ in range(2 * k)]
    per_sentence: list[Any] = []
    lists = tagger.n_best(sequences, observations, k)
    for length, found in zip(sequences.word_lengths.tolist(), lists, strict=True):
        best = [(tagger.names(ids), p) for ids, p in found]
        per_sentence.append([{"labels": names, "probability": p} for names, p in best])
        for r in range(k):
            names, p = best[r] if r < len(best) else (["-"] * length, 0.0)
            added[2 * r] += names
            added[2 * r + 1] += [f"{p:.6f}"] * length
    return added, {"nbest": per_sentence}


def json_lines(observations: Columns, sequences: Sequences, records: dict[str, list[Any]]) -> Iterator[str]:
    """One object a sentence: its first column as ``tokens``, and what was predicted."""
    bounds = sequences.word_ptr.tolist()
    words = observations.columns[0]
    for s, (a, b) in enumerate(itertools.pairwise(bounds)):
        line: dict[str, Any] = {"tokens": [words.strings[k] for k in words.ids[a:b].tolist()]}
        for name, values in records.items():
            line[name] = values[s] if name == "nbest" else values[a:b]
        yield json.dumps(line, ensure_ascii=False) + "\n"


def show_report(
    report: TaggingReport,
    n_sentences: int,
    cost: tuple[float, float],
    labels: Collection[str],
    title: str,
    json: bool,
) -> None:
    """Print scores; ``cost`` is wall and CPU seconds, ``labels`` those that the model has."""
    seconds, cpu_seconds = cost
    record = {
        **report.as_dict(),
        "sentences": n_sentences,
        "seconds": seconds,
        "tokens_per_second": report.tokens / max(seconds, 1e-9),
        "tokens_per_cpu_second": report.tokens / max(cpu_seconds, 1e-9),
        "unknown_labels": [label for label in report.labels if label not in labels],
        "mistakes": [{"gold": g, "predicted": p, "tokens": n} for g, p, n in report.mistakes()],
    }
    if json:
        console.print_json(record)
        return
    shown = ("sentences", "tokens", "accuracy", "precision", "recall", "f1", "tokens_per_second")
    facts = {name: record[name] for name in shown}
    if record["unknown_labels"]:
        facts["labels the model has not"] = ", ".join(record["unknown_labels"])
    console.facts(title, facts)
    rows = [
        (name, f"{100 * s.precision:.2f}", f"{100 * s.recall:.2f}", f"{100 * s.f1:.2f}", s.gold, s.predicted)
        for name, s in sorted(report.per_type.items(), key=lambda item: -item[1].gold)
    ]
    kind = "type" if report.chunked else "label"
    console.table(f"by {kind}, %", (kind, "precision", "recall", "F1", "in the text", "predicted"), rows)
    console.table("most frequent mistakes", ("label", "predicted", "tokens"), report.mistakes())
