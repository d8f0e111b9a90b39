"""The paper's four learners on one training set, with or without headword bigrams: rates, curves, comparisons.

The step of every path and boosting's smoothing are chosen on held-out lists; eps is the paper's 0.5.

Beside them what the paper leaves to others, on the same lists: ``lasso`` is the minimum of ExpLoss + alpha T(lambda)
(equation 10), which BLasso approaches; ``ridge`` has the sum of squares instead ("we leave the empirical comparison of
the L1 and L2 penalty to future work", section 4); ``msr`` counts errors instead of ExpLoss (equation 4; Gao et al.
2005). Strengths and steps are chosen on held-out lists.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from epigram.ime.evaluate import normalise, split_sentence
from epigram.protocols import Floats
from epigram.rerank import FSLR, BLasso, Boosting, FBoosting, Lasso, NBest, compare
from epigram.rerank.nbest import edit_distance
from epigram.rerank.paths import LearnedPath
from experiments.lasso_ime.paths import Course, TimedWalk, at_equal_loss, sampled, summary
from experiments.lasso_ime.ridge import Ridge
from experiments.lasso_ime.sample_risk import MinimumSampleRisk

EPS = 0.5
OTHER_EPS = (0.2, 0.8)
LADDER = Boosting.ladders["smoothing"]
"""Smoothings of boosting: the search goes on beyond those given while the best is at an edge."""
EPS_LEARNERS: dict[str, Callable[[int, float], Any]] = {"fslr": FSLR, "blasso": BLasso}
SHARES = {"early": (0.0, 0.25), "late": (0.75, 1.0)}
"""Of a path: what counts as its early and its later iterations."""
LOOKS = 8
"""Steps of such a share at which test errors are counted; the mean is free of single steps' luck."""
Sentences = list[list[str]]
Difference = dict[str, float]
"""``points`` of error rate between two systems, their standard error ``se``, and p-values of two tests."""


class Trial:
    """The four learners on one training size; ``limit`` is the longest path, ``least`` the shortest.

    With ``curves`` the paths of all four are as long as ``limit``, so that they can be compared at equal step.
    """

    def __init__(
        self,
        lists: NBest,
        dev: NBest,
        test: NBest,
        judge: Judge,
        limit: int,
        least: int,
        smoothings: list[float],
        curves: bool = False,
        headwords: frozenset[str] | None = None,
    ) -> None:
        self.course = Course(lists, dev, headwords)
        self.dev_length = float(dev.lengths("cer").sum())
        self.lists, self.test, self.judge = lists, test, judge
        self.limit, self.least, self.curves = limit, least, curves
        self.smoothings = self._smoothed(smoothings)
        self.smoothing = _best(self.smoothings)
        self.walks = {
            "boosting": self._walk(Boosting(limit, self.smoothing))
            if curves
            else self.smoothings[self.smoothing],
            "fslr": self._walk(FSLR(limit, EPS)),
            "f-boosting": self._walk(FBoosting(limit, EPS)),
            "blasso": self._walk(BLasso(limit, EPS)),
        }
        self.errors = {name: self.course.errors(walk, test) for name, walk in self.walks.items()}

    def row(self, rivals: Mapping[str, Floats]) -> dict[str, Any]:
        """Results of all learners, and how BLasso compares with each and with the rivals' errors."""
        learners = {name: self.record(walk) for name, walk in self.walks.items()}
        learners["boosting"]["smoothing"] = self.smoothing
        others = {**{name: errors for name, errors in self.errors.items() if name != "blasso"}, **rivals}
        out: dict[str, Any] = {
            "learners": learners,
            "features": self.course.space.n_weights,
            "course_seconds": round(self.course.seconds, 3),
            "smoothings": [{"value": value, **self.rates(walk)} for value, walk in self.smoothings.items()],
            "equal_loss": at_equal_loss(self.walks["blasso"], self.walks["f-boosting"]),
            "p": {
                name: self.judge.difference(errors, self.errors["blasso"]) for name, errors in others.items()
            },
        }
        if self.curves:
            out["curves"] = {name: self._curve(walk) for name, walk in self.walks.items()}
            out["leads"] = {when: self._difference_of(self.lead(share)) for when, share in SHARES.items()}
            out["ends"] = {name: self._end(walk, name) for name, walk in self.walks.items()}
        return out

    def lead(self, share: tuple[float, float]) -> Floats:
        """F-Boosting's errors minus BLasso's on each test list, mean of equal steps within a share of the path."""
        forward, both = self.walks["f-boosting"], self.walks["blasso"]
        last = min(len(forward.path), len(both.path))
        steps = np.linspace(share[0] * last, share[1] * last, LOOKS + 1).round().astype(int)[1:].tolist()
        return self.course.errors(forward, self.test, *steps) - self.course.errors(both, self.test, *steps)

    def wider_lead(self, other: Trial) -> Difference:
        """By how much BLasso's late lead over F-Boosting is wider here than in another trial."""
        return self.judge.difference(self.lead(SHARES["late"]), other.lead(SHARES["late"]))

    def other_step_sizes(self) -> dict[str, list[dict[str, float]]]:
        """FSLR and BLasso with other eps than the paper's 0.5; smaller steps may be more."""
        return {
            name: [{"value": eps, **self.rates(self._ended(make(round(self.limit * max(EPS / eps, 1.0)), eps)))}
                   for eps in OTHER_EPS]
            for name, make in EPS_LEARNERS.items()
        }  # fmt: skip

    def record(self, walk: TimedWalk) -> dict[str, Any]:
        """Rates and size of the chosen step."""
        choice = self.course.choices(walk, self.test)
        texts = [self.test.texts[c] for c in (self.test.list_ptr[:-1] + choice).tolist()]
        return {**self.rates(walk), "normalised": self.judge.normalised(texts), **summary(walk)}

    def rates(self, walk: TimedWalk) -> dict[str, float]:
        """Held-out and test error rate of the chosen step."""
        return {
            "held_out": 100.0 * walk.dev_errors / self.dev_length,
            "cer": self.judge.rate(self.course.errors(walk, self.test)),
        }

    def _smoothed(self, given: list[float]) -> dict[float, TimedWalk]:
        """Boosting at the given smoothings, and beyond them while the best is at an edge."""
        walks = {value: self._ended(Boosting(self.limit, value)) for value in given}
        while True:
            best = _best(walks)
            below = [value for value in LADDER if value < min(walks)]
            above = [value for value in LADDER if value > max(walks)]
            if best == min(walks) and below:
                value = below[-1]
            elif best == max(walks) and above:
                value = above[0]
            else:
                return dict(sorted(walks.items()))
            walks[value] = self._ended(Boosting(self.limit, value))

    def _walk(self, learner: Any) -> TimedWalk:
        return self.course.walk(learner) if self.curves else self._ended(learner)

    def _ended(self, learner: Any) -> TimedWalk:
        return self.course.walk(learner, self.least)

    def _curve(self, walk: TimedWalk) -> dict[str, list[float]]:
        return sampled(
            walk, self.course.rates_along(walk, self.test), self.course.rates_along(walk, self.lists)
        )

    def _end(self, walk: TimedWalk, name: str) -> Difference:
        """The last step's errors against the chosen step's."""
        return self.judge.difference(self.course.errors(walk, self.test, len(walk.path)), self.errors[name])

    def _difference_of(self, lead: Floats) -> Difference:
        return self.judge.difference(lead, np.zeros_like(lead))


def _best(walks: Mapping[float, TimedWalk]) -> float:
    """The setting with the fewest held-out errors; the smallest of equals."""
    return min(sorted(walks), key=lambda value: walks[value].dev_errors)


FEW = 100
A_DECADE = 6
"""Strengths of a penalty from one to a tenth of it."""


def penalties(trial: Trial, strengths: int, tuned: bool) -> dict[str, Any]:
    """Each learner's results, BLasso and the exact lasso compared with it, and how near to the lasso the paths are.

    ``tuned`` chooses the settings of minimum sample risk on the held-out lists, besides the step of its path.
    """
    risk = MinimumSampleRisk()
    walks = {
        "lasso": trial.course.walk(Lasso(strengths, weakest=10.0 ** (-strengths / A_DECADE))),
        "ridge": trial.course.walk(Ridge(strengths)),
        "msr": trial.course.tuned(risk, trial.least) if tuned else trial.course.walk(risk, trial.least),
    }
    errors = {name: trial.course.errors(walk, trial.test) for name, walk in walks.items()}
    compared = {"blasso": trial.errors["blasso"], "lasso": errors["lasso"]}
    return {
        "learners": {name: trial.record(walk) for name, walk in walks.items()},
        "p": {
            name: {other: trial.judge.difference(found, those) for other, those in compared.items()}
            for name, found in errors.items()
        },
        "norms": norms_beside(walks["lasso"], trial.walks),
    }


def norms_beside(
    exact: LearnedPath, walks: Mapping[str, LearnedPath], few: int = FEW
) -> list[dict[str, float]]:
    """L1 norms where each path has the loss of an exact solution, for those solutions that all paths reach.

    Solutions whose norm is that of fewer than ``few`` steps of 0.5 are left out, and between two steps of a path the
    norm goes by the straight line: what is compared is where the paths go, not how coarse their steps are.
    """
    lowest = max(float(walk.curves.losses.min()) for walk in walks.values())
    return [
        {"loss": loss, "lasso": norm, **{name: _norm_at(walk, loss) for name, walk in walks.items()}}
        for loss, norm in zip(exact.curves.losses.tolist(), exact.curves.l1_norms.tolist(), strict=True)
        if loss >= lowest and norm >= few * EPS
    ]


def _norm_at(walk: LearnedPath, loss: float) -> float:
    losses, norms = walk.curves.losses, walk.curves.l1_norms
    t = max(int(np.argmax(losses <= loss)), 1)
    share = (losses[t - 1] - loss) / (losses[t - 1] - losses[t])
    return float(norms[t - 1] + share * (norms[t] - norms[t - 1]))


class Judge:
    """References of the test sentences."""

    def __init__(self, sentences: Sentences) -> None:
        pairs = [split_sentence(tokens) for tokens in sentences]
        self.readings = [reading for reading, _ in pairs]
        self.surfaces = [surface for _, surface in pairs]
        self.characters = sum(map(len, self.surfaces))

    def rate(self, errors: Floats) -> float:
        """Character error rate in percent of errors a sentence."""
        return 100.0 * float(errors.sum()) / self.characters

    def errors(self, texts: Sequence[str]) -> Floats:
        """Character errors of each sentence."""
        return np.array([edit_distance(*pair) for pair in zip(texts, self.surfaces, strict=True)], np.float64)

    def normalised(self, texts: Sequence[str]) -> float:
        """The rate with habits of writing merged (epigram.ime.evaluate)."""
        wanted = [normalise(surface) for surface in self.surfaces]
        errors = sum(edit_distance(normalise(text), want) for text, want in zip(texts, wanted, strict=True))
        return 100.0 * errors / max(sum(map(len, wanted)), 1)

    def difference(self, first: Floats, second: Floats) -> Difference:
        """How many points the second system's rate is below the first's, and by how much chance alone moves that.

        Examples
        --------
        >>> found = Judge([["山", "川"]] * 4).difference(np.array([1.0, 2.0, 1.0, 2.0]), np.array([1.0, 0.0, 1.0, 0.0]))
        >>> found["points"], round(found["se"], 2), round(found["matched_pairs"], 3)
        (50.0, 28.87, 0.083)
        """
        gap, n = first - second, len(first)
        spread = float(gap.std(ddof=1)) if n > 1 else 0.0
        tests = compare(first, second)
        return {
            "points": self.rate(gap),
            "se": 100.0 * math.sqrt(n) * spread / self.characters,
            "matched_pairs": tests.p_matched_pairs,
            "bootstrap": tests.p_bootstrap,
        }
