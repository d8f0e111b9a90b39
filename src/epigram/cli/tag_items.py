"""``tag run`` and ``tag eval`` with models that take features: their input is CRFsuite's text format."""

from __future__ import annotations

import json as json_module
import sys
from pathlib import Path
from typing import Any

from epigram import cli
from epigram.storage import ModelFile, load
from epigram.tagging.items import read_items
from epigram.tagging.storage import FAMILY


def is_meant(model: Path) -> bool:
    """Whether a file holds a CRF without a template."""
    file = ModelFile.load(model, FAMILY)
    return file.header.get("kind") == "crf" and file.header.get("template") is None


def _tagger(model: Path, threads: int) -> Any:
    tagger = load(model, FAMILY)
    return tagger.set_params(threads=threads)


def run(model: Path, source: Path, marginals: bool, threads: int, json: bool) -> None:
    """A label a line, blank lines between sequences, as ``crfsuite tag`` writes them."""
    tagger, items = _tagger(model, threads), read_items(source)
    found = tagger.predict(items.features)
    chosen: list[list[float]] = [[] for _ in found]
    if marginals:
        every = tagger.predict_marginals(items.features)
        chosen = [[p[y] for p, y in zip(*one, strict=True)] for one in zip(every, found, strict=True)]
    lines = []
    for labels, probabilities in zip(found, chosen, strict=True):
        if json:
            record = {"labels": labels, **({"probabilities": probabilities} if marginals else {})}
            lines.append(json_module.dumps(record, ensure_ascii=False) + "\n")
            continue
        added = [f":{p:.6f}" for p in probabilities] if marginals else [""] * len(labels)
        lines += [f"{label}{p}\n" for label, p in zip(labels, added, strict=True)] + ["\n"]
    sys.stdout.buffer.write(cli.echoed("".join(lines)).encode())
    sys.stdout.buffer.flush()


def evaluate(model: Path, test: Path, threads: int, json: bool) -> None:
    """Scores against the labels of the file."""
    from epigram.cli.tag_output import show_report
    from epigram.tagging.metrics import evaluate as score

    tagger, items = _tagger(model, threads), read_items(test)
    watch = cli.Stopwatch()
    report = score(items.labels, tagger.predict(items.features))
    seconds, n = max(watch.seconds, 1e-9), sum(map(len, items.labels))
    record = {
        **report.as_dict(),
        "sentences": len(items.labels),
        "seconds": seconds,
        "tokens_per_second": n / seconds,
        "unknown_labels": [label for label in report.labels if label not in tagger.model_.labels],
        "mistakes": [{"gold": g, "predicted": p, "tokens": k} for g, p, k in report.mistakes()],
    }
    if json:
        cli.print_json(record)
    else:
        show_report(report, record, f"{model} on {test}")
