"""The rival: python-crfsuite on exactly our features, handed over by their ids as strings.

Its OWL-QN (``lbfgs`` with c1) is stopped by the rule that stops ours: ``delta`` is a gain over ``period``
iterations, ours a mean of that many. CPU seconds are of ``train`` alone; the data are handed over before.
"""

from __future__ import annotations

import itertools
import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from epigram.chain.metrics import evaluate
from epigram.features.attributes import AttributeTable
from epigram.features.encoding import encode
from epigram.features.sequences import Sequences
from epigram.protocols import Offsets
from experiments.sgd_l1.experiments import LOOKS_BACK, TOLERANCE
from experiments.sgd_l1.tasks import TASKS, Part

MISSING = "python-crfsuite is not installed"


def parameters(algorithm: str, l1: float, passes: int) -> dict[str, Any]:
    """Of each algorithm; those of OWL-QN make it stop where ours does."""
    if algorithm != "lbfgs":
        return {"max_iterations": passes}
    return {
        "c1": l1,
        "c2": 0.0,
        "period": LOOKS_BACK,
        "delta": LOOKS_BACK * TOLERANCE,
        "max_iterations": passes,
    }


def crfsuite(
    *, data: str, task: str, sentences: int | None, l1: float, algorithm: str, passes: int
) -> dict[str, Any]:
    """Train with CRFsuite and score on the test part."""
    try:
        import pycrfsuite  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError:
        return {"missing": MISSING}

    train, test = TASKS[task].final(data, sentences)
    table, template = AttributeTable(), TASKS[task].template()
    trainer = pycrfsuite.Trainer(algorithm=algorithm, verbose=True)
    trainer.set_params(parameters(algorithm, l1, passes))
    encoded = encode(train.columns, template, table, grow=True)
    for features, tags in zip(as_strings(encoded), labels(train), strict=True):
        trainer.append(pycrfsuite.ItemSequence(features), tags)
    log: list[str] = []
    trainer.message = log.append
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model.crfsuite")
        began = time.process_time()
        trainer.train(path)
        seconds = time.process_time() - began
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        encoded = encode(test.columns, template, table, grow=False)
        predicted = [tagger.tag(pycrfsuite.ItemSequence(features)) for features in as_strings(encoded)]
        tagger.close()
    report = evaluate(labels(test), predicted)
    n = train.columns.n_sentences
    return {
        **from_log("".join(log)),
        "seconds": round(seconds, 3),
        "score": 100.0 * (report.overall.f1 if report.chunked else report.accuracy),
        "sentences": n,
    } | _per_sentence("".join(log), n, algorithm)


def from_log(log: str) -> dict[str, Any]:
    """Passes and active weights, as CRFsuite tells them."""
    active = re.findall(r"(?:Active features|Number of active features): (\d+)", log)
    return {
        "passes": len(re.findall(r"\*{5} (?:Iteration|Epoch) #", log)),
        "active": int(active[-1]) if active else None,
    }


def _per_sentence(log: str, n: int, algorithm: str) -> dict[str, float | None]:
    """The objective, where it is the same as ours."""
    losses = re.findall(r"Loss: ([-+.\d]+)", log)
    return {"objective": float(losses[-1]) / n if losses and algorithm == "lbfgs" else None}


def as_strings(sequences: Sequences) -> Iterator[list[list[str]]]:
    """Attribute ids as strings, token by token."""
    flat = list(map(str, sequences.attributes.tolist()))
    yield from split(split(flat, sequences.attribute_ptr), sequences.sentence_ptr)


def labels(part: Part) -> list[list[str]]:
    """Labels as strings, sentence by sentence."""
    flat = [part.labels.strings[k] for k in part.labels.ids.tolist()]
    return split(flat, part.columns.sentence_ptr)


def split(flat: list[Any], ptr: Offsets) -> list[Any]:
    """Runs of a list."""
    return [flat[a:b] for a, b in itertools.pairwise(ptr.tolist())]
