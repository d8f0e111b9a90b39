"""One training in a process of its own: ``python -m epigram.serve.worker`` in a folder with its files.

``job.json`` says what to do, ``upload.txt`` is the data, ``model.epigram`` the result. Points of the curves and the end
are lines of JSON on standard output. A line on standard input asks to stop early and keep the best; its end, that the
server is gone, and then this process ends, too.
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
FIRST, PAUSE = 200, 0.05  # so many points come as they are, later ones after so many seconds


class Reporter:
    """Tells the server how the training goes, not too often, and knows when it is to stop."""

    def __init__(self) -> None:
        self.stopped = False
        self._step, self._last = 0, 0.0
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while sys.stdin.readline():
            self.stopped = True
        os._exit(3)

    def point(self, objective: float | None, weights: int | None, score: float | None = None) -> bool:
        """A point of the curves; True if the training is to stop."""
        self._step += 1
        now = time.monotonic()
        if self._step <= FIRST or now - self._last >= PAUSE:
            self._last = now
            self.say({"point": [self._step, objective, weights, score]})
        return self.stopped

    def say(self, record: dict[str, Any]) -> None:
        """One line."""
        print(json.dumps(record), flush=True)


def train_tagger(options: dict[str, Any], report: Reporter) -> tuple[Any, dict[str, Any]]:
    """A CRF of columns whose last one holds the labels; the last tenth of the sentences is held out."""
    from epigram import SGD, CRFTagger, evaluate, read_columns
    from epigram.tagging.metrics import are_chunk_labels

    columns = read_columns(UPLOAD)
    if columns.n_columns < 2:
        raise InputError("one column only: words and labels need one each", path=UPLOAD)
    n = columns.n_sentences
    cut = n - max(1, n // 10)
    if cut < 1:
        raise InputError(f"{n} sentence is too few; give at least 2", path=UPLOAD)
    (X, y), dev = (columns.take(range(*part)).split(-1) for part in ((0, cut), (cut, n)))
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
    facts: dict[str, Any] = {
        "sentences": cut,
        "held out": n - cut,
        "accuracy %": round(100 * scores.accuracy, 2),
    }
    if chunked:
        facts["F1 %"] = round(100 * scores.overall.f1, 2)
    table = {"columns": ["phrase", "precision", "recall", "F1", "in the text"], "rows": rows}
    return tagger, {"facts": facts, "table": table if chunked else None}


def _labels(part: Any) -> list[list[str]]:
    columns, labels = part
    flat = [labels.strings[k] for k in labels.ids.tolist()]
    ptr = columns.sentence_ptr.tolist()
    return [flat[a:b] for a, b in pairwise(ptr)]


def train_lm(options: dict[str, Any], report: Reporter) -> tuple[Any, dict[str, Any]]:
    """A language model of text, a sentence a line; the last tenth of the sentences is held out."""
    from epigram import KneserNeyLM, LogLinearLM

    sentences = [line.split() for line in Path(UPLOAD).read_text("utf-8").splitlines() if line.strip()]
    cut = len(sentences) - max(1, len(sentences) // 10)
    if cut < 1:
        raise InputError(f"{len(sentences)} sentences are too few; give at least 2", path=UPLOAD)
    train, held_out = sentences[:cut], sentences[cut:]
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
    facts: dict[str, Any] = {"sentences": cut, "held out": len(held_out), "words": len(model.vocabulary_)}
    facts |= {"perplexity": round(found.perplexity, 2), "words it did not know": found.oov}
    return model, {"facts": facts, "table": None}


def train_reranker(options: dict[str, Any], report: Reporter) -> tuple[Any, dict[str, Any]]:
    """A reranker of n-best lists with references; the last tenth of the lists chooses the step."""
    from epigram import Reranker, read_nbest
    from epigram.rerank.model import make_learner

    lists = read_nbest(UPLOAD)
    cut = len(lists) - max(1, len(lists) // 10)
    if cut < 1:
        raise InputError(f"{len(lists)} list is too few; give at least 2", path=UPLOAD)
    train, dev = lists.take(range(cut)), lists.take(range(cut, len(lists)))
    learner = make_learner(options["learner"], steps=options["steps"])
    model = Reranker(learner, measure=options["measure"]).fit(
        train, dev=dev, callback=lambda now: report.point(now.loss, now.nonzero, now.dev_rate)
    )
    facts: dict[str, Any] = {"lists": cut, "held out": len(lists) - cut, "steps": model.step_}
    facts["error rate % before"] = round(model.at(0).error_rate(dev), 2)
    facts["error rate % after"] = round(model.error_rate(dev), 2)
    return model, {"facts": facts, "table": None}


def build_converter(options: dict[str, Any], report: Reporter) -> tuple[Any, dict[str, Any]]:
    """A converter of sentences of surface/reading tokens; the last tenth of them is the test."""
    from epigram import KanaKanjiConverter
    from epigram.ime.evaluate import evaluate
    from epigram.ime.text import read_sentences

    sentences = read_sentences(UPLOAD)
    cut = len(sentences) - max(1, len(sentences) // 10)
    if cut < 1:
        raise InputError(f"{len(sentences)} sentence is too few; give at least 2", path=UPLOAD)
    model = KanaKanjiConverter.build([" ".join(tokens) for tokens in sentences[:cut]])
    rate = evaluate(model, sentences[cut:], 1).cer
    facts: dict[str, Any] = {
        "sentences": cut,
        "held out": len(sentences) - cut,
        "character errors %": round(rate, 2),
    }
    return model, {"facts": facts, "table": None}


def adapt_converter(options: dict[str, Any], report: Reporter) -> tuple[Any, dict[str, Any]]:
    """A converter adapted to sentences; error rates before and after are of the last fifth, which it does not see."""
    from epigram import KanaKanjiConverter
    from epigram.ime.evaluate import evaluate
    from epigram.ime.text import read_sentences

    sentences = read_sentences(UPLOAD)
    cut = len(sentences) - max(1, len(sentences) // 5)
    if cut < 2:
        raise InputError(f"{len(sentences)} sentences are too few to adapt to; give at least 3", path=UPLOAD)
    base = KanaKanjiConverter.load(options["base"])
    model = base.adapt(sentences[:cut])
    before, after = (evaluate(one, sentences[cut:], 1).cer for one in (base, model))
    facts: dict[str, Any] = {"sentences": cut, "held out": len(sentences) - cut}
    facts |= {"error rate % before": round(before, 2), "error rate % after": round(after, 2)}
    return model, {"facts": facts, "table": None}


FAMILIES: dict[str, Callable[[dict[str, Any], Reporter], tuple[Any, dict[str, Any]]]] = {
    "tagger": train_tagger,
    "lm": train_lm,
    "reranker": train_reranker,
    "converter": build_converter,
    "adapt": adapt_converter,
}


def main() -> None:
    """Do the job of this folder."""
    job = json.loads(Path(JOB).read_text("utf-8"))
    _bound(job["memory"], job["seconds"])
    report = Reporter()
    try:
        model, result = FAMILIES[job["family"]](job["options"], report)
        model.save(MODEL)
        report.say({"result": {**result, "stopped early": report.stopped}})
    except (EpigramError, ValueError) as error:
        report.say({"error": str(error)})
    except MemoryError:
        report.say({"error": "this training needs more memory than it is allowed"})


def _bound(memory: int, seconds: int) -> None:
    """Limits of the operating system, where it has them."""
    try:
        import resource
    except ImportError:  # Windows
        return
    os.nice(5)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))


if __name__ == "__main__":
    main()
