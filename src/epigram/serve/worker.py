"""The training subprocess: ``python -m epigram.serve.worker`` in the folder of a job.

``job.json`` is the job, ``upload.txt`` the training file, ``model.epigram`` the result. Progress and result are lines
of JSON on standard output. A line on standard input asks to stop early and keep the best model; the end of standard
input means that the server has ended, and ends this process.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

from epigram.errors import EpigramError, InputError

JOB, UPLOAD, MODEL = "job.json", "upload.txt", "model.epigram"
FEWEST = 20  # documents with labels
FIRST, PAUSE = 200, 0.05  # points that are sent at once; later ones are sent at this interval in seconds


class Reporter:
    """Sends progress to the server, at a limited rate, and receives the request to stop."""

    def __init__(self) -> None:
        self.stopped = False
        self._step, self._last = 0, 0.0
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while sys.stdin.readline():
            self.stopped = True
        os._exit(3)

    def point(self, objective: float | None, weights: int | None, score: float | None = None) -> bool:
        """Send a point of the curves; return True if the training should stop."""
        self._step += 1
        now = time.monotonic()
        if self._step <= FIRST or now - self._last >= PAUSE:
            self._last = now
            self.send({"point": [self._step, objective, weights, score]})
        return self.stopped

    def send(self, record: dict[str, Any]) -> None:
        """Send one line."""
        print(json.dumps(record), flush=True)


Facts = dict[str, Any]
Trained = tuple[Any, Facts, Facts | None]
"""Model, facts and table of a training."""


def hold_out(examples: Any, unit: str, share: int = 10, least: int = 1) -> tuple[Any, Any, Facts]:
    """Return the training examples, the last 1 / ``share``, held out, and their numbers."""
    cut = len(examples) - max(1, len(examples) // share)
    if cut < least:
        raise InputError(f"expected at least {least + 1} {unit}, found {len(examples)}", path=UPLOAD)
    return examples[:cut], examples[cut:], {unit: cut, "held out": len(examples) - cut}


def train_tagger(options: dict[str, Any], report: Reporter) -> Trained:
    """Train a CRF tagger on columns, the last of which holds the labels."""
    from epigram import SGD, CRFTagger, evaluate, read_columns
    from epigram.chain.chunks import are_chunk_labels

    columns = read_columns(UPLOAD)
    if columns.n_columns < 2:
        raise InputError("one column only; expected a column of words and a column of labels", path=UPLOAD)
    *parts, facts = hold_out(range(columns.n_sentences), "sentences")
    (X, y), dev = (columns.take(part).split(-1) for part in parts)
    chunked = are_chunk_labels(y.strings)
    template = options["template"]
    if template == "auto":
        template = "chunking" if X.n_columns > 1 else "ner" if chunked else "pos"
    tagger = CRFTagger(template, l1=options["l1"], solver=SGD(passes=options["passes"]))
    tagger.fit(
        X, y, dev=dev, callback=lambda e: report.point(e["objective"], e["nonzero"], e.get("dev_score"))
    )
    gold = [[str(label) for label in sentence] for sentence in _labels(dev)]
    scores = evaluate(gold, tagger.predict(dev[0]))
    rows = [
        [name, round(100 * s.precision, 2), round(100 * s.recall, 2), round(100 * s.f1, 2), s.gold]
        for name, s in sorted(scores.per_type.items(), key=lambda item: -item[1].gold)
    ]
    facts["accuracy %"] = round(100 * scores.accuracy, 2)
    if not chunked:
        return tagger, facts, None
    facts["F1 %"] = round(100 * scores.overall.f1, 2)
    return tagger, facts, {"columns": ["phrase", "precision", "recall", "F1", "in the text"], "rows": rows}


def _labels(part: Any) -> list[list[str]]:
    columns, labels = part
    flat = [labels.strings[k] for k in labels.ids.tolist()]
    ptr = columns.sentence_ptr.tolist()
    return [flat[a:b] for a, b in pairwise(ptr)]


def train_classifier(options: dict[str, Any], report: Reporter) -> Trained:
    """Train a text classifier on documents with labels; every tenth document is held out."""
    from epigram import TextClassifier
    from epigram.classify import evaluate
    from epigram.records import RecordReader

    documents = [document for document in RecordReader(UPLOAD, labelled=True) if document.labels]
    several = any(len(document.labels) > 1 for document in documents)
    if len(documents) < FEWEST:
        said = f"expected at least {FEWEST} documents with labels, as __label__NAME and a text; found {len(documents)}"
        raise InputError(said, path=UPLOAD)
    parts = [d for k, d in enumerate(documents) if k % 10 != 9], documents[9::10]
    (X, y), (texts, gold) = (
        ([d.text for d in part], [d.labels if several else d.labels[0] for d in part]) for part in parts
    )
    model = TextClassifier(several=several, budget=30.0)
    model.fit(X, y, callback=lambda said: report.point(None, None))
    found = model.predict(texts).tolist()
    scores = evaluate(gold, found)
    rows = [
        [s.label, round(100 * s.precision, 2), round(100 * s.recall, 2), round(100 * s.f1, 2), s.n_documents]
        for s in scores.labels
    ]
    facts = {"documents": len(X), "held out": len(texts), "n-grams": model.fit_["features"]}
    facts["accuracy %"] = round(100 * scores.accuracy, 2)
    return model, facts, {"columns": ["label", "precision", "recall", "F1", "held out"], "rows": rows}


def train_lm(options: dict[str, Any], report: Reporter) -> Trained:
    """Train a language model on text with one sentence per line."""
    from epigram import KneserNeyLM, LogLinearLM

    sentences = [line.split() for line in Path(UPLOAD).read_text("utf-8").splitlines() if line.strip()]
    train, held_out, facts = hold_out(sentences, "sentences")
    if options["kind"] == "kneser-ney":
        model: Any = KneserNeyLM(order=options["order"]).fit(train)
    else:
        best: list[float | None] = [None]

        def tried(trial: Any) -> bool:
            best[0] = trial.best
            return report.stopped

        model = LogLinearLM(order=options["order"]).fit(
            train,
            valid=held_out,
            callback=lambda now: report.point(now.objective, now.nonzero, best[0]),
            on_trial=tried,
        )
    found = model.evaluate(held_out)
    facts |= {
        "words": len(model.vocabulary_),
        "perplexity": round(found.perplexity, 2),
        "unknown words": found.oov,
    }
    return model, facts, None


def train_reranker(options: dict[str, Any], report: Reporter) -> Trained:
    """Train a reranker on n-best lists with references; the held-out lists choose the step."""
    from epigram import Reranker, read_nbest
    from epigram.rerank.model import make_learner

    train, dev, facts = hold_out(read_nbest(UPLOAD), "lists")
    learner = make_learner(options["learner"], steps=options["steps"])
    model = Reranker(learner, measure=options["measure"]).fit(
        train, dev=dev, callback=lambda now: report.point(now.loss, now.nonzero, now.dev_rate)
    )
    before, after = model.at(0).error_rate(dev), model.error_rate(dev)
    facts |= {
        "steps": model.step_,
        "error rate % before": round(before, 2),
        "error rate % after": round(after, 2),
    }
    return model, facts, None


def build_converter(options: dict[str, Any], report: Reporter) -> Trained:
    """Build a converter from sentences of surface/reading tokens."""
    from epigram import KanaKanjiConverter
    from epigram.ime.evaluate import evaluate
    from epigram.ime.kana import read_sentences

    train, held_out, facts = hold_out(read_sentences(UPLOAD), "sentences")
    model = KanaKanjiConverter.build([" ".join(tokens) for tokens in train])
    return model, facts | {"character errors %": round(evaluate(model, held_out, 1).cer, 2)}, None


def adapt_converter(options: dict[str, Any], report: Reporter) -> Trained:
    """Adapt a converter to sentences; error rates before and after are those of the last fifth."""
    from epigram import KanaKanjiConverter
    from epigram.ime.evaluate import evaluate
    from epigram.ime.kana import read_sentences

    train, held_out, facts = hold_out(read_sentences(UPLOAD), "sentences", share=5, least=2)
    base = KanaKanjiConverter.load(options["base"])
    model = base.adapt(train)
    before, after = (evaluate(one, held_out, 1).cer for one in (base, model))
    return (
        model,
        facts | {"error rate % before": round(before, 2), "error rate % after": round(after, 2)},
        None,
    )


FAMILIES: dict[str, Callable[[dict[str, Any], Reporter], Trained]] = {
    "tagger": train_tagger,
    "classifier": train_classifier,
    "lm": train_lm,
    "reranker": train_reranker,
    "converter": build_converter,
    "adapt": adapt_converter,
}


def main() -> None:
    """Run the job of this folder."""
    job = json.loads(Path(JOB).read_text("utf-8"))
    _bound(job["memory"], job["seconds"])
    report = Reporter()
    try:
        model, facts, table = FAMILIES[job["family"]](job["options"], report)
        model.save(MODEL)
        report.send({"result": {"facts": facts, "table": table, "stopped early": report.stopped}})
    except (EpigramError, ValueError) as error:
        report.send({"error": str(error)})
    except MemoryError:
        report.send({"error": "the training needs more memory than the server allows; send a smaller file"})


def _bound(memory: int, seconds: int) -> None:
    """Set the limits of the operating system, if it has them."""
    try:
        import resource
    except ImportError:  # Windows
        return
    os.nice(5)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))


if __name__ == "__main__":
    main()
