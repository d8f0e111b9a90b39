"""CRFsuite's training log: the text of its messages, and the numbers of each event."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from epigram._core.arrays import offsets
from epigram.protocols import Ints, Offsets

Say = Callable[[str], None]
Event = Callable[[str, dict[str, Any]], None]
"""Called at the end of each event, with its name and its numbers."""


class LabelScore(NamedTuple):
    """Correct, predicted and true tokens of a label; precision, recall, F1 (None: no tokens)."""

    match: int
    model: int
    ref: int
    precision: float | None
    recall: float | None
    f1: float | None


class TrainLog:
    """The messages and numbers of a training run.

    Attributes
    ----------
    iterations : one dict each: ``num``, ``loss``, ``feature_norm``, ``time``, ``scores`` and, depending on the
        algorithm, ``error_norm``, ``active_features``; with held-out data ``avg_precision``, ``avg_recall``,
        ``avg_f1``, ``item_accuracy``, ``instance_accuracy``.
    last_iteration : the last of them.
    log : all messages. events : (event, first message, end) of each event.
    featgen_percent, featgen_num_features, featgen_seconds, training_seconds, storing_seconds : as named.
    """

    def __init__(self) -> None:
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

    def end(self, event: str, numbers: dict[str, Any]) -> None:
        """Record an event, which consists of the messages since the last one."""
        self.events.append((event, self.events[-1][2] if self.events else 0, len(self.log)))
        if event == "iteration":
            self.last_iteration = numbers
            self.iterations.append(numbers)
            return
        for name, value in numbers.items():
            setattr(self, name, value)


def write_features(say: Say, event: Event, params: dict[str, Any], n_features: int, seconds: float) -> None:
    """Log the generation of features."""
    say("type: CRF1d\n")
    for name in ("feature.minfreq", "feature.possible_states", "feature.possible_transitions"):
        say(f"{name}: {format_value(params[name])}\n")
    for k in range(51):
        say("." if k % 5 else str(k // 5))
        event("featgen_progress", {"featgen_percent": 2 * k})
    say("\n")
    say(f"Number of features: {n_features}\n")
    say(f"Seconds required: {seconds:.3f}\n")
    event("featgen_end", {"featgen_num_features": n_features, "featgen_seconds": seconds})
    say("\n")


def format_value(value: Any) -> str:
    """Format the value of a parameter."""
    return f"{value:f}" if isinstance(value, float) else str(int(value) if isinstance(value, bool) else value)


def write_scores(
    say: Say, names: Sequence[str], gold: Ints, found: Ints, sentence_ptr: Offsets
) -> dict[str, Any]:
    """Log the scores of held-out sequences; return them as numbers of an iteration."""
    match, model, ref = (np.bincount(ids, minlength=len(names)) for ids in (gold[gold == found], found, gold))
    rates = np.stack(
        [match / np.maximum(model, 1), match / np.maximum(ref, 1), 2 * match / np.maximum(model + ref, 1)]
    )
    scores = {}
    say("Performance by label (#match, #model, #ref) (precision, recall, F1):\n")
    for j, name in enumerate(names):
        counts, own = (int(match[j]), int(model[j]), int(ref[j])), rates[:, j].tolist()
        shown = ", ".join("******" if not any(counts) else f"{rate:.4f}" for rate in own)
        say(f"    {name}: ({', '.join(map(str, counts))}) ({shown})\n")
        scores[name] = LabelScore(*counts, *(own if any(counts) else (None, None, None)))
    means = rates.mean(axis=1).tolist() if len(names) else [0.0, 0.0, 0.0]
    say(f"Macro-average precision, recall, F1: ({', '.join(f'{mean:f}' for mean in means)})\n")
    n_wrong = np.diff(offsets(gold != found)[sentence_ptr])
    numbers: dict[str, Any] = {"scores": scores}
    numbers |= dict(zip(("avg_precision", "avg_recall", "avg_f1"), means, strict=True))
    for name, right, n in (
        ("item", int(match.sum()), len(gold)),
        ("instance", int(np.count_nonzero(n_wrong == 0)), len(n_wrong)),
    ):
        share = Fraction(right, max(n, 1))
        say(f"{name.capitalize()} accuracy: {right} / {n} ({float(share):.4f})\n")
        numbers |= {f"{name}_accuracy": share, f"{name}_accuracy_float": float(share)}
    return numbers
