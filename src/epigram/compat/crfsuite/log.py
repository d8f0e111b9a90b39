"""Training logs in CRFsuite's words, and what reads them back into numbers."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any, NamedTuple


class LabelScore(NamedTuple):
    """How often a label was right, predicted and in the data; precision, recall and F1 (None without data)."""

    match: int
    model: int
    ref: int
    precision: float | None
    recall: float | None
    f1: float | None


_HEAD = re.compile(r"\*{5} (?:Iteration|Epoch) #(\d+) \*{5}")
_NUMBERS = {
    "loss": (re.compile(r"Loss: (-?\d+\.\d+)"), float),
    "feature_norm": (re.compile(r"Feature (?:L2-)?norm: (\d+\.\d+)"), float),
    "error_norm": (re.compile(r"Error norm: (\d+\.\d+)"), float),
    "active_features": (re.compile(r"Active features: (\d+)"), int),
    "time": (re.compile(r"Seconds required for this iteration: (\d+\.\d+)"), float),
}
_AVERAGE = re.compile(r"Macro-average precision, recall, F1: \(([\d.]+), ([\d.]+), ([\d.]+)\)")
_ACCURACY = re.compile(r"(Item|Instance) accuracy: (\d+) / (\d+)")
_LABEL = re.compile(r"    (.+): \((\d+), (\d+), (\d+)\) \(([\d.*]+), ([\d.*]+), ([\d.*]+)\)")
_SECONDS = re.compile(r"Seconds required: (\d+\.\d+)")


class TrainLogParser:
    """Follows a training by its messages.

    Attributes
    ----------
    iterations : one dict each: ``num``, ``loss``, ``feature_norm``, ``time``, ``scores`` and, where the algorithm says
        them, ``error_norm``, ``active_features``; with held-out data ``avg_precision``, ``avg_recall``, ``avg_f1``,
        ``item_accuracy``, ``instance_accuracy``.
    last_iteration : the last of them.
    log : all messages. events : (event, first message, end) of each event.
    featgen_percent, featgen_num_features, featgen_seconds, training_seconds, storing_seconds : as named.
    """

    def __init__(self) -> None:
        self.state: str | None = None
        self.featgen_percent = -2
        self.featgen_num_features: int | None = None
        self.featgen_seconds: float | None = None
        self.training_seconds: float | None = None
        self.storing_seconds: float | None = None
        self.iterations: list[dict[str, Any]] = []
        self.last_iteration: dict[str, Any] | None = None
        self.log: list[str] = []
        self.events: list[tuple[str, int, int]] = []

    @property
    def last_log(self) -> str:
        """The text of the last event."""
        _, start, end = self.events[-1]
        return "".join(self.log[start:end])

    def feed(self, line: str) -> str | None:
        """Take a message; returns the event that it ends, if it ends one."""
        self.log.append(line)
        event = self._follow(line)
        if event is not None:
            start = self.events[-1][2] if self.events else 0
            end = len(self.log) - (
                event in ("prepared", "optimization_end")
            )  # their last line begins what comes next
            self.events.append((event, start, end))
        return event

    def _follow(self, line: str) -> str | None:
        if self.state is None:
            self.state = "FEATGEN" if line.startswith("Feature generation") else "STARTING"
            return "start"
        if self.state == "STARTING":
            if line.startswith("Feature generation"):
                self.state = "FEATGEN"
            return None
        return self._in_training(line) if self.state != "FEATGEN" else self._in_features(line)

    def _in_features(self, line: str) -> str | None:
        if line and line in "0123456789.10":
            self.featgen_percent += 2
            return "featgen_progress"
        if found := re.match(r"Number of features: (\d+)", line):
            self.featgen_num_features = int(found[1])
        elif found := _SECONDS.match(line):
            self.featgen_seconds, self.state = float(found[1]), "AFTER_FEATGEN"
            return "featgen_end"
        return None

    def _in_training(self, line: str) -> str | None:
        if found := _HEAD.match(line):
            first = self.state == "AFTER_FEATGEN"
            self.state = "ITERATION"
            self.last_iteration = {"num": int(found[1]), "scores": {}}
            self.iterations.append(self.last_iteration)
            return "prepared" if first else None
        if self.state == "ITERATION":
            if line != "\n":
                self._read_iteration(line)
                return None
            self.state = "AFTER_ITERATION"
            return "iteration"
        if "terminated with error" in line:
            self.state = "AFTER_ITERATION"
            return "prepare_error"
        if found := re.match(r"Total seconds required for training: (\d+\.\d+)", line):
            self.training_seconds = float(found[1])
        elif line.startswith("Storing the model"):
            self.state = "STORING"
            return "optimization_end"
        elif self.state == "STORING" and (found := _SECONDS.match(line)):
            self.storing_seconds = float(found[1])
        elif self.state == "STORING" and line == "\n":
            return "end"
        return None

    def _read_iteration(self, line: str) -> None:
        """A line of numbers within an iteration."""
        assert self.last_iteration is not None
        entry = self.last_iteration
        for key, (pattern, kind) in _NUMBERS.items():
            if found := pattern.match(line):
                entry[key] = kind(found[1])
        if found := _AVERAGE.match(line):
            entry["avg_precision"], entry["avg_recall"], entry["avg_f1"] = map(float, found.groups())
        if found := _ACCURACY.match(line):
            name, share = f"{found[1].lower()}_accuracy", Fraction(int(found[2]), max(int(found[3]), 1))
            entry[name], entry[name + "_float"] = share, float(share)
        if found := _LABEL.match(line):
            rates = [None if "*" in text else float(text) for text in found.groups()[4:]]
            entry["scores"][found[1]] = LabelScore(int(found[2]), int(found[3]), int(found[4]), *rates)


def performance(names: list[str], gold: list[list[str]], predicted: list[list[str]]) -> list[str]:
    """Lines about held-out sequences, as an iteration has them."""
    flat = [
        (g, p) for one, other in zip(gold, predicted, strict=True) for g, p in zip(one, other, strict=True)
    ]
    lines, sums = ["Performance by label (#match, #model, #ref) (precision, recall, F1):\n"], [0.0, 0.0, 0.0]
    for name in names:
        match = sum(g == p == name for g, p in flat)
        model, ref = sum(p == name for _, p in flat), sum(g == name for g, _ in flat)
        rates = (match / max(model, 1), match / max(ref, 1), 2 * match / max(model + ref, 1))
        sums = [a + b for a, b in zip(sums, rates, strict=True)]
        shown = ", ".join("******" if not (model or ref) else f"{rate:.4f}" for rate in rates)
        lines.append(f"    {name}: ({match}, {model}, {ref}) ({shown})\n")
    mean = ", ".join(f"{total / max(len(names), 1):f}" for total in sums)
    right, whole = sum(g == p for g, p in flat), sum(g == p for g, p in zip(gold, predicted, strict=True))
    lines.append(f"Macro-average precision, recall, F1: ({mean})\n")
    lines.append(f"Item accuracy: {right} / {len(flat)} ({right / max(len(flat), 1):.4f})\n")
    lines.append(f"Instance accuracy: {whole} / {len(gold)} ({whole / max(len(gold), 1):.4f})\n")
    return lines
