"""``tag run`` and ``tag eval`` for models without a template: CRFsuite's text format."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Any

from epigram.chain.model import ChainModel
from epigram.chain.storage import FAMILY
from epigram.cli import console
from epigram.compat.crfsuite.items import Items, read_items
from epigram.errors import InputError
from epigram.features.attributes import fingerprints
from epigram.storage import ModelFile, load
from epigram.tagging.column_tagger import warn_of_unknown


def is_meant(model: Path) -> bool:
    """Whether a file holds a CRF without a template."""
    file = ModelFile.load(model, FAMILY)
    return file.header.get("kind") == "crf" and file.header.get("template") is None


def _tagger(model: Path, threads: int) -> Any:
    tagger = load(model, FAMILY)
    return tagger.set_params(threads=threads)


def read_known_items(path: Path, model: ChainModel) -> Items:
    """The items of a file of which the model knows at least one attribute."""
    items = read_items(path)
    names = list({name for sequence in items.features for item in sequence for name in item})
    if not len(model.table) or (names and (model.table.look_up(fingerprints(names)) >= 0).any()):
        return items
    found = (
        f"none of the attributes ({', '.join(map(repr, sorted(names)[:3]))})" if names else "no attributes"
    )
    raise InputError(
        f"the model knows {found} of this file; it takes CRFsuite's items, label<TAB>attribute<TAB>attribute:value a "
        "line, with the attributes of its training, not columns or text",
        path=path,
    )


def run(model: Path, source: Path, marginals: bool, threads: int, json: bool) -> None:
    """A label a line, blank lines between sequences, as ``crfsuite tag`` writes them."""
    tagger = _tagger(model, threads)
    items = read_known_items(source, tagger.model_)
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
    console.write(lines)


def evaluate(model: Path, test: Path, threads: int, json: bool) -> None:
    """Scores against the labels of the file."""
    from epigram.chain.metrics import evaluate as score
    from epigram.cli.tag.output import show_report

    tagger = _tagger(model, threads)
    items = read_known_items(test, tagger.model_)
    warn_of_unknown({label for own in items.labels for label in own}, tagger.model_.labels, test)
    watch = console.Stopwatch()
    predicted = tagger.predict(items.features)
    cost = watch.seconds, watch.cpu_seconds
    report = score(items.labels, predicted)
    show_report(report, len(items.labels), cost, tagger.model_.labels, f"{model} on {test}", json)
