"""What section 5.3 says of Figures 3 to 8, and what the results say to it. Verdicts follow the numbers.

Differences of test errors are judged by tests of errors per sentence, pooled over the domains, at the paper's level.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.lasso_ime import paper
from experiments.lasso_ime.experiments import JUDGED
from experiments.lasso_ime.results import (
    LEARNERS,
    Difference,
    Results,
    chance,
    domains,
    eps_rates,
    figure_row,
    gaps,
    last_common_step,
    lines,
    mean,
    near_smoothings,
    pooled,
    reduction,
    spread,
    value_at,
    variants,
)
from experiments.report import Claim, claim_of, verdict_of

IDENTICAL = 2.0
"""Percent of the first error rate by which "almost identical" training curves may differ, on average and at the end."""
SMALL = 2.0
"""Percent of errors that count as a very small reduction."""
FLAT = 2.0
"""Percent above the chosen step's error rate at which a curve still "does not increase"."""
MUCH = 1.0
"""Percent of errors from which one rate is much lower than another."""
NEARLY = 5.0
"""Points by which a share may miss the range that the paper's four domains span."""
ENCARTA = "mdn"
"""The domain of Figures 3 and 4."""
QUARTERS = (0.25, 0.5, 0.75, 1.0)


def same_training_error(results: Results) -> Claim:
    """The training errors of BLasso and F-Boosting at equal step."""
    average, largest, end = {}, {}, {}
    for domain, row in _rows(results).items():
        apart = [abs(value) for value in gaps(row["curves"], "train")]
        start = row["curves"]["f-boosting"]["train"][0]
        average[domain], largest[domain], end[domain] = (
            100.0 * value / start if start else 0.0 for value in (mean(apart), max(apart), apart[-1])
        )
    return claim_of(
        "The training error curves of BLasso and F-Boosting are almost identical (5.3).",
        verdict_of(max(*average.values(), *end.values()) < IDENTICAL),
        f"At equal step the training error rates differ by {_listed(average, '.2f')} % of the rate at the start on "
        f"average, by {_listed(end, '.2f')} % at the end and by {_listed(largest, '.2f')} % at most; less than "
        f"{IDENTICAL:g} % on average and at the end counts as almost identical.",
        f"{max(average, key=lambda name: average[name])} has the widest gap on the way.",
    )


def smaller_norm(results: Results) -> Claim:
    """Figure 3 as it is drawn: L1 norms against steps."""
    good, parts = [], []
    for domain, row in _rows(results).items():
        for variant in variants(row).values():
            curves = variant["curves"]
            steps = [share * last_common_step(curves) for share in QUARTERS]
            first, second = (
                [value_at(curves[name], "l1", step) for step in steps] for name in ("blasso", "f-boosting")
            )
            apart = [b - a for a, b in zip(first, second, strict=True)]
            good.append(apart[0] > 0 and apart == sorted(apart))
            if variant is row:
                errors = [value_at(curves[name], "train", steps[-1]) for name in ("blasso", "f-boosting")]
                parts.append(
                    f"{domain} {first[-1]:,.0f} and {second[-1]:,.0f} ({-reduction(second[-1], first[-1]):.1f} %) with "
                    f"training error rates of {errors[0]:.2f} and {errors[1]:.2f} %"
                )
    return claim_of(
        "The L1 norms of BLasso and F-Boosting grow apart with iterations: with backward steps a model of similar "
        "training error is less complex (5.3, Figure 3).",
        verdict_of(all(good)),
        f"At equal step BLasso's L1 norm is smaller, by more from quarter to quarter of the path, in {sum(good)} of "
        f"{len(good)} pairs of paths (with and without headwords). At the last step, without headwords, BLasso and "
        f"F-Boosting: {'; '.join(parts)}.",
        "The other pairs do not grow apart all along.",
    )


def best_approximation(results: Results) -> Claim:
    """L1 norms of the paths above that of the exact lasso solution of the same training loss."""
    over = {name: {d: _excess(row, name) for d, row in _rows(results).items()} for name in LEARNERS}
    first = sum(min(over, key=lambda name: over[name][d]) == "blasso" for d in domains(results))
    average = {LEARNERS[name]: mean(values.values()) for name, values in over.items()}
    nearest = min(average, key=lambda name: average[name])
    return claim_of(
        "BLasso produces the best approximation to the lasso solution (abstract, 5.3).",
        verdict_of(first == len(domains(results))),
        f"Where the training losses are those of exact lasso solutions, the L1 norms are larger than theirs by "
        f"{_listed(average, '.2f')} % on average; BLasso's is the nearest on {first} of "
        f"{len(domains(results))} domains.",
        f"{nearest} is the nearest on average.",
    )


def sparser(results: Results) -> Claim:
    """Non-zero weights at the lowest training loss that both paths reach."""
    less, parts = _at_equal_loss(results, "weights")
    return claim_of(
        "BLasso is the better approximation to the lasso (abstract, 5.3), whose solutions are sparse: at "
        "equal training loss it has fewer weights than F-Boosting.",
        verdict_of(min(less) > 0),
        f"At the lowest training loss both reach, BLasso has fewer weights in {sum(share > 0 for share in less)} of "
        f"{len(less)} pairs of paths (with and without headwords), {mean(less):.1f} % less on average; "
        f"without headwords, BLasso and F-Boosting: {parts}.",
        "It has as many or more in the other pairs.",
    )


def equal_loss_finding(results: Results) -> str:
    """A stricter question than Figure 3's, in a paragraph."""
    less, parts = _at_equal_loss(results, "l1")
    return (
        "A stricter question than the paper's: Figure 3 compares models after equally many steps, but BLasso's steps "
        "back are steps too, so its path has come less far. Where both have the same training loss (ExpLoss), BLasso's "
        f"L1 norm is smaller in {sum(share > 0 for share in less)} of {len(less)} pairs of paths, by "
        f"{mean(less):.1f} % on average; without headwords, BLasso and F-Boosting: {parts}."
    )


def later_iterations(results: Results) -> Claim:
    """Figure 4 on all domains: the lead in the first and in the last quarter of the paths."""
    rows = _rows(results)
    leads = {when: {d: row["leads"][when] for d, row in rows.items()} for when in ("early", "late")}
    early, late = (pooled(leads[when].values()) for when in ("early", "late"))
    listed = "; ".join(
        f"{domain} {leads['early'][domain]['points']:+.3f}, then {_tested(leads['late'][domain])}"
        for domain in rows
    )
    return claim_of(
        "The benefit of backward steps is only visible in later iterations; there BLasso is superior to "
        "F-Boosting (5.3, Figure 4).",
        verdict_of(_surely_positive(late) and not _surely_positive(early)),
        f"BLasso's lead at equal step in points of test error rate, in the first and in the last quarter of the path: "
        f"{listed}; over the domains {early['points']:+.3f}, then {late['points']:+.3f} (p = {late['p']:.2g}).",
        "The lead is there early as well."
        if _surely_positive(early)
        else "The late lead over all domains is no more than chance.",
    )


def small_reduction(results: Results) -> Claim:
    """BLasso's error rate with and without headword bigrams."""
    rows = _rows(results)
    gains = {
        domain: reduction(row["learners"]["blasso"]["cer"], row["headwords"]["learners"]["blasso"]["cer"])
        for domain, row in rows.items()
    }
    changes = {domain: row["headwords"]["p"]["without headwords"] for domain, row in rows.items()}
    clear = [domain for domain, change in changes.items() if chance(change) < paper.LEVEL]
    together, average = pooled(changes.values()), mean(gains.values())
    return claim_of(
        "Headword bigrams reduce the error rate, though overall very little (5.3).",
        verdict_of(average > -SMALL and not _surely_negative(together), average >= SMALL),
        f"BLasso's errors fall by {_listed(gains, '+.1f')} % ({average:+.1f} % on average, p = {together['p']:.2g}; "
        f"{SMALL:g} % and more would be more than very little); significantly (p < {paper.LEVEL}) different on "
        f"{', '.join(clear) or 'no domain'}.",
        "They grow, by more than chance.",
    )


def correlated_features(results: Results) -> Claim:
    """Late lead of BLasso over F-Boosting, with headwords and without."""
    rows = _rows(results)
    wider = {domain: row["headwords"]["wider_lead"] for domain, row in rows.items()}
    together = pooled(wider.values())
    listed = "; ".join(
        f"{domain} {row['leads']['late']['points']:+.3f} without, {row['headwords']['leads']['late']['points']:+.3f} "
        f"with (p = {chance(wider[domain]):.2g})"
        for domain, row in rows.items()
    )
    return claim_of(
        "With the correlated features that headword bigrams are, the lead of BLasso over F-Boosting is more "
        "visible in all four test sets (5.3, Figures 5 to 8 against Figure 4).",
        verdict_of(_surely_positive(together)),
        f"Lead in points of test error rate in the last quarter of the path: {listed}; over the domains wider by "
        f"{together['points']:+.3f} with headwords (p = {together['p']:.2g}).",
        "That is no more than chance."
        if together["p"] >= paper.LEVEL
        else "The lead is narrower with headwords.",
    )


def all_or_none(results: Results) -> Claim:
    """How few headword bigrams are word bigrams now and then."""
    sometimes = {domain: row["overlap"][JUDGED]["sometimes"] for domain, row in _rows(results).items()}
    return claim_of(
        "Headword bigrams are for the most part either always or never word bigrams too: less than "
        f"{paper.VARIABLE_OVERLAP:g} % are so sometimes (5.3).",
        verdict_of(max(sometimes.values()) < paper.VARIABLE_OVERLAP),
        f"Sometimes: {_listed(sometimes, '.0f')} % of the features in the test text (our headwords are words that "
        "begin "
        "with kanji or katakana).",
        f"{max(sometimes, key=lambda name: sometimes[name])} has more.",
    )


def overlapping(results: Results) -> Claim:
    """How correlated the features are."""
    low, high = paper.FULL_OVERLAP
    always = {domain: row["overlap"][JUDGED]["always"] for domain, row in _rows(results).items()}
    outside = [d for d, value in always.items() if not low - NEARLY <= value <= high + NEARLY]
    return claim_of(
        f"Depending on the domain {low:g} % to {high:g} % of the headword bigrams are always word bigrams too: the two "
        "are moderately to highly correlated (5.3).",
        verdict_of(not outside),
        f"Always: {_listed(always, '.0f')} % of the features in the test text; {NEARLY:g} points beside the paper's "
        "range still count (our headwords are words that begin with kanji or katakana; other counts in the table).",
        f"The share depends on the text and on what counts as a headword, and lies outside on {', '.join(outside)}.",
    )


def robust(results: Results) -> Claim:
    """FSLR at the end of its path against its chosen step, with headwords."""
    rows = {domain: row["headwords"] for domain, row in _rows(results).items()}
    rises = {name: {d: _rise_from_chosen(row, name) for d, row in rows.items()} for name in LEARNERS}
    risen = [
        domain for domain, row in rows.items()
        if rises["fslr"][domain] > FLAT and chance(row["ends"]["fslr"]) < paper.LEVEL
    ]  # fmt: skip
    others = ", ".join(
        f"{LEARNERS[name]}'s by {mean(rises[name].values()):.1f} %" for name in LEARNERS if name != "fslr"
    )
    steps = min(row["learners"]["fslr"]["steps"] for row in rows.values())
    return claim_of(
        "FSLR is robust: its test errors do not increase after many iterations (5.3, Figures 5 to 8).",
        verdict_of(not risen),
        f"After {steps:,} steps FSLR's test errors are above those of the chosen step by "
        f"{_listed(rises['fslr'], '.1f')} % (more than {FLAT:g} %, and significant at {paper.LEVEL}, counts as an "
        f"increase); {others} on average.",
        f"They increase on {', '.join(risen)}: "
        "like the other learners it goes on fitting until held-out text stops it.",
    )


def grid_search(results: Results) -> Claim:
    """F-Boosting against FSLR: the lowest rate each can reach, with headwords."""
    lowest, chosen = {}, {}
    for domain, row in _rows(results).items():
        curves, learners = row["headwords"]["curves"], row["headwords"]["learners"]
        lowest[domain] = reduction(min(curves["fslr"]["test"]), min(curves["f-boosting"]["test"]))
        chosen[domain] = reduction(learners["fslr"]["cer"], learners["f-boosting"]["cer"])
    wins = sum(gain > MUCH for gain in lowest.values())
    return claim_of(
        "F-Boosting (grid search) can reach a much lower error rate than FSLR (continuous search) on three "
        "out of four test sets (5.3).",
        verdict_of(wins >= 0.75 * len(lowest), wins == len(lowest)),
        f"At the lowest of its curve F-Boosting has fewer test errors than FSLR by {_listed(lowest, '+.1f')} %, by "
        "more "
        f"than {MUCH:g} % on {wins} of {len(lowest)}; at the steps that held-out text chose by "
        f"{_listed(chosen, '+.1f')} %.",
        "The two searches are about as good as each other.",
    )


def step_sizes(results: Results) -> Claim:
    """FSLR's eps against boosting's smoothing."""
    rows = _rows(results)
    ours = {domain: spread(list(eps_rates(row, "fslr").values())) for domain, row in rows.items()}
    theirs = {domain: spread(near_smoothings(row)) for domain, row in rows.items()}
    first, second = mean(ours.values()), mean(theirs.values())
    return claim_of(
        "FSLR is much less sensitive to its step size (0.2 to 0.8) than boosting to its smoothing factor (5.3).",
        verdict_of(2 * first <= second),
        f"From the best to the worst setting the test errors grow by {_listed(ours, '.1f')} % for FSLR from 0.2 to "
        "0.8, "
        f"and by {_listed(theirs, '.1f')} % for boosting at the chosen smoothing, a third of it and three times it; "
        f"{first:.1f} and {second:.1f} % on average, where half as much counts as much less.",
        "So near the chosen values the two are about as sensitive."
        if first < second
        else "FSLR is the more sensitive one.",
    )


def smoothing_varies(results: Results) -> Claim:
    """The smoothing that held-out data chose."""
    chosen = {line.name: line.row["learners"]["boosting"]["smoothing"] for line in lines(results)}
    listed = "; ".join(f"{name} {value:g}" for name, value in chosen.items())
    return claim_of(
        "The optimal smoothing factor of boosting varies with the size and the domain of the training data (5.3).",
        verdict_of(len(set(chosen.values())) > 1),
        f"Chosen on held-out data: {listed}.",
        "It is the same everywhere.",
    )


def blasso_step_sizes(results: Results) -> Claim:
    """BLasso's eps."""
    spreads = {
        domain: spread(list(eps_rates(row, "blasso").values())) for domain, row in _rows(results).items()
    }
    return claim_of(
        "The performance of BLasso is not very sensitive to the step size (5.2).",
        verdict_of(max(spreads.values()) < SMALL),
        f"From the best to the worst of 0.2, 0.5 and 0.8 the test errors grow by {_listed(spreads, '.1f')} %; "
        f"less than {SMALL:g} % counts as not very sensitive.",
        f"{max(spreads, key=lambda name: spreads[name])} is above that.",
    )


COMPLEXITY_CLAIMS = (same_training_error, smaller_norm, best_approximation, sparser)
CURVE_CLAIMS = (
    later_iterations, small_reduction, correlated_features, all_or_none, overlapping, robust, grid_search,
)  # fmt: skip
SENSITIVITY_CLAIMS = (step_sizes, smoothing_varies, blasso_step_sizes)


def _rows(results: Results) -> dict[str, dict[str, Any]]:
    return {domain: figure_row(results[domain]) for domain in domains(results)}


def _at_equal_loss(results: Results, measure: str) -> tuple[list[float], str]:
    """By how many percent BLasso is below F-Boosting in all pairs of paths, and the numbers without headwords."""
    less, parts = [], []
    for domain, row in _rows(results).items():
        for variant in variants(row).values():
            point = variant["equal_loss"]["last"]
            first, second = point["first"][measure], point["second"][measure]
            less.append(reduction(second, first))
            if variant is row:
                parts.append(f"{domain} {first:,.0f} and {second:,.0f}")
    return less, "; ".join(parts)


def _excess(row: Mapping[str, Any], learner: str) -> float:
    """Percent by which a path's L1 norm is above the exact lasso's of the same loss, mean of its solutions."""
    points = row["penalties"]["norms"]
    return mean(100.0 * (point[learner] / point["lasso"] - 1.0) for point in points) if points else 0.0


def _rise_from_chosen(row: Mapping[str, Any], learner: str) -> float:
    return 100.0 * float(row["ends"][learner]["points"]) / max(float(row["learners"][learner]["cer"]), 1e-9)


def _surely_positive(difference: Difference) -> bool:
    return difference["points"] > 0 and difference["p"] < paper.LEVEL


def _surely_negative(difference: Difference) -> bool:
    return difference["points"] < 0 and difference["p"] < paper.LEVEL


def _tested(difference: Difference) -> str:
    return f"{difference['points']:+.3f} (p = {chance(difference):.2g})"


def _listed(values: Mapping[str, float], spec: str) -> str:
    return ", ".join(f"{value:{spec}} ({name})" for name, value in values.items())
