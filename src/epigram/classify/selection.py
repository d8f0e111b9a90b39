"""Choice of n-grams, weighting and l2 on held-out texts.

Folds are blocks of each class in the order of the file: neighbouring texts of one source often resemble each other,
and a random split would count that as skill; copies of a text are in one fold. Every candidate is fitted without the
first fold for falling l2, each fit starting from the last. The two best are fitted without each of the other folds, as
far as the budget lasts, a part of which is reserved for the fit to all texts. Every fold of a candidate is a task of a
checkpoint; a resumed choice has spent the seconds of the first run too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from epigram.checkpoint import State, noted, piece
from epigram.classify.training import (
    Targets,
    best_temperature,
    factors_of,
    fit_columns,
    log_loss,
    scaled,
)
from epigram.features.grams import GramSpec, Rows, encode_grams, learn_grams
from epigram.protocols import Floats, Offsets

STRENGTHS = (0.1, 0.03, 0.01, 0.003, 0.001, 0.0003)
"""Values of l2 that are tried, strongest first; candidates are compared under the middle ones."""
MIDDLE = slice(1, 4)
LONG = 500
"""Characters of a long text."""
MOST, LEAST, WORK = 20_000, 5_000, 1_000_000
"""Texts that selection looks at, the fewer the more labels there are; of more, evenly spaced ones."""
LATER = 0.5
"""Share of the budget that is left to the other folds."""
SECONDS = 5e-8
"""CPU seconds of a fit per value of the matrix and label, until one is measured."""
FINAL = 3.0
"""Cost of the fit to all texts, in fits of the same size: its tolerance is smaller, and n-grams are listed again."""


class GramChoice(NamedTuple):
    """N-grams, and the factors of their columns: ``ratios``, ``idf`` or ``none``."""

    spec: GramSpec
    scale: str


@dataclass
class CandidateTrial:
    """Held-out scores of one candidate under one l2."""

    candidate: GramChoice
    l2: float
    rows: list[Offsets] = field(default_factory=list, repr=False)
    scores: list[Floats] = field(default_factory=list, repr=False)

    def quality(self, targets: Targets, several: bool) -> float:
        """Accuracy (F1 of pairs with several labels) less a tenth of the calibrated log-loss."""
        gold, s = targets[np.concatenate(self.rows)], np.concatenate(self.scores)
        loss = log_loss(s / best_temperature(s, gold, several), gold, several)
        return agreement(s, gold, several) - 0.1 * loss

    def record(self, targets: Targets, several: bool) -> dict[str, Any]:
        """The trial for a report."""
        spec = self.candidate.spec
        gold, s = targets[np.concatenate(self.rows)], np.concatenate(self.scores)
        return {
            "words": spec.words, "chars": spec.chars, "across": spec.across, "lowercase": spec.lowercase,
            "log_counts": spec.log_counts, "scale": self.candidate.scale, "l2": self.l2,
            "held_out": len(s), "score": round(agreement(s, gold, several), 5),
        }  # fmt: skip


def agreement(scores: Floats, gold: Targets, several: bool) -> float:
    """Accuracy, or with several labels a text the F1 of pairs of a text and a label."""
    if several:
        both = int(np.count_nonzero((scores > 0) & gold))
        return float(2 * both / max(1, int(np.count_nonzero(scores > 0)) + int(np.count_nonzero(gold))))
    if scores.shape[1] == 1:
        return float(np.mean((scores > 0) == gold))
    return float(np.mean(gold[np.arange(len(gold)), scores.argmax(axis=1)]))


def candidates_for(texts: Sequence[str], single: bool, normalise: str = "NFC") -> list[GramChoice]:
    """Candidates for texts of this length, with two classes or more, the most promising first."""
    length = sum(map(len, texts)) / max(1, len(texts))

    def choice(
        scale: str, words: int, chars: tuple[int, int] | None, across: bool = False, lowercase: bool = True
    ) -> GramChoice:
        return GramChoice(
            GramSpec(words, chars, across, lowercase, normalise, True, chars is not None), scale
        )

    if length > LONG:
        return [
            choice("ratios" if single else "none", 2, (2, 5), lowercase=False), choice("idf", 2, (2, 5)),
            choice("none", 2, None, lowercase=False), choice("idf", 2, None),
        ]  # fmt: skip
    inside = GramSpec(1, (1, 5), False, False, normalise, True)
    if single:
        across = GramSpec(2, (2, 6), True, True, normalise, False)
        return [
            GramChoice(across, "ratios"), choice("ratios", 2, (2, 5)), GramChoice(across, "idf"),
            choice("idf", 2, (2, 5)), GramChoice(inside, "none"), GramChoice(inside, "idf"),
        ]  # fmt: skip
    return [
        choice("idf", 2, (2, 5)), choice("idf", 2, (2, 6), across=True, lowercase=False), GramChoice(inside, "idf"),
        choice("none", 2, (2, 5)), choice("idf", 2, None),
    ]  # fmt: skip


def folds_of(texts: Sequence[str], classes: npt.NDArray[np.integer], n_folds: int) -> npt.NDArray[np.int64]:
    """The fold of every text: blocks of each class; copies of a text are in one fold.

    Examples
    --------
    >>> folds_of(["a", "b", "c", "a"], np.array([0, 0, 1, 1]), 2).tolist()
    [0, 1, 0, 0]
    """
    first: dict[str, int] = {}
    origins = np.array([first.setdefault(text, i) for i, text in enumerate(texts)], dtype=np.int64)
    out = np.zeros(len(texts), dtype=np.int64)
    for k in np.unique(classes):
        chosen = np.flatnonzero((classes == k) & (origins == np.arange(len(texts))))
        out[chosen] = np.arange(len(chosen)) * n_folds // max(1, len(chosen))
    return out[origins]


class Selection:
    """Trials of candidates on held-out folds, within ``budget`` CPU seconds."""

    def __init__(
        self,
        texts: Sequence[str],
        targets: Targets,
        classes: npt.NDArray[np.integer],
        several: bool,
        sample_weight: Floats | None = None,
        l1: float = 0.0,
        min_count: int = 2,
        budget: float = 60.0,
        threads: int = 1,
        progress: Callable[[str], object] = lambda said: False,
        used: Callable[[Floats, Floats], npt.NDArray[np.bool_]] | None = None,
    ) -> None:
        most = min(MOST, max(LEAST, WORK // targets.shape[1]))
        step = -(-len(texts) // most)
        chosen = np.arange(0, len(texts), step)
        self.texts = [texts[i] for i in chosen.tolist()]
        self.targets, self.several = targets[chosen], several
        self.sample_weight = None if sample_weight is None else sample_weight[chosen]
        self.l1, self.min_count, self.threads, self.progress = l1, min_count, threads, progress
        self._used = used
        self.n_folds, self._n_texts = 5, len(texts)
        self.folds = folds_of(self.texts, classes[chosen], self.n_folds)
        self._budget, self._began, self._stopped = budget, time.process_time(), False
        self._cost, self._n_values = SECONDS, dict[GramChoice, int]()
        self.trials: dict[tuple[GramChoice, float], CandidateTrial] = {}

    def run(
        self, candidates: Sequence[GramChoice], strengths: Sequence[float] = STRENGTHS
    ) -> CandidateTrial | None:
        """Try candidates; return the best trial, None where there is nothing to hold out."""
        middle = strengths[MIDDLE] if len(strengths) > 3 else strengths
        first = int(self.folds[0]) if len(self.folds) else 0
        for k, candidate in enumerate(candidates):
            self._try(candidate, first, middle, 1.0 if k == 0 else LATER, must=k == 0)
        finalists = sorted(candidates, key=lambda c: -max(map(self.quality, self._of(c)), default=-np.inf))[
            :2
        ]
        near = {}
        for candidate in finalists:
            met, tried = self._of(candidate), set(middle)
            while met and len(candidates) * len(strengths) > 1:  # else one fold is enough for the temperature
                best = max(met, key=self.quality).l2
                near[candidate] = [s for s in strengths if 0.2 * best <= s <= 5.0 * best]
                if tried.issuperset(near[candidate]):
                    break
                self._try(candidate, first, [s for s in near[candidate] if s not in tried])
                tried.update(near[candidate])
                met = self._of(candidate)
        for fold in (fold for fold in range(self.n_folds) if fold != first):
            for candidate, wanted in near.items():
                self._try(candidate, fold, wanted)
        if not self.trials:
            return None
        most = max(len(trial.rows) for trial in self.trials.values())
        complete = [t for t in self.trials.values() if len(t.rows) == most]
        return max(complete, key=self.quality)

    def quality(self, trial: CandidateTrial) -> float:
        """The quality of a trial on the folds that it has met."""
        return trial.quality(self.targets, self.several)

    def _of(self, candidate: GramChoice) -> list[CandidateTrial]:
        """The trials of a candidate that met the most folds."""
        found = [t for (c, _), t in self.trials.items() if c == candidate]
        most = max((len(t.rows) for t in found), default=0)
        return [t for t in found if len(t.rows) == most]

    def _spent(self) -> float:
        """CPU seconds since the beginning, those of a run that this one resumes included."""
        spent = noted("CPU seconds", lambda: time.process_time() - self._began)
        self._began = min(self._began, time.process_time() - spent)
        return spent

    def _has_time(self, n_values: int, n_fits: int, share: float) -> bool:
        """Whether so many fits end within a share of the budget, and the last one in all of it."""
        one = self._cost * n_values * self.targets.shape[1]
        last = FINAL * one * self._n_texts / (0.8 * len(self.texts))
        return bool(self._spent() + n_fits * one < min(share * self._budget, self._budget - last))

    def _try(
        self,
        candidate: GramChoice,
        fold: int,
        strengths: Sequence[float],
        share: float = 1.0,
        must: bool = False,
    ) -> None:
        """Fit a candidate without one fold, for every l2, unless the budget is too small."""
        train, held = np.flatnonzero(self.folds != fold), np.flatnonzero(self.folds == fold)
        if not (len(strengths) and len(train) and len(held)) or self._stopped:
            return
        if not must and not self._has_time(self._n_values.get(candidate, 0), len(strengths), share):
            return
        with piece("fold of a choice") as kept:
            said = f"{candidate.spec.words} words, chars {candidate.spec.chars}, fold {fold + 1}"
            found = kept.result
            if found is None and self.progress(said) and not must:
                self._stopped = True
                kept.save({}, stop=True)
                return
            if found is None:
                found = self._fit(candidate, train, held, strengths, share, must)
                kept.finish(found)
        known = self._cost if self.trials else 0.0
        self._cost, self._n_values[candidate] = max(known, float(found["cost"])), int(found["n_values"])
        columns = found["scores"].reshape(-1, len(held), self.targets.shape[1])
        for l2, scores in zip(strengths, columns, strict=False):
            trial = self.trials.setdefault((candidate, l2), CandidateTrial(candidate, l2))
            trial.rows.append(held)
            trial.scores.append(scores)

    def _fit(
        self,
        candidate: GramChoice,
        train: Offsets,
        held: Offsets,
        strengths: Sequence[float],
        share: float,
        must: bool,
    ) -> State:
        """Held-out scores under each l2 (none if the budget is too small), and the cost of a fit."""
        began = time.process_time()
        table, rows = learn_grams([self.texts[i] for i in train.tolist()], candidate.spec, self.min_count)
        n_values, cost, scores = len(rows.ids), 0.0, list[Floats]()
        if must or self._has_time(n_values, len(strengths), share):
            unseen = encode_grams([self.texts[i] for i in held.tolist()], candidate.spec, table)
            gold = self.targets[train]
            factors, counts = factors_of(rows, gold, candidate.scale), seen_columns(rows).astype(np.float64)
            rows, unseen = scaled(rows, factors), scaled(unseen, factors)
            if factors is not None:
                counts *= factors**2
            weights = None if self.sample_weight is None else self.sample_weight[train]
            fit = None
            for l2 in strengths:
                if fit is not None and must and not self._has_time(n_values, 1, share):
                    break
                fit = fit_columns(rows, gold, self.l1, l2, weights, fit, 0.03, self.threads)
                if self._used is not None:  # as in the model that will be saved
                    fit.weights[:-1][~self._used(fit.weights[:-1], counts)] = 0.0
                scores.append(fit.scores(unseen))
                spent = noted("CPU seconds", lambda: time.process_time() - began)
                cost = spent / max(1, len(scores) * n_values * gold.shape[1])  # n-grams are part of it
                if must:
                    self._cost = cost
        found = np.concatenate([np.empty((0, self.targets.shape[1])), *scores])
        return {"scores": found, "cost": cost, "n_values": n_values}


def seen_columns(rows: Rows) -> npt.NDArray[np.int64]:
    """The number of rows that each column occurs in."""
    return np.bincount(rows.ids, minlength=rows.n_columns)
